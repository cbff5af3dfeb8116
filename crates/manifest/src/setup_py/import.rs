//! Imports: what is known of modules, the project's own, and `exec` of its files.

use std::rc::Rc;

use reana_model::PythonVersion;
use ruff_python_ast::{Alias, Stmt, StmtImportFrom};
use ruff_text_size::TextRange;

use super::function::Args;
use super::heap::{Dict, Object, Scope};
use super::interp::{Exits, Interp, Run, Stop};
use super::source::Source;
use super::value::{Id, Str, Value};

/// Modules that every Python 3 of the supported ones has, or setuptools brings.
const PRESENT: [&str; 118] = [
    "__future__",
    "abc",
    "argparse",
    "array",
    "ast",
    "asyncio",
    "atexit",
    "base64",
    "bdb",
    "binascii",
    "bisect",
    "builtins",
    "bz2",
    "calendar",
    "cmath",
    "cmd",
    "code",
    "codecs",
    "codeop",
    "collections",
    "colorsys",
    "compileall",
    "concurrent",
    "configparser",
    "contextlib",
    "copy",
    "copyreg",
    "csv",
    "ctypes",
    "curses",
    "datetime",
    "decimal",
    "difflib",
    "dis",
    "doctest",
    "email",
    "encodings",
    "enum",
    "errno",
    "fcntl",
    "filecmp",
    "fileinput",
    "fnmatch",
    "fractions",
    "ftplib",
    "functools",
    "gc",
    "getopt",
    "getpass",
    "gettext",
    "glob",
    "grp",
    "gzip",
    "hashlib",
    "heapq",
    "hmac",
    "html",
    "http",
    "imaplib",
    "importlib",
    "inspect",
    "io",
    "ipaddress",
    "itertools",
    "json",
    "keyword",
    "linecache",
    "locale",
    "logging",
    "lzma",
    "marshal",
    "math",
    "mimetypes",
    "mmap",
    "multiprocessing",
    "netrc",
    "numbers",
    "operator",
    "optparse",
    "os",
    "pathlib",
    "pdb",
    "pickle",
    "pkgutil",
    "platform",
    "plistlib",
    "pprint",
    "pwd",
    "py_compile",
    "queue",
    "random",
    "re",
    "runpy",
    "select",
    "shlex",
    "shutil",
    "signal",
    "site",
    "socket",
    "sqlite3",
    "ssl",
    "stat",
    "string",
    "struct",
    "subprocess",
    "sys",
    "sysconfig",
    "tarfile",
    "tempfile",
    "textwrap",
    "threading",
    "time",
    "traceback",
    "types",
    "typing",
    "unittest",
    "urllib",
    "zipfile",
];
const PRESENT_TOO: [&str; 14] = [
    "uuid",
    "warnings",
    "weakref",
    "xml",
    "zlib",
    "tokenize",
    "token",
    "trace",
    "statistics",
    "secrets",
    "zipimport",
    "setuptools",
    "distutils",
    "tomllib",
];

/// Modules that only Python 2 has.
const PYTHON_2: [&str; 24] = [
    "ConfigParser",
    "urllib2",
    "urlparse",
    "commands",
    "StringIO",
    "cStringIO",
    "__builtin__",
    "Queue",
    "httplib",
    "cPickle",
    "HTMLParser",
    "exceptions",
    "md5",
    "sets",
    "thread",
    "Tkinter",
    "xmlrpclib",
    "SocketServer",
    "dummy_thread",
    "BaseHTTPServer",
    "htmlentitydefs",
    "popen2",
    "compiler",
    "new",
];

/// Whether a module is there to be imported, outside of the project; `None` where that is not known.
fn is_present(top: &str, python: PythonVersion) -> Option<bool> {
    let is_old = python.major == 2;
    if PYTHON_2.contains(&top) {
        return Some(is_old);
    }
    match top {
        "imp" | "asyncore" | "asynchat" | "smtpd" => Some(is_old || python.minor < 12),
        "cgi" | "crypt" | "pipes" | "telnetlib" | "uu" | "nntplib" => Some(is_old || python.minor < 13),
        // setuptools has it up to version 81; Python 3.8 and older get none that is newer.
        "pkg_resources" if is_old || python.minor < 9 => Some(true),
        "tomllib" => Some(!is_old && python.minor >= 11),
        "builtins" | "configparser" | "queue" | "html" | "pathlib" | "enum" if is_old => None,
        _ if PRESENT.contains(&top) || PRESENT_TOO.contains(&top) => Some(true),
        _ => None,
    }
}

