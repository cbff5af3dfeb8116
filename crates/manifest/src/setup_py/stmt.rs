//! Statements that go straight on, and `if`.

use std::rc::Rc;

use ruff_python_ast::{Expr, Stmt, StmtAssert, StmtClassDef, StmtFunctionDef, StmtIf, StmtRaise};
use ruff_text_size::{Ranged as _, TextRange};

use super::function::{Args, Body, Function, has_yield};
use super::heap::{Class, Object, Scope};
use super::interp::{Exits, Interp, Run, Stop};
use super::value::{Raised, Value};

impl Interp<'_> {
    /// Runs statements in order. Whether a way leads to their end; the other ways out are in `exits`.
    pub(super) fn block(&mut self, body: &[Stmt], exits: &mut Exits) -> Run<bool> {
        for statement in body {
            self.enter(statement.range())?;
            let alive = self.statement(statement, exits);
            self.leave();
            if !alive? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Runs a way of which it is known only that it may be taken: exceptions are noted, not handed on.
    pub(super) fn attempt(&mut self, way: impl FnOnce(&mut Self) -> Run<bool>) -> Run<bool> {
        let depth = self.depth;
        let result = way(self);
        self.depth = depth;
        match result {
            Err(Stop::Raise(raised)) => {
                self.record(raised);
                Ok(false)
            }
            Err(Stop::Dead) => Ok(false),
            other => other,
        }
    }

    fn statement(&mut self, statement: &Stmt, exits: &mut Exits) -> Run<bool> {
        let range = statement.range();
        match statement {
            Stmt::Expr(node) => {
                self.eval(&node.value)?;
            }
            Stmt::Assign(node) => {
                let value = self.eval(&node.value)?;
                for target in &node.targets {
                    self.assign(target, value.clone())?;
                }
            }
            Stmt::AugAssign(node) => self.augmented(&node.target, node.op, &node.value, range)?,
            Stmt::AnnAssign(node) => {
                if let Some(value) = &node.value {
                    let value = self.eval(value)?;
                    self.assign(&node.target, value)?;
                }
            }
            Stmt::If(node) => return self.run_if(node, exits),
            Stmt::For(node) => return self.run_for(node, exits),
            Stmt::While(node) => return self.run_while(node, exits),
            Stmt::Try(node) => return self.run_try(node, exits),
            Stmt::With(node) => return self.run_with(node, &node.items, exits),
            Stmt::FunctionDef(node) => self.define_function(node)?,
            Stmt::ClassDef(node) => self.define_class(node)?,
            Stmt::Return(_) | Stmt::Break(_) | Stmt::Continue(_) => {
                self.leave_by(statement, exits)?;
                return Ok(false);
            }
            Stmt::Raise(node) => return Err(self.run_raise(node)?),
            Stmt::Assert(node) => self.run_assert(node)?,
            Stmt::Import(node) => {
                for alias in &node.names {
                    self.import_module(alias, range)?;
                }
            }
            Stmt::ImportFrom(node) => self.import_from(node)?,
            Stmt::Global(node) => {
                for name in &node.names {
                    self.send_elsewhere(name.as_str(), self.globals);
                }
            }
            Stmt::Nonlocal(node) => {
                for name in &node.names {
                    let scope = self.scope_with(name.as_str()).unwrap_or(self.globals);
                    self.send_elsewhere(name.as_str(), scope);
                }
            }
            Stmt::Delete(node) => {
                for target in &node.targets {
                    self.delete(target)?;
                }
            }
            Stmt::Pass(_) | Stmt::TypeAlias(_) => {}
            Stmt::Match(_) | Stmt::IpyEscapeCommand(_) => {
                return Err(self.fatal(range, "this kind of statement is not evaluated"));
            }
        }
        Ok(true)
    }

    /// `return`, `break`, `continue`: what follows in this block is not run.
    fn leave_by(&mut self, statement: &Stmt, exits: &mut Exits) -> Run<()> {
        let range = statement.range();
        let value = match statement {
            Stmt::Return(node) => match &node.value {
                Some(value) => self.eval(value)?,
                None => Value::None,
            },
            _ => Value::None,
        };
        let heap = std::mem::take(&mut self.heap);
        match statement {
            Stmt::Break(_) => self.merge(&mut exits.broken, heap, range),
            Stmt::Continue(_) => self.merge(&mut exits.continued, heap, range),
            _ => self.merge_returned(exits, heap, value, range),
        }
    }

    fn run_assert(&mut self, node: &StmtAssert) -> Run<()> {
        let test = self.eval(&node.test)?;
        match self.truth(&test, node.test.range())? {
            Some(true) => Ok(()),
            Some(false) => Err(self.raise("AssertionError", "", node.range())),
            None => {
                let why = self.doubt_of(&test, node.test.range());
                self.may_raise(&why, node.range())
            }
        }
    }

    /// Follows the branch of a condition that is known, or both of one that is not, and joins them.
    pub(super) fn branch(
        &mut self,
        test: &Value,
        range: TextRange,
        then: impl FnOnce(&mut Self) -> Run<bool>,
        otherwise: impl FnOnce(&mut Self) -> Run<bool>,
    ) -> Run<bool> {
        match self.truth(test, range)? {
            Some(true) => self.attempt(then),
            Some(false) => self.attempt(otherwise),
            None => {
                let why = self.doubt_of(test, range);
                let before = self.fork(range)?;
                self.doubt = Some(why.clone());
                let first = self.attempt(then)?;
                let after = std::mem::replace(&mut self.heap, before);
                self.doubt = Some(why.clone());
                let second = self.attempt(otherwise)?;
                self.doubt = Some(why.clone());
                match (first, second) {
                    (true, true) => {
                        self.join(&after, &why, range)?;
                    }
                    (true, false) => self.heap = after,
                    (false, _) => {}
                }
                Ok(first || second)
            }
        }
    }

    /// The reason why a condition is not known.
    pub(super) fn doubt_of(&self, test: &Value, range: TextRange) -> super::value::Why {
        match test {
            Value::Unknown(why) => why.clone(),
            _ => match self.object(test) {
                Some(Object::Opaque(why)) => why.clone(),
                _ => self.why(range, "it is not known whether this is true"),
            },
        }
    }

    fn run_if(&mut self, node: &StmtIf, exits: &mut Exits) -> Run<bool> {
        self.run_clauses(Some(&node.test), &node.body, &node.elif_else_clauses, exits)
    }

    fn run_clauses(
        &mut self,
        test: Option<&Expr>,
        body: &[Stmt],
        rest: &[ruff_python_ast::ElifElseClause],
        exits: &mut Exits,
    ) -> Run<bool> {
        let Some(test) = test else { return self.block(body, exits) };
        self.enter(test.range())?;
        let value = self.eval(test)?;
        let mut then_exits = Exits::default();
        let mut else_exits = Exits::default();
        let alive = self.branch(
            &value,
            test.range(),
            |this| this.block(body, &mut then_exits),
            |this| match rest.split_first() {
                Some((next, rest)) => this.run_clauses(next.test.as_ref(), &next.body, rest, &mut else_exits),
                None => Ok(true),
            },
        );
        self.leave();
        let alive = alive?;
        self.merge_exits(exits, then_exits, test.range())?;
        self.merge_exits(exits, else_exits, test.range())?;
        Ok(alive)
    }

    pub(super) fn merge_exits(&mut self, exits: &mut Exits, more: Exits, range: TextRange) -> Run<()> {
        if let Some((heap, value)) = more.returned {
            self.merge_returned(exits, heap, value, range)?;
        }
        if let Some(heap) = more.broken {
            self.merge(&mut exits.broken, heap, range)?;
        }
        if let Some(heap) = more.continued {
            self.merge(&mut exits.continued, heap, range)?;
        }
        Ok(())
    }

    fn run_raise(&mut self, node: &StmtRaise) -> Run<Stop> {
        let Some(expression) = &node.exc else {
            let Some(raised) = self.handling.last().cloned() else {
                return Ok(self.raise("RuntimeError", "No active exception to reraise", node.range));
            };
            return Ok(Stop::Raise(raised));
        };
        let value = self.eval(expression)?;
        let shown = format!("it raises {}", self.source.shown(expression.range()));
        let why = self.why(node.range, &shown);
        Ok(Stop::Raise(match value {
            Value::Exception(raised) => Rc::new(Raised { why, ..(*raised).clone() }),
            class => Rc::new(Raised { class: self.exception_class(class), why }),
        }))
    }

    /// The class that an exception is raised of.
    fn exception_class(&self, value: Value) -> Value {
        match (&value, self.object(&value)) {
            (Value::Ref(_), Some(Object::Instance { class, .. })) => Value::Ref(*class),
            _ => value,
        }
    }

    fn define_function(&mut self, node: &StmtFunctionDef) -> Run<()> {
        self.spend(node.range.len().to_usize() / 16, node.range)?;
        let body = Body::Block(node.body.to_vec());
        let is_generator = has_yield(&node.body);
        let mut value = self.function(node.name.as_str(), &node.parameters, body, is_generator)?;
        for decorator in node.decorator_list.iter().rev() {
            let callee = self.eval(&decorator.expression)?;
            value = match &callee {
                Value::Builtin(name) if matches!(&**name, "staticmethod" | "classmethod" | "property") => {
                    Value::Bound(Rc::new((callee.clone(), value)))
                }
                Value::Builtin(name) if matches!(&**name, "functools.lru_cache" | "functools.cache") => value,
                _ => self.call(&callee, Args::of(vec![value]), decorator.range)?,
            };
        }
        if node.is_async {
            value = self.unknown(node.range, "asynchronous functions are not evaluated");
        }
        self.store(node.name.as_str(), value);
        Ok(())
    }

    /// A function with its defaults' values.
    pub(super) fn function(
        &mut self,
        name: &str,
        parameters: &ruff_python_ast::Parameters,
        body: Body,
        is_generator: bool,
    ) -> Run<Value> {
        let mut defaults = Vec::new();
        for parameter in parameters.posonlyargs.iter().chain(&parameters.args).chain(&parameters.kwonlyargs) {
            if let Some(default) = &parameter.default {
                defaults.push(self.eval(default)?);
            }
        }
        let defaults = self.list(defaults);
        // Functions in a class body don't see its names.
        let is_class = matches!(self.heap.get(self.scope), Some(Object::Scope(scope)) if scope.names.contains_key(CLASS_MARK));
        let parent = match self.heap.get(self.scope) {
            Some(Object::Scope(scope)) if is_class => scope.parent.unwrap_or(self.globals),
            _ => self.scope,
        };
        Ok(Value::Function(Rc::new(Function {
            name: name.into(),
            parameters: parameters.clone(),
            body,
            place: parameters.range.start().to_u32(),
            source: self.source.clone(),
            scope: parent,
            globals: self.globals,
            defaults,
            is_generator,
        })))
    }

    fn define_class(&mut self, node: &StmtClassDef) -> Run<()> {
        let mut bases = Vec::new();
        if let Some(arguments) = &node.arguments {
            for base in &arguments.args {
                bases.push(self.eval(base)?);
            }
            for keyword in &arguments.keywords {
                let value = self.eval(&keyword.value)?;
                bases.push(self.as_unknown(&value, node.range, "classes with a metaclass are not evaluated"));
            }
        }
        let mut scope = Scope { parent: Some(self.scope), ..Scope::default() };
        scope.names.insert(CLASS_MARK.into(), Value::None);
        let scope = self.alloc(Object::Scope(scope));
        let outer = std::mem::replace(&mut self.scope, scope);
        let mut exits = Exits::default();
        let result = self.block(&node.body, &mut exits);
        self.scope = outer;
        if !result? {
            return Err(Stop::Dead);
        }
        let class = Class { name: node.name.as_str().into(), bases: bases.clone(), scope };
        let mut value = Value::Ref(self.alloc(Object::Class(class)));
        // A base that is not known may keep a list of its subclasses, and call them.
        for decorator in node.decorator_list.iter().rev() {
            let callee = self.eval(&decorator.expression)?;
            value = self.call(&callee, Args::of(vec![value]), decorator.range)?;
        }
        self.store(node.name.as_str(), value);
        Ok(())
    }
}

/// A name that no identifier is: it tells a class's scope from others.
pub(super) const CLASS_MARK: &str = "<class>";
