//! The classes of Python's exceptions.

/// Classes with their parent.
const PARENTS: [(&str, &str); 40] = [
    ("SystemExit", "BaseException"),
    ("KeyboardInterrupt", "BaseException"),
    ("GeneratorExit", "BaseException"),
    ("Exception", "BaseException"),
    ("ArithmeticError", "Exception"),
    ("ZeroDivisionError", "ArithmeticError"),
    ("OverflowError", "ArithmeticError"),
    ("AssertionError", "Exception"),
    ("AttributeError", "Exception"),
    ("EOFError", "Exception"),
    ("ImportError", "Exception"),
    ("ModuleNotFoundError", "ImportError"),
    ("LookupError", "Exception"),
    ("IndexError", "LookupError"),
    ("KeyError", "LookupError"),
    ("MemoryError", "Exception"),
    ("NameError", "Exception"),
    ("UnboundLocalError", "NameError"),
    ("OSError", "Exception"),
    ("FileNotFoundError", "OSError"),
    ("FileExistsError", "OSError"),
    ("PermissionError", "OSError"),
    ("NotADirectoryError", "OSError"),
    ("IsADirectoryError", "OSError"),
    ("ProcessLookupError", "OSError"),
    ("ConnectionError", "OSError"),
    ("TimeoutError", "OSError"),
    ("RuntimeError", "Exception"),
    ("NotImplementedError", "RuntimeError"),
    ("RecursionError", "RuntimeError"),
    ("StopIteration", "Exception"),
    ("SyntaxError", "Exception"),
    ("SystemError", "Exception"),
    ("TypeError", "Exception"),
    ("ValueError", "Exception"),
    ("UnicodeError", "ValueError"),
    ("UnicodeDecodeError", "UnicodeError"),
    ("UnicodeEncodeError", "UnicodeError"),
    ("Warning", "Exception"),
    ("DeprecationWarning", "Warning"),
];

/// The name under which Python 3 knows a class.
pub(super) fn canonical(name: &str) -> &str {
    match name {
        "IOError" | "EnvironmentError" => "OSError",
        "distutils.errors.DistutilsError" => "Exception",
        name => name,
    }
}

/// Whether a name is that of an exception's class.
pub(super) fn is_exception(name: &str) -> bool {
    let name = canonical(name);
    name == "BaseException" || PARENTS.iter().any(|(class, _)| *class == name)
}

/// Whether one class of exceptions derives from another; `None` where one of them is not known here.
pub(super) fn is_subclass(class: &str, of: &str) -> Option<bool> {
    let (mut class, of) = (canonical(class), canonical(of));
    if class == of {
        return Some(true);
    }
    if !is_exception(class) || !is_exception(of) {
        return None;
    }
    while let Some((_, parent)) = PARENTS.iter().find(|(name, _)| *name == class) {
        if *parent == of {
            return Some(true);
        }
        class = parent;
    }
    Some(false)
}
