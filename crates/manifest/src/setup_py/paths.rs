//! Paths and files: `os`, `os.path`, `pathlib`, `glob`, `open`. All inside of the project.

use std::rc::Rc;

use ruff_text_size::TextRange;

use super::function::Args;
use super::heap::{File, Object, Written};
use super::interp::{Interp, Run, WRITTEN};
use super::value::{Str, Value};
use crate::files::FileError;

/// What stands for the absolute path of the project's folder. No real path has this name.
pub(super) const ROOT: &str = "/\u{1}project";

/// `os.path.join` of two parts.
pub(super) fn join(base: &str, part: &str) -> String {
    if part.starts_with('/') || base.is_empty() {
        part.to_owned()
    } else if base.ends_with('/') {
        format!("{base}{part}")
    } else {
        format!("{base}/{part}")
    }
}

/// `os.path.normpath`.
fn normalize(path: &str) -> String {
    let absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if matches!(parts.last(), Some(last) if *last != "..") => {
                parts.pop();
            }
            ".." if absolute => {}
            part => parts.push(part),
        }
    }
    match (absolute, parts.is_empty()) {
        (true, _) => format!("/{}", parts.join("/")),
        (false, true) => ".".to_owned(),
        (false, false) => parts.join("/"),
    }
}

fn split(path: &str) -> (&str, &str) {
    match path.rfind('/') {
        Some(0) => ("/", path.get(1..).unwrap_or_default()),
        Some(at) => (path.get(..at).unwrap_or_default(), path.get(at + 1..).unwrap_or_default()),
        None => ("", path),
    }
}

fn split_extension(path: &str) -> (&str, &str) {
    let (_, name) = split(path);
    match name.rfind('.') {
        Some(at) if at > 0 && !name.get(..at).unwrap_or_default().chars().all(|char| char == '.') => {
            path.split_at_checked(path.len() - name.len() + at).unwrap_or((path, ""))
        }
        _ => (path, ""),
    }
}

fn path_text(value: Option<&Value>) -> Option<Str> {
    match value {
        Some(Value::Str(text) | Value::Path(text)) => Some(text.clone()),
        _ => None,
    }
}

