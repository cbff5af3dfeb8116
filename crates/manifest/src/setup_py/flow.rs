//! Loops, `try` and `with`.

use std::rc::Rc;

use ruff_python_ast::{ExceptHandler, Expr, Stmt, StmtFor, StmtTry, StmtWhile, StmtWith, WithItem};
use ruff_text_size::{Ranged as _, TextRange};

use super::heap::{Heap, Object};
use super::interp::{Exits, Interp, Run, Stop};
use super::value::{Raised, Value};

impl Interp<'_> {
    pub(super) fn run_for(&mut self, node: &StmtFor, exits: &mut Exits) -> Run<bool> {
        let iterable = self.eval(&node.iter)?;
        let mut broken = None;
        let alive = match self.iterate(&iterable, node.iter.range())? {
            Ok(_) if matches!(self.object(&iterable), Some(Object::List(_))) => {
                self.run_list_loop(node, &iterable, &mut broken, exits)?
            }
            Ok(items) => self.run_known_loop(node, items, &mut broken, exits)?,
            Err(why) => {
                self.may_raise(&why, node.iter.range())?;
                self.doubt = Some(why.clone());
                self.run_unknown_loop(node.range, &mut broken, exits, |this, inner| {
                    this.assign(&node.target, Value::Unknown(why.clone()))?;
                    this.block(&node.body, inner)
                })?;
                true
            }
        };
        self.after_loop(alive, broken, &node.orelse, exits, node.range)
    }

    /// A loop over a list, which may change under it.
    fn run_list_loop(
        &mut self,
        node: &StmtFor,
        list: &Value,
        broken: &mut Option<Heap>,
        exits: &mut Exits,
    ) -> Run<bool> {
        let mut at = 0;
        loop {
            self.spend(1, node.range)?;
            let item = match self.object(list) {
                Some(Object::List(items)) => items.get(at).cloned(),
                Some(Object::Opaque(why)) => {
                    let why = why.clone();
                    self.run_unknown_loop(node.range, broken, exits, |this, inner| {
                        this.assign(&node.target, Value::Unknown(why.clone()))?;
                        this.block(&node.body, inner)
                    })?;
                    None
                }
                _ => None,
            };
            let Some(item) = item else { return Ok(true) };
            at += 1;
            self.assign(&node.target, item)?;
            if !self.run_round(&node.body, broken, exits, node.range)? {
                return Ok(false);
            }
        }
    }

    fn run_known_loop(
        &mut self,
        node: &StmtFor,
        items: Vec<Value>,
        broken: &mut Option<Heap>,
        exits: &mut Exits,
    ) -> Run<bool> {
        for item in items {
            self.spend(1, node.range)?;
            self.assign(&node.target, item)?;
            if !self.run_round(&node.body, broken, exits, node.range)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// One round of a loop. Whether a way leads to the next one.
    fn run_round(
        &mut self,
        body: &[Stmt],
        broken: &mut Option<Heap>,
        exits: &mut Exits,
        range: TextRange,
    ) -> Run<bool> {
        let mut inner = Exits::default();
        let alive = self.attempt(|this| this.block(body, &mut inner))?;
        self.end_round(alive, inner, broken, exits, range)
    }

    fn end_round(
        &mut self,
        alive: bool,
        inner: Exits,
        broken: &mut Option<Heap>,
        exits: &mut Exits,
        range: TextRange,
    ) -> Run<bool> {
        let mut next = alive.then(|| std::mem::take(&mut self.heap));
        if let Some(heap) = inner.continued {
            self.merge(&mut next, heap, range)?;
        }
        if let Some(heap) = inner.broken {
            self.merge(broken, heap, range)?;
        }
        if let Some((heap, value)) = inner.returned {
            self.merge_returned(exits, heap, value, range)?;
        }
        let goes_on = next.is_some();
        if let Some(heap) = next {
            self.heap = heap;
        }
        Ok(goes_on)
    }

    /// A loop of an unknown number of rounds: what it may change is joined until nothing changes.
    fn run_unknown_loop(
        &mut self,
        range: TextRange,
        broken: &mut Option<Heap>,
        exits: &mut Exits,
        mut round: impl FnMut(&mut Self, &mut Exits) -> Run<bool>,
    ) -> Run<()> {
        self.until_stable(range, |this| {
            let mut inner = Exits::default();
            let alive = this.attempt(|this| round(this, &mut inner))?;
            if this.end_round(alive, inner, broken, exits, range)? { Ok(()) } else { Err(Stop::Dead) }
        })
    }

    fn after_loop(
        &mut self,
        alive: bool,
        broken: Option<Heap>,
        orelse: &[Stmt],
        exits: &mut Exits,
        range: TextRange,
    ) -> Run<bool> {
        let mut end = None;
        if alive && self.attempt(|this| this.block(orelse, exits))? {
            end = Some(std::mem::take(&mut self.heap));
        }
        if let Some(heap) = broken {
            self.merge(&mut end, heap, range)?;
        }
        let goes_on = end.is_some();
        if let Some(heap) = end {
            self.heap = heap;
        }
        Ok(goes_on)
    }

    pub(super) fn run_while(&mut self, node: &StmtWhile, exits: &mut Exits) -> Run<bool> {
        let mut broken = None;
        let alive = loop {
            self.spend(1, node.range)?;
            let test = self.eval(&node.test)?;
            match self.truth(&test, node.test.range())? {
                Some(false) => break true,
                Some(true) => {
                    if !self.run_round(&node.body, &mut broken, exits, node.range)? {
                        break false;
                    }
                }
                None => {
                    self.doubt = Some(self.doubt_of(&test, node.test.range()));
                    self.run_unknown_loop(node.range, &mut broken, exits, |this, inner| {
                        let alive = this.block(&node.body, inner)?;
                        if alive {
                            this.eval(&node.test)?;
                        }
                        Ok(alive)
                    })?;
                    break true;
                }
            }
        };
        self.after_loop(alive, broken, &node.orelse, exits, node.range)
    }

    pub(super) fn run_try(&mut self, node: &StmtTry, exits: &mut Exits) -> Run<bool> {
        let has_final = !node.finalbody.is_empty();
        if has_final {
            self.frames.push(Vec::new());
        }
        let mut inner = Exits::default();
        let result = self.run_body_and_handlers(node, &mut inner);
        let leaving = if has_final { self.frames.pop().unwrap_or_default() } else { Vec::new() };
        let mut normal = result?;
        if has_final {
            let body = &node.finalbody;
            for (heap, raised) in leaving {
                if let Some(heap) = self.run_final(heap, body, exits)? {
                    self.record_from(heap, raised);
                }
            }
            if let Some(heap) = normal {
                normal = self.run_final(heap, body, exits)?;
            }
            if let Some((heap, value)) = inner.returned {
                inner.returned = self.run_final(heap, body, exits)?.map(|heap| (heap, value));
            }
            if let Some(heap) = inner.broken {
                inner.broken = self.run_final(heap, body, exits)?;
            }
            if let Some(heap) = inner.continued {
                inner.continued = self.run_final(heap, body, exits)?;
            }
        }
        self.merge_exits(exits, inner, node.range)?;
        let alive = normal.is_some();
        if let Some(heap) = normal {
            self.heap = heap;
        }
        Ok(alive)
    }

    fn run_final(&mut self, heap: Heap, body: &[Stmt], exits: &mut Exits) -> Run<Option<Heap>> {
        self.heap = heap;
        let alive = self.attempt(|this| this.block(body, exits))?;
        Ok(alive.then(|| std::mem::take(&mut self.heap)))
    }

    /// The state in which the statement ends normally, if it can.
    fn run_body_and_handlers(&mut self, node: &StmtTry, exits: &mut Exits) -> Run<Option<Heap>> {
        self.frames.push(Vec::new());
        let result = self.attempt(|this| this.block(&node.body, exits));
        let raised = self.frames.pop().unwrap_or_default();
        let mut normal = None;
        if result? && self.attempt(|this| this.block(&node.orelse, exits))? {
            normal = Some(std::mem::take(&mut self.heap));
        }
        for (heap, exception) in raised {
            self.run_handlers(node, heap, &exception, &mut normal, exits)?;
        }
        Ok(normal)
    }

    fn run_handlers(
        &mut self,
        node: &StmtTry,
        heap: Heap,
        raised: &Rc<Raised>,
        normal: &mut Option<Heap>,
        exits: &mut Exits,
    ) -> Run<()> {
        let mut before = heap;
        for ExceptHandler::ExceptHandler(handler) in &node.handlers {
            self.heap = before.clone();
            self.spend(self.heap.len() / 16 + 1, handler.range)?;
            let caught = match &handler.type_ {
                None => Some(true),
                Some(expression) => {
                    let mut class = Value::None;
                    let alive = self.attempt(|this| {
                        class = this.eval(expression)?;
                        Ok(true)
                    })?;
                    if !alive {
                        return Ok(());
                    }
                    self.catches(&class, &raised.class)
                }
            };
            if caught == Some(false) {
                continue;
            }
            if caught.is_none() {
                before = self.fork(handler.range)?;
                self.doubt = Some(raised.why.clone());
            }
            self.handling.push(raised.clone());
            let result = self.attempt(|this| {
                if let Some(name) = &handler.name {
                    this.store(name.as_str(), Value::Exception(raised.clone()));
                }
                this.block(&handler.body, exits)
            });
            self.handling.pop();
            if result? {
                let heap = std::mem::take(&mut self.heap);
                self.merge(normal, heap, handler.range)?;
            }
            if caught == Some(true) {
                return Ok(());
            }
        }
        self.record_from(before, raised.clone());
        Ok(())
    }

    pub(super) fn run_with(&mut self, node: &StmtWith, items: &[WithItem], exits: &mut Exits) -> Run<bool> {
        let Some((item, rest)) = items.split_first() else { return self.block(&node.body, exits) };
        let range = item.range;
        let context = self.eval(&item.context_expr)?;
        let is_file = matches!(self.object(&context), Some(Object::File(_)));
        if let Value::Builtin(name) = &context
            && &**name == "<null context>"
        {
            return self.run_with(node, rest, exits);
        }
        let entered = if is_file {
            context
        } else if matches!(self.object(&context), Some(Object::Instance { .. })) {
            return Err(self.fatal(range, "context managers of the project are not evaluated"));
        } else {
            self.as_unknown(&context, range, "this context manager is not evaluated")
        };
        if let Some(target) = &item.optional_vars {
            self.assign(target, entered.clone())?;
        }
        if is_file {
            return self.run_with(node, rest, exits);
        }
        // What is not known may swallow exceptions.
        self.frames.push(Vec::new());
        let result = self.attempt(|this| this.run_with(node, rest, exits));
        let raised = self.frames.pop().unwrap_or_default();
        let mut normal = result?.then(|| std::mem::take(&mut self.heap));
        for (heap, exception) in raised {
            if matches!(exception.class, Value::Unknown(_)) && normal.is_some() {
                self.record_from(heap, exception);
                continue;
            }
            self.doubt = Some(exception.why.clone());
            self.record_from(heap.clone(), exception);
            self.merge(&mut normal, heap, range)?;
        }
        let alive = normal.is_some();
        if let Some(heap) = normal {
            self.heap = heap;
        }
        Ok(alive)
    }

    /// Whether `except classes` catches an exception of a class; `None` where that is not known.
    fn catches(&self, classes: &Value, raised: &Value) -> Option<bool> {
        if let Value::Tuple(items) = classes {
            let mut known = Some(false);
            for item in items.iter() {
                match self.catches(item, raised) {
                    Some(true) => return Some(true),
                    None => known = None,
                    Some(false) => {}
                }
            }
            return known;
        }
        if matches!(classes, Value::Builtin(name) if &**name == "BaseException") {
            return Some(true);
        }
        self.is_subclass(raised, classes, 0)
    }

    /// Whether a class is another one or derived from it; `None` where that is not known.
    pub(super) fn is_subclass(&self, class: &Value, of: &Value, depth: u32) -> Option<bool> {
        if depth > 30 || matches!(of, Value::Unknown(_)) {
            return None;
        }
        if class.same(of) && !matches!(class, Value::Unknown(_)) {
            return Some(true);
        }
        match (class, of) {
            (Value::Builtin(name), Value::Builtin(of)) => super::exceptions::is_subclass(name, of),
            (Value::Ref(_), _) => {
                let Some(Object::Class(class)) = self.object(class) else { return None };
                let mut known = Some(false);
                for base in &class.bases {
                    match self.is_subclass(base, of, depth + 1) {
                        Some(true) => return Some(true),
                        None => known = None,
                        Some(false) => {}
                    }
                }
                known
            }
            (Value::Builtin(_), Value::Ref(_)) => Some(false),
            _ => None,
        }
    }

    /// Deletes a name, an item or an attribute.
    pub(super) fn delete(&mut self, target: &Expr) -> Run<()> {
        match target {
            Expr::Name(name) => {
                let scope = self.scope;
                if let Some(Object::Scope(scope)) = self.heap.get_mut(scope) {
                    scope.names.shift_remove(name.id.as_str());
                }
                Ok(())
            }
            Expr::Tuple(node) => node.elts.iter().try_for_each(|element| self.delete(element)),
            Expr::Subscript(node) => {
                let container = self.eval(&node.value)?;
                let key = self.eval(&node.slice)?;
                self.delete_item(&container, &key, node.range)
            }
            _ => {
                if let Expr::Attribute(node) = target {
                    let value = self.eval(&node.value)?;
                    if matches!(self.object(&value), Some(Object::Instance { .. } | Object::Module { .. })) {
                        return Err(self.fatal(node.range, "deleting attributes is not evaluated"));
                    }
                }
                Ok(())
            }
        }
    }
}
