//! A Python source: checked against nesting that no recursion could bear, parsed, with its lines.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use reana_model::Origin;
use ruff_python_ast::token::TokenKind;
use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{Expr, Stmt, StringFlags as _};
use ruff_python_parser::{Mode, ParseOptions, lexer, parse_unchecked};
use ruff_text_size::{Ranged as _, TextRange};

use crate::Unknown;

/// How deep expressions and blocks may be nested together. Python's own limits are 200 brackets and 100 indents.
const MAX_NESTING: usize = 1_500;
const MAX_BRACKETS: usize = 150;
const MAX_INDENTS: usize = 90;
/// The longest source that is read, in bytes.
const MAX_SOURCE: usize = 4 << 20;
/// How much of an expression a message shows, in characters.
const SHOWN: usize = 80;

/// A parsed source.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) file: Arc<str>,
    /// The file's path in the project.
    pub(super) path: Rc<str>,
    text: String,
    lines: Vec<usize>,
    /// Names that functions may bind outside of themselves: by `global`, or as an attribute of something.
    rebound: BTreeSet<String>,
    /// Names may be bound in ways that are not looked through.
    rebinds_any: bool,
    pub(super) body: Vec<Stmt>,
}

impl Source {
    /// Parses a source. Python 2's statements that can be mended are.
    pub(super) fn parse(text: &str, file: &Arc<str>, path: &str) -> Result<Self, Unknown> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n").replace('\r', "\n");
        let lines = line_starts(&text);
        let mut source = Self {
            file: file.clone(),
            path: path.into(),
            text,
            lines,
            rebound: BTreeSet::new(),
            rebinds_any: false,
            body: Vec::new(),
        };
        if source.text.len() > MAX_SOURCE {
            return Err(source.refuse(0, "the source is too long"));
        }
        source.check_nesting()?;
        match source.parse_text(&source.text) {
            Ok(body) => source.body = body,
            Err((at, reason)) => {
                let mended = super::python2::mend(&source.text);
                let body = mended.as_deref().and_then(|text| {
                    let trial = Self {
                        file: file.clone(),
                        path: path.into(),
                        text: text.to_owned(),
                        lines: line_starts(text),
                        rebound: BTreeSet::new(),
                        rebinds_any: false,
                        body: Vec::new(),
                    };
                    trial.check_nesting().ok()?;
                    trial.parse_text(text).ok()
                });
                let (Some(body), Some(text)) = (body, mended) else {
                    return Err(source.refuse(at, &format!("syntax error: {reason}")));
                };
                source.lines = line_starts(&text);
                source.text = text;
                source.body = body;
            }
        }
        let mut finder = Rebinding(BTreeSet::new());
        for statement in &source.body {
            finder.visit_stmt(statement);
        }
        source.rebound = finder.0;
        source.rebinds_any = ["setattr(", "globals(", "vars(", "exec(", "__dict__"]
            .iter()
            .any(|word| source.text.contains(word));
        Ok(source)
    }

    /// Whether code in the source may bind a name that is not its own.
    pub(super) fn rebinds(&self, name: &str) -> bool {
        self.rebinds_any || self.rebound.contains(name)
    }

    fn parse_text(&self, text: &str) -> Result<Vec<Stmt>, (usize, String)> {
        let parsed = parse_unchecked(text, ParseOptions::from(Mode::Module));
        if let Some(error) = parsed.errors().first() {
            return Err((error.location.start().to_usize(), error.error.to_string()));
        }
        match parsed.into_syntax() {
            ruff_python_ast::Mod::Module(module) => Ok(module.body.into_iter().collect()),
            ruff_python_ast::Mod::Expression(_) => Err((0, format!("{} is no module", self.file))),
        }
    }

    /// Refuses what parsing or evaluating would have to recurse into too deeply. Counts, for each open bracket,
    /// what may nest without another bracket: operators, attributes, calls, `not`, `lambda`, `if`.
    fn check_nesting(&self) -> Result<(), Unknown> {
        let mut lexer = lexer::lex(&self.text, Mode::Module);
        let mut chains: Vec<usize> = vec![0];
        let (mut total, mut indents) = (0_usize, 0_usize);
        loop {
            let kind = lexer.next_token();
            let mut grow = 0;
            match kind {
                TokenKind::EndOfFile => return Ok(()),
                TokenKind::Newline | TokenKind::Semi if chains.len() == 1 => {
                    total = 0;
                    chains = vec![0];
                }
                TokenKind::Comma => {
                    if let Some(chain) = chains.last_mut() {
                        total -= *chain;
                        *chain = 0;
                    }
                }
                TokenKind::Lpar | TokenKind::Lsqb | TokenKind::Lbrace => {
                    // A bracket may also continue the expression before it: a call.
                    if let Some(chain) = chains.last_mut() {
                        *chain += 1;
                        total += 1;
                    }
                    chains.push(0);
                }
                TokenKind::Rpar | TokenKind::Rsqb | TokenKind::Rbrace => {
                    if chains.len() > 1 {
                        total -= chains.pop().unwrap_or_default();
                    }
                }
                TokenKind::Indent => indents += 1,
                TokenKind::Dedent => indents = indents.saturating_sub(1),
                TokenKind::String | TokenKind::Name | TokenKind::Int | TokenKind::Comment => {}
                TokenKind::NonLogicalNewline | TokenKind::Newline => {}
                _ => grow = 1,
            }
            if let Some(chain) = chains.last_mut() {
                *chain += grow;
                total += grow;
            }
            if total + indents > MAX_NESTING || chains.len() > MAX_BRACKETS || indents > MAX_INDENTS {
                return Err(Unknown {
                    origin: Origin::whole(self.file.clone()),
                    expression: self.file.to_string(),
                    reason: "it is nested too deeply".to_owned(),
                    plug_in: false,
                });
            }
        }
    }

    fn refuse(&self, at: usize, reason: &str) -> Unknown {
        let line = self.line_of(at);
        let text =
            self.text.lines().nth(usize::try_from(line).unwrap_or(1).saturating_sub(1)).unwrap_or_default();
        Unknown {
            origin: Origin::new(self.file.clone(), line),
            expression: shorten(text),
            reason: reason.to_owned(),
            plug_in: false,
        }
    }

    fn line_of(&self, at: usize) -> u32 {
        u32::try_from(self.lines.partition_point(|start| *start <= at)).unwrap_or(u32::MAX)
    }

    /// The place of a node.
    pub(super) fn origin(&self, range: TextRange) -> Origin {
        Origin::new(self.file.clone(), self.line_of(range.start().to_usize()))
    }

    /// The source of a node, as written.
    pub(super) fn slice(&self, range: TextRange) -> &str {
        self.text.get(range.start().to_usize()..range.end().to_usize()).unwrap_or_default()
    }

    /// The source of a node as messages show it.
    pub(super) fn shown(&self, range: TextRange) -> String {
        shorten(self.slice(range))
    }

    /// Whether each newline of a string literal's value is one of the file.
    pub(super) fn literal_advances(&self, literal: &ruff_python_ast::StringLiteral) -> bool {
        literal.flags.is_triple_quoted()
            && literal.value.matches('\n').count() == self.slice(literal.range()).matches('\n').count()
    }
}

fn line_starts(text: &str) -> Vec<usize> {
    std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect()
}

/// On one line, and not longer than a message can bear.
fn shorten(text: &str) -> String {
    let mut shown = String::new();
    for word in text.split_whitespace() {
        if !shown.is_empty() {
            shown.push(' ');
        }
        shown.push_str(word);
        if shown.chars().count() > SHOWN {
            return shown.chars().take(SHOWN - 3).collect::<String>() + "...";
        }
    }
    shown
}

/// Finds the names that functions may bind outside of themselves.
struct Rebinding(BTreeSet<String>);

impl Visitor<'_> for Rebinding {
    fn visit_stmt(&mut self, statement: &Stmt) {
        match statement {
            Stmt::Global(node) => self.0.extend(node.names.iter().map(|name| name.as_str().to_owned())),
            Stmt::Nonlocal(node) => self.0.extend(node.names.iter().map(|name| name.as_str().to_owned())),
            _ => {}
        }
        walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &Expr) {
        if let Expr::Attribute(node) = expression
            && !node.ctx.is_load()
        {
            self.0.insert(node.attr.as_str().to_owned());
        }
        walk_expr(self, expression);
    }
}
