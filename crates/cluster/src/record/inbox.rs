//! The files of an agent where they are gathered. They grow by what comes; of what is missing it is said when all is to be sent again.

use super::{Place, hex, is_document};
use crate::message::{FileEnd, Time};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

const SECOND: Time = 1_000_000_000;

/// What is missing comes by itself within this: a bus passes on again what was not answered.
const COMES_WITHIN: Time = 5 * SECOND;
/// A bus that had what is missing has passed it on by then. What comes behind it is of no use any more, and comes again with it.
const GIVEN_UP_AFTER: Time = 30 * SECOND;
/// What is missing then, though all was sent again, is missing anew.
const ANEW_AFTER: Time = 60 * SECOND;
/// The record of an agent that has come to its end and says so is complete, or grows within this.
const GROWS_WITHIN: Time = 10 * SECOND;
/// From one word of an agent to the next there is less time, unless nothing gets through.
const SPEAKS_WITHIN: Time = 3 * SECOND;
/// All is asked for again so often while a record grows, and so often at its end: more would help nobody, and costs everybody.
const ASKS_MAX: u32 = 10;
const ASKS_AT_END_MAX: u32 = 2;
/// So many bytes of a file that was there already are read at once: whoever reads them answers agents as well.
const READ_AT_ONCE: u64 = 2 * 1024 * 1024;
/// Soon, and once it was asked for again.
const AGAIN_AFTER: Time = 300_000_000;
const AGAIN_AFTER_ASKED: Time = 2 * SECOND;

/// What becomes of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// Nobody needs it any more.
    Settled,
    /// Something before it is missing: it is to come again after this.
    Early(Time),
    /// The same, and what is missing does not come by itself: whoever sent it must send all again.
    Missing(Time),
}

/// How far a record is that should be complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whole {
    /// It is here, to the last bit.
    Yes,
    /// Not yet.
    NotYet,
    /// Not yet, and nothing comes any more: whoever sent it must send all again.
    Lacks,
}

/// See [the module](self).
#[derive(Debug)]
pub struct Inbox {
    dir: PathBuf,
    names: Vec<String>,
    files: BTreeMap<String, Kept>,
    /// How often all was asked for again, before its end and at it.
    asks: u32,
    asks_at_end: u32,
    /// When something new came last.
    grown_at: Time,
    /// When its end was asked about last, and since when again and again.
    ended: Option<(Time, Time)>,
    /// What came last could not be written: what is missing behind it comes by itself, if it can be.
    is_unwritten: bool,
    again: u64,
}

/// A file as far as it is here.
#[derive(Debug, Default)]
struct Kept {
    /// 0: of what was there already nobody knows which one it is.
    version: u64,
    bytes: u64,
    /// Of so many of its bytes.
    hash: Sha256,
    hashed: u64,
    gap: Option<Gap>,
}

/// Something is missing.
#[derive(Clone, Copy, Debug)]
struct Gap {
    /// Version and offset of what has come behind it.
    before: (u64, u64),
    since: Time,
    is_asked_for: bool,
}

impl Kept {
    /// Takes the bytes into account that were there already, some at a time.
    fn catch_up(&mut self, path: &Path) -> io::Result<()> {
        if self.hashed == self.bytes {
            return Ok(());
        }
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(self.hashed))?;
        let mut bytes = Vec::new();
        file.take((self.bytes - self.hashed).min(READ_AT_ONCE)).read_to_end(&mut bytes)?;
        self.hash.update(&bytes);
        self.hashed += bytes.len() as u64;
        // It was made shorter by somebody else: what is not there comes again.
        if bytes.is_empty() {
            self.bytes = self.hashed;
        }
        Ok(())
    }

    fn is(&self, end: &FileEnd) -> bool {
        self.bytes == end.bytes
            && self.hashed == self.bytes
            && hex(&self.hash.clone().finalize()) == end.sha256
    }
}

impl Inbox {
    /// Files of those names and no others, into `dir`, which is made.
    ///
    /// # Errors
    /// It can't be made.
    pub fn new(dir: PathBuf, names: &[&str]) -> io::Result<Inbox> {
        fs::create_dir_all(&dir)?;
        let names = names.iter().map(|name| name.to_string()).collect();
        Ok(Inbox {
            dir,
            names,
            files: BTreeMap::new(),
            asks: 0,
            asks_at_end: 0,
            grown_at: 0,
            ended: None,
            is_unwritten: false,
            again: 0,
        })
    }

