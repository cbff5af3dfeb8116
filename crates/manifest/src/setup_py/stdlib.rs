//! What is known of Python's modules: constants of the target, and functions that are no more than arithmetic.

use std::rc::Rc;

use ruff_text_size::TextRange;

use super::function::Args;
use super::heap::{Dict, Object};
use super::interp::{Interp, Run};
use super::value::{Str, Value};

/// Modules whose functions neither change what they are given nor call back, as far as they are not known here.
const HARMLESS: [&str; 42] = [
    "os",
    "sys",
    "glob",
    "platform",
    "sysconfig",
    "distutils",
    "setuptools",
    "shutil",
    "time",
    "datetime",
    "logging",
    "warnings",
    "json",
    "re",
    "textwrap",
    "tempfile",
    "struct",
    "ctypes",
    "codecs",
    "io",
    "string",
    "hashlib",
    "email",
    "urllib",
    "subprocess",
    "pkg_resources",
    "packaging",
    "ast",
    "pathlib",
    "inspect",
    "locale",
    "configparser",
    "importlib",
    "site",
    "getpass",
    "socket",
    "math",
    "zipfile",
    "tarfile",
    "pkgutil",
    "types",
    "uuid",
];

/// Builtin functions that change nothing and call nothing.
const PLAIN: [&str; 30] = [
    "abs",
    "ascii",
    "bin",
    "bool",
    "bytes",
    "bytearray",
    "chr",
    "compile",
    "dir",
    "divmod",
    "float",
    "format",
    "frozenset",
    "getattr",
    "hasattr",
    "hash",
    "hex",
    "id",
    "input",
    "int",
    "isinstance",
    "issubclass",
    "len",
    "oct",
    "open",
    "ord",
    "repr",
    "round",
    "str",
    "type",
];

/// Variables of the environment that only hosts of documentation set: no image is built there.
pub(super) fn is_unset(variable: &str) -> bool {
    matches!(variable, "READTHEDOCS" | "READTHEDOCS_PROJECT" | "READTHEDOCS_VERSION" | "READ_THE_DOCS")
}

/// Whether a function that is not computed leaves its arguments as they are.
pub(super) fn leaves_arguments(name: &str) -> bool {
    match name.split_once('.') {
        Some((module, _)) => HARMLESS.contains(&module),
        None => {
            PLAIN.contains(&name)
                || matches!(
                    name,
                    "any"
                        | "all"
                        | "sum"
                        | "min"
                        | "max"
                        | "sorted"
                        | "list"
                        | "tuple"
                        | "set"
                        | "dict"
                        | "zip"
                        | "enumerate"
                        | "reversed"
                        | "range"
                        | "print"
                        | "iter"
                        | "super"
                        | "object"
                )
        }
    }
}

