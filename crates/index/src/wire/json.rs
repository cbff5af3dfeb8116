//! Pages in JSON (PEP 691, 700, 714, 792).

use std::borrow::Cow;
use std::fmt;

use reana_model::PackageName;
use reana_model::file::CoreMetadata;
use serde::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use url::Url;

use super::link::{Link, Pythons};
use super::page::{Cost, MOST_FILES, Page, PageError, ProjectStatus, check_version, excess};

#[derive(serde::Deserialize)]
struct Wire<'a> {
    #[serde(default, borrow)]
    meta: Meta<'a>,
    #[serde(borrow)]
    files: Files<'a>,
    #[serde(default, borrow, rename = "project-status")]
    status: Option<Status<'a>>,
}

/// Files in bounded number: each takes more memory than the text that it is read from.
struct Files<'a>(Vec<File<'a>>);

#[derive(Default, serde::Deserialize)]
struct Meta<'a> {
    #[serde(default, borrow, rename = "api-version")]
    version: Option<Cow<'a, str>>,
}

#[derive(serde::Deserialize)]
struct Status<'a> {
    #[serde(borrow)]
    status: Cow<'a, str>,
    #[serde(default, borrow)]
    reason: Option<Cow<'a, str>>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
struct File<'a> {
    #[serde(borrow)]
    filename: Cow<'a, str>,
    #[serde(borrow)]
    url: Cow<'a, str>,
    #[serde(default)]
    hashes: Hashes,
    size: Option<u64>,
    upload_time: Option<Cow<'a, str>>,
    requires_python: Option<Cow<'a, str>>,
    #[serde(default)]
    yanked: Said,
    core_metadata: Option<Said>,
    dist_info_metadata: Option<Said>,
    data_dist_info_metadata: Option<Said>,
}

/// The one hash that is used.
#[derive(Default)]
struct Hashes {
    sha256: Option<String>,
}

/// A value that is a bool, a string or hashes: `yanked` and `core-metadata`.
#[derive(Default)]
enum Said {
    #[default]
    No,
    Yes,
    Text(String),
    Hashes(Hashes),
}

/// Reads a page of `package` that was found at `address`.
///
/// # Errors
/// Where the bytes are no JSON of this shape, or of another major version.
pub fn read(body: &[u8], address: &Url, package: &PackageName) -> Result<Page, PageError> {
    let wire: Wire<'_> =
        serde_json::from_slice(body).map_err(|error| PageError::NotAPage(error.to_string()))?;
    if let Some(version) = &wire.meta.version {
        check_version(version)?;
    }
    let (mut page, mut cost, mut pythons) = (Page::default(), Cost::default(), Pythons::default());
    for file in &wire.files.0 {
        cost.add(&file.filename, file.requires_python.as_deref())?;
        match file.to_link().to_file(address, package, &mut pythons) {
            Ok(file) => page.files.push(file),
            Err(_) => page.skipped += 1,
        }
    }
    page.status = wire.status.map(|it| ProjectStatus {
        status: it.status.into_owned(),
        reason: it.reason.unwrap_or_default().into_owned(),
    });
    Ok(page)
}

impl File<'_> {
    fn to_link(&self) -> Link<'_> {
        // The newest name counts (PEP 714).
        let announced = [&self.core_metadata, &self.dist_info_metadata, &self.data_dist_info_metadata]
            .into_iter()
            .find_map(Option::as_ref);
        let core_metadata = match announced {
            None | Some(Said::No) => CoreMetadata::Absent,
            Some(Said::Hashes(hashes)) => hashes
                .sha256
                .as_deref()
                .and_then(|text| text.parse().ok())
                .map_or(CoreMetadata::Present, CoreMetadata::Hashed),
            Some(Said::Yes | Said::Text(_)) => CoreMetadata::Present,
        };
        let yanked = match &self.yanked {
            Said::No => None,
            Said::Text(reason) => Some(reason.as_str()),
            Said::Yes | Said::Hashes(_) => Some(""),
        };
        Link {
            file: Some(&self.filename),
            href: &self.url,
            sha256: self.hashes.sha256.as_deref(),
            size: self.size,
            requires_python: self.requires_python.as_deref(),
            yanked,
            uploaded: self.upload_time.as_deref(),
            core_metadata,
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Files<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit;
        impl<'de> Visitor<'de> for Visit {
            type Value = Vec<File<'de>>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of files")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                let mut files = Vec::new();
                while let Some(file) = items.next_element()? {
                    files.push(file);
                    if files.len() > MOST_FILES {
                        return Err(de::Error::custom(excess()));
                    }
                }
                Ok(files)
            }
        }
        deserializer.deserialize_seq(Visit).map(Files)
    }
}

