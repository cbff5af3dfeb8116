//! A page in compact form: what the cache keeps, and what a [`Listing`] reads lazily.
//!
//! The head has the versions, ascending, and where each one's files stand in the rest, with a checksum. A version's
//! files are decoded when they are asked for, which for most versions is never.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use reana_model::file::CoreMetadata;
use reana_model::{DistFile, DistName, Listing, PackageName, Sha256, Version, Yanked};
use rkyv::util::AlignedVec;
use rkyv::{Archive, Deserialize, Serialize, rancor};

use crate::cache::{Body, part_sum};
use crate::error::Error;
use crate::wire::{Page, ProjectStatus};

#[derive(Debug, Archive, Serialize, Deserialize)]
struct Head {
    known: bool,
    skipped: u32,
    status: Option<(String, String)>,
    /// What the addresses of all files begin with.
    base: String,
    releases: Vec<Release>,
}

#[derive(Debug, Archive, Serialize, Deserialize)]
struct Release {
    version: String,
    start: u32,
    length: u32,
    sum: u32,
    /// The first upload, in microseconds since 1970.
    earliest: Option<i64>,
    /// A file that has no upload time.
    undated: Option<String>,
}

#[derive(Debug, Archive, Serialize, Deserialize)]
struct File {
    name: String,
    /// The address, without the page's base, and without the file's name where it ends in that.
    place: String,
    is_named: bool,
    sha256: Option<[u8; 32]>,
    size: Option<u64>,
    requires_python: Option<String>,
    yanked: Option<String>,
    uploaded: Option<i64>,
    metadata: Announced,
}

#[derive(Debug, Archive, Serialize, Deserialize)]
enum Announced {
    No,
    Yes,
    Hashed([u8; 32]),
}

/// A page's compact form, and how much of it is its head.
pub(crate) struct Encoded {
    pub(crate) bytes: Vec<u8>,
    pub(crate) head: usize,
}

/// A page's compact form; none where it is too large for it.
pub(crate) fn encode(page: Option<&Page>) -> Option<Encoded> {
    let empty = Page::default();
    let files = &page.unwrap_or(&empty).files;
    let base = common_base(files);
    let mut releases: BTreeMap<&Version, Vec<&DistFile>> = BTreeMap::new();
    for file in files {
        releases.entry(file.name.version()).or_default().push(file);
    }
    let mut rest: Vec<u8> = Vec::with_capacity(files.len() * 300);
    let mut head = Head {
        known: page.is_some(),
        skipped: u32::try_from(page.map_or(0, |page| page.skipped)).unwrap_or(u32::MAX),
        status: page.and_then(|it| it.status.as_ref()).map(|it| (it.status.clone(), it.reason.clone())),
        base: base.to_owned(),
        releases: Vec::with_capacity(releases.len()),
    };
    for (version, files) in releases {
        let compact: Vec<File> = files.iter().map(|file| File::of(file, base)).collect();
        let blob = rkyv::to_bytes::<rancor::Error>(&compact).ok()?;
        head.releases.push(Release {
            version: version.to_string(),
            start: u32::try_from(rest.len()).ok()?,
            length: u32::try_from(blob.len()).ok()?,
            sum: part_sum(&blob),
            earliest: files.iter().filter_map(|file| Some(file.uploaded?.as_microsecond())).min(),
            undated: files
                .iter()
                .find(|file| file.uploaded.is_none())
                .map(|file| file.name.file().to_owned()),
        });
        rest.extend_from_slice(&blob);
    }
    let head = rkyv::to_bytes::<rancor::Error>(&head).ok()?;
    let mut bytes = u32::try_from(head.len()).ok()?.to_le_bytes().to_vec();
    bytes.reserve_exact(head.len() + rest.len());
    bytes.extend_from_slice(&head);
    bytes.extend_from_slice(&rest);
    Some(Encoded { head: bytes.len() - rest.len(), bytes })
}

