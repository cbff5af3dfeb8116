//! What registries send: manifests, configurations, errors, challenges. Pure.

use std::collections::BTreeMap;

use reana_images::Digest;
use serde::Deserialize;

/// All kinds of manifests that are understood. A registry that is not told all of them converts, or says that there
/// is nothing.
pub(crate) const ACCEPT: &str = "application/vnd.oci.image.index.v1+json, \
     application/vnd.docker.distribution.manifest.list.v2+json, application/vnd.oci.image.manifest.v1+json, \
     application/vnd.docker.distribution.manifest.v2+json";

/// The longest text of a registry that is repeated.
const LONGEST_SAYING: usize = 200;

/// What a manifest is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManifestKind {
    /// One image for one platform.
    Image,
    /// Several of them: an OCI index or a docker manifest list.
    Index,
}

/// A part that a manifest names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Its digest.
    pub digest: Digest,
    /// `linux/amd64`, `linux/arm/v7`; nothing where that isn't said.
    pub platform: Option<String>,
}

/// A manifest, understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Parsed {
    Image {
        config: Digest,
    },
    /// Children in their order, without attestations.
    Index {
        children: Vec<Descriptor>,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ManifestJson {
    schema_version: u32,
    #[serde(default)]
    media_type: Option<String>,
    #[serde(default)]
    config: Option<DescriptorJson>,
    #[serde(default)]
    manifests: Option<Vec<DescriptorJson>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DescriptorJson {
    digest: String,
    #[serde(default)]
    platform: Option<PlatformJson>,
    #[serde(default)]
    annotations: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
struct PlatformJson {
    #[serde(default)]
    os: String,
    #[serde(default)]
    architecture: String,
    #[serde(default)]
    variant: Option<String>,
}

impl PlatformJson {
    fn name(&self) -> String {
        let variant = self.variant.iter().filter(|variant| !variant.is_empty());
        let variant: String = variant.map(|variant| format!("/{variant}")).collect();
        format!("{}/{}{variant}", self.os, self.architecture)
    }
}

/// Understands a manifest.
pub(crate) fn manifest(body: &[u8]) -> Result<Parsed, String> {
    let json: ManifestJson = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    if json.schema_version != 2 {
        return Err(format!("schema version {}, where 2 is expected", json.schema_version));
    }
    let digest = |text: &str| text.parse::<Digest>().map_err(|error| error.to_string());
    let kind = json.media_type.as_deref().unwrap_or_default();
    match (json.manifests, json.config) {
        (Some(manifests), None) => {
            let children = manifests.iter().filter(|child| !is_attestation(child));
            let children = children.map(|child| {
                let platform = child.platform.as_ref().map(PlatformJson::name);
                Ok(Descriptor { digest: digest(&child.digest)?, platform })
            });
            Ok(Parsed::Index { children: children.collect::<Result<_, String>>()? })
        }
        (None, Some(config)) => Ok(Parsed::Image { config: digest(&config.digest)? }),
        (Some(_), Some(_)) => Err("it is an image and an index at once".to_owned()),
        (None, None) => Err(format!("it has neither a configuration nor manifests (media type `{kind}`)")),
    }
}

/// Builders add what they know of a build as a child that is no image.
fn is_attestation(child: &DescriptorJson) -> bool {
    let named = child.annotations.as_ref().is_some_and(|it| it.contains_key("vnd.docker.reference.type"));
    named || child.platform.as_ref().is_some_and(|it| it.os == "unknown" && it.architecture == "unknown")
}

/// The labels in an image's configuration.
pub(crate) fn labels(body: &[u8]) -> Result<BTreeMap<String, String>, String> {
    #[derive(Deserialize)]
    struct ConfigJson {
        #[serde(default)]
        config: Option<Inner>,
    }
    #[derive(Deserialize)]
    struct Inner {
        #[serde(default, rename = "Labels")]
        labels: Option<BTreeMap<String, String>>,
    }
    let json: ConfigJson = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    Ok(json.config.and_then(|config| config.labels).unwrap_or_default())
}

#[derive(Deserialize)]
struct ErrorsJson {
    errors: Vec<ErrorJson>,
}

#[derive(Deserialize)]
struct ErrorJson {
    code: String,
    #[serde(default)]
    message: String,
}

/// Whether the body of a 404 is a registry's way of saying that there is no such image. (Harbor says `NOT_FOUND`.)
pub(crate) fn is_absence(body: &[u8]) -> bool {
    let Ok(json) = serde_json::from_slice::<ErrorsJson>(body) else { return false };
    !json.errors.is_empty()
        && json.errors.iter().all(|error| {
            matches!(error.code.as_str(), "MANIFEST_UNKNOWN" | "NAME_UNKNOWN" | "BLOB_UNKNOWN" | "NOT_FOUND")
        })
}

/// What the body of a refusal says, in one line.
pub(crate) fn saying(body: &[u8]) -> String {
    let text = match serde_json::from_slice::<ErrorsJson>(body) {
        Ok(json) => {
            let each = json.errors.iter().map(|error| format!("{} {}", error.code, error.message));
            each.map(|text| text.trim().to_owned()).collect::<Vec<_>>().join("; ")
        }
        Err(_) => String::from_utf8_lossy(body).split_whitespace().collect::<Vec<_>>().join(" "),
    };
    if text.starts_with('<') {
        return "a page of HTML".to_owned();
    }
    text.chars().filter(|c| !c.is_control()).take(LONGEST_SAYING).collect()
}

/// What a registry wants to know of who asks (`WWW-Authenticate`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Challenge {
    Basic,
    Bearer { realm: String, service: Option<String>, error: Option<String> },
}

/// The first challenge that is understood, of all headers; else what is not understood.
pub(crate) fn challenge<'a>(headers: impl Iterator<Item = &'a str>) -> Result<Challenge, String> {
    let headers: Vec<&str> = headers.collect();
    let mut basic = None;
    for header in &headers {
        let (scheme, rest) = header.trim().split_once(' ').unwrap_or((header.trim(), ""));
        if scheme.eq_ignore_ascii_case("bearer") {
            let mut parameters = parameters(rest);
            if let Some(realm) = parameters.remove("realm") {
                let (service, error) = (parameters.remove("service"), parameters.remove("error"));
                return Ok(Challenge::Bearer { realm, service, error });
            }
        } else if scheme.eq_ignore_ascii_case("basic") {
            basic = Some(Challenge::Basic);
        }
    }
    basic.ok_or_else(|| headers.join(", ").chars().filter(|c| !c.is_control()).take(LONGEST_SAYING).collect())
}

/// `name="value", name=value`: a value in quotes may have commas and escaped characters in it.
fn parameters(text: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut rest = text.chars().peekable();
    loop {
        while rest.next_if(|c| *c == ',' || c.is_whitespace()).is_some() {}
        let mut name = String::new();
        while let Some(c) = rest.next_if(|c| *c != '=' && *c != ',') {
            name.push(c.to_ascii_lowercase());
        }
        if rest.next_if_eq(&'=').is_none() {
            if rest.peek().is_none() {
                return found;
            }
            continue;
        }
        while rest.next_if(|c| c.is_whitespace()).is_some() {}
        let mut value = String::new();
        if rest.next_if_eq(&'"').is_some() {
            while let Some(c) = rest.next() {
                match c {
                    '"' => break,
                    '\\' => value.extend(rest.next()),
                    c => value.push(c),
                }
            }
        } else {
            while let Some(c) = rest.next_if(|c| *c != ',') {
                value.push(c);
            }
        }
        found.entry(name.trim().to_owned()).or_insert_with(|| value.trim_end().to_owned());
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check_challenge(headers: &[&str], expected: &Expect) {
        expected.assert_eq(&format!("{:?}", challenge(headers.iter().copied())));
    }

    #[test]
    fn challenges() {
        check_challenge(&[r#"Basic realm="test""#], &expect!["Ok(Basic)"]);
        check_challenge(
            &[
                r#"Bearer realm="http://127.0.0.1:5003/token",service="127.0.0.1:5002",scope="repository:a:pull,push",error="invalid_token""#,
            ],
            &expect![[
                r#"Ok(Bearer { realm: "http://127.0.0.1:5003/token", service: Some("127.0.0.1:5002"), error: Some("invalid_token") })"#
            ]],
        );
        check_challenge(
            &["Basic realm=x", r#"bearer Service=s , realm = "a\"b""#],
            &expect![[r#"Ok(Bearer { realm: "a\"b", service: Some("s"), error: None })"#]],
        );
        check_challenge(&["Negotiate"], &expect![[r#"Err("Negotiate")"#]]);
        check_challenge(&[], &expect![[r#"Err("")"#]]);
        check_challenge(&["Bearer"], &expect![[r#"Err("Bearer")"#]]);
        check_challenge(
            &["Bearer x,,=\"", "Bearer realm"],
            &expect![[r#"Err("Bearer x,,=\", Bearer realm")"#]],
        );
    }

    fn check_manifest(body: &str, expected: &Expect) {
        let zeros = "0".repeat(64);
        let shown = format!("{:?}", manifest(body.replace('Z', &zeros).as_bytes())).replace(&zeros, "Z");
        expected.assert_eq(&shown);
    }

    #[test]
    fn manifests() {
        check_manifest(
            r#"{"schemaVersion":2,"config":{"digest":"sha256:Z"},"layers":[]}"#,
            &expect![[r#"Ok(Image { config: Digest("sha256:Z") })"#]],
        );
        check_manifest(
            r#"{"schemaVersion":2,"manifests":[
                {"digest":"sha256:Z","platform":{"os":"linux","architecture":"arm","variant":"v7"}},
                {"digest":"sha256:Z","platform":{"os":"unknown","architecture":"unknown"}},
                {"digest":"sha256:Z"}]}"#,
            &expect![[
                r#"Ok(Index { children: [Descriptor { digest: Digest("sha256:Z"), platform: Some("linux/arm/v7") }, Descriptor { digest: Digest("sha256:Z"), platform: None }] })"#
            ]],
        );
        check_manifest(
            r#"{"schemaVersion":1,"name":"x"}"#,
            &expect![[r#"Err("schema version 1, where 2 is expected")"#]],
        );
        check_manifest(
            r#"{"schemaVersion":2,"config":{"digest":"sha512:Z"}}"#,
            &expect![[r#"Err("`sha512:Z` is no digest: `sha256:` and 64 hexadecimal digits are expected")"#]],
        );
        check_manifest(
            r#"{"schemaVersion":2,"mediaType":"x"}"#,
            &expect![[r#"Err("it has neither a configuration nor manifests (media type `x`)")"#]],
        );
    }

    #[test]
    fn absence_is_said_by_registries_only() {
        assert!(is_absence(br#"{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}"#));
        for other in
            ["404 page not found\n", "", "{}", r#"{"errors":[]}"#, r#"{"errors":[{"code":"UNKNOWN"}]}"#]
        {
            assert!(!is_absence(other.as_bytes()), "{other}");
        }
        assert_eq!(saying(b"404 page\n not \x1b[1mfound\n"), "404 page not [1mfound");
        assert_eq!(saying(b"<html>"), "a page of HTML");
        assert_eq!(saying(br#"{"errors":[{"code":"DENIED","message":"no"}]}"#), "DENIED no");
    }
}
