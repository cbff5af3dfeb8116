//! Wheels (PEP 427) made in memory.

use std::io::{Cursor, Write as _};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use crate::world::escape;

/// A wheel to be made.
#[derive(Clone, Debug)]
pub struct Wheel {
    name: String,
    version: String,
    requires: Vec<String>,
    extras: Vec<String>,
    requires_python: Option<String>,
    tag: String,
    files: Vec<(String, Vec<u8>)>,
}

impl Wheel {
    /// A wheel for every Python 3 that requires nothing.
    pub fn new(name: &str, version: &str) -> Self {
        Self {
            name: name.to_owned(),
            version: version.to_owned(),
            requires: Vec::new(),
            extras: Vec::new(),
            requires_python: None,
            tag: "py3-none-any".to_owned(),
            files: Vec::new(),
        }
    }

    /// With these requirements, as METADATA says them (`b>=1; extra == "x"`).
    #[must_use]
    pub fn requires<T: ToString>(mut self, requires: impl IntoIterator<Item = T>) -> Self {
        self.requires.extend(requires.into_iter().map(|text| text.to_string()));
        self
    }

    /// With these extras.
    #[must_use]
    pub fn extras<T: ToString>(mut self, extras: impl IntoIterator<Item = T>) -> Self {
        self.extras.extend(extras.into_iter().map(|text| text.to_string()));
        self
    }

    /// For these Pythons (`>=3.8`).
    #[must_use]
    pub fn python(mut self, specifiers: &str) -> Self {
        self.requires_python = Some(specifiers.to_owned());
        self
    }

    /// With this tag (`cp312-cp312-manylinux_2_17_x86_64`; a build tag may stand before it).
    #[must_use]
    pub fn tag(mut self, tag: &str) -> Self {
        tag.clone_into(&mut self.tag);
        self
    }

    /// With one more file, before the `.dist-info` folder.
    #[must_use]
    pub fn file(mut self, path: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.files.push((path.to_owned(), bytes.into()));
        self
    }

    /// The name that it has on an index.
    pub fn file_name(&self) -> String {
        format!("{}-{}-{}.whl", escape(&self.name), self.version, self.tag)
    }

    /// The bytes of its METADATA.
    pub fn metadata(&self) -> Vec<u8> {
        let requires: Vec<&str> = self.requires.iter().map(String::as_str).collect();
        let extras: Vec<&str> = self.extras.iter().map(String::as_str).collect();
        let header = format!("Metadata-Version: 2.1\nName: {}\nVersion: {}\n", self.name, self.version);
        let fields = core_fields(&requires, &extras, self.requires_python.as_deref());
        format!("{header}{fields}\nA package of a test.\n").into_bytes()
    }

    /// Its bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let folder = format!("{}-{}.dist-info", escape(&self.name), self.version);
        let module = format!("{}/__init__.py", escape(&self.name));
        let tag = self.tag.rsplitn(4, '-').take(3).collect::<Vec<_>>();
        let tag: Vec<&str> = tag.into_iter().rev().collect();
        let wheel = format!(
            "Wheel-Version: 1.0\nGenerator: testkit\nRoot-Is-Purelib: true\nTag: {}\n",
            tag.join("-")
        );
        let mut members: Vec<(String, Vec<u8>)> = vec![(module, Vec::new())];
        members.extend(self.files.iter().cloned());
        members.push((format!("{folder}/METADATA"), self.metadata()));
        members.push((format!("{folder}/WHEEL"), wheel.into_bytes()));
        let record: String = members.iter().map(|(path, _)| format!("{path},,\n")).collect();
        members.push((format!("{folder}/RECORD"), format!("{record}{folder}/RECORD,,\n").into_bytes()));
        zip(&members)
    }
}

/// The name and the bytes of a wheel with these requirements, extras and tag.
pub fn wheel(name: &str, version: &str, requires: &[&str], extras: &[&str], tag: &str) -> (String, Vec<u8>) {
    let wheel = Wheel::new(name, version).requires(requires).extras(extras).tag(tag);
    (wheel.file_name(), wheel.bytes())
}

/// The lines that METADATA and PKG-INFO have after name and version.
pub(crate) fn core_fields(requires: &[&str], extras: &[&str], requires_python: Option<&str>) -> String {
    let python = requires_python.map(|python| format!("Requires-Python: {python}\n"));
    let extras = extras.iter().map(|extra| format!("Provides-Extra: {extra}\n"));
    let requires = requires.iter().map(|requires| format!("Requires-Dist: {requires}\n"));
    python.into_iter().chain(extras).chain(requires).collect()
}

/// A zip archive of these files, in this order.
pub fn zip<P: AsRef<str>, B: AsRef<[u8]>>(members: &[(P, B)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .last_modified_time(DateTime::default())
        .unix_permissions(0o644);
    for (path, bytes) in members {
        writer.start_file(path.as_ref(), options).expect("a member's name");
        writer.write_all(bytes.as_ref()).expect("memory takes what is written");
    }
    writer.finish().expect("a complete archive").into_inner()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_bytes_each_time() {
        let make = || wheel("Foo.Bar", "1.0", &["b>=1"], &["x"], "py2.py3-none-any");
        assert_eq!(make(), make());
        assert_eq!(make().0, "foo_bar-1.0-py2.py3-none-any.whl");
    }

    #[test]
    fn metadata_says_what_was_asked_for() {
        let wheel = Wheel::new("a", "1").requires(["b; extra == 'x'"]).extras(["x"]).python(">=3.8");
        let text = String::from_utf8(wheel.metadata()).expect("text");
        let expected = "Metadata-Version: 2.1\nName: a\nVersion: 1\nRequires-Python: >=3.8\n\
            Provides-Extra: x\nRequires-Dist: b; extra == 'x'\n\nA package of a test.\n";
        assert_eq!(text, expected);
    }
}
