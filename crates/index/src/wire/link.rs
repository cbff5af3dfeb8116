//! A link on a page, made into a file.

use reana_model::file::CoreMetadata;
use reana_model::{DistFile, DistName, FileNameError, PackageName, Sha256, VersionSpecifiers, Yanked};
use url::Url;

use super::metadata::read_requires_python;

/// No file system takes longer names, and taking one apart costs more the longer it is.
const LONGEST_NAME: usize = 255;

/// What a page says of one file, in either format.
#[derive(Debug, Default)]
pub(super) struct Link<'a> {
    /// The file's name, where the page gives one; else it is taken from the address.
    pub(super) file: Option<&'a str>,
    /// The address, relative or absolute.
    pub(super) href: &'a str,
    pub(super) sha256: Option<&'a str>,
    pub(super) size: Option<u64>,
    pub(super) requires_python: Option<&'a str>,
    pub(super) yanked: Option<&'a str>,
    pub(super) uploaded: Option<&'a str>,
    pub(super) core_metadata: CoreMetadata,
}

impl Link<'_> {
    /// The file, or why an installer has no use for it.
    pub(super) fn to_file(
        &self,
        base: &Url,
        package: &PackageName,
        pythons: &mut Pythons,
    ) -> Result<DistFile, FileNameError> {
        let (address, fragment) = self.href.split_once('#').unwrap_or((self.href, ""));
        let from_address;
        let file = match self.file {
            Some(file) => file,
            None => {
                from_address = last_segment(address);
                from_address.as_str()
            }
        };
        if file.len() > LONGEST_NAME {
            return Err(FileNameError::Shape(file.chars().take(LONGEST_NAME).collect()));
        }
        let name = DistName::parse(file, package)?;
        let url = absolute(address, base).ok_or_else(|| FileNameError::Shape(address.to_owned()))?;
        let sha256 = self.sha256.or_else(|| fragment_value(fragment, "sha256"));
        Ok(DistFile {
            name,
            url,
            sha256: sha256.and_then(|text| text.parse::<Sha256>().ok()),
            size: self.size,
            requires_python: self.requires_python.and_then(|text| pythons.read(text)),
            yanked: self.yanked.map_or(Yanked::No, |reason| Yanked::Yes(reason.to_owned())),
            uploaded: self.uploaded.and_then(|text| text.parse().ok()),
            core_metadata: self.core_metadata,
        })
    }
}

/// What `requires-python` said last: files of a page mostly say the same as the one before.
#[derive(Debug, Default)]
pub(super) struct Pythons {
    text: String,
    read: Option<VersionSpecifiers>,
}

impl Pythons {
    fn read(&mut self, text: &str) -> Option<VersionSpecifiers> {
        if self.text != text {
            text.clone_into(&mut self.text);
            self.read = read_requires_python(text);
        }
        self.read.clone()
    }
}

/// `sha256=...` of a URL's fragment, which may hold several (`egg=x&sha256=...`).
pub(crate) fn fragment_value<'a>(fragment: &'a str, key: &str) -> Option<&'a str> {
    fragment.split('&').find_map(|part| part.split_once('=').filter(|(name, _)| *name == key)).map(|it| it.1)
}

/// The file name that an address ends in, percent-decoded, without query.
pub(crate) fn last_segment(address: &str) -> String {
    let path = address.split(['?', '#']).next().unwrap_or_default();
    let segment = path.rsplit('/').next().unwrap_or_default();
    percent_decoded(segment)
}

