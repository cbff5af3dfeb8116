//! A real registry on loopback (Debian's docker-registry) and images made by hand: open, behind TLS and a password,
//! or behind a token server.
#![expect(clippy::disallowed_methods, reason = "tests start programs and write their files")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use sha2::Digest as _;
use tempfile::TempDir;

/// The program.
const PROGRAM: &str = "docker-registry";

/// The user that all but open registries know.
pub const USER: &str = "alice";
/// The user's password.
pub const PASSWORD: &str = "s3cret";
/// The same for htpasswd files, by bcrypt.
const HTPASSWD: &str = "alice:$2y$04$8jCqOFJHvmdyf7TppNBVKeApiP9rwoSi3beVd67i4VYasc3Ku6YvS\n";

const OCI: &str = "application/vnd.oci.image";

/// How a registry lets itself be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// Plain HTTP, by anybody.
    Open,
    /// TLS by a private authority, and a user's password.
    Password,
    /// Plain HTTP, with tokens for this repository alone that live so many seconds (fewer than none: expired).
    Token(&'static str, i64),
}

/// A registry. It ends when it is dropped.
pub struct Registry {
    folder: TempDir,
    /// Where images are pushed to: another door to the same images.
    open: Served,
    door: Option<Served>,
}

struct Served {
    child: Child,
    port: u16,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _ended = self.child.wait();
    }
}

/// Whether there is a registry to test with; says loudly where there is none. CI must have one.
#[must_use]
pub fn is_installed() -> bool {
    let is_there = Command::new(PROGRAM).arg("--version").stdout(Stdio::null()).status().is_ok();
    if !is_there {
        assert!(std::env::var_os("CI").is_none(), "CI must have {PROGRAM} (Debian's package of this name)");
        let mut stderr = std::io::stderr();
        let _unseen =
            writeln!(stderr, "SKIPPED: {PROGRAM} is not installed, so nothing was tested against it");
    }
    is_there
}

impl Registry {
    /// Starts a registry.
    ///
    /// # Panics
    /// Where it doesn't start.
    #[must_use]
    pub fn start(door: Door) -> Self {
        let folder = tempfile::Builder::new().prefix("reana-lock-registry-").tempdir().expect("a folder");
        let path = folder.path();
        let open = serve(path, "open", "", "");
        let door = match door {
            Door::Open => None,
            Door::Password => {
                certificates(path);
                fs::write(path.join("htpasswd"), HTPASSWD).expect("written");
                let at = path.display();
                let auth = format!("auth: {{htpasswd: {{realm: test, path: {at}/htpasswd}}}}\n");
                let tls = format!(", tls: {{certificate: {at}/srv.crt, key: {at}/srv.key}}");
                Some(serve(path, "password", &auth, &tls))
            }
            Door::Token(repository, seconds) => {
                openssl(
                    path,
                    &words(
                        "req -x509 -newkey rsa:2048 -nodes -days 3650 -subj /CN=issuer -keyout tok.key -out tok.crt",
                    ),
                );
                let realm = token_server(path, repository, seconds);
                let at = path.display();
                let auth = format!(
                    "auth: {{token: {{realm: '{realm}', service: tests, issuer: issuer, rootcertbundle: {at}/tok.crt}}}}\n"
                );
                Some(serve(path, "token", &auth, ""))
            }
        };
        Self { folder, open, door }
    }

    /// The registry as references name it.
    #[must_use]
    pub fn host(&self) -> String {
        // The certificate is for both names; docker's own habit is to treat them alike.
        format!("127.0.0.1:{}", self.door.as_ref().unwrap_or(&self.open).port)
    }

    /// The authority that its certificate is of.
    #[must_use]
    pub fn authority(&self) -> PathBuf {
        self.folder.path().join("ca.crt")
    }

    /// docker's config.json with the user's password for this registry.
    #[must_use]
    pub fn docker_config(&self) -> String {
        let auth = STANDARD.encode(format!("{USER}:{PASSWORD}"));
        json!({ "auths": { self.host(): { "auth": auth } } }).to_string()
    }

    /// Pushes an image for one platform, and gives its digest.
    pub fn push(&self, repository: &str, tag: &str, labels: &BTreeMap<String, String>) -> String {
        let (manifest, _) = self.image(repository, "amd64", labels);
        self.put_manifest(repository, tag, &manifest, "manifest")
    }

    /// Pushes an index of images for two platforms; gives its digest and those of its images.
    pub fn push_index(
        &self,
        repository: &str,
        tag: &str,
        labels: &BTreeMap<String, String>,
    ) -> (String, Vec<String>) {
        let mut children = Vec::new();
        let mut described = Vec::new();
        for architecture in ["amd64", "arm64"] {
            let (manifest, _) = self.image(repository, architecture, labels);
            let digest = digest(&manifest);
            self.put_manifest(repository, &digest, &manifest, "manifest");
            described.push(json!({
                "mediaType": format!("{OCI}.manifest.v1+json"),
                "digest": digest,
                "size": manifest.len(),
                "platform": { "architecture": architecture, "os": "linux" },
            }));
            children.push(digest);
        }
        let index = json!({ "schemaVersion": 2, "mediaType": format!("{OCI}.index.v1+json"), "manifests": described });
        let digest = self.put_manifest(repository, tag, index.to_string().as_bytes(), "index");
        (digest, children)
    }

