//! A record as it travels: its files grow at their ends, so that an agent tells what is new of them, and whoever hears it
//! twice has lost nothing. A JSON document does not grow: it is replaced as a whole, and begins again.

mod inbox;

use crate::message::{FileEnd, Time};
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
pub use inbox::{Inbox, Taken, Whole};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, VecDeque};
use std::fs::{File, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// More than this is said in several pieces: a bus takes messages of a mebibyte.
pub const PIECE_BYTES_MAX: u64 = 512 * 1024;

/// Where the bytes of a message belong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The file.
    pub name: String,
    /// How often it has been replaced by another one.
    pub version: u64,
    /// Where they begin.
    pub offset: u64,
    /// How often whoever tells it had begun again. Whoever hears it has no use for that.
    #[serde(skip)]
    pub round: u32,
}

/// What has been told of a folder.
#[derive(Debug)]
pub struct Outbox {
    dir: PathBuf,
    names: Vec<String>,
    told: BTreeMap<String, Told>,
    /// How often all was told from its beginning again.
    round: u32,
    /// For how long at the most something waited to be told, of what has been told.
    waited: Time,
    /// Since when something is said that is not kept, and what the bus has said to that.
    trying: Option<(Time, Option<String>)>,
}

/// Without anything that is kept for so long, nobody but the agent knows what becomes of the load. A bus that is there again keeps what
/// it is told well before.
const UNKEPT_MAX: Time = 10_000_000_000;

/// Lengths of a file that are waited for. Where there are more, the last one stands for all later ones.
const WAITING_MAX: usize = 1_024;

#[derive(Clone, Debug, Default)]
struct Told {
    /// How the file looked when its first byte was told.
    look: Look,
    version: u64,
    /// That there is such a file has been told, and so many of its bytes.
    bytes: Option<u64>,
    /// Lengths that were seen and have not been told yet, and when each was seen first.
    waiting: VecDeque<(u64, Time)>,
}

impl Told {
    /// The file has this length.
    fn seen(&mut self, length: u64, now: Time) {
        let before = self.waiting.back().map(|(length, _)| *length).or(self.bytes);
        if before.is_some_and(|before| length <= before) {
            return;
        }
        let is_full = self.waiting.len() >= WAITING_MAX;
        match self.waiting.back_mut().filter(|_| is_full) {
            Some((last, _)) => *last = length,
            None => self.waiting.push_back((length, now)),
        }
    }
}

/// A file that looks otherwise is another one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Look {
    inode: u64,
    /// Of one that is replaced: a new file may get the number of the old one.
    document: Option<(i64, i64, u64)>,
}

impl Look {
    fn of(name: &str, known: &Metadata) -> Look {
        let document = is_document(name).then(|| (known.mtime(), known.mtime_nsec(), known.len()));
        Look { inode: known.ino(), document }
    }
}

impl Outbox {
    /// Nothing yet of those files in `dir`.
    pub fn new(dir: PathBuf, names: &[&str]) -> Outbox {
        let names = names.iter().map(|name| name.to_string()).collect();
        Outbox { dir, names, told: BTreeMap::new(), round: 0, waited: 0, trying: None }
    }

    /// What is to be told next; nothing where all has been told that is there. A document that replaces another one says that the
    /// record is whole: it waits for all the rest, so that nobody has it without what it speaks of.
    ///
    /// # Errors
    /// A file can't be read.
    pub fn piece(&mut self, now: Time) -> io::Result<Option<(Place, Vec<u8>)>> {
        let (mut next, mut last) = (None, None);
        for name in &self.names {
            let Some(file) = open(&self.dir.join(name))? else { continue };
            let known = file.metadata()?;
            let told = self.told.entry(name.clone()).or_default();
            let look = Look::of(name, &known);
            if told.look != look {
                *told = Told { look, version: told.version + 1, ..Told::default() };
            }
            told.seen(known.len(), now);
            let offset = told.bytes.unwrap_or(0);
            let missing = known.len().saturating_sub(offset).min(PIECE_BYTES_MAX);
            if missing == 0 && told.bytes.is_some() {
                continue;
            }
            let replaces = look.document.is_some() && told.version > 1;
            let found = if replaces { &mut last } else { &mut next };
            if found.is_none() {
                let (version, round) = (told.version, self.round);
                let place = Place { name: name.clone(), version, offset, round };
                *found = Some((place, file, missing));
            }
        }
        let Some((place, file, missing)) = next.or(last) else { return Ok(None) };
        let mut bytes = vec![0; missing as usize];
        file.read_exact_at(&mut bytes, place.offset)?;
        self.trying.get_or_insert((now, None));
        Ok(Some((place, bytes)))
    }