/// `%41` as `A`. What is not UTF-8 then, or no escape, is left as well as it can be.
pub(crate) fn percent_decoded(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let escaped = match (byte, tail) {
            (b'%', [high, low, after @ ..]) => match (hex(*high), hex(*low)) {
                (Some(high), Some(low)) => Some((high << 4 | low, after)),
                _ => None,
            },
            _ => None,
        };
        let (byte, tail) = escaped.unwrap_or((byte, tail));
        bytes.push(byte);
        rest = tail;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

fn absolute(address: &str, base: &Url) -> Option<String> {
    let address = address.trim();
    // The usual case is left as it stands: thousands of links are read for one package.
    if address.starts_with("https://") || address.starts_with("http://") {
        if address.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'\\' | b'@')) {
            return Some(address.to_owned());
        }
    } else if let Some(joined) = joined(address, base) {
        return Some(joined);
    }
    let mut url = base.join(address).ok()?;
    if !matches!(url.scheme(), "http" | "https" | "file") {
        return None;
    }
    // Credentials never leave the client's table of them.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    Some(url.to_string())
}

/// What joining gives for a relative address of plain characters, which is the other usual case: `../../files/x.whl`
/// or `/files/x.whl`. `None` where the URL standard has more to say.
fn joined(address: &str, base: &Url) -> Option<String> {
    if !matches!(base.scheme(), "http" | "https") || !base.username().is_empty() || base.password().is_some()
    {
        return None;
    }
    let (mut folder, mut rest) = (base.path().rsplit_once('/')?.0, address);
    if let Some(absolute) = rest.strip_prefix('/') {
        (folder, rest) = ("", absolute);
    }
    while let Some(higher) = rest.strip_prefix("../") {
        folder = folder.rsplit_once('/')?.0;
        rest = higher;
    }
    let mut last = b'/';
    let is_plain = rest.bytes().all(|byte| {
        let before = std::mem::replace(&mut last, byte);
        // No segment is empty, or begins with a dot.
        let inner = matches!(byte, b'.' | b'/') && before != b'/';
        inner || byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'~' | b'+')
    });
    let origin = base.as_str().strip_suffix(base.path())?;
    (is_plain && last != b'/').then(|| [origin, folder, "/", rest].concat())
}

/// `true`, `sha256=...` or nothing, as `data-core-metadata` has it (PEP 658, 714).
pub(super) fn announced(value: &str) -> CoreMetadata {
    match fragment_value(value, "sha256").map(str::parse) {
        Some(Ok(hash)) => CoreMetadata::Hashed(hash),
        _ if value.is_empty() || value == "false" => CoreMetadata::Absent,
        _ => CoreMetadata::Present,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn plain_addresses_are_joined_as_the_standard_has_it(
            base in "(https?://(u:p@)?[a-z]{1,4}\\.example(:8443)?(/[a-z.%]{0,3}){0,4}/?|file:///[a-z]{1,2}/)([?#]x)?",
            address in "/{0,2}(\\.{1,2}/){0,6}([a-zA-Z0-9._~+%:?-]{0,4}/){0,3}[a-zA-Z0-9._~+%:?-]{0,6}",
        ) {
            let base: Url = base.parse().expect("an address");
            if let Some(found) = joined(&address, &base) {
                prop_assert_eq!(found, base.join(&address).expect("an address").to_string());
            }
        }
    }

    #[test]
    fn joins_the_usual_addresses() {
        let check = |base: &str, address: &str, expected: Option<&str>| {
            let base: Url = base.parse().expect("an address");
            assert_eq!(joined(address, &base).as_deref(), expected, "{address}");
        };
        let base = "https://a.example/simple/foo/";
        check(base, "../../files/foo-1.0.tar.gz", Some("https://a.example/files/foo-1.0.tar.gz"));
        check(base, "foo-1.0.tar.gz", Some("https://a.example/simple/foo/foo-1.0.tar.gz"));
        check(base, "/f/foo-1.0.tar.gz", Some("https://a.example/f/foo-1.0.tar.gz"));
        check(base, "//b.example/foo-1.0.tar.gz", None);
        check(base, "../../../../foo-1.0.tar.gz", None);
        check(base, "data:x", None);
        check("file:///simple/foo/", "foo-1.0.tar.gz", None);
    }
}
