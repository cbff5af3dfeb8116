//! The texts of a setup.py that may be requirements, with their bytes.

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{Expr, FStringPart, InterpolatedStringElement, Stmt, StringLiteralValue};
use ruff_python_parser::{Mode, ParseOptions, parse_unchecked};
use ruff_text_size::Ranged as _;

use crate::setup_py::{SOURCE_STACK, check_source};

use super::slot::{Segment, Slot, aligned, cut, line_of, line_starts};

/// All lines of all string literals but those that stand for themselves (documentation).
pub(super) fn slots(text: &str) -> Result<Vec<Slot>, (u32, String)> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(SOURCE_STACK);
        let handle = thread.spawn_scoped(scope, || find(text));
        let handle = handle.map_err(|error| (0, format!("no thread can be started: {error}")))?;
        handle.join().unwrap_or_else(|_| Err((0, "the parser failed".to_owned())))
    })
}

fn find(text: &str) -> Result<Vec<Slot>, (u32, String)> {
    check_source(text).map_err(|unknown| (unknown.origin.line, unknown.reason))?;
    let starts = line_starts(text);
    // The parser's places don't count a byte order mark.
    let bare = text.trim_start_matches('\u{feff}');
    let parsed = parse_unchecked(bare, ParseOptions::from(Mode::Module));
    if let Some(error) = parsed.errors().first() {
        return Err((line_of(&starts, error.location.start().to_usize()), error.error.to_string()));
    }
    let mut finder = Finder { text, starts, shift: text.len() - bare.len(), slots: Vec::new() };
    if let ruff_python_ast::Mod::Module(module) = parsed.syntax() {
        for statement in &module.body {
            finder.visit_stmt(statement);
        }
    }
    Ok(finder.slots)
}

struct Finder<'t> {
    text: &'t str,
    starts: Vec<usize>,
    /// How many bytes stand before what was parsed.
    shift: usize,
    slots: Vec<Slot>,
}

impl Visitor<'_> for Finder<'_> {
    fn visit_stmt(&mut self, statement: &Stmt) {
        let is_documentation =
            matches!(statement, Stmt::Expr(node) if matches!(&*node.value, Expr::StringLiteral(_)));
        if !is_documentation {
            walk_stmt(self, statement);
        }
    }

    fn visit_expr(&mut self, expression: &Expr) {
        match expression {
            Expr::StringLiteral(node) => self.literal(&node.value, false),
            Expr::FString(node) => self.f_string(node),
            Expr::BinOp(node) => {
                for side in [&*node.left, &*node.right] {
                    match side {
                        Expr::StringLiteral(node) => self.literal(&node.value, true),
                        other => self.visit_expr(other),
                    }
                }
            }
            Expr::Call(node) => {
                // `"...".format(x)` makes another text of it; `split` keeps its lines.
                if let Expr::Attribute(method) = &*node.func
                    && let Expr::StringLiteral(literal) = &*method.value
                {
                    let keeps = matches!(method.attr.as_str(), "split" | "splitlines" | "strip");
                    self.literal(&literal.value, !keeps);
                    self.visit_arguments(&node.arguments);
                } else {
                    walk_expr(self, expression);
                }
            }
            _ => walk_expr(self, expression),
        }
    }
}

impl Finder<'_> {
    fn literal(&mut self, literal: &StringLiteralValue, is_partial: bool) {
        let mut value = String::new();
        let mut segments: Vec<Segment> = Vec::new();
        let mut first = None;
        for part in literal {
            let range = part.content_range();
            let at = range.start().to_usize() + self.shift;
            first = first.or(Some(part.range().start().to_usize() + self.shift));
            let source = self.text.get(at..range.end().to_usize() + self.shift).unwrap_or_default();
            let before = value.len();
            value.push_str(&part.value);
            segments.extend(aligned(source, &part.value, at).into_iter().map(|segment| Segment {
                value: segment.value.start + before..segment.value.end + before,
                at: segment.at,
            }));
        }
        let first = line_of(&self.starts, first.unwrap_or(0));
        let mut start = 0;
        for line in value.split('\n') {
            let own = cut(&segments, start, start + line.len());
            let mut slot = Slot::new(first, line, &own);
            slot.is_partial = is_partial;
            if let Some(at) = slot.start() {
                slot.line = line_of(&self.starts, at);
            }
            if !slot.value.is_empty() {
                self.slots.push(slot);
            }
            start += line.len() + 1;
        }
    }

    /// What an f-string begins with: enough to know what it is about.
    fn f_string(&mut self, node: &ruff_python_ast::ExprFString) {
        let mut text = String::new();
        'parts: for part in &node.value {
            match part {
                FStringPart::Literal(literal) => text.push_str(&literal.value),
                FStringPart::FString(f_string) => {
                    for element in &f_string.elements {
                        match element {
                            InterpolatedStringElement::Literal(literal) => text.push_str(&literal.value),
                            InterpolatedStringElement::Interpolation(_) => break 'parts,
                        }
                    }
                }
            }
        }
        let line = line_of(&self.starts, node.range().start().to_usize() + self.shift);
        let slot = Slot::new(line, &text, &[]);
        self.slots.push(slot.partial());
    }
}