    /// Whoever had been told something has lost it: all is told again. What is still said to have arrived was told before that, and
    /// may be lost as well.
    pub fn begin_again(&mut self) {
        self.round += 1;
        self.told.values_mut().for_each(|told| told.bytes = None);
    }

    /// So many bytes have arrived there.
    pub fn told(&mut self, place: &Place, bytes: u64, now: Time) {
        self.trying = None;
        if place.round != self.round {
            return;
        }
        if let Some(told) = self.told.get_mut(&place.name).filter(|told| told.version == place.version) {
            told.bytes = told.bytes.max(Some(place.offset + bytes));
            while let Some((_, since)) = told.waiting.pop_front_if(|(length, _)| Some(*length) <= told.bytes)
            {
                self.waited = self.waited.max(now.saturating_sub(since));
            }
        }
    }

    /// The bus has not kept what it was told last, and says why.
    pub fn refused(&mut self, why: String) {
        if let Some((_, refused)) = &mut self.trying {
            *refused = Some(why);
        }
    }

    /// Why nobody will know of what is recorded, where the bus has kept nothing for a while.
    pub fn unkept(&self, now: Time) -> Option<String> {
        let (since, refused) = self.trying.as_ref()?;
        let why = refused.as_deref().unwrap_or("it does not answer");
        (now.saturating_sub(*since) >= UNKEPT_MAX)
            .then(|| format!("the bus has kept nothing of the record for 10 s: {why}"))
    }

    /// For how long at the most what was written has waited to be told: what has been told since, and what still waits.
    pub fn behind(&self, now: Time) -> Time {
        let oldest =
            self.told.values().filter_map(|told| told.waiting.front()).map(|(_, since)| *since).min();
        oldest.map_or(0, |since| now.saturating_sub(since)).max(self.waited)
    }
}

/// The files of those names that are in `dir`.
///
/// # Errors
/// One can't be read.
pub fn ends(dir: &Path, names: &[&str]) -> io::Result<Vec<FileEnd>> {
    let mut all = Vec::new();
    for name in names {
        if let Some(file) = open(&dir.join(name))? {
            let (sha256, bytes) = digest(file)?;
            all.push(FileEnd { name: name.to_string(), bytes, sha256 });
        }
    }
    Ok(all)
}

fn open(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// SHA-256 in hexadecimal digits, and the length.
fn digest(file: File) -> io::Result<(String, u64)> {
    let mut hashing = Hashing::new(file);
    let bytes = io::copy(&mut hashing, &mut io::sink())?;
    Ok((hashing.sha256(), bytes))
}

/// Takes the SHA-256 of what is read, on its way to who reads it.
pub struct Hashing<R> {
    reader: R,
    hash: Sha256,
}

impl<R: Read> Hashing<R> {
    /// Nothing has been read yet.
    pub fn new(reader: R) -> Hashing<R> {
        Hashing { reader, hash: Sha256::new() }
    }

    /// What is read.
    pub fn get_ref(&self) -> &R {
        &self.reader
    }

    /// Of what has been read so far, in hexadecimal digits.
    pub fn sha256(&self) -> String {
        hex(&self.hash.clone().finalize())
    }
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.hash.update(&buffer[..read]);
        Ok(read)
    }
}

/// As few bytes as say the same, for the way: lines of text shrink to a fifth.
pub fn deflated(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// What was deflated.
///
/// # Errors
/// It is nothing that was, or more than a piece may have.
pub fn inflated(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut piece = Vec::new();
    DeflateDecoder::new(bytes).take(PIECE_BYTES_MAX + 1).read_to_end(&mut piece)?;
    match piece.len() as u64 <= PIECE_BYTES_MAX {
        true => Ok(piece),
        false => Err(io::Error::other("a piece of a record is larger than any may be")),
    }
}

/// SHA-256 of `bytes` in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Two hexadecimal digits for each byte.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// It does not grow: it is replaced as a whole.
fn is_document(name: &str) -> bool {
    name.ends_with(".json")
}

#[cfg(test)]
mod tests;