    /// The same, and what another one had gathered there is the beginning: the bus may have it no more. Files were written from their
    /// beginnings on, so that what is there is right as far as it goes, wherever the last write was cut; at the end its SHA-256 says
    /// whether that is so.
    ///
    /// # Errors
    /// It can't be read.
    pub fn resumed(dir: PathBuf, names: &[&str]) -> io::Result<Inbox> {
        let mut inbox = Inbox::new(dir, names)?;
        for name in &inbox.names {
            match fs::metadata(inbox.dir.join(name)) {
                Ok(known) => {
                    inbox.files.insert(name.clone(), Kept { bytes: known.len(), ..Kept::default() });
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(inbox)
    }

    /// Writes what is new in `bytes`. What came before, or of a file that has been replaced since, is left out.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn take(&mut self, now: Time, place: &Place, bytes: &[u8]) -> io::Result<Taken> {
        let taken = self.taken(now, place, bytes);
        self.is_unwritten |= taken.is_err();
        taken
    }

    /// Pieces that brought nothing new: what was here already comes again.
    pub fn again(&self) -> u64 {
        self.again
    }

    fn taken(&mut self, now: Time, place: &Place, bytes: &[u8]) -> io::Result<Taken> {
        if !self.names.contains(&place.name) {
            return Err(io::Error::other(format!("a record has no file {:?}", place.name)));
        }
        let path = self.dir.join(&place.name);
        let kept = self.files.entry(place.name.clone()).or_default();
        if place.version < kept.version {
            self.again += 1;
            return Ok(Taken::Settled);
        }
        if place.version > kept.version {
            // A file that grows is the one that was there already. Of a document nobody knows which one that is.
            let goes_on =
                kept.bytes > 0 && (kept.version, place.version) == (0, 1) && !is_document(&place.name);
            match (goes_on, place.offset) {
                (true, _) => kept.version = 1,
                (false, 0) => {
                    File::create(&path)?;
                    *kept = Kept { version: place.version, ..Kept::default() };
                }
                // What is here stays until there is something in its place.
                (false, _) => return Ok(self.early(now, place)),
            }
        }
        if place.offset > kept.bytes {
            return Ok(self.early(now, place));
        }
        let known = (kept.bytes - place.offset) as usize;
        if let Some(new) = bytes.get(known..).filter(|new| !new.is_empty()) {
            let mut file = OpenOptions::new().write(true).open(&path)?;
            file.seek(SeekFrom::Start(kept.bytes))?;
            file.write_all(new)?;
            if kept.hashed == kept.bytes {
                kept.hash.update(new);
                kept.hashed += new.len() as u64;
            }
            kept.bytes += new.len() as u64;
            (self.grown_at, self.is_unwritten) = (now, false);
        } else {
            self.again += 1;
        }
        kept.gap.take_if(|gap| gap.before <= (kept.version, kept.bytes));
        Ok(Taken::Settled)
    }

    /// Reads some of what was there already, of which the SHA-256 is not known yet. False if nothing is left.
    ///
    /// # Errors
    /// It can't be read.
    pub fn read_on(&mut self) -> io::Result<bool> {
        let next = self.files.iter_mut().find(|(_, kept)| kept.hashed < kept.bytes);
        next.map_or(Ok(false), |(name, kept)| kept.catch_up(&self.dir.join(name)).map(|()| true))
    }

    /// Nothing of it has come yet.
    pub fn is_empty(&self) -> bool {
        self.files.values().all(|kept| kept.version == 0 && kept.bytes == 0)
    }

    /// Something before this is missing.
    fn early(&mut self, now: Time, place: &Place) -> Taken {
        let before = (place.version, place.offset);
        let kept = self.files.entry(place.name.clone()).or_default();
        // What is missing before that one is another thing than what is missing before a later one.
        let is_over = |gap: &Gap| gap.before > before || now.saturating_sub(gap.since) >= ANEW_AFTER;
        kept.gap.take_if(|gap| is_over(gap));
        let gap = kept.gap.get_or_insert(Gap { before, since: now, is_asked_for: false });
        let lasts = now.saturating_sub(gap.since);
        if lasts >= GIVEN_UP_AFTER {
            return Taken::Settled;
        }
        if lasts >= COMES_WITHIN && !gap.is_asked_for && !self.is_unwritten && self.asks < ASKS_MAX {
            gap.is_asked_for = true;
            self.asks += 1;
            return Taken::Missing(AGAIN_AFTER_ASKED);
        }
        Taken::Early(if gap.is_asked_for { AGAIN_AFTER_ASKED } else { AGAIN_AFTER })
    }

    /// Is all of `ends` here, to the last bit? Its agent has come to its end, and says so again and again.
    ///
    /// # Errors
    /// A file can't be read or written.
    pub fn whole(&mut self, now: Time, ends: &[FileEnd]) -> io::Result<Whole> {
        let (mut is_whole, mut is_read) = (true, true);
        for end in ends {
            let Some(kept) = self.files.get_mut(&end.name) else {
                is_whole = false;
                continue;
            };
            kept.catch_up(&self.dir.join(&end.name))?;
            is_read &= kept.hashed == kept.bytes;
            is_whole &= kept.is(end);
        }
        if is_whole {
            return Ok(Whole::Yes);
        }
        let spoke = self.ended.filter(|(last, _)| now.saturating_sub(*last) < SPEAKS_WITHIN);
        let since = spoke.map_or(now, |(_, since)| since);
        self.ended = Some((now, since));
        let is_quiet = now.saturating_sub(since.max(self.grown_at)) >= GROWS_WITHIN;
        if !is_quiet || !is_read || self.asks_at_end >= ASKS_AT_END_MAX {
            return Ok(Whole::NotYet);
        }
        (self.asks_at_end, self.grown_at) = (self.asks_at_end + 1, now);
        for end in ends {
            // What is too long, or as long as it should be and something else, is wrong from somewhere on.
            if let Some(kept) = self.files.get_mut(&end.name)
                && kept.bytes >= end.bytes
                && !kept.is(end)
            {
                File::create(self.dir.join(&end.name))?;
                *kept = Kept { version: kept.version, ..Kept::default() };
            }
        }
        Ok(Whole::Lacks)
    }
}

#[cfg(test)]
mod tests;
