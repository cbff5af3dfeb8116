//! A lock's text.

use std::collections::BTreeSet;

use reana_model::{PackageName, Pin, PinSource};

use crate::header::{self, HeaderOut, PREVIEW_MARK};
use crate::{AnnotationStyle, Newline, Style, UnsafePackages, marker_text};

/// What a lock is to say.
#[derive(Clone, Debug)]
pub struct LockContent<'p> {
    /// The header, written if the style wants one.
    pub header: Option<HeaderOut>,
    /// Whether it was solved with local checkouts; the mark is written whatever the style.
    pub preview: bool,
    /// Comments below the header, without `# `.
    pub notes: Vec<String>,
    /// The options block.
    pub options: EmittedOptions,
    /// The pins, in any order.
    pub pins: &'p [Pin],
}

/// The options that a lock repeats for pip: the block below the header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EmittedOptions {
    /// `--index-url`; none where it is the public index.
    pub index_url: Option<String>,
    /// `--extra-index-url`, in order.
    pub extra_index_urls: Vec<String>,
    /// `--find-links`, in order.
    pub find_links: Vec<String>,
    /// `--trusted-host`, in order.
    pub trusted_hosts: Vec<String>,
    /// `--no-binary`: names or `:all:`.
    pub no_binary: BTreeSet<String>,
    /// `--only-binary`: names or `:all:`.
    pub only_binary: BTreeSet<String>,
}

/// What pip will refuse when it installs from a lock.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LockWarning {
    /// A package without a hash, in a lock that has hashes.
    #[error("{0} has no hash, so pip refuses it in a lock with hashes")]
    Unhashed(String),
    /// A package that is left out, in a lock that has hashes.
    #[error("{0} is left out, so pip refuses packages that need it in a lock with hashes")]
    Unpinned(PackageName),
}

pub(crate) const UNHASHED: &str = "\
# WARNING: pip install will require the following package to be hashed.
# Consider using a hashable URL like https://github.com/jazzband/pip-tools/archive/SOMECOMMIT.zip
";
pub(crate) const UNSAFE: &str =
    "# The following packages are considered to be unsafe in a requirements file:\n";
const UNSAFE_UNPINNED: &str = "\
# WARNING: The following packages were not pinned, but pip requires them to be
# pinned when the requirements file includes hashes and the requirement is not
# satisfied by a package already installed. Consider using the --allow-unsafe flag.
";

/// Writes a lock. The same content and style give the same bytes, in whatever order the pins come.
pub fn render(content: &LockContent<'_>, style: &Style) -> String {
    let hashed = has_hashes(content, style);
    let mut out = String::new();
    if style.header {
        for line in content.header.iter().flat_map(header::lines) {
            push_line(&mut out, &line);
        }
    }
    if content.preview {
        push_line(&mut out, &format!("# {PREVIEW_MARK}"));
    }
    for note in &content.notes {
        push_line(&mut out, &format!("# {note}"));
    }
    push_options(&mut out, &content.options);
    let (last, main): (Vec<&Pin>, Vec<&Pin>) = emitted(content, style).partition(|pin| is_apart(pin, style));
    push_pins(&mut out, &main, style, hashed);
    push_unsafe(&mut out, &last, style, hashed);
    let omitted: BTreeSet<&PackageName> =
        content.pins.iter().map(|pin| &pin.name).filter(|name| style.no_emit.contains(*name)).collect();
    if !omitted.is_empty() {
        out.push_str("\n# The following packages were excluded from the output:\n");
        omitted.iter().for_each(|name| push_line(&mut out, &format!("# {name}")));
    }
    if out.is_empty() {
        out.push('\n');
    }
    match style.newline {
        Newline::Lf => out,
        Newline::Crlf => out.replace('\n', "\r\n"),
    }
}