impl<'de> Deserialize<'de> for Hashes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Said::deserialize(deserializer)? {
            Said::Hashes(hashes) => Ok(hashes),
            Said::No => Ok(Self::default()),
            Said::Yes | Said::Text(_) => Err(de::Error::custom("hashes are not an object")),
        }
    }
}

impl<'de> Deserialize<'de> for Said {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit;
        impl<'de> Visitor<'de> for Visit {
            type Value = Said;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a bool, a string or an object")
            }

            fn visit_bool<E: de::Error>(self, value: bool) -> Result<Said, E> {
                Ok(if value { Said::Yes } else { Said::No })
            }

            fn visit_str<E: de::Error>(self, value: &str) -> Result<Said, E> {
                Ok(Said::Text(value.to_owned()))
            }

            fn visit_unit<E: de::Error>(self) -> Result<Said, E> {
                Ok(Said::No)
            }

            fn visit_none<E: de::Error>(self) -> Result<Said, E> {
                Ok(Said::No)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Said, A::Error> {
                let mut hashes = Hashes::default();
                while let Some(key) = map.next_key::<Cow<'de, str>>()? {
                    if key.eq_ignore_ascii_case("sha256") {
                        hashes.sha256 = Some(map.next_value()?);
                    } else {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(Said::Hashes(hashes))
            }
        }
        deserializer.deserialize_any(Visit)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::wire::html::tests::show;

    fn check(body: &str, expected: &Expect) {
        let address: Url = "https://index.example/simple/foo/".parse().expect("an address");
        let package = PackageName::new("foo".to_owned()).expect("a name");
        expected.assert_eq(&show(read(body.as_bytes(), &address, &package)));
    }

    #[test]
    fn reads_everything_that_is_said() {
        let hash = "a".repeat(64);
        let other = "b".repeat(64);
        check(
            &format!(
                r#"{{"meta": {{"api-version": "1.4", "_last-serial": 3}}, "name": "foo", "versions": ["1.0"],
                "project-status": {{"status": "archived", "reason": "done"}},
                "files": [
                {{"filename": "foo-1.0.tar.gz", "url": "../../files/foo-1.0.tar.gz", "hashes": {{"md5": "x", "sha256": "{hash}"}},
                  "requires-python": ">=3.6.*", "size": 12, "upload-time": "2020-05-20T08:00:00.123456Z", "yanked": "broken", "gpg-sig": false}},
                {{"filename": "foo-1.0-py3-none-any.whl", "url": "https://files.example/foo-1.0-py3-none-any.whl#x",
                  "hashes": {{}}, "core-metadata": {{"sha256": "{other}"}}, "data-dist-info-metadata": false, "yanked": false}},
                {{"filename": "foo-1.1-py3-none-any.whl", "url": "/f/foo-1.1-py3-none-any.whl", "hashes": {{"md5": "0"}},
                  "requires-python": null, "data-dist-info-metadata": true, "yanked": true}},
                {{"filename": "foo-1.0.exe", "url": "foo-1.0.exe", "hashes": {{}}}},
                {{"filename": "foo-develop.zip", "url": "foo-develop.zip", "hashes": {{}}}}
                ]}}"#
            ),
            &expect![[r#"
                https://index.example/files/foo-1.0.tar.gz 1.0 sha256=aaaaaaaa size=12 python>=3.6 yanked(broken) uploaded=2020-05-20T08:00:00.123456Z
                https://files.example/foo-1.0-py3-none-any.whl 1.0 metadata=bbbbbbbb
                https://index.example/f/foo-1.1-py3-none-any.whl 1.1 yanked() metadata
                2 skipped
                archived: done
            "#]],
        );
    }

    #[test]
    fn refuses_what_is_no_page() {
        check("<html></html>", &expect!["expected value at line 1 column 1"]);
        check("{}", &expect!["missing field `files` at line 1 column 2"]);
        check(
            r#"{"meta": {"api-version": "2.0"}, "files": []}"#,
            &expect!["version 2.0 of the simple API is not understood"],
        );
        check(
            r#"{"files": [{"filename": "foo-1.tar.gz", "url": "x", "hashes": "none"}]}"#,
            &expect!["hashes are not an object at line 1 column 69"],
        );
    }
}
