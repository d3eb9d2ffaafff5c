//! A trace, read once from its beginning to its end into files that need no memory.

use super::operations::{Kinds, Operation};
use crate::args::replay::RecordedArgs;
use crate::errors::refused;
use crate::inputs;
use anyhow::{Context, Result, anyhow};
use siphasher::sip::SipHasher13;
use siphasher::sip128::{Hasher128, SipHasher13 as Wide};
use std::collections::{BTreeMap, HashMap};
use std::hash::Hasher;
use std::io::Write;
use std::path::Path;
use unblink_core::recorded::{ARRIVAL_BYTES, Bytes, RecordedArrival};
use unblink_core::time::{Nanos, SECOND_NS};
use unblink_engine::spill::Spill;
use unblink_report::format;
use unblink_trace::Lacking;
use unblink_trace::format::{Reader, Request, TraceError};

/// An arrival as it was recorded, and which part of the users it belongs to, in millionths (4 bytes).
pub(super) const READ_BYTES: usize = ARRIVAL_BYTES + 4;
/// Paths that are written once only, however often they were asked for. Of more, some are written again.
const PATHS_KNOWN_MAX: usize = 1 << 17;

/// Methods that are counted by name.
const METHODS_TOLD_MAX: usize = 16;
/// Keeps the draw of users apart from others of the same seed.
const USERS: u64 = 0x7573_6572_7300_0000;

/// What is not sent, or not as it was, by why.
#[derive(Clone, Debug, Default)]
pub(crate) struct LeftOut {
    /// Recorded requests of the part.
    pub all: u64,
    /// Not sent: their method may change something.
    pub mutating: BTreeMap<String, u64>,
    /// Not sent: their path can't be, as of CONNECT and `OPTIONS *`.
    pub path: u64,
    /// In the whole trace: sent without what the record lacks.
    pub lacking: BTreeMap<Lacking, u64>,
}

impl LeftOut {
    /// A sentence for each cause.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let of_all = |n: u64| {
            let all = format::plural(self.all, "recorded request", "recorded requests");
            format!("{} of {all}", format::count(n))
        };
        let mutating: u64 = self.mutating.values().sum();
        if mutating > 0 {
            let each = self.mutating.iter().map(|(method, n)| format!("{} {method}", format::count(*n)));
            let each: Vec<String> = each.collect();
            lines.push(format!(
                "{} are not sent, because they may change something ({}): --mutating sends them",
                of_all(mutating),
                each.join(", ")
            ));
        }
        if self.path > 0 {
            lines.push(format!("{} are not sent, because their method or path can't be", of_all(self.path)));
        }
        let without = self.lacking.iter().filter(|(_, n)| **n > 0).filter_map(|(lacking, n)| {
            let what = match lacking {
                Lacking::Body => "bodies",
                Lacking::Credentials => "credentials",
                Lacking::QueryValues => "values in the query",
                Lacking::PathIds => "ids in the path",
                Lacking::Path => return None,
            };
            Some(format!("{what} ({})", format::count(*n)))
        });
        let without: Vec<String> = without.collect();
        if !without.is_empty() {
            lines.push(format!(
                "the trace lacks what some of its requests had: {}; those that are sent are sent without",
                without.join(", ")
            ));
        }
        lines
    }
}

/// What was read.
pub(super) struct Read {
    /// [`READ_BYTES`] for each, in order of time.
    pub(super) arrivals: Bytes,
    /// [`Who::BYTES`] for each, where users are to keep their order.
    pub(super) who: Option<Bytes>,
    pub(super) texts: Bytes,
    pub(super) length: Nanos,
    pub(super) operations: Vec<Operation>,
    pub(super) left_out: LeftOut,
    /// Ids in its paths are numbers that an import made.
    pub(super) ids: Ids,
}

/// Reads the part that `args` ask for.
pub(super) fn read(file: &Path, args: &RecordedArgs, is_by_user: bool, seed: u64) -> Result<Read> {
    let of_trace = |error: &TraceError| refused(&["replay"], format!("{}: {error}", file.display()));
    let opened = inputs::opened(file).map_err(TraceError::from);
    let mut trace = opened.and_then(Reader::new).map_err(|error| of_trace(&error))?;
    let start = trace.header().start_ns();
    let from = args.from.unwrap_or_default();
    let mut reading =
        Reading::new(args.mutating, is_by_user, seed).context("can't write a temporary file")?;
    let has_keys = !trace.header().keys.is_empty();
    while let Some(request) = trace.next_request().map_err(|error| of_trace(&error))? {
        let at = Nanos(request.at.abs_diff(start));
        if args.to.is_some_and(|to| at >= to) {
            break;
        }
        if at >= from {
            reading.add(at - from, &request).context("can't write a temporary file")?;
        }
    }
    let counts = trace.counts();
    reading.left_out.lacking = counts.lacking;
    reading.ids = match (has_keys, reading.left_out.lacking.get(&Lacking::PathIds)) {
        (true, Some(1..)) => Ids::Replaced,
        // A part of a trace, or one made of others, does not say what it lacks.
        (true, None) if counts.lines == 0 => Ids::Unknown,
        _ => Ids::Kept,
    };
    reading
        .finish(args.to.map(|to| to - from))
        .map_err(|error| refused(&["replay"], format!("{}: {error}", file.display())))
}

/// What is known of ids in paths.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Ids {
    /// They are as they were.
    #[default]
    Kept,
    /// An import made numbers of them.
    Replaced,
    /// It may have.
    Unknown,
}

