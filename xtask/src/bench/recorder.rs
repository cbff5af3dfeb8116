//! What the bench's index has not got yet: asked for at the default index, once, and kept in the site's folder.
//!
//! nginx sends here whatever it finds no file for. A page is kept as the public index has it, but for three things:
//! links lead to the local index, files that were uploaded after the bench's moment are left out, and METADATA
//! beside wheels is announced (a mirror may not have it; it is taken out of the wheel's end then).

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use jiff::Timestamp;
use reana_index::archive::{TailAnswer, metadata_from_tail};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

const PAGE: &str = "application/vnd.pypi.simple.v1+json";

/// Stands for the local index in what is kept: its port is another one each time.
pub(crate) const HERE: &str = "https://here.invalid/";

/// How often an address is asked before its failure counts.
const TRIES: u32 = 4;

/// How much of a wheel's end is asked for first.
const TAIL: u64 = 64 << 10;

/// The recorder, and where it listens.
pub(crate) struct Recorder {
    /// Its address on loopback.
    pub(crate) address: SocketAddr,
}

struct Upstream {
    runtime: Runtime,
    http: reqwest::Client,
    index: reqwest::Url,
    site: PathBuf,
    moment: Timestamp,
}

/// An answer of the index: status, `Content-Range`, body.
type Answer = (u16, Option<String>, Vec<u8>);

impl Recorder {
    /// Starts to listen; ends with the process.
    pub(crate) fn start(index: &str, site: &Path, moment: Timestamp) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let http = reqwest::Client::builder().timeout(Duration::from_secs(300)).build()?;
        let index = format!("{}/", index.trim_end_matches('/')).parse()?;
        let upstream = Arc::new(Upstream { runtime, http, index, site: site.to_owned(), moment });
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let upstream = Arc::clone(&upstream);
                std::thread::spawn(move || {
                    let _gone = upstream.serve(stream);
                });
            }
        });
        Ok(Self { address })
    }
}

impl Upstream {
    fn serve(&self, stream: TcpStream) -> Result<()> {
        let mut lines = BufReader::new(stream.try_clone()?).lines();
        let request = lines.next().context("no request")??;
        for line in lines {
            if line?.is_empty() {
                break;
            }
        }
        let path = request.split(' ').nth(1).context("no path")?;
        let (status, kind, body) = match self.answer(path) {
            Ok(Some((kind, body))) => ("200 OK", kind, body),
            Ok(None) => ("404 Not Found", "text/plain", Vec::new()),
            Err(error) => ("502 Bad Gateway", "text/plain", format!("{error:#}\n").into_bytes()),
        };
        let mut stream = stream;
        let length = body.len();
        write!(stream, "HTTP/1.0 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n")?;
        stream.write_all(&body)?;
        Ok(())
    }

    /// What belongs at a path; it is kept on the way.
    fn answer(&self, path: &str) -> Result<Option<(&'static str, Vec<u8>)>> {
        ensure!(!path.contains(".."), "a path that leads outside");
        let words: Vec<&str> = path.trim_matches('/').split('/').collect();
        match words.as_slice() {
            ["simple", name] => {
                let Some(page) = self.page(name)? else { return Ok(None) };
                let body = serde_json::to_vec(&page)?;
                self.keep(&format!("simple/{name}.json"), &body, true)?;
                Ok(Some((PAGE, body)))
            }
            ["pypi", name, "json"] | [name, "json"] => {
                let Some(page) = self.page(&crate::job::normalised(name))? else { return Ok(None) };
                let body = serde_json::to_vec(&project(name, &page))?;
                self.keep(&format!("pypi/{name}.json"), &body, false)?;
                Ok(Some(("application/json", body)))
            }
            ["files", host, rest @ ..] => {
                let rest = rest.join("/");
                let body = match rest.strip_suffix(".metadata") {
                    Some(wheel) => self.metadata(&format!("https://{host}/{wheel}"))?,
                    None => self.whole(&format!("https://{host}/{rest}"))?,
                };
                let Some(body) = body else { return Ok(None) };
                self.keep(&format!("files/{host}/{rest}"), &body, false)?;
                Ok(Some(("application/octet-stream", body)))
            }
            _ => Ok(None),
        }
    }

    fn page(&self, name: &str) -> Result<Option<Value>> {
        let url = self.index.join(&format!("{name}/"))?;
        let (status, _, body) = self.get(url.as_str(), &[("accept", PAGE)])?;
        if status == 404 {
            return Ok(None);
        }
        ensure!(status == 200, "{url}: {status}");
        let page = serde_json::from_slice(&body).with_context(|| url.to_string())?;
        localised(page, &url, self.moment).map(Some)
    }

    fn metadata(&self, wheel: &str) -> Result<Option<Vec<u8>>> {
        let (status, _, body) = self.get(&format!("{wheel}.metadata"), &[])?;
        if status == 200 && body.starts_with(b"Metadata-Version:") {
            return Ok(Some(body));
        }
        let mut range = format!("bytes=-{TAIL}");
        loop {
            let (status, place, tail) = self.get(wheel, &[("range", &range)])?;
            let total = match (status, place) {
                (404, _) => return Ok(None),
                (206, Some(place)) => place.rsplit('/').next().context("no length")?.parse()?,
                (200, _) => tail.len() as u64,
                _ => bail!("{wheel}: {status}"),
            };
            match metadata_from_tail(&tail, total).with_context(|| wheel.to_owned())? {
                TailAnswer::Metadata(text) => return Ok(Some(text)),
                TailAnswer::Need { start, .. } => range = format!("bytes={start}-"),
            }
        }
    }