/// What pip will refuse of this lock, by package.
pub fn warnings(content: &LockContent<'_>, style: &Style) -> Vec<LockWarning> {
    if !has_hashes(content, style) {
        return Vec::new();
    }
    let left_out = |pin: &&Pin| is_apart(pin, style) && style.unsafe_handling == UnsafePackages::LeftOut;
    let (unpinned, pinned): (Vec<&Pin>, Vec<&Pin>) = emitted(content, style).partition(left_out);
    let unhashed: BTreeSet<String> = pinned
        .iter()
        .filter(|pin| pin.hashes.is_empty())
        .map(|pin| requirement(pin, style.strip_extras))
        .collect();
    let unpinned: BTreeSet<PackageName> = unpinned.iter().map(|pin| pin.name.clone()).collect();
    let unhashed = unhashed.into_iter().map(LockWarning::Unhashed);
    unhashed.chain(unpinned.into_iter().map(LockWarning::Unpinned)).collect()
}

fn emitted<'c>(content: &'c LockContent<'_>, style: &'c Style) -> impl Iterator<Item = &'c Pin> {
    content.pins.iter().filter(|pin| !style.no_emit.contains(&pin.name))
}

fn has_hashes(content: &LockContent<'_>, style: &Style) -> bool {
    emitted(content, style).any(|pin| !pin.hashes.is_empty())
}

/// Whether a pin stands in the section at the end, or is left out there.
fn is_apart(pin: &Pin, style: &Style) -> bool {
    style.unsafe_handling != UnsafePackages::Sorted && style.unsafe_packages.contains(&pin.name)
}

fn push_options(out: &mut String, options: &EmittedOptions) {
    let EmittedOptions { index_url, extra_index_urls, find_links, trusted_hosts, no_binary, only_binary } =
        options;
    let before = out.len();
    if let Some(url) = index_url {
        push_line(out, &format!("--index-url {}", without_credentials(url)));
    }
    for url in extra_index_urls {
        push_line(out, &format!("--extra-index-url {}", without_credentials(url)));
    }
    for link in find_links {
        push_line(out, &format!("--find-links {}", without_credentials(link)));
    }
    for host in trusted_hosts {
        push_line(out, &format!("--trusted-host {host}"));
    }
    // `:all:` sorts before every name
    for name in no_binary {
        push_line(out, &format!("--no-binary {name}"));
    }
    for name in only_binary {
        push_line(out, &format!("--only-binary {name}"));
    }
    if out.len() > before {
        out.push('\n');
    }
}

fn push_unsafe(out: &mut String, pins: &[&Pin], style: &Style, hashed: bool) {
    if pins.is_empty() {
        return;
    }
    out.push('\n');
    if style.unsafe_handling == UnsafePackages::AtEnd {
        out.push_str(UNSAFE);
        return push_pins(out, pins, style, hashed);
    }
    out.push_str(if hashed { UNSAFE_UNPINNED } else { UNSAFE });
    let names: BTreeSet<&PackageName> = pins.iter().map(|pin| &pin.name).collect();
    names.iter().for_each(|name| push_line(out, &format!("# {name}")));
}

/// Editables first, then by name; several pins of one name by marker.
fn push_pins(out: &mut String, pins: &[&Pin], style: &Style, hashed: bool) {
    let mut blocks: Vec<_> = pins
        .iter()
        .map(|pin| {
            let marker = marker_text(&pin.marker);
            let block = block(pin, marker.as_deref(), style);
            (!is_editable(pin), &pin.name, marker, block, hashed && pin.hashes.is_empty())
        })
        .collect();
    blocks.sort();
    blocks.dedup();
    for (_, _, _, block, unhashed) in blocks {
        if unhashed {
            out.push_str(UNHASHED);
        }
        out.push_str(&block);
    }
}

fn is_editable(pin: &Pin) -> bool {
    matches!(&pin.source, PinSource::Verbatim(text) if text.starts_with("-e "))
}

