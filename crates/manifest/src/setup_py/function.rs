//! Functions of the project, and the arguments that calls pass.

use std::rc::Rc;

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{Expr, Parameters, Stmt};

use super::source::Source;
use super::value::{Id, Value, Why};

/// A `def` or a `lambda` with what it closes over.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) name: Rc<str>,
    pub(super) parameters: Parameters,
    pub(super) body: Body,
    /// Where it starts in its source.
    pub(super) place: u32,
    pub(super) source: Rc<Source>,
    /// The scope that it was defined in, and that of its module.
    pub(super) scope: Id,
    pub(super) globals: Id,
    /// The list of its defaults' values, in the order of the parameters that have one.
    pub(super) defaults: Id,
    pub(super) is_generator: bool,
}

/// What a function runs.
#[derive(Debug)]
pub(super) enum Body {
    Block(Vec<Stmt>),
    Expression(Expr),
}

/// The arguments of a call.
#[derive(Clone, Debug, Default)]
pub(super) struct Args {
    pub(super) positional: Vec<Value>,
    pub(super) keywords: Vec<(Rc<str>, Value)>,
    /// There may be more arguments than those.
    pub(super) open: Option<Why>,
}

impl Args {
    pub(super) fn of(positional: Vec<Value>) -> Self {
        Self { positional, ..Self::default() }
    }

    /// The argument at a position or under its name.
    pub(super) fn get(&self, position: usize, name: &str) -> Option<&Value> {
        let named = || self.keywords.iter().find(|(keyword, _)| &**keyword == name).map(|(_, value)| value);
        self.positional.get(position).or_else(named)
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &Value> {
        self.positional.iter().chain(self.keywords.iter().map(|(_, value)| value))
    }
}

/// Whether a function's body makes it a generator.
pub(super) fn has_yield(body: &[Stmt]) -> bool {
    struct Finder(bool);
    impl Visitor<'_> for Finder {
        fn visit_stmt(&mut self, statement: &Stmt) {
            if !matches!(statement, Stmt::FunctionDef(_) | Stmt::ClassDef(_)) {
                walk_stmt(self, statement);
            }
        }
        fn visit_expr(&mut self, expression: &Expr) {
            match expression {
                Expr::Yield(_) | Expr::YieldFrom(_) => self.0 = true,
                Expr::Lambda(_) => {}
                _ => walk_expr(self, expression),
            }
        }
    }
    let mut finder = Finder(false);
    for statement in body {
        finder.visit_stmt(statement);
    }
    finder.0
}
