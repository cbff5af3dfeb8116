//! The directory of a zip archive and its members, out of as few bytes as possible.
//!
//! This is not a general reader of zip files, which would want to seek in a whole file, and would hide what
//! must be seen here: names that are there twice, members that overlap, bytes that belong to nothing.
//! Offsets and sizes come from the directory alone, as Python's `zipfile` has it, so that what is read here
//! is what pip would read. Numbers in zip files are little-endian (APPNOTE.TXT, 4.3).

use std::io::Read as _;

use flate2::Crc;
use flate2::bufread::DeflateDecoder;

use super::{ArchiveError, Part};

/// The end of central directory record without its comment.
const END_SIZE: usize = 22;
const END_MAGIC: [u8; 4] = *b"PK\x05\x06";
const END64_SIZE: usize = 56;
const END64_MAGIC: [u8; 4] = *b"PK\x06\x06";
const LOCATOR_SIZE: usize = 20;
const LOCATOR_MAGIC: [u8; 4] = *b"PK\x06\x07";
const ENTRY_SIZE: usize = 46;
const ENTRY_MAGIC: [u8; 4] = *b"PK\x01\x02";
const LOCAL_SIZE: usize = 30;
const LOCAL_MAGIC: [u8; 4] = *b"PK\x03\x04";

/// The largest directory that is read, in bytes; the largest honest ones have some 5 MiB.
const MAX_DIRECTORY: u64 = 64 << 20;
/// The most members; the largest honest wheels have some 30 000.
pub(crate) const MAX_MEMBERS: usize = 250_000;
/// What is asked for before the directory when it is asked for.
const SLACK: u64 = 16 << 10;
/// Flag bit of a member that is encrypted.
const ENCRYPTED: u16 = 1;

const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// The last bytes of a file.
pub(crate) struct Have<'a> {
    bytes: &'a [u8],
    start: u64,
    total: u64,
}

/// A member, as the directory has it.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Its path, with `/`; bytes that are not UTF-8 are replaced.
    pub(crate) name: String,
    raw_name: Vec<u8>,
    flags: u16,
    method: u16,
    crc: u32,
    packed: u64,
    /// Its size when unpacked, as the directory claims.
    pub(crate) size: u64,
    /// Its mode on Unix; 0 where another system made the archive.
    pub(crate) unix_mode: u32,
    header: u64,
    /// Where the directory begins; members end before it.
    directory: u64,
}

impl<'a> Have<'a> {
    pub(crate) fn new(bytes: &'a [u8], total: u64) -> Result<Self, ArchiveError> {
        let start = total
            .checked_sub(bytes.len() as u64)
            .ok_or_else(|| ArchiveError::damaged("more bytes than the file has"))?;
        Ok(Self { bytes, start, total })
    }

    /// Where the bytes begin in the file.
    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    /// `size` bytes at `at`.
    fn slice(&self, at: u64, size: u64) -> Result<Part<&'a [u8]>, ArchiveError> {
        let end = at.checked_add(size).filter(|end| *end <= self.total);
        let Some(end) = end else { return Err(ArchiveError::damaged("it points outside of itself")) };
        if at < self.start {
            return Ok(Part::From(at));
        }
        let range = usize::try_from(at - self.start).ok().zip(usize::try_from(end - self.start).ok());
        let found = range.and_then(|(at, end)| self.bytes.get(at..end));
        found.map(Part::Done).ok_or_else(|| ArchiveError::damaged("it points outside of itself"))
    }
}

/// Numbers one after the other.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn bytes(&mut self, count: usize) -> Result<&'a [u8], ArchiveError> {
        let (bytes, rest) =
            self.0.split_at_checked(count).ok_or_else(|| ArchiveError::damaged("a header is cut off"))?;
        self.0 = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ArchiveError> {
        self.bytes(N)?.try_into().map_err(|_| ArchiveError::damaged("a header is cut off"))
    }

    fn u16(&mut self) -> Result<u16, ArchiveError> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, ArchiveError> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, ArchiveError> {
        self.array().map(u64::from_le_bytes)
    }

    fn magic(&mut self, magic: [u8; 4], what: &str) -> Result<(), ArchiveError> {
        if self.array::<4>()? == magic {
            return Ok(());
        }
        Err(ArchiveError::damaged(format!("no {what} where one must be")))
    }
}

/// Where the directory is.
struct End {
    count: u64,
    size: u64,
    start: u64,
}

