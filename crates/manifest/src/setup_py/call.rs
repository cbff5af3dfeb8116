//! Calls: of the project's functions, of what is known, of what is not.

use std::rc::Rc;

use ruff_python_ast::ParameterWithDefault;
use ruff_text_size::TextRange;

use super::expr::YIELDED;
use super::function::{Args, Body, Function};
use super::heap::{Dict, Entry, Object, Scope};
use super::interp::{Exits, Interp, Run, Stop};
use super::value::{Key, Value};

/// How often a function may be calling itself, and how often with arguments that are not known.
const MAX_RECURSION: usize = 150;
const MAX_VAGUE_RECURSION: usize = 3;

impl Interp<'_> {
    pub(super) fn call(&mut self, callee: &Value, args: Args, range: TextRange) -> Run<Value> {
        self.enter(range)?;
        let result = self.call_inner(callee, args, range);
        self.leave();
        result
    }

    fn call_inner(&mut self, callee: &Value, mut args: Args, range: TextRange) -> Run<Value> {
        match callee {
            Value::Function(function) => self.call_function(function, args, range),
            Value::Bound(bound) => {
                args.positional.insert(0, bound.0.clone());
                self.call(&bound.1, args, range)
            }
            Value::Builtin(name) => self.call_builtin(&name.clone(), &args, range),
            Value::Method(method) => {
                let (receiver, name) = (method.0.clone(), method.1.clone());
                if args.open.is_none()
                    && let Some(value) = self.method(&receiver, &name, &args, range)?
                {
                    return Ok(value);
                }
                self.give_up_method(&receiver, &name, &args, range)
            }
            Value::Ref(id) if matches!(self.heap.get(*id), Some(Object::Class(_))) => {
                self.instantiate(*id, args, range)
            }
            _ => {
                let why = self
                    .reason_in(callee, 0)
                    .unwrap_or_else(|| self.why(range, "this call is not evaluated"));
                let mut reached: Vec<Value> = args.values().cloned().collect();
                reached.push(callee.clone());
                self.havoc(&reached, &why, range)?;
                self.may_raise(&why, range)?;
                Ok(Value::Unknown(why))
            }
        }
    }

    fn give_up_method(&mut self, receiver: &Value, name: &str, args: &Args, range: TextRange) -> Run<Value> {
        let inside = args.values().find_map(|value| self.reason_in(value, 0)).or_else(|| args.open.clone());
        let why = self.reason_in(receiver, 0).or(inside).unwrap_or_else(|| {
            self.why(range, &format!("`.{name}()` is not evaluated with these arguments"))
        });
        let mut reached: Vec<Value> = args.values().cloned().collect();
        let is_plain = matches!(
            receiver,
            Value::Str(_)
                | Value::Bytes(_)
                | Value::Path(_)
                | Value::Version(_)
                | Value::Match(_)
                | Value::Int(_)
                | Value::Float(_)
                | Value::None
                | Value::Bool(_)
                | Value::Exception(_)
        );
        reached.push(receiver.clone());
        if is_plain && !args.values().any(|value| self.is_callable(value)) {
            self.lose_all(&reached);
        } else {
            self.havoc(&reached, &why, range)?;
        }
        self.may_raise(&why, range)?;
        Ok(Value::Unknown(why))
    }

    /// A known function that can't be computed here: its result is unknown, and may be one of its arguments.
    pub(super) fn give_up(&mut self, name: &str, args: &Args, range: TextRange) -> Run<Value> {
        let why = args
            .values()
            .find_map(|value| self.reason_in(value, 0))
            .or_else(|| args.open.clone())
            .unwrap_or_else(|| self.why(range, &format!("`{name}` is not evaluated")));
        let reached: Vec<Value> = args.values().cloned().collect();
        if super::stdlib::leaves_arguments(name) && !reached.iter().any(|value| self.is_callable(value)) {
            self.lose_all(&reached);
        } else {
            self.havoc(&reached, &why, range)?;
        }
        self.may_raise(&why, range)?;
        Ok(Value::Unknown(why))
    }

    fn is_callable(&self, value: &Value) -> bool {
        matches!(value, Value::Function(_) | Value::Bound(_) | Value::Unknown(_))
            || matches!(self.object(value), Some(Object::Class(_) | Object::Instance { .. }))
    }

    pub(super) fn call_function(
        &mut self,
        function: &Rc<Function>,
        args: Args,
        range: TextRange,
    ) -> Run<Value> {
        self.spend(20, range)?;
        let place = (function.globals, function.place);
        let active = self.active.get(&place).copied().unwrap_or(0);
        let is_vague = args.open.is_some() || args.values().any(|value| self.reason_in(value, 0).is_some());
        if active >= MAX_RECURSION || (active >= MAX_VAGUE_RECURSION && is_vague) {
            return self.give_up_recursion(function, &args, range);
        }
        self.active.insert(place, active + 1);
        let result = self.run_function(function, args, range);
        self.active.insert(place, active);
        result
    }

    /// A recursion that may have no end here, though it has one in Python.
    fn give_up_recursion(&mut self, function: &Rc<Function>, args: &Args, range: TextRange) -> Run<Value> {
        let why = args
            .values()
            .find_map(|value| self.reason_in(value, 0))
            .unwrap_or_else(|| self.why(range, "the recursion is too deep"));
        let reached: Vec<Value> = args.values().cloned().collect();
        self.lose_all(&reached);
        self.poison(function, &why, range)?;
        self.may_raise(&why, range)?;
        Ok(Value::Unknown(why))
    }

    fn run_function(&mut self, function: &Rc<Function>, args: Args, range: TextRange) -> Run<Value> {
        let scope = Scope { parent: Some(function.scope), ..Scope::default() };
        let scope = self.alloc(Object::Scope(scope));
        self.bind(function, scope, args, range)?;
        if function.is_generator {
            let list = self.new_list(Vec::new());
            self.store_in(scope, YIELDED, list);
        }
        let outer_scope = std::mem::replace(&mut self.scope, scope);
        let outer_globals = std::mem::replace(&mut self.globals, function.globals);
        let outer_source = std::mem::replace(&mut self.source, function.source.clone());
        let depth = self.depth;
        let mut exits = Exits::default();
        let result = match &function.body {
            Body::Block(body) => self.block(body, &mut exits),
            Body::Expression(expression) => self.eval(expression).and_then(|value| {
                let heap = std::mem::take(&mut self.heap);
                self.merge_returned(&mut exits, heap, value, range).map(|()| false)
            }),
        };
        self.depth = depth;
        let result = match result {
            Err(Stop::Raise(raised)) if exits.returned.is_some() => {
                self.record(raised);
                Ok(false)
            }
            Err(Stop::Dead) => Ok(false),
            other => other,
        };
        self.scope = outer_scope;
        self.globals = outer_globals;
        self.source = outer_source;
        if result? {
            let heap = std::mem::take(&mut self.heap);
            self.merge_returned(&mut exits, heap, Value::None, range)?;
        }
        let Some((heap, value)) = exits.returned else { return Err(Stop::Dead) };
        self.heap = heap;
        if function.is_generator {
            let yielded = match self.heap.get(scope) {
                Some(Object::Scope(scope)) => scope.names.get(YIELDED).cloned(),
                _ => None,
            };
            return Ok(match yielded {
                Some(Value::Ref(list)) => match self.heap.get(list).cloned() {
                    Some(Object::List(items)) => self.new_iterator(items),
                    _ => Value::Ref(list),
                },
                _ => self.unknown(range, "what this generator yields is not known"),
            });
        }
        Ok(value)
    }

    /// Binds arguments to a function's parameters, as Python does.
    fn bind(&mut self, function: &Function, scope: usize, args: Args, range: TextRange) -> Run<()> {
        let Args { positional, mut keywords, open } = args;
        let parameters = &function.parameters;
        let mut defaults = self.heap.children(function.defaults).into_iter();
        let mut given = positional.into_iter();
        let ordered: Vec<(&ParameterWithDefault, bool)> = parameters
            .posonlyargs
            .iter()
            .chain(&parameters.args)
            .map(|parameter| (parameter, true))
            .chain(parameters.kwonlyargs.iter().map(|parameter| (parameter, false)))
            .collect();
        let mut bound = Vec::new();
        for (parameter, by_position) in ordered {
            let name = parameter.parameter.name.as_str();
            let default = if parameter.default.is_some() { defaults.next() } else { None };
            let mut value = if by_position { given.next() } else { None };
            if let Some(at) = keywords.iter().position(|(keyword, _)| &**keyword == name) {
                let (_, keyword) = keywords.remove(at);
                if value.is_some() {
                    return Err(self.missing(range));
                }
                value = Some(keyword);
            }
            let value = match (value, &open, default) {
                (Some(value), ..) => value,
                (None, Some(why), default) => {
                    if let Some(default) = default {
                        self.lose(&default);
                    }
                    Value::Unknown(why.clone())
                }
                (None, None, Some(default)) => default,
                (None, None, None) => return Err(self.missing(range)),
            };
            bound.push((name, value));
        }
        for (name, value) in bound {
            self.store_in(scope, name, value);
        }
        self.bind_rest(function, scope, given.collect(), Args { keywords, open, ..Args::default() }, range)
    }

    fn bind_rest(
        &mut self,
        function: &Function,
        scope: usize,
        positional: Vec<Value>,
        rest: Args,
        range: TextRange,
    ) -> Run<()> {
        let Args { keywords, open, .. } = rest;
        match &function.parameters.vararg {
            Some(parameter) => {
                let value = match &open {
                    Some(why) => {
                        self.lose_all(&positional);
                        Value::Unknown(why.clone())
                    }
                    None => Value::tuple(positional),
                };
                self.store_in(scope, parameter.name.as_str(), value);
            }
            None if !positional.is_empty() => return Err(self.missing(range)),
            None => {}
        }
        match &function.parameters.kwarg {
            Some(parameter) => {
                let entries = keywords.into_iter().map(|(name, value)| {
                    (Key::Str(name.clone()), Entry { key: Value::text(name), value, maybe: None })
                });
                let dict = Dict { entries: entries.collect(), open };
                let dict = Value::Ref(self.alloc(Object::Dict(dict)));
                self.store_in(scope, parameter.name.as_str(), dict);
            }
            None if !keywords.is_empty() => return Err(self.missing(range)),
            None => {}
        }
        Ok(())
    }

    fn call_builtin(&mut self, name: &Rc<str>, args: &Args, range: TextRange) -> Run<Value> {
        if super::facts::is_setup(name) {
            return self.record_setup(args, range);
        }
        if args.open.is_none()
            && let Some(value) = self.known_call(name, args, range)?
        {
            return Ok(value);
        }
        self.give_up(name, args, range)
    }
}
