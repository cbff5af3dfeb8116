//! Pages in HTML (PEP 503, 592, 629, 658, 714), and links pages, which are the same with looser manners.

use std::convert::Infallible;

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};
use reana_model::PackageName;
use url::Url;

use super::link::{Link, Pythons, announced, last_segment};
use super::page::{Cost, MOST_FILES, Page, PageError, ProjectStatus, check_version, excess};

/// The attributes that say something.
const ATTRIBUTES: [&[u8]; 7] = [
    b"href",
    b"name",
    b"content",
    b"data-core-metadata",
    b"data-dist-info-metadata",
    b"data-requires-python",
    b"data-yanked",
];

/// One tag that matters, with its attributes.
#[derive(Default)]
struct Tag {
    name: Vec<u8>,
    attributes: Vec<(Vec<u8>, String)>,
}

impl Tag {
    fn get(&self, key: &str) -> Option<&str> {
        self.attributes.iter().find(|(name, _)| name == key.as_bytes()).map(|(_, value)| value.as_str())
    }
}

/// Reads an index page of `package` that was found at `address`.
///
/// # Errors
/// Where the page is of another major version, or has nothing of an index page.
pub fn read(body: &[u8], address: &Url, package: &PackageName) -> Result<Page, PageError> {
    let mut reader = Reader::new(address, package);
    let mut is_versioned = false;
    let mut has_links = false;
    for tag in tags(body)? {
        if let Some(version) = tag.meta("pypi:repository-version") {
            check_version(version)?;
            is_versioned = true;
        }
        has_links |= reader.take(&tag)?;
    }
    // A login page, or the message of a proxy.
    if !is_versioned && !has_links && !says_links_for(body) {
        return Err(PageError::NotAPage("an HTML page without a link to any distribution".to_owned()));
    }
    Ok(reader.page)
}

/// Reads a links page (`--find-links`): whatever leads to files of `package` is taken, the rest passed over.
///
/// # Errors
/// Where it has more links than any honest page.
pub fn read_links(body: &[u8], address: &Url, package: &PackageName) -> Result<Page, PageError> {
    let mut reader = Reader::new(address, package);
    for tag in tags(body)? {
        reader.take(&tag)?;
    }
    reader.page.skipped = 0;
    Ok(reader.page)
}

struct Reader<'a> {
    page: Page,
    cost: Cost,
    pythons: Pythons,
    base: Url,
    based: bool,
    package: &'a PackageName,
}

impl<'a> Reader<'a> {
    fn new(address: &Url, package: &'a PackageName) -> Self {
        let (page, cost) = (Page::default(), Cost::default());
        let pythons = Pythons::default();
        Self { page, cost, pythons, base: address.clone(), based: false, package }
    }

    /// Takes what a tag says; tells whether it is a link to something with a distribution's name.
    fn take(&mut self, tag: &Tag) -> Result<bool, PageError> {
        Ok(match tag.name.as_slice() {
            b"base" if !self.based => {
                if let Some(base) = tag.get("href").and_then(|href| self.base.join(href.trim()).ok()) {
                    self.base = base;
                    self.based = true;
                }
                false
            }
            b"a" => self.take_link(tag)?,
            _ => {
                if let Some(status) = tag.meta("pypi:project-status") {
                    let reason = self.page.status.take().map(|it| it.reason).unwrap_or_default();
                    self.page.status = Some(ProjectStatus { status: status.to_owned(), reason });
                } else if let (Some(reason), Some(status)) =
                    (tag.meta("pypi:project-status-reason"), &mut self.page.status)
                {
                    reason.clone_into(&mut status.reason);
                }
                false
            }
        })
    }

    fn take_link(&mut self, tag: &Tag) -> Result<bool, PageError> {
        let Some(href) = tag.get("href") else { return Ok(false) };
        let core_metadata = tag
            .get("data-core-metadata")
            .or_else(|| tag.get("data-dist-info-metadata"))
            .map(announced)
            .unwrap_or_default();
        let link = Link {
            href: href.trim(),
            requires_python: tag.get("data-requires-python"),
            yanked: tag.get("data-yanked"),
            core_metadata,
            ..Link::default()
        };
        let file = last_segment(href);
        self.cost.add(&file, link.requires_python)?;
        if let Ok(file) = link.to_file(&self.base, self.package, &mut self.pythons) {
            self.page.files.push(file);
            return Ok(true);
        }
        self.page.skipped += 1;
        let endings = [".whl", ".gz", ".zip", ".bz2", ".tgz", ".egg", ".exe", ".msi", ".rpm"];
        Ok(endings.iter().any(|ending| file.ends_with(ending)))
    }
}

impl Tag {
    fn meta(&self, name: &str) -> Option<&str> {
        let is_named =
            self.name == b"meta" && self.get("name").is_some_and(|it| it.eq_ignore_ascii_case(name));
        is_named.then(|| self.get("content")).flatten()
    }
}

fn says_links_for(body: &[u8]) -> bool {
    body.windows(9).any(|window| window.eq_ignore_ascii_case(b"links for"))
}