macro_rules! part {
    ($part:expr) => {
        match $part? {
            Part::Done(value) => value,
            Part::From(start) => return Ok(Part::From(start)),
        }
    };
}

/// All members, in the directory's order.
pub(crate) fn directory(have: &Have<'_>) -> Result<Part<Vec<Entry>>, ArchiveError> {
    let end = part!(find_end(have));
    if end.size > MAX_DIRECTORY || end.count > MAX_MEMBERS as u64 {
        return Err(ArchiveError::Limit(format!("{} members", end.count)));
    }
    let mut fields = match have.slice(end.start, end.size)? {
        Part::Done(bytes) => Fields(bytes),
        // Most tools write the .dist-info last: with some bytes more it need not be asked for again.
        Part::From(start) => return Ok(Part::From(start.saturating_sub(SLACK))),
    };
    let mut entries = Vec::new();
    while !fields.0.is_empty() {
        entries.push(entry(&mut fields, end.start)?);
        if entries.len() as u64 > end.count {
            break;
        }
    }
    if entries.len() as u64 == end.count && fields.0.is_empty() {
        return Ok(Part::Done(entries));
    }
    Err(ArchiveError::Ambiguous("the directory has another number of members than it says".to_owned()))
}

/// Finds the end record. Its comment must reach to the file's end: bytes after it belong to nothing.
fn find_end(have: &Have<'_>) -> Result<Part<End>, ArchiveError> {
    let longest = (END_SIZE + usize::from(u16::MAX)) as u64;
    let window = have.bytes.len().saturating_sub(END_SIZE + usize::from(u16::MAX));
    let window = have.bytes.get(window..).unwrap_or_default();
    let Some(at) = window.windows(END_SIZE).rposition(|record| record.starts_with(&END_MAGIC)) else {
        if have.start > 0 && (have.bytes.len() as u64) < longest {
            return Ok(Part::From(have.total.saturating_sub(longest)));
        }
        return Err(ArchiveError::damaged("no zip archive, or cut off"));
    };
    let record = window.get(at..).unwrap_or_default();
    let end_at = have.total - record.len() as u64;
    let mut fields = Fields(record);
    fields.magic(END_MAGIC, "end record")?;
    let disks = [fields.u16()?, fields.u16()?];
    let counts = [fields.u16()?, fields.u16()?];
    let (size, start) = (fields.u32()?, fields.u32()?);
    let comment = fields.u16()?;
    if fields.0.len() != usize::from(comment) {
        return Err(ArchiveError::Ambiguous("there are bytes after its end".to_owned()));
    }
    if let Some(locator_at) = end_at.checked_sub(LOCATOR_SIZE as u64) {
        let locator = part!(have.slice(locator_at, LOCATOR_SIZE as u64));
        if locator.starts_with(&LOCATOR_MAGIC) {
            return find_end64(have, locator, locator_at);
        }
    }
    if disks != [0, 0] || counts[0] != counts[1] {
        return Err(ArchiveError::Unsupported("several disks".to_owned()));
    }
    adjoins(u64::from(start), u64::from(size), end_at)?;
    Ok(Part::Done(End { count: u64::from(counts[0]), size: u64::from(size), start: u64::from(start) }))
}

fn find_end64(have: &Have<'_>, locator: &[u8], locator_at: u64) -> Result<Part<End>, ArchiveError> {
    let mut fields = Fields(locator);
    fields.magic(LOCATOR_MAGIC, "locator")?;
    let disk = fields.u32()?;
    let end_at = fields.u64()?;
    let disks = fields.u32()?;
    if disk != 0 || disks > 1 {
        return Err(ArchiveError::Unsupported("several disks".to_owned()));
    }
    if end_at.checked_add(END64_SIZE as u64) != Some(locator_at) {
        return Err(ArchiveError::Ambiguous("there are bytes before its locator".to_owned()));
    }
    let mut fields = Fields(part!(have.slice(end_at, END64_SIZE as u64)));
    fields.magic(END64_MAGIC, "zip64 end record")?;
    // Its own size and two versions.
    fields.bytes(12)?;
    let disks = [fields.u32()?, fields.u32()?];
    let counts = [fields.u64()?, fields.u64()?];
    let (size, start) = (fields.u64()?, fields.u64()?);
    if disks != [0, 0] || counts[0] != counts[1] {
        return Err(ArchiveError::Unsupported("several disks".to_owned()));
    }
    adjoins(start, size, end_at)?;
    Ok(Part::Done(End { count: counts[0], size, start }))
}

