//! The recorder's few requests to an index: pages in JSON (PEP 691), and whole wheels.

use std::io::{Cursor, Read};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use reana_model::Sha256;
use tokio::runtime::Runtime;

use super::page::PageFile;

/// How often an address is asked before its failure counts.
const TRIES: u32 = 4;

/// Asks one index, one request after the other.
pub(crate) struct Client {
    runtime: Runtime,
    http: reqwest::Client,
    index: reqwest::Url,
}

impl Client {
    /// A client of the index at this address.
    pub(crate) fn new(index: &str) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let http = reqwest::Client::builder().timeout(Duration::from_secs(120)).build()?;
        let index = format!("{}/", index.trim_end_matches('/'));
        Ok(Self { runtime, http, index: reqwest::Url::parse(&index).context(index)? })
    }

    /// The files of a package, with absolute addresses.
    pub(crate) fn page(&self, name: &str) -> Result<Vec<PageFile>> {
        #[derive(serde::Deserialize)]
        struct Answer {
            files: Vec<PageFile>,
        }
        let url = self.index.join(&format!("{name}/"))?;
        let bytes = self.get(&url, "application/vnd.pypi.simple.v1+json")?;
        let answer: Answer = serde_json::from_slice(&bytes).with_context(|| format!("the page of {name}"))?;
        let mut files = answer.files;
        for file in &mut files {
            file.url = url.join(&file.url)?.to_string();
        }
        Ok(files)
    }

    /// The METADATA of a wheel, read from the whole wheel, whose hash is checked.
    pub(crate) fn metadata(&self, file: &PageFile) -> Result<String> {
        read_metadata(self.archive(file)?).with_context(|| file.filename.clone())
    }

    /// A wheel or sdist, whose hash is checked.
    pub(crate) fn archive(&self, file: &PageFile) -> Result<Vec<u8>> {
        let bytes = self.get(&reqwest::Url::parse(&file.url)?, "*/*")?;
        let found = Sha256::of(&bytes).to_string();
        ensure!(found == file.hashes.sha256, "{}: wrong hash {found}", file.filename);
        Ok(bytes)
    }

    fn get(&self, url: &reqwest::Url, accept: &str) -> Result<Vec<u8>> {
        let mut tries = 1;
        loop {
            let answer = self.runtime.block_on(async {
                let request = self.http.get(url.clone()).header("accept", accept);
                request.send().await?.error_for_status()?.bytes().await
            });
            match answer {
                Ok(bytes) => return Ok(bytes.to_vec()),
                Err(error) if tries == TRIES || error.status().is_some_and(|code| code.is_client_error()) => {
                    return Err(error).context(url.to_string());
                }
                Err(_) => std::thread::sleep(Duration::from_secs(u64::from(tries))),
            }
            tries += 1;
        }
    }
}

fn read_metadata(wheel: Vec<u8>) -> Result<String> {
    let mut archive = zip::ZipArchive::new(Cursor::new(wheel))?;
    let mut name = None;
    for file in archive.file_names() {
        let file = file?;
        if file.ends_with(".dist-info/METADATA") && file.matches('/').count() == 1 {
            name = Some(file.into_owned());
        }
    }
    let name = name.context("there is no METADATA in it")?;
    let mut text = String::new();
    archive.by_name(&name)?.read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::archive;

    #[test]
    fn metadata_is_found_in_the_wheels_own_folder() {
        let files =
            [("a/vendor-1.dist-info/METADATA", "Name: vendor\n"), ("a-1.dist-info/METADATA", "Name: a\n")]
                .map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()));
        let wheel = archive::zip(&files.to_vec()).expect("a wheel");
        assert_eq!(read_metadata(wheel).expect("METADATA"), "Name: a\n");
        assert!(read_metadata(archive::zip(&Vec::new()).expect("an empty zip")).is_err());
    }
}