/// The tags that a reader of pages looks at, with the attributes that say something there. Entities in attributes
/// are resolved.
fn tags(body: &[u8]) -> Result<Vec<Tag>, PageError> {
    let mut tags = Vec::new();
    let mut open: Option<Tag> = None;
    let mut is_wanted = false;
    let emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, _: Span<()>| -> Option<Infallible> {
        match event {
            CallbackEvent::OpenStartTag { name } if matches!(name, b"a" | b"base" | b"meta") => {
                open = Some(Tag { name: name.to_vec(), attributes: Vec::new() });
            }
            CallbackEvent::OpenStartTag { .. } => open = None,
            CallbackEvent::AttributeName { name } => {
                is_wanted = ATTRIBUTES.contains(&name);
                if let Some(tag) = open.as_mut().filter(|_| is_wanted) {
                    // The first of equal ones counts (HTML).
                    is_wanted = tag.attributes.iter().all(|(other, _)| other != name);
                    if is_wanted {
                        tag.attributes.push((name.to_vec(), String::new()));
                    }
                }
            }
            CallbackEvent::AttributeValue { value } => {
                let tag = open.as_mut().filter(|_| is_wanted);
                if let Some((_, text)) = tag.and_then(|tag| tag.attributes.last_mut()) {
                    *text = String::from_utf8_lossy(value).into_owned();
                }
            }
            CallbackEvent::CloseStartTag { .. } if tags.len() <= MOST_FILES => tags.extend(open.take()),
            _ => {}
        }
        None
    });
    // Reading from memory can't fail.
    let Ok(()) = Tokenizer::new_with_emitter(body, emitter).finish();
    if tags.len() > MOST_FILES { Err(excess()) } else { Ok(tags) }
}

#[cfg(test)]
pub(super) mod tests {
    use std::fmt::Write as _;

    use expect_test::{Expect, expect};
    use reana_model::Yanked;
    use reana_model::file::CoreMetadata;

    use super::*;

    /// A page in words, for both formats' tests.
    pub(in crate::wire) fn show(page: Result<Page, PageError>) -> String {
        let page = match page {
            Ok(page) => page,
            Err(error) => return error.to_string(),
        };
        let mut out = String::new();
        for file in &page.files {
            write!(out, "{} {}", file.url, file.name.version()).expect("to write");
            let short = |hash: reana_model::Sha256| hash.to_string().chars().take(8).collect::<String>();
            let mut say = |text: String| out.push_str(&text);
            file.sha256.into_iter().for_each(|hash| say(format!(" sha256={}", short(hash))));
            file.size.into_iter().for_each(|size| say(format!(" size={size}")));
            file.requires_python.iter().for_each(|it| say(format!(" python{it}")));
            if let Yanked::Yes(reason) = &file.yanked {
                say(format!(" yanked({reason})"));
            }
            file.uploaded.iter().for_each(|time| say(format!(" uploaded={time}")));
            match file.core_metadata {
                CoreMetadata::Absent => {}
                CoreMetadata::Present => say(" metadata".to_owned()),
                CoreMetadata::Hashed(hash) => say(format!(" metadata={}", short(hash))),
            }
            out.push('\n');
        }
        writeln!(out, "{} skipped", page.skipped).expect("to write");
        if let Some(status) = page.status {
            writeln!(out, "{}: {}", status.status, status.reason).expect("to write");
        }
        out
    }

    fn check(body: &str, expected: &Expect) {
        let address: Url = "https://index.example/simple/foo/".parse().expect("an address");
        let package = PackageName::new("foo".to_owned()).expect("a name");
        expected.assert_eq(&show(read(body.as_bytes(), &address, &package)));
    }

    #[test]
    fn reads_links() {
        let hash = "a".repeat(64);
        check(
            &format!(
                r##"<!DOCTYPE html><html><head><META name="pypi:repository-version" content="1.1">
                <meta name="pypi:project-status" content="deprecated">
                <meta name="pypi:project-status-reason" content="use bar">
                <title>x</title></head><body>
                <a href="../../files/foo-1.0.tar.gz#sha256={hash}" data-requires-python="&gt;=3.6" data-yanked="bad &amp; old">foo-1.0.tar.gz</a>
                <a href='https://files.example/foo-1.0%2Bcpu-py3-none-any.whl?x=1#md5=0123' data-core-metadata="sha256={hash}">x</a>
                <a data-dist-info-metadata=true href=/f/foo-1.1-py3-none-any.whl data-yanked>x</a>
                <!-- <a href="foo-9.tar.gz">no</a> -->
                <a href="foo-1.0.egg">x</a><a>x</a><a href="javascript:foo-1.0.tar.gz">x</a></body></html>"##
            ),
            &expect![[r#"
                https://index.example/files/foo-1.0.tar.gz 1.0 sha256=aaaaaaaa python>=3.6 yanked(bad & old)
                https://files.example/foo-1.0%2Bcpu-py3-none-any.whl?x=1 1.0+cpu metadata=aaaaaaaa
                https://index.example/f/foo-1.1-py3-none-any.whl 1.1 yanked() metadata
                2 skipped
                deprecated: use bar
            "#]],
        );
    }

    #[test]
    fn links_are_relative_to_the_first_base() {
        check(
            r#"<base href="/mirror/"><base href="/other/"><a href="foo-1.0.zip">x</a>"#,
            &expect![[r#"
                https://index.example/mirror/foo-1.0.zip 1.0
                0 skipped
            "#]],
        );
    }

    #[test]
    fn refuses_what_is_no_index_page() {
        check(
            r#"<html><form><input type=password></form><a href="/help">Help</a></html>"#,
            &expect!["an HTML page without a link to any distribution"],
        );
        check(
            r#"<meta name="pypi:repository-version" content="2.0">"#,
            &expect!["version 2.0 of the simple API is not understood"],
        );
        check("<h1>Links for foo</h1>", &expect!["0 skipped\n"]);
    }
}