/// The directory must end where the end record begins: other readers search for it from either side.
fn adjoins(start: u64, size: u64, end: u64) -> Result<(), ArchiveError> {
    if start.checked_add(size) == Some(end) {
        return Ok(());
    }
    Err(ArchiveError::Ambiguous("its directory is not where it says".to_owned()))
}

fn entry(fields: &mut Fields<'_>, directory: u64) -> Result<Entry, ArchiveError> {
    let mut head = Fields(fields.bytes(ENTRY_SIZE)?);
    head.magic(ENTRY_MAGIC, "directory entry")?;
    let made_by = head.u16()?;
    head.u16()?; // the version that is needed to unpack it
    let (flags, method) = (head.u16()?, head.u16()?);
    head.u32()?; // time and date
    let crc = head.u32()?;
    let (mut packed, mut size) = (u64::from(head.u32()?), u64::from(head.u32()?));
    let (name, extra, comment) = (head.u16()?, head.u16()?, head.u16()?);
    head.u32()?; // the disk, attributes inside
    let attributes = head.u32()?;
    let mut header = u64::from(head.u32()?);
    let raw_name = fields.bytes(usize::from(name))?.to_vec();
    let mut extra = Fields(fields.bytes(usize::from(extra))?);
    fields.bytes(usize::from(comment))?;
    while extra.0.len() >= 4 {
        let (kind, length) = (extra.u16()?, extra.u16()?);
        let mut extra = Fields(extra.bytes(usize::from(length))?);
        if kind == 1 {
            for number in [&mut size, &mut packed, &mut header] {
                if *number == u64::from(u32::MAX) {
                    *number = extra.u64()?;
                }
            }
        }
    }
    // Readers written in C end a name at a NUL, others don't.
    if raw_name.contains(&0) {
        return Err(ArchiveError::Ambiguous("a member's name has a NUL in it".to_owned()));
    }
    let unix_mode = if made_by >> 8 == 3 { attributes >> 16 } else { 0 };
    let name = String::from_utf8_lossy(&raw_name).into_owned();
    Ok(Entry { name, raw_name, flags, method, crc, packed, size, unix_mode, header, directory })
}

/// The bytes of a member, of which no more than `limit` are unpacked.
pub(crate) fn member(have: &Have<'_>, entry: &Entry, limit: u64) -> Result<Part<Vec<u8>>, ArchiveError> {
    let name = &entry.name;
    if entry.size > limit {
        return Err(ArchiveError::Limit(format!("`{name}` has {} bytes", entry.size)));
    }
    let mut head = Fields(part!(have.slice(entry.header, LOCAL_SIZE as u64)));
    head.magic(LOCAL_MAGIC, "member")?;
    head.u16()?; // the version that is needed to unpack it
    let (flags, method) = (head.u16()?, head.u16()?);
    head.bytes(16)?; // time and date, crc and sizes, which stand in the directory
    let (name_size, extra_size) = (u64::from(head.u16()?), u64::from(head.u16()?));
    let name_at = entry.header + LOCAL_SIZE as u64;
    let local_name = part!(have.slice(name_at, name_size));
    if local_name != entry.raw_name || method != entry.method {
        return Err(ArchiveError::Ambiguous(format!("`{name}` has two headers that differ")));
    }
    if (flags | entry.flags) & ENCRYPTED != 0 {
        return Err(ArchiveError::Unsupported("encryption".to_owned()));
    }
    let data_at = name_at + name_size + extra_size;
    if data_at.checked_add(entry.packed).is_none_or(|end| end > entry.directory) {
        return Err(ArchiveError::Ambiguous(format!("`{name}` overlaps with something else")));
    }
    let packed = part!(have.slice(data_at, entry.packed));
    let bytes = match method {
        STORED => packed.to_vec(),
        DEFLATED => inflate(packed, entry.size)
            .map_err(|error| ArchiveError::damaged(format!("`{name}` can't be unpacked: {error}")))?,
        other => return Err(ArchiveError::Unsupported(format!("compression method {other}"))),
    };
    let mut crc = Crc::new();
    crc.update(&bytes);
    if bytes.len() as u64 != entry.size || crc.sum() != entry.crc {
        return Err(ArchiveError::damaged(format!(
            "`{name}` does not have the size and checksum that it says"
        )));
    }
    Ok(Part::Done(bytes))
}

/// Unpacks one byte more than the member claims to have, at most: enough to see a lie.
fn inflate(packed: &[u8], size: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    DeflateDecoder::new(packed).take(size.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}