    fn whole(&self, url: &str) -> Result<Option<Vec<u8>>> {
        match self.get(url, &[("accept-encoding", "identity")])? {
            (200, _, body) => Ok(Some(body)),
            (404, ..) => Ok(None),
            (status, ..) => bail!("{url}: {status}"),
        }
    }

    fn get(&self, url: &str, headers: &[(&str, &str)]) -> Result<Answer> {
        let mut tries = 1;
        loop {
            let answer = self.runtime.block_on(async {
                let request = self.http.get(url);
                let request =
                    headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
                let response = request.send().await?;
                let status = response.status().as_u16();
                let place = response.headers().get("content-range").and_then(|it| it.to_str().ok());
                let place = place.map(str::to_owned);
                Ok::<_, reqwest::Error>((status, place, response.bytes().await?.to_vec()))
            });
            match answer {
                Ok(answer) if answer.0 < 500 || tries == TRIES => return Ok(answer),
                Err(error) if tries == TRIES => return Err(error).context(url.to_owned()),
                _ => std::thread::sleep(Duration::from_secs(u64::from(tries))),
            }
            tries += 1;
        }
    }

    /// Writes a file of the site, whole, with a compressed twin where that is how the public index sends it.
    fn keep(&self, path: &str, body: &[u8], compressed: bool) -> Result<()> {
        let path = self.site.join(path);
        let folder = path.parent().context("a path without folder")?;
        std::fs::create_dir_all(folder)?;
        let write = |path: &Path, bytes: &[u8]| -> Result<()> {
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            file.write_all(bytes)?;
            file.persist(path)?;
            Ok(())
        };
        if compressed {
            let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
            gzip.write_all(body)?;
            let mut twin = path.clone().into_os_string();
            twin.push(".gz");
            write(Path::new(&twin), &gzip.finish()?)?;
        }
        write(&path, body)
    }
}

/// A page with links to the local index, without what came after the moment, with METADATA announced.
fn localised(mut page: Value, address: &reqwest::Url, moment: Timestamp) -> Result<Value> {
    let files = page["files"].as_array_mut().context("a page without files")?;
    files.retain(|file| {
        let uploaded = file["upload-time"].as_str().and_then(|time| time.parse::<Timestamp>().ok());
        uploaded.is_some_and(|time| time <= moment)
    });
    for file in files {
        let url = address.join(file["url"].as_str().context("a file without address")?)?;
        let is_wheel = url.path().ends_with(".whl");
        file["url"] = format!("../../files/{}{}", url.host_str().unwrap_or_default(), url.path()).into();
        if is_wheel && file["core-metadata"].is_null() {
            file["core-metadata"] = true.into();
            file["data-dist-info-metadata"] = true.into();
        }
    }
    Ok(page)
}

/// The part of the public index's other interface that pip-compile reads hashes from.
fn project(name: &str, page: &Value) -> Value {
    let mut releases = serde_json::Map::new();
    for file in page["files"].as_array().into_iter().flatten() {
        let filename = file["filename"].as_str().unwrap_or_default();
        let is_wheel = filename.ends_with(".whl");
        let kind = if is_wheel { "bdist_wheel" } else { "sdist" };
        let Some(version) = version_of(filename, name) else { continue };
        let url = file["url"].as_str().unwrap_or_default().replacen("../../", HERE, 1);
        let entry = json!({
            "filename": filename, "packagetype": kind, "url": url, "digests": { "sha256": file["hashes"]["sha256"] },
        });
        let files = releases.entry(version).or_insert_with(|| Value::Array(Vec::new()));
        if let Some(files) = files.as_array_mut() {
            files.push(entry);
        }
    }
    json!({ "info": { "name": name }, "releases": releases })
}

fn version_of(filename: &str, name: &str) -> Option<String> {
    let package = name.parse().ok()?;
    let dist = reana_model::DistName::parse(filename, &package).ok()?;
    Some(dist.version().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_localised() {
        let file = |name: &str, time: &str| {
            json!({ "filename": name, "url": format!("https://files.test/p/{name}"), "upload-time": time,
                    "hashes": { "sha256": "00" } })
        };
        let old = "2020-05-20T08:00:00Z";
        let page = json!({ "files": [
            file("a-1-py3-none-any.whl", old), file("a-1.tar.gz", old), file("a-2.tar.gz", "2020-05-20T08:00:02Z"),
        ]});
        let address = "https://index.test/simple/a/".parse().expect("an address");
        let page =
            localised(page, &address, "2020-05-20T08:00:01Z".parse().expect("a time")).expect("a page");
        let [wheel, sdist] = &page["files"].as_array().expect("files")[..] else { panic!("two files") };
        assert_eq!(wheel["url"], "../../files/files.test/p/a-1-py3-none-any.whl");
        assert_eq!((&wheel["core-metadata"], &sdist["core-metadata"]), (&true.into(), &Value::Null));
        let releases = &project("a", &page)["releases"];
        assert_eq!(releases["1"][1]["url"], "https://here.invalid/files/files.test/p/a-1.tar.gz");
    }
}