/// A pin's lines: the requirement, its hashes, its annotation.
fn block(pin: &Pin, marker: Option<&str>, style: &Style) -> String {
    let mut line = one_line(&requirement(pin, style.strip_extras));
    if let Some(marker) = marker {
        line.push_str(" ; ");
        line.push_str(&one_line(marker));
    }
    let mut out = line;
    let width = out.chars().count();
    for hash in &pin.hashes {
        out.push_str(" \\\n    --hash=sha256:");
        out.push_str(&hash.to_string());
    }
    let via: Vec<String> = pin.via.iter().map(|via| one_line(&via.to_string())).collect();
    match (style.annotation, &via[..]) {
        (None, _) | (_, []) => {}
        (Some(AnnotationStyle::Split), [only]) => {
            out.push_str("\n    # via ");
            out.push_str(only);
        }
        (Some(AnnotationStyle::Split), several) => {
            out.push_str("\n    # via");
            for via in several {
                out.push_str("\n    #   ");
                out.push_str(via);
            }
        }
        (Some(AnnotationStyle::Line), all) => {
            if pin.hashes.is_empty() {
                out.push_str(&" ".repeat(24_usize.saturating_sub(width)));
                out.push_str("  # via ");
            } else {
                out.push_str("\n    # via ");
            }
            out.push_str(&all.join(", "));
        }
    }
    out.push('\n');
    out
}

/// A pin's requirement, without marker: `name[extras]==1.0`.
fn requirement(pin: &Pin, strip_extras: bool) -> String {
    let extras: Vec<String> = pin.extras.iter().map(ToString::to_string).collect();
    let extras =
        if strip_extras || extras.is_empty() { String::new() } else { format!("[{}]", extras.join(",")) };
    let name = &pin.name;
    match &pin.source {
        PinSource::Index => format!("{name}{extras}=={}", pin.version),
        PinSource::Arbitrary(version) => format!("{name}{extras}==={version}"),
        PinSource::Url(url) => format!("{name}{extras} @ {}", without_credentials(&without_egg(url))),
        PinSource::Verbatim(text) if strip_extras => without_credentials(&without_extras(text)),
        PinSource::Verbatim(text) => without_credentials(text),
    }
}

/// A URL without `egg=` in its fragment, which the name in front of it says already.
fn without_egg(url: &str) -> String {
    let Some((address, fragment)) = url.split_once('#') else { return url.to_owned() };
    let kept: Vec<&str> = fragment.split('&').filter(|part| !part.starts_with("egg=")).collect();
    if kept.is_empty() { address.to_owned() } else { format!("{address}#{}", kept.join("&")) }
}

/// A path or URL without its `[extras]`. (A bracket behind `/` or `@` is an IPv6 address.)
fn without_extras(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        out.push_str(before);
        match after.split_once(']') {
            Some((_, tail)) if !before.is_empty() && !before.ends_with(['/', '@']) => rest = tail,
            _ => {
                out.push('[');
                rest = after;
            }
        }
    }
    out + rest
}

/// A URL without the password, and over HTTP without the user, since a lock is public. What is an environment
/// variable (`${TOKEN}`) stays, for pip puts it in.
pub fn without_credentials(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let Some((user, host)) = authority.rsplit_once('@') else { return url.to_owned() };
    let (user, password) =
        user.split_once(':').map_or((user, None), |(user, password)| (user, Some(password)));
    let is_variable = |text: &str| text.starts_with("${") && text.ends_with('}');
    let over_http = scheme.ends_with("http") || scheme.ends_with("https");
    let user = if over_http && !is_variable(user) && !password.is_some_and(is_variable) { "" } else { user };
    let kept = match password.filter(|password| is_variable(password)) {
        Some(password) => format!("{user}:{password}@"),
        None if user.is_empty() => String::new(),
        None => format!("{user}@"),
    };
    format!("{scheme}://{kept}{host}{path}")
}

fn push_line(out: &mut String, line: &str) {
    out.push_str(&one_line(line));
    out.push('\n');
}

/// Text that stays on its line: a file's name may hold a line break, which must not become a line of the lock.
fn one_line(text: &str) -> String {
    text.replace(|c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}'), "\u{fffd}")
        .trim_end()
        .to_owned()
}
