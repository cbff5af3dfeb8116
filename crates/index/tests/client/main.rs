//! The client against servers on loopback and folders.
//!
//! | module | what |
//! |---|---|
//! | `pages` | formats, several indexes, upload times, folders, links |
//! | `kept` | the cache: freshness, offline, damage, many users |
//! | `files` | metadata of wheels by each way, hashes, addresses |
//! | `failures` | what servers do wrong, and what is said of it |

#![expect(clippy::disallowed_methods, reason = "tests make files")]

mod failures;
mod files;
mod kept;
mod pages;

use std::sync::Arc;
use std::time::Duration;

use reana_index::{CacheMode, Client, Error, IndexSource, Settings};
use reana_model::{DistFile, Listing, PackageName, Sha256, Target};
use reana_testkit::{IndexServer, Reply, Wheel};

/// The moment at which these tests happen.
fn now() -> jiff::Timestamp {
    "2020-05-20T08:00:00Z".parse().expect("a time")
}

fn a_minute_later() -> jiff::Timestamp {
    now() + jiff::SignedDuration::from_secs(60)
}

fn an_hour_later() -> jiff::Timestamp {
    now() + jiff::SignedDuration::from_secs(3600)
}

fn name(text: &str) -> PackageName {
    PackageName::new(text.to_owned()).expect("a name")
}

fn target() -> Target {
    Target { python: "3.12".parse().expect("a Python"), platform: "linux/amd64".parse().expect("a platform") }
}

/// Settings for one server's `/simple`, impatient ones.
fn settings(server: &IndexServer) -> Settings {
    Settings {
        indexes: vec![IndexSource::new(server.url("/simple"))],
        backoff: Duration::from_millis(1),
        longest_wait: Duration::from_millis(20),
        proxies: false,
        ..Settings::new(now)
    }
}

fn client(settings: Settings) -> Client {
    Client::new(settings).expect("a client")
}

fn cached(settings: Settings, folder: &tempfile::TempDir) -> Settings {
    Settings { cache: CacheMode::Folder(folder.path().to_owned()), ..settings }
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

/// What a client says of `a`: versions and files, or what is wrong.
fn show(client: &Client) -> String {
    show_answer(client.listing(&name("a")))
}

fn show_answer(listing: Result<Arc<dyn Listing>, Arc<Error>>) -> String {
    match listing {
        Err(error) => error.to_string(),
        Ok(listing) if !listing.known() => "unknown".to_owned(),
        Ok(listing) => (0..listing.versions().len())
            .map(|index| {
                let files: Vec<&str> = listing.files(index).iter().map(|file| file.name.file()).collect();
                format!("{}: {}", listing.versions()[index], files.join(" "))
            })
            .collect::<Vec<_>>()
            .join("\n"),
    }
}

/// An error's text without the server's changing port.
fn bare(server: &IndexServer, text: &str) -> String {
    text.replace(&server.host(), "HOST")
}

/// A page in JSON with these files of `a`, each `name` followed by further keys.
fn page(files: &[(&str, &str)]) -> String {
    let files: Vec<String> = files
        .iter()
        .map(|(file, more)| {
            format!(r#"{{"filename": "{file}", "url": "/files/{file}", "hashes": {{}}{more}}}"#)
        })
        .collect();
    format!(r#"{{"meta": {{"api-version": "1.1"}}, "name": "a", "files": [{}]}}"#, files.join(","))
}

fn sha256_key(bytes: &[u8]) -> String {
    format!(r#", "hashes": {{"sha256": "{}"}}"#, Sha256::of(bytes))
}

/// A server with a page of `a` that lists one wheel, and the wheel.
struct OneWheel {
    server: IndexServer,
    wheel: Wheel,
    file: String,
}

impl OneWheel {
    /// `more` are further keys of the file on the page.
    fn new(more: &str) -> Self {
        let server = IndexServer::new();
        let wheel = Wheel::new("a", "1.0").requires(["b>=1"]).file("a/data.bin", noise(200_000));
        let file = wheel.file_name();
        server.put("/simple/a/", Reply::json(page(&[(&file, more)]).replacen(r#""hashes": {}, "#, "", 1)));
        let one = Self { server, wheel, file };
        one.server.put(&one.path(), Reply::file(one.wheel.bytes()));
        one
    }

    fn path(&self) -> String {
        format!("/files/{}", self.file)
    }

    fn beside(&self) -> String {
        format!("/files/{}.metadata", self.file)
    }

    fn dist_file(&self, client: &Client) -> DistFile {
        let listing = client.listing(&name("a")).expect("a page");
        let file = listing.files(0).first().expect("a file").as_ref().clone();
        let _ = self.server.take_log();
        file
    }
}

/// Bytes that don't compress.
fn noise(length: usize) -> Vec<u8> {
    let mut seed = 1_u32;
    std::iter::repeat_with(|| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        seed.to_be_bytes()[0]
    })
    .take(length)
    .collect()
}