    /// Takes a manifest away by its digest, as cleaning up does; what names it stays.
    pub fn delete(&self, repository: &str, digest: &str) {
        let (status, ..) = self.send("DELETE", &format!("/v2/{repository}/manifests/{digest}"), "", &[]);
        assert_eq!(status, 202);
    }

    /// The file that a blob or manifest is kept in, for tests that alter it.
    #[must_use]
    pub fn blob_file(&self, digest: &str) -> PathBuf {
        let hex = digest.trim_start_matches("sha256:");
        let blobs = self.folder.path().join("data/docker/registry/v2/blobs/sha256");
        blobs.join(hex.get(..2).unwrap_or_default()).join(hex).join("data")
    }

    /// Blobs and the manifest of an image; the manifest and its configuration's digest.
    fn image(
        &self,
        repository: &str,
        architecture: &str,
        labels: &BTreeMap<String, String>,
    ) -> (Vec<u8>, String) {
        // An empty tar: two blocks of zeros.
        let layer = vec![0_u8; 1024];
        let layer_digest = self.put_blob(repository, &layer);
        let config = json!({
            "architecture": architecture, "os": "linux", "created": "2023-11-14T22:13:20Z",
            "config": { "Labels": labels },
            "rootfs": { "type": "layers", "diff_ids": [layer_digest] },
        });
        let config = config.to_string().into_bytes();
        let config_digest = self.put_blob(repository, &config);
        let manifest = json!({
            "schemaVersion": 2, "mediaType": format!("{OCI}.manifest.v1+json"),
            "config": { "mediaType": format!("{OCI}.config.v1+json"), "digest": config_digest, "size": config.len() },
            "layers": [{ "mediaType": format!("{OCI}.layer.v1.tar"), "digest": layer_digest, "size": layer.len() }],
        });
        (manifest.to_string().into_bytes(), config_digest)
    }

    fn put_blob(&self, repository: &str, bytes: &[u8]) -> String {
        let digest = digest(bytes);
        let (status, location, _) = self.send("POST", &format!("/v2/{repository}/blobs/uploads/"), "", &[]);
        assert_eq!(status, 202, "an upload begins");
        let place = location.split_once("://").map_or(location.as_str(), |(_, rest)| rest);
        let path = place.find('/').and_then(|slash| place.get(slash..)).unwrap_or_default();
        let separator = if path.contains('?') { '&' } else { '?' };
        let (status, ..) =
            self.send("PUT", &format!("{path}{separator}digest={digest}"), "application/octet-stream", bytes);
        assert_eq!(status, 201, "an upload ends");
        digest
    }

    fn put_manifest(&self, repository: &str, name: &str, bytes: &[u8], kind: &str) -> String {
        let path = format!("/v2/{repository}/manifests/{name}");
        let (status, ..) = self.send("PUT", &path, &format!("{OCI}.{kind}.v1+json"), bytes);
        assert_eq!(status, 201, "a manifest is put");
        digest(bytes)
    }

    /// The status, the `Location` and the body of an answer.
    fn send(&self, method: &str, path: &str, content_type: &str, body: &[u8]) -> (u16, String, Vec<u8>) {
        let headers =
            if content_type.is_empty() { String::new() } else { format!("Content-Type: {content_type}\r\n") };
        let (status, headers, body) =
            send(&format!("127.0.0.1:{}", self.open.port), &format!("{method} {path}"), &headers, body);
        (status, headers.get("location").cloned().unwrap_or_default(), body)
    }
}

/// Asks an open registry for a path, and gives the status, the type and the body.
#[must_use]
pub fn get(host: &str, path: &str) -> (u16, String, Vec<u8>) {
    let accept = format!(
        "Accept: {OCI}.index.v1+json, {OCI}.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json\r\n"
    );
    let (status, headers, body) = send(host, &format!("GET {path}"), &accept, &[]);
    (status, headers.get("content-type").cloned().unwrap_or_default(), body)
}

fn send(host: &str, what: &str, headers: &str, body: &[u8]) -> (u16, BTreeMap<String, String>, Vec<u8>) {
    let mut connection = TcpStream::connect(host).expect("a connection");
    let length = body.len();
    let head = format!(
        "{what} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n"
    );
    connection.write_all(head.as_bytes()).and_then(|()| connection.write_all(body)).expect("sent");
    let mut reader = BufReader::new(connection);
    let (first, headers) = head_of(&mut reader).expect("an answer");
    let status = first.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    let mut answer = Vec::new();
    let _closed = reader.read_to_end(&mut answer);
    (status, headers, answer)
}

