//! Core metadata files: METADATA in wheels, PKG-INFO in sdists (PEP 241, 314, 345, 566, 643, 685).
//!
//! The format is that of mail headers: `Field: value`, folded lines, a body after a blank line. Read as
//! Python's own mail parser reads it: a line that is neither ends the headers.

use reana_model::{
    ExtraName, Grade, Metadata, Origin, PackageName, Requirement, RequirementError, Version,
    VersionSpecifiers, requirement::parse_specifiers_mended,
};

/// The bounds on what is taken apart, far beyond what is seen on indexes.
const MOST_REQUIREMENTS: usize = 10_000;
const LONGEST_REQUIREMENT: usize = 8 << 10;

/// The fields that resolving needs, as they are written in the file.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct CoreFields {
    /// `Metadata-Version`, as numbers that can be compared: `(2, 2)`. `(0, 0)` where it is not said.
    pub metadata_version: (u32, u32),
    /// `Name`.
    pub name: String,
    /// `Version`.
    pub version: String,
    /// Each `Requires-Dist`, unfolded.
    pub requires_dist: Vec<String>,
    /// `Requires-Python`, where there is one.
    pub requires_python: Option<String>,
    /// Each `Provides-Extra`.
    pub provides_extra: Vec<String>,
    /// The fields that are named as dynamic (PEP 643), in lower case.
    pub dynamic: Vec<String>,
}

/// Why a metadata file can't be used. The distribution is skipped and counted, never fatal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetadataError {
    /// A field that every file has is not there.
    #[error("the field `{0}` is missing")]
    Missing(&'static str),
    /// `Name` is no name of a package.
    #[error("`{0}` is not a package name")]
    Name(String),
    /// `Version` is no version.
    #[error("`{0}` is not a version (PEP 440)")]
    Version(String),
    /// It is the metadata of another package or version.
    #[error("it says that it is {found}, not {expected}")]
    Foreign {
        /// What it should be, `name version`.
        expected: String,
        /// What it says.
        found: String,
    },
    /// More, or longer, requirements than any honest distribution has.
    #[error("more requirements, or longer ones, than any distribution needs")]
    Excessive,
    /// A requirement that can't be mended.
    #[error(transparent)]
    Requirement(#[from] RequirementError),
}

/// Reads the headers of a metadata file. Text that is not UTF-8 is read as far as it goes: names and
/// versions are ASCII.
///
/// # Errors
/// Where `Name` or `Version` is missing.
pub fn parse_core(text: &[u8]) -> Result<CoreFields, MetadataError> {
    let text = String::from_utf8_lossy(text);
    let mut fields = CoreFields::default();
    let mut present: Option<(String, String)> = None;
    for line in text.trim_start_matches('\u{feff}').lines() {
        if line.is_empty() || line == "\r" {
            break;
        }
        if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = &mut present {
                value.push(' ');
                value.push_str(line.trim());
            }
            continue;
        }
        let Some((name, value)) = line.split_once(':').filter(|(name, _)| is_field_name(name)) else { break };
        if let Some((name, value)) = present.replace((name.to_ascii_lowercase(), value.trim().to_owned())) {
            fields.take(&name, value);
        }
    }
    if let Some((name, value)) = present {
        fields.take(&name, value);
    }
    match (fields.name.is_empty(), fields.version.is_empty()) {
        (true, _) => Err(MetadataError::Missing("Name")),
        (_, true) => Err(MetadataError::Missing("Version")),
        _ => Ok(fields),
    }
}

/// Printable ASCII without spaces and colons (RFC 822).
fn is_field_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| matches!(byte, 33..=57 | 59..=126))
}

impl CoreFields {
    fn take(&mut self, name: &str, value: String) {
        let said = !value.is_empty() && value != "UNKNOWN";
        match name {
            "metadata-version" => self.metadata_version = parse_metadata_version(&value),
            "name" if self.name.is_empty() => self.name = value,
            "version" if self.version.is_empty() => self.version = value,
            "requires-dist" if said => self.requires_dist.push(value),
            "requires-python" if said && self.requires_python.is_none() => self.requires_python = Some(value),
            "provides-extra" if said => self.provides_extra.push(value),
            "dynamic" if said => self.dynamic.push(value.to_ascii_lowercase()),
            _ => {}
        }
    }

    /// Whether the file vouches for a field (PEP 643): metadata 2.2 or later, and not named as dynamic.
    pub fn is_static(&self, field: &str) -> bool {
        let field = field.to_ascii_lowercase();
        self.metadata_version >= (2, 2) && !self.dynamic.contains(&field)
    }

    /// The same as the model has it. `file` names the distribution in messages.
    ///
    /// `Requires-Python` and extras that can't be understood say nothing, as in pip.
    ///
    /// # Errors
    /// Where the name, the version or a requirement can't be understood.
    pub fn to_metadata(&self, file: &str, grade: Grade) -> Result<Metadata, MetadataError> {
        let name = PackageName::new(self.name.clone()).map_err(|_| MetadataError::Name(self.name.clone()))?;
        let version: Version =
            self.version.parse().map_err(|_| MetadataError::Version(self.version.clone()))?;
        let is_long = |text: &String| text.len() > LONGEST_REQUIREMENT;
        if self.requires_dist.len() > MOST_REQUIREMENTS || self.requires_dist.iter().any(is_long) {
            return Err(MetadataError::Excessive);
        }
        let file: std::sync::Arc<str> = file.into();
        let requires_dist: Result<Vec<Requirement>, RequirementError> = self
            .requires_dist
            .iter()
            .map(|text| Requirement::parse_mended(text, Origin::whole(file.clone())))
            .collect();
        Ok(Metadata {
            name,
            version,
            requires_dist: requires_dist?,
            requires_python: self.requires_python.as_deref().and_then(read_requires_python),
            provides_extra: self
                .provides_extra
                .iter()
                .filter_map(|extra| ExtraName::new(extra.clone()).ok())
                .collect(),
            grade,
        })
    }

