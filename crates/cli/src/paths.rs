//! Paths as locks and messages show them: relative, with `/`.

use std::path::{Component, Path, PathBuf};

/// `path` as it is reached from `folder`, with `../` where needed; both absolute and without `.` and `..`.
pub(crate) fn relative(path: &Path, folder: &Path) -> String {
    let shared = path.components().zip(folder.components()).take_while(|(a, b)| a == b).count();
    let up = folder.components().skip(shared).map(|_| "..".to_owned());
    let down = path.components().skip(shared).map(|part| part.as_os_str().to_string_lossy().into_owned());
    let parts: Vec<String> = up.chain(down).collect();
    if parts.is_empty() { ".".to_owned() } else { parts.join("/") }
}

/// The path without `.` and `..`, by its text alone.
pub(crate) fn tidy(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                tidy.pop();
            }
            part => tidy.push(part),
        }
    }
    tidy
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, folder: &str, expected: &str) {
        assert_eq!(relative(Path::new(path), Path::new(folder)), expected);
    }

    #[test]
    fn relative_paths() {
        check("/a/b/c.in", "/a/b", "c.in");
        check("/a/c.in", "/a/b", "../c.in");
        check("/a/b", "/a/b", ".");
        check("/x/y", "/a/b", "../../x/y");
    }
}