impl Interp<'_> {
    fn written(&self) -> Written {
        match self.heap.get(WRITTEN) {
            Some(Object::Written(written)) => written.clone(),
            _ => Written::default(),
        }
    }

    fn write(&mut self, change: impl FnOnce(&mut Written)) {
        if let Some(Object::Written(written)) = self.heap.get_mut(WRITTEN) {
            change(written);
        }
    }

    fn absolute(&self, path: &str) -> String {
        normalize(&join(&join(ROOT, &self.written().folder), path))
    }

    /// The path in the project, without `..`; `None` outside.
    pub(super) fn inside(&self, path: &str) -> Option<String> {
        let absolute = self.absolute(path);
        let rest = absolute.strip_prefix(ROOT)?;
        if rest.is_empty() { Some(String::new()) } else { rest.strip_prefix('/').map(str::to_owned) }
    }

    /// What a file holds, or `None` with the exception or the reason for which it isn't known.
    pub(super) fn read_file(&mut self, path: &str, range: TextRange) -> Run<Result<Str, Value>> {
        let Some(inner) = self.inside(path) else {
            return Ok(Err(self.unknown(range, "the file is outside of the project")));
        };
        let written = self.written();
        if let Some(why) = &written.any {
            return Ok(Err(Value::Unknown(why.clone())));
        }
        if written.paths.contains(&inner) {
            return Ok(Err(self.unknown(range, "the file is written by the script itself")));
        }
        match self.door.read(&inner) {
            Ok(bytes) => {
                self.spend_text(bytes.len(), range)?;
                let text = String::from_utf8_lossy(&bytes);
                let text = text.replace("\r\n", "\n").replace('\r', "\n");
                let origin = reana_model::Origin::new(self.door.display(&inner), 1);
                Ok(Ok(Str { text: text.into(), origin: Some(origin), advances: true }))
            }
            Err(FileError::Absent) => match &written.made {
                Some(why) => Ok(Err(Value::Unknown(why.clone()))),
                None => Err(self.raise("FileNotFoundError", &format!("there is no file {inner}"), range)),
            },
            Err(other) => Ok(Err(self.unknown(range, &other.to_string()))),
        }
    }

    /// `open(path, mode)`.
    pub(super) fn open(&mut self, path: &Value, args: &Args, range: TextRange) -> Run<Value> {
        let Some(path) = path_text(Some(path)) else {
            return Ok(self.as_unknown(path, range, "the path is not known"));
        };
        let mode = match args.get(1, "mode") {
            None => Some("r".into()),
            Some(Value::Str(mode)) => Some(mode.text.clone()),
            Some(_) => None,
        };
        match mode {
            Some(mode) if !mode.contains(['w', 'a', 'x', '+']) => match self.read_file(&path.text, range)? {
                Ok(text) => Ok(Value::Ref(self.alloc(Object::File(File { text, at: 0 })))),
                Err(unknown) => {
                    if let Value::Unknown(why) = &unknown {
                        let why = why.clone();
                        self.may_raise(&why, range)?;
                    }
                    Ok(unknown)
                }
            },
            _ => {
                if let Some(inner) = self.inside(&path.text) {
                    self.write(|written| {
                        written.paths.insert(inner);
                    });
                }
                let why = self.why(range, "the file is written by the script itself");
                self.may_raise(&why, range)?;
                Ok(Value::Unknown(why))
            }
        }
    }

    pub(super) fn file_method(
        &mut self,
        id: usize,
        name: &str,
        args: &Args,
        range: TextRange,
    ) -> Run<Option<Value>> {
        match (name, args.positional.len()) {
            ("read", 0) => {
                let Some(text) = self.read_rest(id) else { return Ok(None) };
                self.spend_text(text.text.len(), range)?;
                Ok(Some(Value::Str(text)))
            }
            ("readlines", 0) | ("__iter__", 0) => {
                let file = Value::Ref(id);
                Ok(self.iterate(&file, range)?.ok().map(|items| self.new_list(items)))
            }
            ("readline", 0) => {
                let Some(Object::File(file)) = self.heap.get_mut(id) else { return Ok(None) };
                let rest = file.text.text.get(file.at..).unwrap_or_default();
                let end = file.at + rest.find('\n').map_or(rest.len(), |at| at + 1);
                let line = file.text.part(file.at, end);
                file.at = end;
                Ok(Some(Value::Str(line)))
            }
            ("close", 0) => Ok(Some(Value::None)),
            ("seek", 1) => match (args.positional.first(), self.heap.get_mut(id)) {
                (Some(Value::Int(0)), Some(Object::File(file))) => {
                    file.at = 0;
                    Ok(Some(Value::None))
                }
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }

    fn exists(&mut self, path: &str, range: TextRange) -> Option<bool> {
        self.spend(20, range).ok()?;
        let inner = self.inside(path)?;
        let written = self.written();
        if written.any.is_some() || written.paths.contains(&inner) {
            return None;
        }
        let is_there = inner.is_empty() || self.door.exists(&inner);
        if !is_there && written.made.is_some() { None } else { Some(is_there) }
    }

    pub(super) fn path_call(&mut self, name: &str, args: &Args, range: TextRange) -> Run<Option<Value>> {
        let path = path_text(args.positional.first());
        let is_path = matches!(args.positional.first(), Some(Value::Path(_)));
        self.spend_text(path.as_ref().map_or(0, |path| path.text.len()), range)?;
        match (name, path) {
            ("os.path.join", Some(first)) => {
                let mut joined = first.text.to_string();
                for value in args.positional.iter().skip(1) {
                    let Some(part) = path_text(Some(value)) else { return Ok(None) };
                    joined = join(&joined, &part.text);
                    self.spend_text(joined.len(), range)?;
                }
                Ok(Some(Value::Str(first.with(joined))))
            }
            ("os.path.dirname", Some(path)) => Ok(Some(Value::Str(path.with(split(&path.text).0)))),
            ("os.path.basename", Some(path)) => Ok(Some(Value::Str(path.with(split(&path.text).1)))),
            ("os.path.split", Some(path)) => {
                let (folder, file) = split(&path.text);
                Ok(Some(Value::tuple(vec![Value::text(folder), Value::text(file)])))
            }
            ("os.path.splitext", Some(path)) => {
                let (stem, extension) = split_extension(&path.text);
                Ok(Some(Value::tuple(vec![Value::text(stem), Value::text(extension)])))
            }
            ("os.path.abspath" | "os.path.realpath", Some(path)) => {
                Ok(Some(Value::text(self.absolute(&path.text))))
            }
            ("os.path.normpath", Some(path)) => Ok(Some(Value::text(normalize(&path.text)))),
            ("os.path.normcase" | "os.fspath", Some(path)) => Ok(Some(Value::Str(path))),
            ("os.path.isabs", Some(path)) => Ok(Some(Value::Bool(path.text.starts_with('/')))),
            ("os.path.exists" | "os.path.lexists", Some(path)) => {
                Ok(self.exists(&path.text, range).map(Value::Bool))
            }
            ("os.path.isfile" | "os.path.isdir", Some(path)) => {
                Ok(self.is_kind(&path.text, name == "os.path.isfile", range).map(Value::Bool))
            }
            ("os.getcwd", None) => Ok(Some(Value::text(self.absolute("")))),
            ("os.chdir", Some(path)) => match self.inside(&path.text) {
                Some(folder) => {
                    self.write(|written| written.folder = folder);
                    Ok(Some(Value::None))
                }
                None => Err(self.fatal(range, "the script leaves the project's folder")),
            },
            ("os.listdir", path) => {
                let folder = path.map_or_else(|| ".".into(), |path| path.text);
                let Some(inner) = self.inside(&folder) else { return Ok(None) };
                let written = self.written();
                if written.any.is_some() || written.made.is_some() || !written.paths.is_empty() {
                    return Ok(None);
                }
                let names = self.door.list(&inner);
                self.spend_items(names.len(), range)?;
                Ok(Some(self.new_list(names.into_iter().map(Value::text).collect())))
            }
            ("glob.glob" | "glob.iglob", Some(pattern)) => self.glob(&pattern, args, range),
            ("pathlib.Path" | "pathlib.PurePath" | "pathlib.PosixPath", first) => {
                let mut joined = first.map_or_else(String::new, |path| path.text.to_string());
                for value in args.positional.iter().skip(1) {
                    let Some(part) = path_text(Some(value)) else { return Ok(None) };
                    joined = join(&joined, &part.text);
                }
                if !args.positional.is_empty() && path_text(args.positional.first()).is_none() {
                    return Ok(None);
                }
                Ok(Some(Value::Path(Str::bare(normalize(&joined)))))
            }
            ("pathlib.Path.cwd", None) => Ok(Some(Value::Path(Str::bare(self.absolute(""))))),
            ("os.path.relpath", Some(path)) if args.positional.len() == 1 => {
                Ok(self.inside(&path.text).filter(|_| self.written().folder.is_empty()).map(Value::text))
            }
            ("os.path.expanduser", Some(path)) if !path.text.starts_with('~') => Ok(Some(Value::Str(path))),
            (name, path) if name.starts_with("os.environ.") || matches!(name, "os.getenv" | "os.putenv") => {
                self.environment_call(name, path.as_ref(), args, range)
            }
            _ => {
                self.note_changes(name, args, is_path, range);
                Ok(None)
            }
        }
    }

    fn environment_call(
        &mut self,
        name: &str,
        variable: Option<&Str>,
        args: &Args,
        range: TextRange,
    ) -> Run<Option<Value>> {
        match (name, variable) {
            ("os.environ.setdefault" | "os.environ.update" | "os.putenv" | "os.environ.pop", _) => {
                let why = self.why(range, "the environment is not known");
                Ok(Some(Value::Unknown(why)))
            }
            ("os.getenv" | "os.environ.get", Some(variable)) if super::stdlib::is_unset(&variable.text) => {
                Ok(Some(args.positional.get(1).cloned().unwrap_or(Value::None)))
            }
            ("os.getenv" | "os.environ.get", _) => {
                let why = self.why(range, "the environment is not known");
                for value in args.values() {
                    self.lose(value);
                }
                Ok(Some(Value::Unknown(why)))
            }
            _ => Ok(None),
        }
    }

    /// What a function that may change files changes.
    fn note_changes(&mut self, name: &str, args: &Args, _is_path: bool, range: TextRange) {
        let changes = name.starts_with("shutil.")
            || matches!(
                name,
                "os.rename"
                    | "os.replace"
                    | "os.remove"
                    | "os.unlink"
                    | "os.symlink"
                    | "os.link"
                    | "os.system"
                    | "os.popen"
                    | "os.makedirs"
                    | "os.mkdir"
                    | "os.rmdir"
            );
        if !changes {
            return;
        }
        let why = self.why(range, "the script changes files itself");
        let paths: Vec<Option<String>> = args
            .values()
            .map(|value| path_text(Some(value)).and_then(|path| self.inside(&path.text)))
            .collect();
        let is_known = args
            .values()
            .all(|value| path_text(Some(value)).is_some() || matches!(value, Value::Bool(_) | Value::Int(_)));
        let is_shell = matches!(name, "os.system" | "os.popen" | "shutil.which");
        self.write(|written| {
            if is_shell || matches!(name, "os.makedirs" | "os.mkdir") {
                written.made.get_or_insert(why);
            } else if !is_known
                || name.starts_with("shutil.")
                    && name != "shutil.copy"
                    && name != "shutil.copyfile"
                    && name != "shutil.copy2"
            {
                written.any.get_or_insert(why);
            } else {
                written.paths.extend(paths.into_iter().flatten());
            }
        });
    }

    /// A program was run: files may be there that were not.
    pub(super) fn note_program(&mut self, range: TextRange) {
        let why = self.why(range, "a program is run that may make files");
        self.write(|written| {
            written.made.get_or_insert(why);
        });
    }

    fn is_kind(&mut self, path: &str, file: bool, range: TextRange) -> Option<bool> {
        if !self.exists(path, range)? {
            return Some(false);
        }
        let inner = self.inside(path)?;
        let is_folder = inner.is_empty() || self.door.is_folder(&inner);
        Some(is_folder != file)
    }

    /// Files that match a pattern with `*` in its last part.
    fn glob(&mut self, pattern: &Str, args: &Args, range: TextRange) -> Run<Option<Value>> {
        let (folder, name) = split(&pattern.text);
        if folder.contains(['*', '?', '['])
            || name.contains(['?', '['])
            || name.contains("**")
            || !args.keywords.is_empty()
        {
            return Ok(None);
        }
        let Some(inner) = self.inside(folder) else { return Ok(None) };
        let written = self.written();
        if written.any.is_some() || written.made.is_some() || !written.paths.is_empty() {
            return Ok(None);
        }
        let parts: Vec<&str> = name.split('*').collect();
        let names = self.door.list(&inner);
        self.spend_items(names.len(), range)?;
        let found: Vec<Value> = names
            .iter()
            .filter(|name| !name.starts_with('.') && matches_parts(name, &parts))
            .map(|name| Value::text(join(folder, name)))
            .collect();
        Ok(Some(self.new_list(found)))
    }

    /// An attribute of a path or a version that is no method.
    pub(super) fn property(&self, value: &Value, name: &str) -> Option<Value> {
        match value {
            Value::Path(path) => {
                let text = &*path.text;
                Some(match name {
                    "parent" => {
                        let parent = split(text).0;
                        Value::Path(Str::bare(if parent.is_empty() { "." } else { parent }))
                    }
                    "name" => Value::text(split(text).1),
                    "stem" => Value::text(split_extension(split(text).1).0),
                    "suffix" => Value::text(split_extension(text).1),
                    _ => return None,
                })
            }
            Value::Version(version) => {
                let release = version.0.release();
                let number = |at: usize| {
                    Value::Int(
                        release.get(at).copied().and_then(|part| i64::try_from(part).ok()).unwrap_or(0),
                    )
                };
                Some(match name {
                    "major" => number(0),
                    "minor" => number(1),
                    "micro" => number(2),
                    "base_version" if version.0.epoch() == 0 => {
                        let parts: Vec<String> = release.iter().map(ToString::to_string).collect();
                        Value::text(parts.join("."))
                    }
                    "is_prerelease" => Value::Bool(version.0.any_prerelease()),
                    "release" => Value::tuple((0..release.len()).map(number).collect()),
                    _ => return None,
                })
            }
            _ => None,
        }
    }

    pub(super) fn path_method(
        &mut self,
        path: &Str,
        name: &str,
        args: &Args,
        range: TextRange,
    ) -> Run<Option<Value>> {
        match name {
            "read_text" | "read_bytes" => match self.read_file(&path.text, range)? {
                Ok(text) => Ok(Some(if name == "read_text" { Value::Str(text) } else { Value::Bytes(text) })),
                Err(unknown) => Ok(Some(unknown)),
            },
            "open" => {
                let mut all = vec![Value::Path(path.clone())];
                all.extend(args.positional.iter().cloned());
                let args = Args { positional: all, keywords: args.keywords.clone(), open: None };
                self.open(&Value::Path(path.clone()), &args, range).map(Some)
            }
            "exists" => Ok(self.exists(&path.text, range).map(Value::Bool)),
            "is_file" | "is_dir" => Ok(self.is_kind(&path.text, name == "is_file", range).map(Value::Bool)),
            "resolve" | "absolute" => Ok(Some(Value::Path(Str::bare(self.absolute(&path.text))))),
            "joinpath" => {
                let mut joined = path.text.to_string();
                for value in &args.positional {
                    let Some(part) = path_text(Some(value)) else { return Ok(None) };
                    joined = join(&joined, &part.text);
                }
                Ok(Some(Value::Path(Str::bare(joined))))
            }
            "with_name" => match path_text(args.positional.first()) {
                Some(name) => Ok(Some(Value::Path(Str::bare(join(split(&path.text).0, &name.text))))),
                None => Ok(None),
            },
            "as_posix" | "__str__" => Ok(Some(Value::Str(path.clone()))),
            _ => Ok(None),
        }
    }
}

fn matches_parts(name: &str, parts: &[&str]) -> bool {
    let [first, middle @ .., last] = parts else { return parts.first().is_some_and(|only| *only == name) };
    let Some(mut rest) = name.strip_prefix(*first) else { return false };
    for part in middle {
        match rest.split_once(*part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(*last)
}

/// Whether a text holds the project's own place on the disk.
pub(super) fn names_root(text: &Rc<str>) -> bool {
    text.contains('\u{1}')
}