/// What the addresses of all files begin with: thousands of them repeat it.
fn common_base(files: &[DistFile]) -> &str {
    let Some((first, rest)) = files.split_first() else { return "" };
    let shared = |base: usize, file: &DistFile| {
        first.url.bytes().zip(file.url.bytes()).take(base).take_while(|(a, b)| a == b).count()
    };
    let length = rest.iter().fold(first.url.len(), shared);
    first.url.get(..length).unwrap_or_default()
}

impl File {
    fn of(file: &DistFile, base: &str) -> Self {
        let (name, place) = (file.name.file(), file.url.strip_prefix(base).unwrap_or_default());
        let folder = place.strip_suffix(name);
        Self {
            name: name.to_owned(),
            place: folder.unwrap_or(place).to_owned(),
            is_named: folder.is_some(),
            sha256: file.sha256.map(|hash| hash.0),
            size: file.size,
            requires_python: file.requires_python.as_ref().map(ToString::to_string),
            yanked: match &file.yanked {
                Yanked::No => None,
                Yanked::Yes(reason) => Some(reason.clone()),
            },
            uploaded: file.uploaded.map(jiff::Timestamp::as_microsecond),
            metadata: match file.core_metadata {
                CoreMetadata::Absent => Announced::No,
                CoreMetadata::Present => Announced::Yes,
                CoreMetadata::Hashed(hash) => Announced::Hashed(hash.0),
            },
        }
    }

    fn into_file(self, package: &PackageName, base: &str) -> Option<DistFile> {
        let name = if self.is_named { self.name.as_str() } else { "" };
        Some(DistFile {
            url: [base, &self.place, name].concat(),
            name: DistName::parse(&self.name, package).ok()?,
            sha256: self.sha256.map(Sha256),
            size: self.size,
            requires_python: self.requires_python.and_then(|text| text.parse().ok()),
            yanked: self.yanked.map_or(Yanked::No, Yanked::Yes),
            uploaded: self.uploaded.and_then(|time| jiff::Timestamp::from_microsecond(time).ok()),
            core_metadata: match self.metadata {
                Announced::No => CoreMetadata::Absent,
                Announced::Yes => CoreMetadata::Present,
                Announced::Hashed(hash) => CoreMetadata::Hashed(Sha256(hash)),
            },
        })
    }
}

fn aligned(bytes: &[u8]) -> AlignedVec {
    let mut copy = AlignedVec::with_capacity(bytes.len());
    copy.extend_from_slice(bytes);
    copy
}

/// What may be seen of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct View {
    /// Files that were uploaded after this moment are not seen.
    pub(crate) exclude_newer: Option<jiff::Timestamp>,
    /// Whether files without an upload time are seen then; else they are an error.
    pub(crate) undated_allow: bool,
}

impl View {
    fn shows(self, file: &DistFile) -> bool {
        match (self.exclude_newer, file.uploaded) {
            (Some(limit), Some(time)) => time <= limit,
            _ => true,
        }
    }
}

/// A page, read lazily from its compact form.
pub(crate) struct CompactListing {
    package: PackageName,
    body: Body,
    known: bool,
    view: View,
    pub(crate) skipped: u32,
    pub(crate) status: Option<ProjectStatus>,
    base: String,
    versions: Vec<Version>,
    places: Vec<Place>,
    files: Vec<OnceLock<Vec<Arc<DistFile>>>>,
}

/// Where a version's files stand in the body.
struct Place {
    start: usize,
    length: usize,
    sum: u32,
}

