//! Python's builtin functions, and the way to those of modules.

use std::rc::Rc;

use ruff_python_ast::CmpOp;
use ruff_text_size::TextRange;

use super::function::Args;
use super::heap::{Dict, Object};
use super::interp::{Interp, MAX_ITEMS, Run, Stop};
use super::value::{Raised, Str, Value};

impl Interp<'_> {
    /// What a known function gives; `None` where that is not computed.
    pub(super) fn known_call(&mut self, name: &str, args: &Args, range: TextRange) -> Run<Option<Value>> {
        if let Some(method) = name.strip_prefix("str.") {
            let Some((Value::Str(text), rest)) = args.positional.split_first() else { return Ok(None) };
            let args = Args { positional: rest.to_vec(), keywords: args.keywords.clone(), open: None };
            return self.text_method(text, method, &args, range);
        }
        if !name.contains('.') {
            return self.builtin_call(name, args, range);
        }
        if let Some(name) = name.strip_prefix("re.") {
            return self.regex_call(name, args, range);
        }
        if name.starts_with("os.")
            || name.starts_with("glob.")
            || name.starts_with("pathlib.")
            || name.starts_with("shutil.")
        {
            return self.path_call(name, args, range);
        }
        self.module_call(name, args, range)
    }

    fn builtin_call(&mut self, name: &str, args: &Args, range: TextRange) -> Run<Option<Value>> {
        if super::exceptions::is_exception(name) {
            self.lose_all(&args.positional);
            let why = self.why(range, &format!("it raises {}", self.source.shown(range)));
            return Ok(Some(Value::Exception(Rc::new(Raised { class: Value::builtin(name), why }))));
        }
        let first = args.positional.first().cloned();
        match (name, first) {
            ("print", _) => Ok(Some(Value::None)),
            ("exit" | "quit", code) => Err(self.exit(code.as_ref(), range)),
            ("open", Some(path)) => self.open(&path, args, range).map(Some),
            ("exec", Some(code)) => self.exec(&code, args, range).map(Some),
            ("compile", Some(code)) => Ok(matches!(code, Value::Str(_) | Value::Bytes(_)).then_some(code)),
            ("__import__", Some(Value::Str(module))) if args.positional.len() == 1 => {
                let top = module.text.split('.').next().unwrap_or_default().to_owned();
                self.import(&module.text.clone(), range)?;
                self.import(&top, range).map(Some)
            }
            ("eval", Some(Value::Str(text))) if args.positional.len() == 1 => self.eval_text(&text, range),
            ("str" | "repr", value) => self.make_text(name, value, args),
            (
                "int" | "float" | "bool" | "len" | "abs" | "ord" | "chr" | "round" | "hash" | "id"
                | "callable",
                Some(value),
            ) => self.number_call(name, &value, args, range),
            ("bool", None) => Ok(Some(Value::Bool(false))),
            ("int", None) => Ok(Some(Value::Int(0))),
            (
                "list" | "tuple" | "set" | "frozenset" | "iter" | "reversed" | "enumerate" | "sorted" | "sum"
                | "any" | "all" | "next",
                value,
            ) => self.sequence_call(name, value.as_ref(), args, range),
            ("dict", _) => {
                let mut dict = Dict::default();
                for value in &args.positional {
                    self.update(&mut dict, value, range)?;
                }
                for (name, value) in &args.keywords {
                    self.insert(&mut dict, Value::text(name.clone()), value.clone(), range);
                }
                Ok(Some(Value::Ref(self.alloc(Object::Dict(dict)))))
            }
            ("range", Some(_)) => self.range_call(args, range),
            ("zip", Some(_)) => self.zip(args, range),
            ("map" | "filter", Some(function)) => self.map(name, &function, args, range),
            ("min" | "max", Some(_)) => self.extreme(name, args, range),
            ("isinstance", Some(value)) => {
                let Some(class) = args.positional.get(1).cloned() else { return Ok(None) };
                Ok(self.is_instance(&value, &class).map(Value::Bool))
            }
            ("issubclass", Some(value)) => {
                let Some(class) = args.positional.get(1) else { return Ok(None) };
                Ok(self.is_subclass(&value, class, 0).map(Value::Bool))
            }
            ("getattr" | "hasattr", Some(value)) => self.get_attribute(name, &value, args, range),
            ("setattr", Some(owner)) => {
                let (Some(Value::Str(name)), Some(value)) = (args.positional.get(1), args.positional.get(2))
                else {
                    return Ok(None);
                };
                self.set_attribute(&owner, &name.text.clone(), value.clone(), range)?;
                Ok(Some(Value::None))
            }
            ("globals" | "locals" | "vars", None) => Ok(Some(self.namespace(name))),
            ("object", None) => Ok(Some(self.new_list(Vec::new()))).map(|_| None),
            ("super", _) => Ok(None),
            _ => Ok(None),
        }
    }

    /// The exception that ends the program.
    pub(super) fn exit(&mut self, code: Option<&Value>, range: TextRange) -> Stop {
        let said = match code {
            Some(value) => self.text_of(value).unwrap_or_else(|| "...".into()),
            None => "".into(),
        };
        let said: String = said.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(120).collect();
        let why = self.why(range, &format!("the script ends itself here: {said}"));
        Stop::Raise(Rc::new(Raised { class: Value::builtin("SystemExit"), why }))
    }

    fn make_text(&self, name: &str, value: Option<Value>, args: &Args) -> Run<Option<Value>> {
        Ok(match value {
            None => Some(Value::text("")),
            Some(Value::Str(text)) if name == "str" => Some(Value::Str(text)),
            Some(Value::Bytes(text)) if name == "str" && args.values().count() > 1 => Some(Value::Str(text)),
            Some(Value::Version(version)) if name == "str" => {
                Some(Value::Str(version.1.with(version.0.to_string())))
            }
            Some(value) => {
                let text = if name == "str" { self.text_of(&value) } else { self.repr(&value, 0) };
                text.map(Value::text)
            }
        })
    }

    fn number_call(
        &mut self,
        name: &str,
        value: &Value,
        args: &Args,
        range: TextRange,
    ) -> Run<Option<Value>> {
        let only = args.positional.len() == 1 && args.keywords.is_empty();
        Ok(match (name, value) {
            ("int", Value::Int(_)) | ("float", Value::Float(_)) => Some(value.clone()),
            ("int", Value::Bool(flag)) => Some(Value::Int(i64::from(*flag))),
            ("int", Value::Str(text)) if only => match text.text.trim().parse() {
                Ok(number) => Some(Value::Int(number)),
                Err(_) if text.text.trim().bytes().all(|byte| byte.is_ascii_digit() || byte == b'_') => None,
                Err(_) => return Err(self.raise("ValueError", "invalid literal for int()", range)),
            },
            ("float", Value::Str(text)) => text.text.trim().parse().ok().map(Value::Float),
            ("float", Value::Int(_)) => super::ops::number(value).map(Value::Float),
            ("bool", value) => self.truth(value, range)?.map(Value::Bool),
            ("len", value) => {
                let length = match value {
                    Value::Str(text) => Some(text.text.chars().count()),
                    Value::Tuple(items) => Some(items.len()),
                    Value::Ref(id) => match self.heap.get(*id) {
                        Some(Object::List(items)) => Some(items.len()),
                        Some(Object::Set(items)) => Some(items.len()),
                        Some(Object::Dict(dict)) if dict.vague().is_none() => Some(dict.entries.len()),
                        _ => None,
                    },
                    _ => None,
                };
                length.and_then(|length| i64::try_from(length).ok()).map(Value::Int)
            }
            ("abs", Value::Int(number)) => number.checked_abs().map(Value::Int),
            ("ord", Value::Str(text)) => {
                let mut chars = text.text.chars();
                match (chars.next(), chars.next()) {
                    (Some(char), None) => Some(Value::Int(i64::from(u32::from(char)))),
                    _ => None,
                }
            }
            ("chr", Value::Int(number)) => {
                u32::try_from(*number).ok().and_then(char::from_u32).map(|char| Value::text(char.to_string()))
            }
            ("callable", Value::Function(_) | Value::Bound(_)) => Some(Value::Bool(true)),
            ("callable", Value::None | Value::Str(_) | Value::Int(_)) => Some(Value::Bool(false)),
            _ => None,
        })
    }

    fn sequence_call(
        &mut self,
        name: &str,
        value: Option<&Value>,
        args: &Args,
        range: TextRange,
    ) -> Run<Option<Value>> {
        if name == "next" {
            let Some(Value::Ref(id)) = value else { return Ok(None) };
            let Some(Object::Iterator(items)) = self.heap.get_mut(*id) else { return Ok(None) };
            if !items.is_empty() {
                return Ok(Some(items.remove(0)));
            }
            return match args.positional.get(1) {
                Some(default) => Ok(Some(default.clone())),
                None => Err(self.raise("StopIteration", "", range)),
            };
        }
        let items = match value {
            None => Vec::new(),
            Some(value) => match self.iterate(value, range)? {
                Ok(items) => items,
                Err(_) => return Ok(None),
            },
        };
        Ok(Some(match name {
            "list" => self.new_list(items),
            "tuple" => Value::tuple(items),
            "set" | "frozenset" => self.new_set(&items, range)?,
            "iter" => self.new_iterator(items),
            "reversed" => {
                let items = items.into_iter().rev().collect();
                self.new_iterator(items)
            }
            "enumerate" => {
                let start = match args.get(1, "start") {
                    None => 0,
                    Some(Value::Int(start)) => *start,
                    _ => return Ok(None),
                };
                let pairs =
                    (start..).zip(items).map(|(at, item)| Value::tuple(vec![Value::Int(at), item])).collect();
                self.new_iterator(pairs)
            }
            "sorted" => match self.sorted(items, args, range)? {
                Some(sorted) => self.new_list(sorted),
                None => return Ok(None),
            },
            "sum" => {
                let mut total = args.get(1, "start").cloned().unwrap_or(Value::Int(0));
                for item in items {
                    total = self.binary(&total, ruff_python_ast::Operator::Add, &item, range)?;
                }
                total
            }
            _ => {
                let mut known = Some(name == "all");
                for item in items {
                    match self.truth(&item, range)? {
                        Some(flag) if flag == (name == "any") => return Ok(Some(Value::Bool(flag))),
                        Some(_) => {}
                        None => known = None,
                    }
                }
                match known {
                    Some(flag) => Value::Bool(flag),
                    None => return Ok(None),
                }
            }
        }))
    }

    fn range_call(&mut self, args: &Args, range: TextRange) -> Run<Option<Value>> {
        let numbers: Option<Vec<i64>> = args
            .positional
            .iter()
            .map(|value| match value {
                Value::Int(number) => Some(*number),
                _ => None,
            })
            .collect();
        let (start, stop, step) = match numbers.as_deref() {
            Some([stop]) => (0, *stop, 1),
            Some([start, stop]) => (*start, *stop, 1),
            Some([start, stop, step]) if *step != 0 => (*start, *stop, *step),
            _ => return Ok(None),
        };
        let mut items = Vec::new();
        let mut at = start;
        while (step > 0 && at < stop) || (step < 0 && at > stop) {
            items.push(Value::Int(at));
            if items.len() > MAX_ITEMS {
                break;
            }
            at = at.saturating_add(step);
        }
        self.spend_items(items.len(), range)?;
        Ok(Some(self.new_list(items)))
    }

    fn zip(&mut self, args: &Args, range: TextRange) -> Run<Option<Value>> {
        let mut columns = Vec::new();
        for value in &args.positional {
            match self.iterate(value, range)? {
                Ok(items) => columns.push(items.into_iter()),
                Err(_) => return Ok(None),
            }
        }
        let mut rows = Vec::new();
        'rows: loop {
            let mut row = Vec::new();
            for column in &mut columns {
                let Some(item) = column.next() else { break 'rows };
                row.push(item);
            }
            rows.push(Value::tuple(row));
        }
        Ok(Some(self.new_iterator(rows)))
    }

    fn map(&mut self, name: &str, function: &Value, args: &Args, range: TextRange) -> Run<Option<Value>> {
        let [_, iterable] = &args.positional[..] else { return Ok(None) };
        let Ok(items) = self.iterate(iterable, range)? else {
            let why = self.why(range, "what it is applied to is not known");
            self.havoc(&[function.clone(), iterable.clone()], &why, range)?;
            return Ok(None);
        };
        let mut results = Vec::new();
        for item in items {
            self.spend(1, range)?;
            let result = match function {
                Value::None => item.clone(),
                function => self.call(function, Args::of(vec![item.clone()]), range)?,
            };
            if name == "map" {
                results.push(result);
                continue;
            }
            match self.truth(&result, range)? {
                Some(true) => results.push(item),
                Some(false) => {}
                None => {
                    return Ok(Some(self.as_unknown(&result, range, "the filter's condition is not known")));
                }
            }
        }
        Ok(Some(if self.target.python.major == 2 {
            self.new_list(results)
        } else {
            self.new_iterator(results)
        }))
    }

    fn extreme(&mut self, name: &str, args: &Args, range: TextRange) -> Run<Option<Value>> {
        if !args.keywords.is_empty() {
            return Ok(None);
        }
        let items = match &args.positional[..] {
            [only] => match self.iterate(only, range)? {
                Ok(items) => items,
                Err(_) => return Ok(None),
            },
            items => items.to_vec(),
        };
        let op = if name == "min" { CmpOp::Lt } else { CmpOp::Gt };
        let mut best: Option<Value> = None;
        for item in items {
            best = match best {
                None => Some(item),
                Some(best) => match self.compare(&item, op, &best) {
                    Some(true) => Some(item),
                    Some(false) => Some(best),
                    None => return Ok(None),
                },
            };
        }
        Ok(best)
    }

    fn is_instance(&self, value: &Value, class: &Value) -> Option<bool> {
        if let Value::Tuple(classes) = class {
            let known: Option<Vec<bool>> =
                classes.iter().map(|class| self.is_instance(value, class)).collect();
            return known.map(|all| all.contains(&true));
        }
        if let Some(Object::Instance { class: own, .. }) = self.object(value) {
            return self.is_subclass(&Value::Ref(*own), class, 0);
        }
        let Value::Builtin(class) = class else { return None };
        let own = match value {
            Value::None => "NoneType",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Float(_) => "float",
            Value::Str(_) => "str",
            Value::Bytes(_) => "bytes",
            Value::Tuple(_) => "tuple",
            Value::Ref(_) => match self.object(value)? {
                Object::List(_) => "list",
                Object::Dict(_) => "dict",
                Object::Set(_) => "set",
                _ => return None,
            },
            _ => return None,
        };
        match &**class {
            "object" => Some(true),
            "str" | "bytes" | "int" | "float" | "bool" | "tuple" | "list" | "dict" | "set" => {
                Some(own == &**class || (own == "bool" && &**class == "int"))
            }
            _ => None,
        }
    }

    fn get_attribute(
        &mut self,
        name: &str,
        value: &Value,
        args: &Args,
        range: TextRange,
    ) -> Run<Option<Value>> {
        let Some(Value::Str(attribute)) = args.positional.get(1) else { return Ok(None) };
        let attribute = attribute.text.clone();
        if matches!(self.object(value), Some(Object::Instance { .. } | Object::Module { .. })) {
            let found = self.attribute(value, &attribute, range);
            return match found {
                Ok(Value::Unknown(_)) if name == "hasattr" => Ok(None),
                Ok(found) => Ok(Some(if name == "hasattr" { Value::Bool(true) } else { found })),
                Err(Stop::Raise(raised)) => match (name, args.positional.get(2)) {
                    ("hasattr", _) => Ok(Some(Value::Bool(false))),
                    (_, Some(default)) => Ok(Some(default.clone())),
                    _ => Err(Stop::Raise(raised)),
                },
                Err(other) => Err(other),
            };
        }
        if let Value::Builtin(owner) = value
            && matches!(
                (&**owner, &*attribute),
                ("sys", "version_info" | "argv" | "path" | "platform" | "version")
            )
        {
            return Ok(Some(match name {
                "hasattr" => Value::Bool(true),
                _ => self.attribute(value, &attribute, range)?,
            }));
        }
        if let (Value::Builtin(owner), "hasattr") = (value, name)
            && let (
                "sys",
                "pypy_translation_info"
                | "real_prefix"
                | "frozen"
                | "pypy_version_info"
                | "getwindowsversion",
            ) = (&**owner, &*attribute)
        {
            return Ok(Some(Value::Bool(false)));
        }
        Ok(None)
    }

    /// A copy of the present names, as `locals()` gives for formats.
    fn namespace(&mut self, name: &str) -> Value {
        if name == "globals" {
            return Value::builtin("<globals>");
        }
        if self.scope == self.globals {
            return Value::builtin("<globals>");
        }
        let mut dict = Dict::default();
        if let Some(Object::Scope(scope)) = self.heap.get(self.scope) {
            let names: Vec<(Rc<str>, Value)> =
                scope.names.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
            for (name, value) in names {
                self.insert(&mut dict, Value::Str(Str::bare(name)), value, TextRange::default());
            }
        }
        Value::Ref(self.alloc(Object::Dict(dict)))
    }
}