impl Interp<'_> {
    /// `owner.name`, where `owner` is known by a dotted name.
    pub(super) fn builtin_attribute(&mut self, owner: &str, name: &str, range: TextRange) -> Run<Value> {
        let dotted = match owner {
            "sys.version_info" => {
                self.consulted.python = true;
                let python = self.target.python;
                return Ok(match name {
                    "major" => Value::Int(i64::from(python.major)),
                    "minor" => Value::Int(i64::from(python.minor)),
                    "micro" => Value::Int(i64::from(python.patch)),
                    "releaselevel" => Value::text("final"),
                    "serial" => Value::Int(0),
                    _ => Value::builtin(format!("{owner}.{name}")),
                });
            }
            owner => format!("{owner}.{name}"),
        };
        Ok(self.constant(&dotted, range).unwrap_or_else(|| Value::builtin(dotted)))
    }

    /// The value of a module's constant for the target.
    pub(super) fn constant(&mut self, dotted: &str, range: TextRange) -> Option<Value> {
        let python = self.target.python;
        let text = |text: &str| Some(Value::text(text));
        match dotted {
            "sys.version_info" => {
                self.consulted.python = true;
                let number = |number: u8| Value::Int(i64::from(number));
                Some(Value::tuple(vec![
                    number(python.major),
                    number(python.minor),
                    number(python.patch),
                    Value::text("final"),
                    Value::Int(0),
                ]))
            }
            "sys.version" => {
                self.consulted.python = true;
                let version = format!("{python} (main) [GCC]");
                Some(Value::text(version))
            }
            "sys.hexversion" => {
                self.consulted.python = true;
                let bytes = [python.major, python.minor, python.patch, 0xf0];
                Some(Value::Int(i64::from(u32::from_be_bytes(bytes))))
            }
            "sys.platform" => {
                self.consulted.platform = true;
                text(if python.major == 2 { "linux2" } else { "linux" })
            }
            "os.name" => {
                self.consulted.platform = true;
                text("posix")
            }
            "os.sep" | "os.path.sep" => text("/"),
            "os.linesep" => text("\n"),
            "os.pathsep" => text(":"),
            "os.curdir" => text("."),
            "os.pardir" => text(".."),
            "sys.maxsize" => Some(Value::Int(i64::MAX)),
            "sys.byteorder" => text("little"),
            "sys.implementation.name" => text("cpython"),
            "string.ascii_letters" => text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"),
            "string.digits" => text("0123456789"),
            "re.M" | "re.MULTILINE" => Some(Value::Int(8)),
            "re.I" | "re.IGNORECASE" => Some(Value::Int(2)),
            "re.S" | "re.DOTALL" => Some(Value::Int(16)),
            "re.X" | "re.VERBOSE" => Some(Value::Int(64)),
            "re.U" | "re.UNICODE" => Some(Value::Int(32)),
            "sys.argv" | "sys.modules" | "sys.executable" | "sys.prefix" | "sys.base_prefix"
            | "sys.flags" | "sys.path" => (!matches!(dotted, "sys.path" | "sys.modules"))
                .then(|| self.unknown(range, &format!("`{dotted}` is that of the installer"))),
            "setuptools.__version__" => {
                self.asked_setuptools = true;
                Some(Value::text(self.setuptools))
            }
            "pip.__version__" => Some(self.unknown(range, "the version of pip is not known")),
            "six.PY2" | "six.PY3" => {
                self.consulted.python = true;
                Some(Value::Bool((python.major == 2) == (dotted == "six.PY2")))
            }
            "builtins.str" | "builtins.open" | "builtins.print" | "builtins.exec" => {
                text("").map(|_| Value::builtin(dotted.trim_start_matches("builtins.")))
            }
            "setuptools.distutils.version" => Some(Value::builtin("distutils.version")),
            "setuptools.extern.packaging" | "pkg_resources.extern.packaging" => {
                Some(Value::builtin("packaging"))
            }
            _ => None,
        }
    }

    /// `owner[key]`, where `owner` is known by a dotted name.
    pub(super) fn builtin_item(&mut self, owner: &str, key: &Value, range: TextRange) -> Run<Value> {
        if owner == "<globals>"
            && let Value::Str(name) = key
        {
            return self.load(&name.text.clone(), range);
        }
        let reason = match owner {
            "os.environ" => "the environment is not known".to_owned(),
            owner => format!("`{owner}` is not evaluated"),
        };
        let why = self.why(range, &reason);
        self.may_raise(&why, range)?;
        Ok(Value::Unknown(why))
    }

    pub(super) fn module_call(&mut self, name: &str, args: &Args, range: TextRange) -> Run<Option<Value>> {
        let first = args.positional.first().cloned();
        let text = match &first {
            Some(Value::Str(text)) => Some(text.clone()),
            _ => None,
        };
        let plain = |text: &str| Ok(Some(Value::text(text)));
        if name.starts_with("subprocess.") {
            self.note_program(range);
        }
        match name {
            "sys.exit" => Err(self.exit(first.as_ref(), range)),
            "io.open" | "codecs.open" | "tokenize.open" => match first {
                Some(path) => self.open(&path, args, range).map(Some),
                None => Ok(None),
            },
            "io.StringIO" => {
                Ok(text.map(|text| Value::Ref(self.alloc(Object::File(super::heap::File { text, at: 0 })))))
            }
            _ if name.starts_with("platform.") => Ok(self.platform_call(name)),
            "sys.getdefaultencoding" | "sys.getfilesystemencoding" => plain("utf-8"),
            "ast.literal_eval" => self.literal_eval(text.as_ref(), range),
            "json.load" | "json.loads" => self.json(name, first, range),
            "textwrap.dedent" => Ok(None),
            "itertools.chain" | "itertools.chain.from_iterable" => self.chain(name, args, range),
            "collections.OrderedDict" => self.known_call("dict", args, range),
            "collections.defaultdict" => Ok(None),
            "copy.copy" | "copy.deepcopy" => {
                Ok(first.and_then(|value| self.deep_copy(&value, name == "copy.copy", 0)))
            }
            "operator.itemgetter" | "functools.partial" => Ok(None),
            "functools.reduce" => Ok(None),
            "contextlib.suppress" => Ok(None),
            "warnings.warn"
            | "warnings.filterwarnings"
            | "warnings.simplefilter"
            | "logging.basicConfig"
            | "time.sleep"
            | "multiprocessing.freeze_support"
            | "sys.path.insert"
            | "sys.path.append"
            | "sys.path.remove"
            | "os.umask"
            | "sys.stdout.write"
            | "sys.stderr.write"
            | "sys.stdout.flush"
            | "sys.stderr.flush"
            | "sys.setrecursionlimit"
            | "distutils.log.warn"
            | "distutils.log.info"
            | "site.addsitedir" => {
                if name.starts_with("sys.path.") || name == "site.addsitedir" {
                    self.add_search(args);
                }
                Ok(Some(Value::None))
            }
            "typing.cast" => Ok(args.positional.get(1).cloned()),
            "os.environ.copy" => Ok(None),
            "imp.load_source" | "runpy.run_path" | "importlib.import_module" => {
                self.load_source(name, args, range)
            }
            _ if name.starts_with("six.") => Ok(None),
            _ if name.starts_with("packaging.")
                || name.starts_with("distutils.version.")
                || name.starts_with("pkg_resources.")
                || name.starts_with("pip.") =>
            {
                self.packaging_call(name, args, range)
            }
            _ => Ok(None),
        }
    }

    /// What `platform` says of the target.
    fn platform_call(&mut self, name: &str) -> Option<Value> {
        let python = self.target.python;
        match name {
            "platform.python_version" => {
                self.consulted.python = true;
                Some(Value::text(python.to_string()))
            }
            "platform.python_version_tuple" => {
                self.consulted.python = true;
                let parts = [python.major, python.minor, python.patch];
                Some(Value::tuple(parts.iter().map(|part| Value::text(part.to_string())).collect()))
            }
            "platform.system" | "platform.machine" | "platform.python_implementation" => {
                self.consulted.platform = true;
                Some(Value::text(match name {
                    "platform.system" => "Linux",
                    "platform.machine" => self.target.platform.machine(),
                    _ => "CPython",
                }))
            }
            _ => None,
        }
    }

    fn chain(&mut self, name: &str, args: &Args, range: TextRange) -> Run<Option<Value>> {
        let parts = if name.ends_with("from_iterable") {
            let Some(value) = args.positional.first() else { return Ok(None) };
            match self.iterate(value, range)? {
                Ok(parts) => parts,
                Err(_) => return Ok(None),
            }
        } else {
            args.positional.clone()
        };
        let mut items = Vec::new();
        for part in parts {
            match self.iterate(&part, range)? {
                Ok(more) => items.extend(more),
                Err(_) => return Ok(None),
            }
            self.spend_items(items.len(), range)?;
        }
        Ok(Some(self.new_iterator(items)))
    }

    /// A copy of collections, deep or not.
    fn deep_copy(&mut self, value: &Value, shallow: bool, depth: usize) -> Option<Value> {
        if depth > 10 {
            return None;
        }
        let Value::Ref(id) = value else { return Some(value.clone()) };
        match self.heap.get(*id).cloned()? {
            Object::List(items) => {
                let items: Option<Vec<Value>> = match shallow {
                    true => Some(items),
                    false => items.iter().map(|item| self.deep_copy(item, false, depth + 1)).collect(),
                };
                items.map(|items| self.new_list(items))
            }
            Object::Dict(mut dict) => {
                if !shallow {
                    for entry in dict.entries.values_mut() {
                        entry.value = self.deep_copy(&entry.value, false, depth + 1)?;
                    }
                }
                Some(Value::Ref(self.alloc(Object::Dict(dict))))
            }
            Object::Set(items) => Some(Value::Ref(self.alloc(Object::Set(items)))),
            _ => None,
        }
    }

    fn literal_eval(&mut self, text: Option<&Str>, range: TextRange) -> Run<Option<Value>> {
        let Some(text) = text else { return Ok(None) };
        let trimmed = text.trimmed(str::trim);
        let source = match super::source::Source::parse(&trimmed.text, &self.source.file.clone(), "") {
            Ok(source) => Rc::new(source),
            Err(_) => return Ok(None),
        };
        let [ruff_python_ast::Stmt::Expr(statement)] = &source.body[..] else { return Ok(None) };
        if !is_literal(&statement.value) {
            return Err(self.raise("ValueError", "malformed node or string", range));
        }
        let outer = std::mem::replace(&mut self.source, source.clone());
        let value = self.eval(&statement.value);
        self.source = outer;
        // Its place is that of the text.
        Ok(Some(match value? {
            Value::Str(value) => Value::Str(trimmed.with(value.text)),
            value => value,
        }))
    }

    /// `eval(text)`.
    pub(super) fn eval_text(&mut self, text: &Str, range: TextRange) -> Run<Option<Value>> {
        let trimmed = text.trimmed(str::trim);
        self.spend_text(trimmed.text.len() * 8, range)?;
        let file =
            trimmed.origin.as_ref().map_or_else(|| self.source.file.clone(), |origin| origin.file.clone());
        let Ok(source) = super::source::Source::parse(&trimmed.text, &file, "").map(Rc::new) else {
            return Ok(None);
        };
        let [ruff_python_ast::Stmt::Expr(statement)] = &source.body[..] else { return Ok(None) };
        let outer = std::mem::replace(&mut self.source, source.clone());
        let value = self.eval(&statement.value);
        self.source = outer;
        Ok(Some(match value? {
            Value::Str(value) => Value::Str(trimmed.with(value.text)),
            value => value,
        }))
    }

    fn json(&mut self, name: &str, value: Option<Value>, range: TextRange) -> Run<Option<Value>> {
        let text = match (name, value) {
            ("json.loads", Some(Value::Str(text) | Value::Bytes(text))) => text,
            ("json.load", Some(Value::Ref(id))) => match self.read_rest(id) {
                Some(text) => text,
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        self.spend_text(text.text.len() * 8, range)?;
        let Ok(parsed) = serde_json::from_str::<serde_json::Value>(&text.text) else { return Ok(None) };
        Ok(self.json_value(&parsed, &text))
    }

    /// serde_json bounds the depth.
    fn json_value(&mut self, json: &serde_json::Value, place: &Str) -> Option<Value> {
        Some(match json {
            serde_json::Value::Null => Value::None,
            serde_json::Value::Bool(flag) => Value::Bool(*flag),
            serde_json::Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(number), _) => Value::Int(number),
                (None, Some(number)) => Value::Float(number),
                _ => return None,
            },
            serde_json::Value::String(text) => {
                // The line is found by the text's first place in the file: strings have no place of their own.
                let at = place.text.find(&format!("\"{text}\"")).unwrap_or(0);
                Value::Str(Str { advances: false, ..place.part(at, at) }.with(text.as_str()))
            }
            serde_json::Value::Array(items) => {
                let items: Option<Vec<Value>> =
                    items.iter().map(|item| self.json_value(item, place)).collect();
                let items = items?;
                self.new_list(items)
            }
            serde_json::Value::Object(entries) => {
                let mut dict = Dict::default();
                for (key, value) in entries {
                    let value = self.json_value(value, place)?;
                    self.insert(&mut dict, Value::text(key.as_str()), value, TextRange::default());
                }
                Value::Ref(self.alloc(Object::Dict(dict)))
            }
        })
    }

    /// `sys.path.insert(0, folder)`: local modules are looked for there, too.
    fn add_search(&mut self, args: &Args) {
        for value in &args.positional {
            if let Value::Str(text) | Value::Path(text) = value
                && let Some(folder) = self.inside(&text.text)
                && !self.search.contains(&folder)
                && self.search.len() < 20
            {
                self.search.push(folder);
            }
        }
    }
}

fn is_literal(expression: &ruff_python_ast::Expr) -> bool {
    use ruff_python_ast::Expr;
    match expression {
        Expr::StringLiteral(_)
        | Expr::NumberLiteral(_)
        | Expr::BooleanLiteral(_)
        | Expr::NoneLiteral(_)
        | Expr::BytesLiteral(_) => true,
        Expr::List(node) => node.elts.iter().all(is_literal),
        Expr::Tuple(node) => node.elts.iter().all(is_literal),
        Expr::Set(node) => node.elts.iter().all(is_literal),
        Expr::Dict(node) => {
            node.items.iter().all(|item| item.key.as_ref().is_some_and(is_literal) && is_literal(&item.value))
        }
        Expr::UnaryOp(node) => is_literal(&node.operand),
        _ => false,
    }
}