impl CompactListing {
    /// Reads the head. `Ok(None)` where the bytes are no compact page: the cache's entry is worth nothing.
    ///
    /// # Errors
    /// Where a file has no upload time and must have one.
    pub(crate) fn new(package: &PackageName, body: Body, view: View) -> Result<Option<Self>, Error> {
        let Some((head, rest_at)) = head_bytes(&body) else { return Ok(None) };
        let Ok(head) = rkyv::access::<ArchivedHead, rancor::Error>(&head) else { return Ok(None) };
        let limit = view.exclude_newer.map(jiff::Timestamp::as_microsecond);
        let (mut versions, mut places) = (Vec::with_capacity(head.releases.len()), Vec::new());
        for release in head.releases.iter() {
            let earliest = release.earliest.as_ref().map(|time| time.to_native());
            if let (Some(limit), false) = (limit, view.undated_allow) {
                if let Some(file) = release.undated.as_ref() {
                    return Err(Error::Undated { package: package.clone(), file: file.to_string() });
                }
                if earliest.is_none_or(|time| time > limit) {
                    continue;
                }
            } else if let (Some(limit), None, Some(time)) = (limit, release.undated.as_ref(), earliest)
                && time > limit
            {
                continue;
            }
            let Ok(version) = release.version.as_str().parse() else { return Ok(None) };
            let (Ok(start), Ok(length)) =
                (usize::try_from(release.start.to_native()), usize::try_from(release.length.to_native()))
            else {
                return Ok(None);
            };
            versions.push(version);
            let (start, sum) = (rest_at.saturating_add(start), release.sum.to_native());
            places.push(Place { start, length, sum });
        }
        let files = versions.iter().map(|_| OnceLock::new()).collect();
        let status = head
            .status
            .as_ref()
            .map(|said| ProjectStatus { status: said.0.to_string(), reason: said.1.to_string() });
        let (package, known, skipped) = (package.clone(), head.known, head.skipped.to_native());
        let base = head.base.to_string();
        Ok(Some(Self { package, body, known, view, skipped, status, base, versions, places, files }))
    }

    fn decode(&self, index: usize) -> Option<Vec<Arc<DistFile>>> {
        let place = self.places.get(index)?;
        let blob = self.body.get(place.start, place.length)?;
        if part_sum(&blob) != place.sum {
            return None;
        }
        let files = rkyv::from_bytes::<Vec<File>, rancor::Error>(&aligned(&blob)).ok()?;
        let files = files.into_iter().filter_map(|file| file.into_file(&self.package, &self.base));
        Some(files.filter(|file| self.view.shows(file)).map(Arc::new).collect())
    }

    fn decode_or_mark(&self, index: usize) -> Vec<Arc<DistFile>> {
        self.decode(index).unwrap_or_else(|| {
            self.body.mark_damaged();
            Vec::new()
        })
    }
}

/// How much of these bytes is a page's head; `None` where they are no page.
pub(crate) fn head_of(body: &Body) -> Option<usize> {
    let (head, length) = head_bytes(body)?;
    rkyv::access::<ArchivedHead, rancor::Error>(&head).is_ok().then_some(length)
}

/// The head, where it can be accessed, and where the rest begins.
fn head_bytes(body: &Body) -> Option<(AlignedVec, usize)> {
    let length = u32::from_le_bytes(*body.get(0, 4)?.first_chunk::<4>()?);
    let length = usize::try_from(length).ok()?;
    Some((aligned(&body.get(4, length)?), 4 + length))
}

impl Listing for CompactListing {
    fn versions(&self) -> &[Version] {
        &self.versions
    }

    fn files(&self, index: usize) -> &[Arc<DistFile>] {
        self.files.get(index).map_or(&[], |files| files.get_or_init(|| self.decode_or_mark(index)).as_slice())
    }

    fn known(&self) -> bool {
        self.known
    }
}

