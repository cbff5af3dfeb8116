//! Names, attributes, and the classes and instances of the project.

use std::rc::Rc;

use ruff_text_size::TextRange;

use super::function::{Args, Function};
use super::heap::{Class, Object, Scope};
use super::interp::{Interp, Run, Stop};
use super::value::{Id, Value, Why};

/// How many scopes or base classes are looked through.
const MAX_CHAIN: usize = 200;

impl Interp<'_> {
    fn scope_object(&self, id: Id) -> Option<&Scope> {
        match self.heap.get(id) {
            Some(Object::Scope(scope)) => Some(scope),
            _ => None,
        }
    }

    pub(super) fn load(&mut self, name: &str, range: TextRange) -> Run<Value> {
        let mut id = Some(self.scope);
        let mut is_first = true;
        for _ in 0..MAX_CHAIN {
            let Some(scope) = id.and_then(|id| self.scope_object(id)) else { break };
            if is_first && let Some(other) = scope.elsewhere.get(name) {
                id = Some(*other);
                is_first = false;
                continue;
            }
            is_first = false;
            if let Some(value) = scope.names.get(name) {
                return Ok(value.clone());
            }
            if let Some(why) = &scope.open {
                return Ok(Value::Unknown(why.clone()));
            }
            id = scope.parent;
        }
        if let Some(value) = self.builtin_name(name, range) {
            return Ok(value);
        }
        Err(self.raise("NameError", &format!("name '{name}' is not defined"), range))
    }

    fn builtin_name(&mut self, name: &str, range: TextRange) -> Option<Value> {
        if matches!(
            name,
            "unicode"
                | "basestring"
                | "long"
                | "unichr"
                | "raw_input"
                | "xrange"
                | "reduce"
                | "file"
                | "execfile"
                | "cmp"
                | "buffer"
                | "apply"
                | "intern"
                | "reload"
                | "coerce"
        ) {
            self.consulted.python = true;
            return match (self.target.python.major, name) {
                (2, "unicode" | "basestring") => Some(Value::builtin("str")),
                (2, "xrange") => Some(Value::builtin("range")),
                (2, _) => Some(self.unknown(range, "this is only in Python 2")),
                _ => None,
            };
        }
        let is_known = BUILTINS.contains(&name)
            || super::exceptions::is_exception(name)
            || matches!(name, "IOError" | "EnvironmentError");
        match name {
            "__debug__" => Some(Value::Bool(true)),
            "__package__" | "__spec__" | "__loader__" => Some(Value::None),
            "WindowsError" => None,
            _ if is_known => Some(Value::builtin(super::exceptions::canonical(name))),
            // A class of exceptions that is not listed: known to Python, not to us.
            _ if name.ends_with("Error") || name.ends_with("Warning") || name.ends_with("Exception") => {
                Some(self.unknown(range, "this name is not known"))
            }
            _ => None,
        }
    }

    pub(super) fn store(&mut self, name: &str, value: Value) {
        let id = self.scope_object(self.scope).and_then(|scope| scope.elsewhere.get(name).copied());
        self.store_in(id.unwrap_or(self.scope), name, value);
    }

    pub(super) fn store_in(&mut self, scope: Id, name: &str, value: Value) {
        if let Some(Object::Scope(scope)) = self.heap.get_mut(scope) {
            match scope.names.get_mut(name) {
                Some(slot) => *slot = value,
                None => {
                    scope.names.insert(name.into(), value);
                }
            }
        }
    }

    pub(super) fn send_elsewhere(&mut self, name: &str, to: Id) {
        if to == self.scope {
            return;
        }
        if let Some(Object::Scope(scope)) = self.heap.get_mut(self.scope) {
            scope.elsewhere.insert(name.into(), to);
        }
    }

    /// The enclosing function's scope that has a name.
    pub(super) fn scope_with(&self, name: &str) -> Option<Id> {
        let mut id = self.scope_object(self.scope)?.parent?;
        for _ in 0..MAX_CHAIN {
            let scope = self.scope_object(id)?;
            if scope.names.contains_key(name) {
                return Some(id);
            }
            id = scope.parent?;
        }
        None
    }

    pub(super) fn attribute(&mut self, value: &Value, name: &str, range: TextRange) -> Run<Value> {
        match value {
            Value::Unknown(why) => {
                let why = why.clone();
                self.may_raise(&why, range)?;
                Ok(Value::Unknown(why))
            }
            Value::Builtin(owner) => self.builtin_attribute(&owner.clone(), name, range),
            Value::Tuple(items) if matches!(&items[..], [_, _, _, Value::Str(level), _] if &*level.text == "final") => {
                match ["major", "minor", "micro", "releaselevel", "serial"]
                    .iter()
                    .position(|known| *known == name)
                {
                    Some(at) => Ok(items.get(at).cloned().unwrap_or(Value::None)),
                    None => Ok(Value::Method(Rc::new((value.clone(), name.into())))),
                }
            }
            Value::Path(_) | Value::Version(_) => match self.property(value, name) {
                Some(found) => Ok(found),
                None => Ok(Value::Method(Rc::new((value.clone(), name.into())))),
            },
            Value::Function(function) => Ok(match name {
                "__name__" => Value::text(function.name.clone()),
                _ => self.unknown(range, "attributes of functions are not evaluated"),
            }),
            Value::Exception(raised) => {
                let why = raised.why.clone();
                Ok(match name {
                    "args" | "message" | "code" | "errno" | "strerror" | "msg" | "returncode" | "output" => {
                        Value::Unknown(why)
                    }
                    _ => Value::Method(Rc::new((value.clone(), name.into()))),
                })
            }
            Value::Ref(id) => self.object_attribute(*id, name, range),
            Value::Method(_) | Value::Bound(_) | Value::Slice(_) => {
                Ok(self.unknown(range, "this attribute is not evaluated"))
            }
            _ => Ok(Value::Method(Rc::new((value.clone(), name.into())))),
        }
    }

    fn object_attribute(&mut self, id: Id, name: &str, range: TextRange) -> Run<Value> {
        match self.heap.get(id) {
            Some(Object::Opaque(why)) => {
                let why = why.clone();
                if matches!(
                    name,
                    "append"
                        | "extend"
                        | "update"
                        | "items"
                        | "keys"
                        | "values"
                        | "get"
                        | "pop"
                        | "setdefault"
                        | "insert"
                        | "remove"
                        | "copy"
                        | "add"
                        | "read"
                ) {
                    return Ok(Value::Method(Rc::new((Value::Ref(id), name.into()))));
                }
                Ok(Value::Unknown(why))
            }
            Some(Object::Module { name: module, scope }) => {
                let (module, scope) = (module.clone(), *scope);
                if let Some(found) = self.scope_object(scope).and_then(|scope| scope.names.get(name)) {
                    return Ok(found.clone());
                }
                if let Some(why) = self.scope_object(scope).and_then(|scope| scope.open.clone()) {
                    return Ok(Value::Unknown(why));
                }
                match self.import_local(&format!("{module}.{name}"), range)? {
                    Some(value) => Ok(value),
                    None => {
                        Err(self.raise("AttributeError", &format!("module has no attribute '{name}'"), range))
                    }
                }
            }
            Some(Object::Class(_)) => match self.class_attribute(id, name, 0) {
                Ok(Some(Value::Bound(bound))) if matches!(&bound.0, Value::Builtin(_)) => {
                    Ok(match &bound.0 {
                        Value::Builtin(kind) if &**kind == "staticmethod" => bound.1.clone(),
                        Value::Builtin(kind) if &**kind == "classmethod" => {
                            Value::Bound(Rc::new((Value::Ref(id), bound.1.clone())))
                        }
                        _ => self.unknown(range, "this attribute is not evaluated"),
                    })
                }
                Ok(Some(found)) => Ok(found),
                Ok(None) if name == "__name__" => Ok(match self.heap.get(id) {
                    Some(Object::Class(class)) => Value::text(class.name.clone()),
                    _ => Value::None,
                }),
                Ok(None) => Ok(self.unknown(range, "this attribute is not evaluated")),
                Err(()) => Ok(self.unknown(range, "the class has a base that is not known")),
            },
            Some(Object::Instance { class, scope }) => {
                let (class, scope) = (*class, *scope);
                self.instance_attribute(id, class, scope, name, range)
            }
            Some(
                Object::File(_) | Object::List(_) | Object::Dict(_) | Object::Set(_) | Object::Iterator(_),
            ) => Ok(Value::Method(Rc::new((Value::Ref(id), name.into())))),
            _ => Ok(self.unknown(range, "this attribute is not evaluated")),
        }
    }

    /// Looks an attribute up in a class and its bases; an error where a base is not known and the class hasn't it.
    fn class_attribute(&self, class: Id, name: &str, depth: usize) -> Result<Option<Value>, ()> {
        let Some(Object::Class(Class { bases, scope, .. })) = self.heap.get(class) else { return Err(()) };
        if depth > MAX_CHAIN.min(30) {
            return Err(());
        }
        if let Some(scope) = self.scope_object(*scope) {
            if let Some(found) = scope.names.get(name) {
                return Ok(Some(found.clone()));
            }
            if scope.open.is_some() {
                return Err(());
            }
        }
        for base in bases {
            match base {
                Value::Builtin(base) if &**base == "object" => {}
                Value::Ref(base) => {
                    if let Some(found) = self.class_attribute(*base, name, depth + 1)? {
                        return Ok(Some(found));
                    }
                }
                _ => return Err(()),
            }
        }
        Ok(None)
    }

    fn instance_attribute(
        &mut self,
        id: Id,
        class: Id,
        scope: Id,
        name: &str,
        range: TextRange,
    ) -> Run<Value> {
        if let Some(scope) = self.scope_object(scope) {
            if let Some(found) = scope.names.get(name) {
                return Ok(found.clone());
            }
            if let Some(why) = &scope.open {
                return Ok(Value::Unknown(why.clone()));
            }
        }
        let itself = Value::Ref(id);
        match self.class_attribute(class, name, 0) {
            Ok(Some(Value::Function(function))) => {
                Ok(Value::Bound(Rc::new((itself, Value::Function(function)))))
            }
            Ok(Some(Value::Bound(bound))) => match &bound.0 {
                Value::Builtin(kind) if &**kind == "property" => {
                    self.call(&bound.1.clone(), Args::of(vec![itself]), range)
                }
                Value::Builtin(kind) if &**kind == "classmethod" => {
                    Ok(Value::Bound(Rc::new((Value::Ref(class), bound.1.clone()))))
                }
                _ => Ok(bound.1.clone()),
            },
            Ok(Some(found)) => Ok(found),
            Ok(None) => Err(self.raise("AttributeError", &format!("no attribute '{name}'"), range)),
            Err(()) => Ok(self.unknown(range, "the class has a base that is not known")),
        }
    }

    pub(super) fn set_attribute(
        &mut self,
        owner: &Value,
        name: &str,
        value: Value,
        range: TextRange,
    ) -> Run<()> {
        let scope = match self.object(owner) {
            Some(
                Object::Instance { scope, .. }
                | Object::Module { scope, .. }
                | Object::Class(Class { scope, .. }),
            ) => Some(*scope),
            _ => None,
        };
        if let Some(scope) = scope {
            self.store_in(scope, name, value);
            return Ok(());
        }
        if let Value::Builtin(owner) = owner {
            let dotted = format!("{owner}.{name}");
            self.lose(&value);
            if super::facts::is_setup(&dotted) || BUILTINS.contains(&&*dotted) {
                return Err(self.fatal(range, "what the evaluator knows is replaced"));
            }
            if dotted == "sys.argv"
                || dotted.starts_with("sys.std")
                || dotted.starts_with("setuptools")
                || dotted.starts_with("distutils")
            {
                return Ok(());
            }
            self.notes.push(super::facts::Note {
                origin: self.place(range),
                text: format!("`{dotted}` is replaced"),
            });
            return Ok(());
        }
        self.lose(&value);
        if let Value::Unknown(why) = owner {
            let why = why.clone();
            return self.havoc(&[], &why, range);
        }
        Ok(())
    }

    /// An instance of a class of the project.
    pub(super) fn instantiate(&mut self, class: Id, args: Args, range: TextRange) -> Run<Value> {
        if self.is_subclass(&Value::Ref(class), &Value::builtin("BaseException"), 0) == Some(true) {
            self.lose_all(&args.positional);
            let why = self.why(range, &format!("it raises {}", self.source.shown(range)));
            return Ok(Value::Exception(Rc::new(super::value::Raised { class: Value::Ref(class), why })));
        }
        match self.class_attribute(class, "__init__", 0) {
            Err(()) => {
                let why = self.why(range, "the class has a base that is not known");
                let mut reached: Vec<Value> = args.values().cloned().collect();
                reached.push(Value::Ref(class));
                self.havoc(&reached, &why, range)?;
                self.may_raise(&why, range)?;
                Ok(Value::Unknown(why))
            }
            Ok(init) => {
                let scope = self.alloc(Object::Scope(Scope::default()));
                let instance = Value::Ref(self.alloc(Object::Instance { class, scope }));
                if let Some(init) = init {
                    let mut args = args;
                    args.positional.insert(0, instance.clone());
                    self.call(&init, args, range)?;
                }
                Ok(instance)
            }
        }
    }

    /// The functions that unknown code can call on a value.
    pub(super) fn functions_of(&self, value: &Value) -> Vec<Rc<Function>> {
        match value {
            Value::Function(function) => vec![function.clone()],
            Value::Ref(id) => {
                let class = match self.heap.get(*id) {
                    Some(Object::Instance { class, .. }) => *class,
                    _ => *id,
                };
                let Some(Object::Class(class)) = self.heap.get(class) else { return Vec::new() };
                let Some(scope) = self.scope_object(class.scope) else { return Vec::new() };
                scope
                    .names
                    .values()
                    .filter_map(|value| match value {
                        Value::Function(function) => Some(function.clone()),
                        Value::Bound(bound) => match &bound.1 {
                            Value::Function(function) => Some(function.clone()),
                            _ => None,
                        },
                        _ => None,
                    })
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    /// An unknown value in the place of one that can't be worked with: the reason is that of the unknown in it.
    pub(super) fn as_unknown(&mut self, value: &Value, range: TextRange, reason: &str) -> Value {
        let why = self.reason_in(value, 0).unwrap_or_else(|| self.why(range, reason));
        self.lose(value);
        Value::Unknown(why)
    }

    /// Why something in the value is not known.
    pub(super) fn reason_in(&self, value: &Value, depth: usize) -> Option<Why> {
        if let Some(why) = value.why() {
            return Some(why.clone());
        }
        if let Value::Method(method) = value {
            return self.reason_in(&method.0, depth + 1);
        }
        match self.object(value)? {
            Object::Opaque(why) => Some(why.clone()),
            Object::List(items) | Object::Iterator(items) if depth < 3 => {
                items.iter().take(1_000).find_map(|item| self.reason_in(item, depth + 1))
            }
            Object::Dict(dict) if depth < 3 => dict.vague().or_else(|| {
                dict.entries.values().take(1_000).find_map(|entry| self.reason_in(&entry.value, depth + 1))
            }),
            _ => None,
        }
    }

    pub(super) fn missing(&mut self, range: TextRange) -> Stop {
        self.raise("TypeError", "the arguments do not fit", range)
    }
}

/// Python 3's builtin names but exceptions.
pub(super) const BUILTINS: [&str; 78] = [
    "abs",
    "all",
    "any",
    "ascii",
    "bin",
    "bool",
    "breakpoint",
    "bytearray",
    "bytes",
    "callable",
    "chr",
    "classmethod",
    "compile",
    "complex",
    "copyright",
    "credits",
    "delattr",
    "dict",
    "dir",
    "divmod",
    "enumerate",
    "eval",
    "exec",
    "exit",
    "filter",
    "float",
    "format",
    "frozenset",
    "getattr",
    "globals",
    "hasattr",
    "hash",
    "help",
    "hex",
    "id",
    "input",
    "int",
    "isinstance",
    "issubclass",
    "iter",
    "len",
    "license",
    "list",
    "locals",
    "map",
    "max",
    "memoryview",
    "min",
    "next",
    "object",
    "oct",
    "open",
    "ord",
    "pow",
    "print",
    "property",
    "quit",
    "range",
    "repr",
    "reversed",
    "round",
    "set",
    "setattr",
    "slice",
    "sorted",
    "staticmethod",
    "str",
    "sum",
    "super",
    "tuple",
    "type",
    "vars",
    "zip",
    "__import__",
    "__build_class__",
    "NotImplemented",
    "Ellipsis",
    "__builtins__",
];