    /// [`Self::to_metadata`], refused where it is another package's or another version's.
    ///
    /// # Errors
    /// As there, and [`MetadataError::Foreign`].
    pub fn to_metadata_of(
        &self,
        package: &PackageName,
        version: &Version,
        file: &str,
        grade: Grade,
    ) -> Result<Metadata, MetadataError> {
        let metadata = self.to_metadata(file, grade)?;
        // A local version may be missing on one side: tools differ in whether they put it into the file name.
        let same = metadata.version == *version
            || metadata.version.clone().without_local() == version.clone().without_local();
        if metadata.name == *package && same {
            return Ok(metadata);
        }
        Err(MetadataError::Foreign {
            expected: format!("{package} {version}"),
            found: format!("{} {}", metadata.name, metadata.version),
        })
    }
}

/// `requires-python` of pages and metadata: what can't be understood says nothing.
pub(crate) fn read_requires_python(text: &str) -> Option<VersionSpecifiers> {
    let text = text.trim();
    if text.is_empty() { None } else { parse_specifiers_mended(text).ok() }
}

fn parse_metadata_version(text: &str) -> (u32, u32) {
    let (major, minor) = text.split_once('.').unwrap_or((text, "0"));
    (major.trim().parse().unwrap_or(0), minor.trim().parse().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, expected: &Expect) {
        let found = match parse_core(text.as_bytes()) {
            Ok(fields) => format!("{fields:?}"),
            Err(error) => error.to_string(),
        };
        expected.assert_eq(&found);
    }

    #[test]
    fn reads_headers() {
        check(
            "Metadata-Version: 2.2\r\nName: Foo_Bar\r\nVersion: 1.0\r\nSummary: a: b\r\nDynamic: Requires-Dist\r\n\
             requires-dist: a>=1;\r\n   extra == 'x'\r\nRequires-Dist: b\r\nProvides-Extra: x\r\n\
             Requires-Python: >=3.6\r\nDescription: UNKNOWN\r\n\r\nRequires-Dist: body\r\n",
            &expect![[
                r#"CoreFields { metadata_version: (2, 2), name: "Foo_Bar", version: "1.0", requires_dist: ["a>=1; extra == 'x'", "b"], requires_python: Some(">=3.6"), provides_extra: ["x"], dynamic: ["requires-dist"] }"#
            ]],
        );
    }

    #[test]
    fn ends_at_a_line_that_is_no_header() {
        check(
            "Name: a\nVersion: 1\nSummary: one\ntwo words\nRequires-Dist: b\n",
            &expect![[
                r#"CoreFields { metadata_version: (0, 0), name: "a", version: "1", requires_dist: [], requires_python: None, provides_extra: [], dynamic: [] }"#
            ]],
        );
    }

    #[test]
    fn needs_name_and_version() {
        check("", &expect!["the field `Name` is missing"]);
        check("Name: a\n\nVersion: 1\n", &expect!["the field `Version` is missing"]);
    }

    fn check_metadata(text: &str, expected: &Expect) {
        let fields = parse_core(text.as_bytes()).expect("a name and a version");
        let package = PackageName::new("a".to_owned()).expect("a name");
        let found =
            match fields.to_metadata_of(&package, &Version::new([1]), "a-1-py3-none-any.whl", Grade::Wheel) {
                Ok(found) => format!(
                    "{} {} {:?} {:?} {:?}",
                    found.name,
                    found.version,
                    found.requires_dist.iter().map(|it| it.text.as_str()).collect::<Vec<_>>(),
                    found.requires_python.map(|it| it.to_string()),
                    found.provides_extra.iter().map(ToString::to_string).collect::<Vec<_>>()
                ),
                Err(error) => error.to_string(),
            };
        expected.assert_eq(&found);
    }

    #[test]
    fn mends_or_refuses() {
        check_metadata(
            "Name: A\nVersion: 1.0\nRequires-Dist: b (>=1.0 <2)\nRequires-Python: nonsense\nProvides-Extra: X_y\n",
            &expect![[r#"a 1.0 ["b >=1.0,<2"] None ["x-y"]"#]],
        );
        check_metadata(
            "Name: a\nVersion: 1\nRequires-Dist: b>=abc\n",
            &expect![
                "`b>=abc` is not a valid requirement (PEP 508): expected version to start with a number, but no leading ASCII digits were found"
            ],
        );
        check_metadata("Name: b\nVersion: 1\n", &expect!["it says that it is b 1, not a 1"]);
        check_metadata("Name: a\nVersion: develop\n", &expect!["`develop` is not a version (PEP 440)"]);
        let long = format!(
            "Name: a\nVersion: 1\nRequires-Dist: b; {}extra == 'x'\n",
            "extra == 'x' or ".repeat(600)
        );
        check_metadata(&long, &expect!["more requirements, or longer ones, than any distribution needs"]);
        check_metadata("Name: a\nVersion: 1+local\n", &expect!["a 1+local [] None []"]);
    }

    #[test]
    fn static_fields() {
        let fields = |text: &str| parse_core(text.as_bytes()).expect("a name and a version");
        let new = "Metadata-Version: 2.2\nName: a\nVersion: 1\n";
        assert!(fields(new).is_static("Requires-Dist"));
        assert!(!fields(&format!("{new}Dynamic: requires-dist\n")).is_static("Requires-Dist"));
        assert!(!fields(&new.replace("2.2", "2.1")).is_static("Requires-Dist"));
    }
}