impl std::fmt::Debug for CompactListing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({} versions)", self.package, self.versions.len())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn package() -> PackageName {
        PackageName::new("foo".to_owned()).expect("a name")
    }

    fn view(exclude_newer: Option<i64>, undated_allow: bool) -> View {
        let exclude_newer =
            exclude_newer.map(|time| jiff::Timestamp::from_microsecond(time).expect("a time"));
        View { exclude_newer, undated_allow }
    }

    fn any_file() -> impl Strategy<Value = DistFile> {
        let facts = (0..30_u64, any::<bool>(), any::<Option<[u8; 32]>>(), any::<Option<u64>>());
        let more = (proptest::option::of(".*"), proptest::option::of(0..100_i64), 0..3_u8, any::<bool>());
        (facts, more).prop_map(|((version, is_wheel, sha256, size), (yanked, uploaded, metadata, python))| {
            let ending = if is_wheel { "-py3-none-any.whl" } else { ".tar.gz" };
            let file = format!("foo-{}.{}{ending}", version / 10, version % 10);
            let time = |time| jiff::Timestamp::from_microsecond(time).expect("a time");
            DistFile {
                url: match size {
                    Some(size) if size % 3 == 0 => format!("https://a.example/{size}/{file}"),
                    Some(size) if size % 3 == 1 => format!("https://ä.example/{size}/{file}?x"),
                    _ => format!("https://a.example/{file}"),
                },
                name: DistName::parse(&file, &package()).expect("a file name"),
                sha256: sha256.map(Sha256),
                size,
                requires_python: python.then(|| ">=3.6, !=3.7.*".parse().expect("specifiers")),
                yanked: yanked.map_or(Yanked::No, Yanked::Yes),
                uploaded: uploaded.map(time),
                core_metadata: match metadata {
                    0 => CoreMetadata::Absent,
                    1 => CoreMetadata::Present,
                    _ => CoreMetadata::Hashed(Sha256::of(file.as_bytes())),
                },
            }
        })
    }

    fn all(listing: &impl Listing) -> Vec<(String, Vec<Arc<DistFile>>)> {
        let versions = listing.versions().iter().enumerate();
        versions.map(|(index, version)| (version.to_string(), listing.files(index).to_vec())).collect()
    }

    proptest! {
        #[test]
        fn says_what_the_page_said(
            files in proptest::collection::vec(any_file(), 0..40),
            limit in proptest::option::of(0..100_i64),
        ) {
            let page = Page { files: files.clone(), ..Page::default() };
            let bytes = encode(Some(&page)).expect("a compact page").bytes;
            let shown = files.into_iter().filter(|file| match (limit, file.uploaded) {
                (Some(limit), Some(time)) => time.as_microsecond() <= limit,
                _ => true,
            });
            let expected = reana_model::MemoryListing::new(shown);
            let found = CompactListing::new(&package(), Body::from(bytes), view(limit, true)).expect("dated").expect("sound");
            prop_assert_eq!(all(&found), all(&expected));
            prop_assert!(found.known());
        }

        #[test]
        fn damaged_bytes_never_panic(
            files in proptest::collection::vec(any_file(), 0..5),
            at in any::<proptest::sample::Index>(),
            byte in any::<u8>(),
        ) {
            let mut bytes = encode(Some(&Page { files, ..Page::default() })).expect("a compact page").bytes;
            let at = at.index(bytes.len());
            bytes[at] = byte;
            if let Ok(Some(listing)) = CompactListing::new(&package(), Body::from(bytes.clone()), view(None, true)) {
                let _ = all(&listing);
            }
            bytes.truncate(at);
            if let Ok(Some(listing)) = CompactListing::new(&package(), Body::from(bytes), view(None, true)) {
                let _ = all(&listing);
            }
        }
    }

    #[test]
    fn an_unknown_name() {
        let bytes = encode(None).expect("a compact page").bytes;
        let found = CompactListing::new(&package(), Body::from(bytes), view(None, false))
            .expect("dated")
            .expect("sound");
        assert!(!found.known() && found.versions().is_empty() && found.files(0).is_empty());
        assert!(
            CompactListing::new(&package(), Body::from(Vec::new()), view(None, false))
                .expect("dated")
                .is_none()
        );
    }
}
