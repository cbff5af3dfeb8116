//! What the fuzzers feed, one function for each kind of text or archive that comes from outside.
//!
//! Each takes any bytes whatever and must end, without a panic, in bounded memory. `fuzz_targets/` gives them to
//! libFuzzer; the tests of the command include this file and feed it what `corpus/` keeps.

use std::sync::Arc;

use reana_index::archive::{TailAnswer, metadata_from_tail, metadata_from_wheel};
use reana_index::wire::{Format, html, parse_core};
use reana_index::{sdist, wire};
use reana_manifest::{Extras, MemoryFiles, Viewpoint, read_constraints, read_project, read_requirements};
use reana_model::{
    DistName, Grade, PackageName, Platform, PythonVersion, Requirement, Target, Version, requirements_file,
};

/// A target's name, which is also its folder's in `corpus/`, and its function.
pub type Feed = (&'static str, fn(&[u8]));

/// All targets.
pub const FEEDS: [Feed; 11] = [
    ("setup_py", setup_py),
    ("setup_cfg", setup_cfg),
    ("pyproject", pyproject),
    ("requirements", requirements),
    ("lock", lock),
    ("metadata", metadata),
    ("page_json", page_json),
    ("page_html", page_html),
    ("file_name", file_name),
    ("sdist", read_sdist),
    ("wheel", read_wheel),
];

fn target(minor: u8) -> Target {
    Target { python: PythonVersion::newest(3, minor), platform: Platform::LinuxAmd64 }
}

fn package() -> PackageName {
    PackageName::new("foo".to_owned()).unwrap_or_else(|_| unreachable!("`foo` is a name"))
}

/// A project with one manifest of these bytes, and files that it may read.
fn project(manifest: &str, bytes: &[u8]) {
    let files = MemoryFiles::of([
        ("foo/__init__.py", b"from .version import __version__\n".to_vec()),
        ("foo/version.py", b"__version__ = \"1.0\"\nnames = ['a', 'b']\n".to_vec()),
        ("README.rst", b"Foo\n===\n".to_vec()),
        ("VERSION", b"1.0\n".to_vec()),
        ("requirements.txt", b"a>=1\nb\n".to_vec()),
        (manifest, bytes.to_vec()),
    ]);
    if let Ok(declared) = read_project(&files, "foo", &target(12)) {
        let _ = declared.extra_names();
        let _ = declared.unfold(&Extras::All);
        let _ = declared.requirements(&Extras::None);
    }
}

/// A setup.py.
pub fn setup_py(bytes: &[u8]) {
    project("setup.py", bytes);
}

/// A setup.cfg.
pub fn setup_cfg(bytes: &[u8]) {
    project("setup.cfg", bytes);
}

/// A pyproject.toml.
pub fn pyproject(bytes: &[u8]) {
    project("pyproject.toml", bytes);
}

/// A requirements file.
pub fn requirements(bytes: &[u8]) {
    let (text, _) = requirements_file::decode(bytes);
    let _ = requirements_file::parse(&text);
    let files = MemoryFiles::of([
        ("a.in", bytes.to_vec()),
        ("b.in", b"b>=1\n".to_vec()),
        ("sub/c.in", b"-r ../b.in\nc; python_version < '3'\n".to_vec()),
    ]);
    let viewpoint = Viewpoint { files: &files, root: "/", folder: "", shown: &|path| path.to_owned() };
    let _ = read_requirements(&viewpoint, "a.in");
    let _ = read_constraints(&viewpoint, "a.in");
}

/// A lock with its header.
pub fn lock(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let lock = reana_lockfile::parse(&text, "requirements.txt");
    assert!(reana_lockfile::diff(&lock, &lock).is_empty(), "a lock differs from itself");
}

/// METADATA or PKG-INFO.
pub fn metadata(bytes: &[u8]) {
    let Ok(fields) = parse_core(bytes) else { return };
    let _ = fields.is_static("Requires-Dist");
    if let Ok(metadata) = fields.to_metadata("foo-1.0.whl", Grade::Wheel) {
        let environment = target(12).marker_environment();
        for requirement in &metadata.requires_dist {
            let _ = requirement.marker.evaluate(&environment, &metadata.provides_extra);
            let _ = requirement.specifiers();
            let _ = reana_lockfile::marker_text(&requirement.marker);
        }
    }
}

fn page(format: Format, bytes: &[u8]) {
    let Ok(address) = "https://index.test/simple/foo/".parse() else { return };
    let Ok(page) = format.read(bytes, &address, &package()) else { return };
    for file in &page.files {
        assert!(!file.url.contains('#'), "a fragment is left in {}", file.url);
        let tags = target(12).tags();
        let _ = file.name.wheel().map(|wheel| tags.rank(wheel));
    }
}

/// A page of the simple API in JSON.
pub fn page_json(bytes: &[u8]) {
    page(Format::Json, bytes);
    let _ = wire::Format::of("", bytes);
}

/// A page of the simple API in HTML, and one of links.
pub fn page_html(bytes: &[u8]) {
    page(Format::Html, bytes);
    let Ok(address) = "file:///links/".parse() else { return };
    let _ = html::read_links(bytes, &address, &package());
}

/// A file's name, a requirement or a version: a line each.
pub fn file_name(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for line in text.lines() {
        if let Ok(name) = DistName::parse(line, &package()) {
            assert_eq!(name.file(), line, "the name is kept whole");
        }
        let origin = reana_model::Origin { file: Arc::from("a"), line: 1 };
        let _ = Requirement::parse_mended(line, origin);
        let _ = line.parse::<Version>();
    }
}

/// An sdist: a zip or a gzipped tar by its first bytes, else a bare tar.
pub fn read_sdist(bytes: &[u8]) {
    let file = match bytes {
        [b'P', b'K', ..] => "foo-1.0.zip",
        [b'B', b'Z', b'h', ..] => "foo-1.0.tar.bz2",
        _ => "foo-1.0.tar.gz",
    };
    let _ = sdist::read(bytes, file, &package(), &Version::new([1, 0]), &target(12));
}

/// A wheel: whole, and by ever longer ends of it, which must give the same.
pub fn read_wheel(bytes: &[u8]) {
    let whole = metadata_from_wheel(bytes);
    let total = bytes.len() as u64;
    let mut start = total.saturating_sub(64);
    for _ in 0..8 {
        let Some(tail) = usize::try_from(start).ok().and_then(|start| bytes.get(start..)) else { return };
        match metadata_from_tail(tail, total) {
            Ok(TailAnswer::Need { start: needed, .. }) => {
                assert!(needed < start, "more is asked for, and it is no more");
                start = needed;
            }
            Ok(TailAnswer::Metadata(metadata)) => {
                assert_eq!(whole.as_ref(), Ok(&metadata), "the end says other things than the whole");
                return;
            }
            Err(_) => return,
        }
    }
    unreachable!("a wheel's end is asked for too often");
}