/// Whose a request was, and how long it took.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Who {
    /// The same for all requests of a user.
    pub(super) user: u64,
    pub(super) took: Option<u64>,
}

impl Who {
    pub(super) const BYTES: usize = 16;

    pub(super) fn to_bytes(self) -> [u8; Who::BYTES] {
        let mut bytes = [0; Who::BYTES];
        bytes[..8].copy_from_slice(&self.user.to_le_bytes());
        bytes[8..].copy_from_slice(&self.took.unwrap_or(u64::MAX).to_le_bytes());
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8; Who::BYTES]) -> Who {
        let (user, took) = bytes.split_at(8);
        let word = |half: &[u8]| half.try_into().map_or(0, u64::from_le_bytes);
        Who { user: word(user), took: Some(word(took)).filter(|&took| took != u64::MAX) }
    }
}

struct Reading {
    mutating: bool,
    seed: u64,
    arrivals: Spill,
    who: Option<Spill>,
    ids: Ids,
    texts: Texts,
    kinds: Kinds,
    left_out: LeftOut,
    first: Option<Nanos>,
    last: Nanos,
    count: u64,
}

impl Reading {
    fn new(mutating: bool, is_by_user: bool, seed: u64) -> std::io::Result<Reading> {
        Ok(Reading {
            mutating,
            seed,
            arrivals: Spill::new()?,
            who: is_by_user.then(Spill::new).transpose()?,
            ids: Ids::default(),
            texts: Texts { out: Spill::new()?, known: HashMap::new() },
            kinds: Kinds::default(),
            left_out: LeftOut::default(),
            first: None,
            last: Nanos::ZERO,
            count: 0,
        })
    }

    fn add(&mut self, at: Nanos, request: &Request) -> std::io::Result<()> {
        self.left_out.all += 1;
        if !can_be_sent(request) {
            self.left_out.path += 1;
            return Ok(());
        }
        if !self.mutating && !matches!(&*request.method, "GET" | "HEAD" | "OPTIONS") {
            // Names of methods come out of a log: only so many are told apart.
            let methods = &self.left_out.mutating;
            let is_told = methods.len() < METHODS_TOLD_MAX || methods.contains_key(&*request.method);
            let method = if is_told { &*request.method } else { "others" };
            *self.left_out.mutating.entry(method.to_string()).or_default() += 1;
            return Ok(());
        }
        let Some(operation) = self.kinds.of(request) else {
            self.left_out.path += 1;
            return Ok(());
        };
        let text = self.texts.add(&request.path.as_bytes()[1..])?;
        self.arrivals.write_all(&RecordedArrival { at, operation, text }.to_bytes())?;
        let user = self.user(request);
        self.arrivals.write_all(&((user % 1_000_000) as u32).to_le_bytes())?;
        if let Some(who) = &mut self.who {
            who.write_all(&Who { user, took: request.took }.to_bytes())?;
        }
        self.first.get_or_insert(at);
        self.last = at;
        self.count += 1;
        Ok(())
    }

    /// The same number for all requests of a user, whose rest by a million says which part of the users it belongs to. Whoever has no
    /// name is alone.
    fn user(&self, request: &Request) -> u64 {
        let mut hasher = SipHasher13::new_with_keys(self.seed, USERS);
        match &request.user {
            Some(user) => hasher.write(user.as_bytes()),
            None => hasher.write_u64(self.count),
        }
        hasher.finish()
    }

    /// It lasts for `length`, or ends one mean gap behind its last request.
    fn finish(self, length: Option<Nanos>) -> Result<Read> {
        let first = self.first.ok_or_else(|| match self.left_out.all {
            0 => anyhow!("no request was recorded in this part of the trace"),
            _ => anyhow!(
                "none of its requests can be sent: {}",
                format::plain(&self.left_out.lines().join("; "))
            ),
        })?;
        let gap = match self.count - 1 {
            0 => SECOND_NS,
            gaps => ((self.last - first).0 / gaps).max(1),
        };
        Ok(Read {
            arrivals: self.arrivals.finish()?,
            who: self.who.map(Spill::finish).transpose()?,
            texts: self.texts.out.finish()?,
            length: length.unwrap_or(self.last + Nanos(gap)),
            operations: self.kinds.all,
            left_out: self.left_out,
            ids: self.ids,
        })
    }
}

/// What stands behind the first slash of each path, one behind the other.
struct Texts {
    out: Spill,
    /// By a hash of so many bits that no two paths share one.
    known: HashMap<u128, u64>,
}

impl Texts {
    /// Where it stands.
    fn add(&mut self, text: &[u8]) -> std::io::Result<u64> {
        let mut hasher = Wide::new();
        hasher.write(text);
        let hash = hasher.finish128().as_u128();
        if let Some(&known) = self.known.get(&hash) {
            return Ok(known);
        }
        let at = self.out.length();
        self.out.write_all(&(text.len() as u32).to_le_bytes())?;
        self.out.write_all(text)?;
        if self.known.len() < PATHS_KNOWN_MAX {
            self.known.insert(hash, at);
        }
        Ok(at)
    }
}

/// A trace is made by others: what would end a request line, or begin another request, is not sent.
fn can_be_sent(request: &Request) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'#';
    is_token(&request.method)
        && request.method != "CONNECT"
        && request.path.starts_with('/')
        && request.path.bytes().all(is_plain)
}

fn is_token(method: &str) -> bool {
    !method.is_empty()
        && method.len() <= 32
        && method.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}