impl Interp<'_> {
    pub(super) fn import_module(&mut self, alias: &Alias, range: TextRange) -> Run<()> {
        let dotted = alias.name.as_str();
        let value = self.import(dotted, range)?;
        match &alias.asname {
            Some(name) => self.store(name.as_str(), value),
            None => {
                let top = dotted.split('.').next().unwrap_or(dotted);
                let value = if top == dotted { value } else { self.import(top, range)? };
                self.store(top, value);
            }
        }
        Ok(())
    }

    /// A module by its dotted name: the project's own, one that is known, or an unknown.
    pub(super) fn import(&mut self, dotted: &str, range: TextRange) -> Run<Value> {
        self.spend(10, range)?;
        let top = dotted.split('.').next().unwrap_or(dotted);
        let present = is_present(top, self.target.python);
        if present != Some(true)
            && let Some(module) = self.import_local(dotted, range)?
        {
            return Ok(module);
        }
        if PYTHON_2.contains(&top) || matches!(top, "imp" | "tomllib" | "cgi" | "pipes") {
            self.consulted.python = true;
        }
        match present {
            Some(true) => Ok(Value::builtin(dotted)),
            Some(false) => Err(self.raise("ModuleNotFoundError", &format!("No module named '{top}'"), range)),
            None => {
                let why = self.why(range, &format!("the module `{top}` is not known"));
                self.may_raise(&why, range)?;
                match top {
                    // Their functions are modelled: whoever builds has them, or the import ends it.
                    "pkg_resources" | "packaging" | "pip" | "six" | "typing_extensions" => {
                        Ok(Value::builtin(dotted))
                    }
                    "numpy" if dotted == "numpy.distutils.core" => Ok(Value::builtin(dotted)),
                    _ => Ok(Value::Unknown(why)),
                }
            }
        }
    }

    pub(super) fn import_from(&mut self, node: &StmtImportFrom) -> Run<()> {
        let module = node.module.as_ref().map_or("", |module| module.as_str());
        let range = node.range;
        let value = if node.level > 0 {
            match self.relative(module, node.level) {
                Some(dotted) if !dotted.is_empty() => self.import(&dotted, range)?,
                _ => self.unknown(range, "this relative import is not evaluated"),
            }
        } else {
            self.import(module, range)?
        };
        for alias in &node.names {
            let name = alias.name.as_str();
            if name == "*" {
                self.import_all(&value, module, range)?;
                continue;
            }
            let item = match &value {
                Value::Builtin(owner) if &**owner == "__future__" => {
                    Value::builtin(format!("__future__.{name}"))
                }
                Value::Builtin(owner) => {
                    let owner = owner.clone();
                    if !is_sure(&owner, name) {
                        let why = self.why(range, &format!("it is not known whether `{owner}` has `{name}`"));
                        self.may_raise(&why, range)?;
                    }
                    self.builtin_attribute(&owner, name, range)?
                }
                value => match self.attribute(value, name, range) {
                    Err(Stop::Raise(_)) => {
                        return Err(self.raise(
                            "ImportError",
                            &format!("cannot import name '{name}'"),
                            range,
                        ));
                    }
                    item => item?,
                },
            };
            self.store(alias.asname.as_ref().map_or(name, |name| name.as_str()), item);
        }
        Ok(())
    }

    fn import_all(&mut self, value: &Value, module: &str, range: TextRange) -> Run<()> {
        let scope = match self.object(value) {
            Some(Object::Module { scope, .. }) => Some(*scope),
            _ => None,
        };
        if let Some(Object::Scope(scope)) = scope.and_then(|scope| self.heap.get(scope)).cloned() {
            for (name, value) in scope.names {
                if !name.starts_with('_') {
                    self.store(&name, value);
                }
            }
            if let Some(why) = scope.open {
                self.open_scope(self.scope, &why);
            }
            return Ok(());
        }
        let names: &[&str] = match module {
            "setuptools" => {
                &["setup", "find_packages", "Extension", "Command", "Distribution", "find_namespace_packages"]
            }
            "distutils.core" => &["setup", "Extension", "Command", "Distribution"],
            _ => &[],
        };
        for name in names {
            self.store(name, Value::builtin(format!("{module}.{name}")));
        }
        if names.is_empty() {
            let why = self
                .reason_in(value, 0)
                .unwrap_or_else(|| self.why(range, "it is not known which names this imports"));
            self.open_scope(self.scope, &why);
        }
        Ok(())
    }

    /// Unknown code may have set any name of a scope.
    fn open_scope(&mut self, scope: Id, why: &super::value::Why) {
        let children = self.heap.children(scope);
        self.lose_all(&children);
        if let Some(Object::Scope(scope)) = self.heap.get_mut(scope) {
            for value in scope.names.values_mut() {
                *value = Value::Unknown(why.clone());
            }
            scope.open = Some(why.clone());
        }
    }

    fn relative(&self, module: &str, level: u32) -> Option<String> {
        let path = self.source.path.strip_suffix(".py")?;
        let mut parts: Vec<&str> = path.split('/').collect();
        for _ in 0..level {
            parts.pop()?;
        }
        if !module.is_empty() {
            parts.extend(module.split('.'));
        }
        Some(parts.join("."))
    }

    /// A module of the project; `None` where it has none of that name.
    pub(super) fn import_local(&mut self, dotted: &str, range: TextRange) -> Run<Option<Value>> {
        if dotted.split('.').any(|part| part.is_empty() || part.contains('/')) {
            return Ok(None);
        }
        let relative = dotted.replace('.', "/");
        let mut found = None;
        for folder in self.search.clone() {
            let base = super::paths::join(&folder, &relative);
            for candidate in [format!("{base}/__init__.py"), format!("{base}.py")] {
                if found.is_none() && self.door.exists(&candidate) {
                    found = Some(candidate);
                }
            }
        }
        let Some(path) = found else { return Ok(None) };
        if let Some((parent, _)) = dotted.rsplit_once('.') {
            self.import_local(parent, range)?;
        }
        if let Some(id) = self.modules.get(dotted)
            && self.heap.get(*id).is_some()
        {
            return Ok(Some(Value::Ref(*id)));
        }
        let text = match self.read_file(&format!("{}/{path}", super::paths::ROOT), range)? {
            Ok(text) => text,
            Err(unknown) => return Ok(Some(unknown)),
        };
        let scope = self.alloc(Object::Scope(Scope::default()));
        let id = self.alloc(Object::Module { name: dotted.into(), scope });
        self.modules.insert(dotted.to_owned(), id);
        self.store_in(scope, "__name__", Value::text(dotted));
        self.run_module(&text, &path, scope, range)?;
        Ok(Some(Value::Ref(id)))
    }

    /// Runs a file of the project in a scope.
    fn run_module(&mut self, text: &Str, path: &str, scope: Id, range: TextRange) -> Run<()> {
        let file = self.door.display(path);
        let source = match Source::parse(&text.text, &file, path) {
            Ok(source) => Rc::new(source),
            Err(unknown) => {
                let why = Rc::new(unknown);
                self.may_raise(&why, range)?;
                self.open_scope(scope, &why);
                return Ok(());
            }
        };
        self.spend_text(text.text.len(), range)?;
        self.prepare(&source, scope, None);
        self.run_source(&source, scope, range)
    }

    /// Sets the names that every module has.
    pub(super) fn prepare(&mut self, source: &Source, scope: Id, name: Option<&str>) {
        let file = super::paths::join(super::paths::ROOT, &source.path);
        self.store_in(scope, "__file__", Value::text(file));
        if let Some(name) = name {
            self.store_in(scope, "__name__", Value::text(name));
        }
        let doc = match source.body.first() {
            Some(Stmt::Expr(node)) => match &*node.value {
                ruff_python_ast::Expr::StringLiteral(text) => Value::text(text.value.to_str()),
                _ => Value::None,
            },
            _ => Value::None,
        };
        self.store_in(scope, "__doc__", doc);
    }

    pub(super) fn run_source(&mut self, source: &Rc<Source>, scope: Id, range: TextRange) -> Run<()> {
        self.enter(range)?;
        self.depth += 20;
        let outer_scope = std::mem::replace(&mut self.scope, scope);
        let outer_globals = std::mem::replace(&mut self.globals, scope);
        let outer_source = std::mem::replace(&mut self.source, source.clone());
        let depth = self.depth;
        let mut exits = Exits::default();
        let result = self.block(&source.body, &mut exits);
        self.depth = depth.saturating_sub(21);
        self.scope = outer_scope;
        self.globals = outer_globals;
        self.source = outer_source;
        if result? { Ok(()) } else { Err(Stop::Dead) }
    }

    /// `exec(code, namespace)`.
    pub(super) fn exec(&mut self, code: &Value, args: &Args, range: TextRange) -> Run<Value> {
        let namespace = args.positional.get(1).or_else(|| args.get(1, "globals")).cloned();
        let locals = args.positional.get(2).cloned();
        let (Value::Str(text) | Value::Bytes(text)) = code else {
            let why = self.reason_in(code, 0).unwrap_or_else(|| self.why(range, "this code is not known"));
            match namespace {
                Some(Value::Ref(id)) => self.havoc(&[Value::Ref(id)], &why, range)?,
                _ => self.open_scope(self.globals, &why),
            }
            if let Some(locals) = locals {
                self.havoc(&[locals], &why, range)?;
            }
            self.may_raise(&why, range)?;
            return Ok(Value::None);
        };
        let path =
            text.origin.as_ref().map_or_else(|| self.source.file.clone(), |origin| origin.file.clone());
        let inner: String = path.strip_prefix(&*self.door.prefix).unwrap_or(&path).to_owned();
        let source = match Source::parse(&text.text, &path, &inner) {
            Ok(source) => Rc::new(source),
            Err(unknown) => return Err(Stop::Fatal(Box::new(unknown))),
        };
        self.spend_text(text.text.len(), range)?;
        let target = locals.or(namespace);
        match target {
            Some(Value::Ref(id)) if matches!(self.heap.get(id), Some(Object::Dict(_))) => {
                self.exec_in_dict(&source, id, range)?;
            }
            None => self.run_source(&source, self.scope, range)?,
            Some(Value::Builtin(name)) if &*name == "<globals>" => {
                self.run_source(&source, self.globals, range)?;
            }
            Some(other) => {
                let why = self
                    .reason_in(&other, 0)
                    .unwrap_or_else(|| self.why(range, "this namespace is not evaluated"));
                self.havoc(&[other], &why, range)?;
            }
        }
        Ok(Value::None)
    }

    fn exec_in_dict(&mut self, source: &Rc<Source>, id: Id, range: TextRange) -> Run<()> {
        let Some(Object::Dict(dict)) = self.heap.get(id).cloned() else { return Ok(()) };
        let mut scope = Scope { open: dict.open.clone(), ..Scope::default() };
        for (key, entry) in &dict.entries {
            if let super::value::Key::Str(name) = key {
                let value = match &entry.maybe {
                    Some(why) => Value::Unknown(why.clone()),
                    None => entry.value.clone(),
                };
                scope.names.insert(name.clone(), value);
            }
        }
        let scope = self.alloc(Object::Scope(scope));
        self.run_source(source, scope, range)?;
        let Some(Object::Scope(scope)) = self.heap.get(scope).cloned() else { return Ok(()) };
        let mut result = Dict { open: scope.open, ..dict };
        for (name, value) in scope.names {
            self.insert(&mut result, Value::text(name), value, range);
        }
        self.heap.put(id, Object::Dict(result));
        Ok(())
    }

    /// `imp.load_source(name, path)`, `runpy.run_path(path)`, `importlib.import_module(name)`.
    pub(super) fn load_source(&mut self, name: &str, args: &Args, range: TextRange) -> Run<Option<Value>> {
        if name == "importlib.import_module" {
            return match &args.positional[..] {
                [Value::Str(module)] => self.import(&module.text.clone(), range).map(Some),
                _ => Ok(None),
            };
        }
        let path = args.positional.get(usize::from(name == "imp.load_source"));
        let Some(Value::Str(path) | Value::Path(path)) = path else { return Ok(None) };
        let path = path.text.clone();
        let Some(inner) = self.inside(&path) else { return Ok(None) };
        let text = match self.read_file(&path, range)? {
            Ok(text) => text,
            Err(unknown) => return Ok(Some(unknown)),
        };
        let scope = self.alloc(Object::Scope(Scope::default()));
        let module = if name == "imp.load_source" { "module" } else { "<run_path>" };
        self.store_in(scope, "__name__", Value::text(module));
        self.run_module(&text, &inner, scope, range)?;
        if name == "imp.load_source" {
            return Ok(Some(Value::Ref(self.alloc(Object::Module { name: module.into(), scope }))));
        }
        let Some(Object::Scope(scope)) = self.heap.get(scope).cloned() else { return Ok(None) };
        let mut dict = Dict { open: scope.open, ..Dict::default() };
        for (name, value) in scope.names {
            self.insert(&mut dict, Value::text(name), value, range);
        }
        Ok(Some(Value::Ref(self.alloc(Object::Dict(dict)))))
    }
}

/// Whether a module has a name in every version that may be met.
fn is_sure(module: &str, name: &str) -> bool {
    match module {
        "setuptools" => matches!(
            name,
            "setup" | "find_packages" | "Extension" | "Command" | "Distribution" | "find_namespace_packages"
        ),
        "pkg_resources" => {
            matches!(name, "parse_version" | "parse_requirements" | "require" | "VersionConflict")
        }
        "distutils.core" => matches!(name, "setup" | "Extension" | "Command" | "Distribution"),
        "os" | "os.path" | "sys" | "re" | "io" | "codecs" | "glob" | "platform" | "ast" | "json"
        | "subprocess" | "shutil" | "collections" | "itertools" | "functools" | "datetime" | "time"
        | "pathlib" | "copy" | "warnings" => !matches!(
            name,
            "Mapping"
                | "MutableMapping"
                | "Sequence"
                | "linux_distribution"
                | "dist"
                | "getcwdu"
                | "maxint"
                | "izip"
                | "imap"
                | "ifilter"
        ),
        _ => false,
    }
}
