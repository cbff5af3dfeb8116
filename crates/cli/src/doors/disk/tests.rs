//! Tests of the door to the file system, in folders of their own.
#![expect(clippy::disallowed_methods, reason = "these tests set files up")]

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use super::*;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

#[test]
fn a_project_is_not_left() {
    let outer = folder();
    let root = outer.path().join("project");
    fs::create_dir_all(root.join("sub")).expect("a folder");
    fs::write(outer.path().join("secret"), "s").expect("a file");
    fs::write(root.join("setup.py"), "x").expect("a file");
    symlink("../secret", root.join("link")).expect("a link");
    symlink("setup.py", root.join("own")).expect("a link");
    symlink("..", root.join("up")).expect("a link");
    symlink("loop", root.join("loop")).expect("a link");
    let project = Project::open(&root).expect("a project");

    let check = |path: &str, expected: Result<&str, FileError>| {
        assert_eq!(project.read(path), expected.map(|text| text.as_bytes().to_vec()), "{path}");
    };
    check("setup.py", Ok("x"));
    check("./sub/../setup.py", Ok("x"));
    check("own", Ok("x"));
    check("link", Err(FileError::Outside));
    check("up/secret", Err(FileError::Outside));
    check("up/project/setup.py", Ok("x"));
    check("../secret", Err(FileError::Outside));
    check("/etc/passwd", Err(FileError::Outside));
    check("absent", Err(FileError::Absent));
    check("setup.py/x", Err(FileError::Absent));
    check("sub", Err(FileError::Unreadable("not a regular file".to_owned())));
    check("nul\0", Err(FileError::Unreadable("file name contained an unexpected NUL byte".to_owned())));
    assert!(matches!(project.read("loop"), Err(FileError::Unreadable(_))));
    assert!(project.exists("sub") && project.exists("") && !project.exists("link") && !project.exists("no"));
    assert_eq!(project.list(""), ["link", "loop", "own", "setup.py", "sub", "up"]);
    assert_eq!(project.list("up"), Vec::<String>::new());
}

#[test]
fn what_is_no_regular_file_is_not_opened() {
    let root = folder();
    let path = root.path().join("setup.py");
    let _listener = UnixListener::bind(&path).expect("a socket");
    assert!(matches!(read(&path), Err(DiskError::NotAFile { .. })));
    assert_eq!(entry(&path), Entry::Other);
    assert!(matches!(read(Path::new("/dev/zero")), Err(DiskError::NotAFile { .. })));
}

#[test]
fn reads_are_bounded() {
    let root = folder();
    let path = root.path().join("file");
    fs::write(&path, "12345").expect("a file");
    assert_eq!(read_limited(&path, 5).expect("the bytes"), b"12345");
    assert!(matches!(read_limited(&path, 4), Err(DiskError::TooLarge { .. })));
    assert!(matches!(read_if_there(&root.path().join("absent")), Ok(None)));
    fs::write(&path, b"\xff").expect("a file");
    assert!(matches!(read_text(&path), Err(DiskError::NotText { .. })));
}

#[test]
fn a_write_keeps_the_mode_and_follows_a_link() {
    let root = folder();
    let (file, link) = (root.path().join("file"), root.path().join("link"));
    fs::write(&file, "old").expect("a file");
    fs::set_permissions(&file, Permissions::from_mode(0o640)).expect("a mode");
    symlink("file", &link).expect("a link");
    write(&link, b"new").expect("written");
    assert_eq!(fs::read(&file).expect("the bytes"), b"new");
    assert_eq!(fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o640);
    assert!(is_link(&link));
    assert_eq!(names(root.path()).expect("names"), ["file", "link"]);
}

#[test]
fn a_write_that_fails_leaves_nothing() {
    let root = folder();
    fs::create_dir_all(root.path().join("taken")).expect("a folder");
    assert!(matches!(write(&root.path().join("taken"), b"x"), Err(DiskError::NotAFile { .. })));
    assert!(matches!(write(&root.path().join("no/file"), b"x"), Err(DiskError::Absent { .. })));
    assert_eq!(names(root.path()).expect("names"), ["taken"]);
    write(Path::new("/dev/null"), b"x").expect("a device is written to as it stands");
}

#[test]
fn a_locked_folder_is_busy_until_let_go() {
    let root = folder();
    let first = try_lock(root.path()).expect("an answer");
    assert!(matches!(first, Locking::Got(Some(_))));
    assert!(matches!(try_lock(root.path()), Ok(Locking::Busy)));
    drop(first);
    assert!(matches!(try_lock(root.path()), Ok(Locking::Got(Some(_)))));
}