/// The digest of these bytes, as registries write it.
#[must_use]
pub fn digest(bytes: &[u8]) -> String {
    let mut text = "sha256:".to_owned();
    for byte in sha2::Sha256::digest(bytes) {
        let _infallible = write!(text, "{byte:02x}");
    }
    text
}

fn words(text: &str) -> Vec<&str> {
    text.split(' ').collect()
}

fn openssl(folder: &Path, words: &[&str]) {
    let output = Command::new("openssl").args(words).current_dir(folder).output().expect("openssl");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// An authority, and a certificate of it for this machine.
fn certificates(folder: &Path) {
    openssl(
        folder,
        &words(
            "req -x509 -newkey rsa:2048 -nodes -days 3650 -subj /CN=tests -keyout ca.key -out ca.crt -addext keyUsage=critical,keyCertSign",
        ),
    );
    openssl(folder, &words("req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout srv.key -out srv.csr"));
    let extensions = "subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth\n";
    fs::write(folder.join("srv.ext"), extensions).expect("written");
    openssl(
        folder,
        &words(
            "x509 -req -in srv.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 825 -extfile srv.ext -out srv.crt",
        ),
    );
}

/// Starts the program on a port of its own. A port that was free may be taken meanwhile, so it is tried again.
fn serve(folder: &Path, name: &str, auth: &str, tls: &str) -> Served {
    for _ in 0..5 {
        let port = TcpListener::bind(("127.0.0.1", 0)).and_then(|it| it.local_addr()).expect("a port").port();
        let at = folder.display();
        let config = format!(
            "version: 0.1\nlog: {{level: warn, accesslog: {{disabled: true}}}}\n\
             storage: {{filesystem: {{rootdirectory: {at}/data}}, delete: {{enabled: true}}}}\n\
             http: {{addr: \"127.0.0.1:{port}\", secret: test{tls}}}\n{auth}"
        );
        let file = folder.join(format!("{name}.yml"));
        fs::write(&file, config).expect("written");
        let log = fs::File::create(folder.join(format!("{name}.log"))).expect("a log");
        let child = Command::new(PROGRAM)
            .args(["serve"])
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("docker-registry");
        let mut served = Served { child, port };
        for _ in 0..400 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return served;
            }
            if served.child.try_wait().is_ok_and(|status| status.is_some()) {
                break;
            }
            std::thread::sleep(Duration::from_millis(25));
        }
    }
    panic!(
        "{PROGRAM} did not start: {}",
        fs::read_to_string(folder.join(format!("{name}.log"))).unwrap_or_default()
    );
}

/// A token server: whoever gives the user's password may pull from one repository, everybody else from none.
/// Its thread ends with the tests.
fn token_server(folder: &Path, repository: &str, seconds: i64) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let access = json!([{ "type": "repository", "name": repository, "actions": ["pull"] }]);
    let tokens = Arc::new((token(folder, &json!([]), seconds), token(folder, &access, seconds)));
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let tokens = Arc::clone(&tokens);
            std::thread::spawn(move || answer(&connection, &tokens));
        }
    });
    format!("http://127.0.0.1:{port}/token")
}

fn answer(mut connection: &TcpStream, (nobody, user): &(String, String)) {
    let Some((_, headers)) = head_of(&mut BufReader::new(connection)) else { return };
    let right = format!("Basic {}", STANDARD.encode(format!("{USER}:{PASSWORD}")));
    let (status, body) = match headers.get("authorization") {
        None => (200, json!({ "token": nobody })),
        Some(given) if *given == right => (200, json!({ "token": user })),
        Some(_) => (401, json!({ "details": "bad credentials" })),
    };
    let body = body.to_string();
    let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    let _gone = connection.write_all(format!("{head}{body}").as_bytes());
}

/// A signed token (RS256, with its certificate).
fn token(folder: &Path, access: &Value, seconds: i64) -> String {
    let pem = fs::read_to_string(folder.join("tok.crt")).expect("a certificate");
    let certificate: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a time").as_secs();
    let now = i64::try_from(now).expect("a time");
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let head = part(&json!({ "typ": "JWT", "alg": "RS256", "x5c": [certificate] }));
    let claims = part(&json!({
        "iss": "issuer", "sub": "", "aud": "tests", "exp": now + seconds, "nbf": now - 1000, "iat": now - 1000,
        "jti": "1", "access": access,
    }));
    let text = format!("{head}.{claims}");
    fs::write(folder.join("text"), &text).expect("written");
    openssl(folder, &words("dgst -sha256 -sign tok.key -out signature text"));
    let signature = fs::read(folder.join("signature")).expect("a signature");
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
}

/// The first line and the headers, names in lower case.
fn head_of(reader: &mut impl std::io::BufRead) -> Option<(String, BTreeMap<String, String>)> {
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.trim().split_once(':') {
            Some((name, value)) => headers.insert(name.to_ascii_lowercase(), value.trim().to_owned()),
            None => return Some((first, headers)),
        };
    }
}
