//! From logs to a trace, in one pass.

use crate::anonymous::{Anonymous, redacted};
use crate::counts::{AnswerIs, Counts, Finding, Unreadable};
use crate::entry::{Entry, SECOND};
use crate::format::{Header, Request, Writer, buffered};
use crate::order::Order;
use crate::source::{Edge, Got, Seen, Source};
use std::io::{self, Read, Write};

/// Requests that are held while they are sorted, unless more are asked for; twice as many take some 40 MiB.
pub const WINDOW: usize = 1 << 17;
/// Records between two calls of `go_on`.
const STEP: u64 = 1 << 14;

/// A log.
pub struct Input<'a> {
    /// What messages call it.
    pub name: String,
    /// Its bytes, unpacked.
    pub bytes: Box<dyn Read + 'a>,
}

/// What came of it.
#[derive(Clone, Default, Debug, PartialEq)]
pub struct Imported {
    /// Requests in the trace.
    pub requests: u64,
    /// All counts, as the trace has them.
    pub counts: Counts,
    /// The first line that could not be read.
    pub first_unreadable: Option<UnreadableLine>,
}

/// A line that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableLine {
    /// The input that it stands in.
    pub input: String,
    /// Its number there, or that of the record; the first one is 1.
    pub line: u64,
    /// What is wrong with it.
    pub why: Unreadable,
    /// How it is built, with letters and digits replaced.
    pub form: String,
}

/// Why there is no trace.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// An input can't be read.
    #[error("can't read {0}: {1}")]
    Input(String, #[source] io::Error),
    /// The trace can't be written.
    #[error("can't write the trace: {0}")]
    Output(#[source] io::Error),
    /// There is nothing in it.
    #[error("no request could be read")]
    Nothing(Box<Imported>),
    /// It was told to stop.
    #[error("interrupted")]
    Interrupted,
}

/// An import.
#[derive(Debug)]
pub struct Import {
    source: Source,
    name: String,
    anonymous: Anonymous,
    window: usize,
}

/// Errors of the input are told from those of the output.
enum Failed {
    Input(io::Error),
    Other(ImportError),
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Failed {
        Failed::Input(error)
    }
}

impl Import {
    /// Reads logs of this format, which traces call `name`, and holds `window` requests while they are sorted.
    pub fn new(source: Source, name: &str, anonymous: Anonymous, window: usize) -> Import {
        Import { source, name: name.into(), anonymous, window }
    }

    /// Reads all inputs, one behind the other, and writes the trace. `go_on` is called with the number of records now and
    /// then, and says whether to go on.
    ///
    /// # Errors
    /// An input can't be read at all, the trace can't be written, there is nothing in it, or `go_on` said no.
    pub fn run<'a, W: Write>(
        mut self,
        inputs: impl IntoIterator<Item = Input<'a>>,
        mut writer: Writer<W>,
        go_on: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Imported, ImportError> {
        let mut seen = Seeing::new(self.source.edge(), self.anonymous.clone());
        let header = |at| Header::new(at, vec![self.name.clone()], vec![self.anonymous.key_id()]);
        let mut written = 0_u64;
        let mut order = Order::new(self.window, |request: Request| {
            if !writer.has_begun() {
                writer.begin(&header(request.at)).map_err(ImportError::Output)?;
            }
            written += 1;
            writer.request(&request).map_err(ImportError::Output)
        });
        for input in inputs {
            seen.input = input.name;
            seen.record = 0;
            let mut bytes = buffered(input.bytes);
            let read = self.source.each(&mut bytes, &self.anonymous.keep().headers, &mut |record| {
                if seen.counts.lines.is_multiple_of(STEP) && !go_on(seen.counts.lines) {
                    return Err(Failed::Other(ImportError::Interrupted));
                }
                let Some((request, stamp, earlier, whole)) = seen.see(record) else { return Ok(()) };
                order.push(request, stamp, earlier, whole).map_err(Failed::Other)
            });
            match read {
                Ok(()) => {}
                // What was read of a packed file that was cut is as good as the begin of any.
                Err(Failed::Input(error)) if seen.record > 0 && is_cut(&error) => {
                    seen.counts.find(Finding::InputCut);
                }
                Err(Failed::Input(error)) => return Err(ImportError::Input(seen.input, error)),
                Err(Failed::Other(error)) => return Err(error),
            }
        }
        let too_late = order.finish()?;
        let imported = seen.finish(written, too_late);
        if imported.requests == 0 {
            return Err(ImportError::Nothing(Box::new(imported)));
        }
        writer.finish(&imported.counts).map_err(ImportError::Output)?;
        Ok(imported)
    }
}

fn is_cut(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput
    )
}

/// Turns records into requests, and counts.
struct Seeing {
    edge: Edge,
    anonymous: Anonymous,
    counts: Counts,
    first_unreadable: Option<UnreadableLine>,
    input: String,
    record: u64,
    /// Records that are requests.
    asked: u64,
    with_duration: u64,
    without_duration: u64,
    /// Every duration so far is whole seconds, and one is more than none.
    coarse: bool,
    longest: u64,
    has_whole_seconds: bool,
    /// A time was not.
    has_fractions: bool,
    has_users: bool,
}

impl Seeing {
    fn new(edge: Edge, anonymous: Anonymous) -> Seeing {
        Seeing {
            edge,
            anonymous,
            counts: Counts::default(),
            first_unreadable: None,
            input: String::new(),
            record: 0,
            asked: 0,
            with_duration: 0,
            without_duration: 0,
            coarse: true,
            longest: 0,
            has_whole_seconds: false,
            has_fractions: false,
            has_users: false,
        }
    }

    /// The request, what is stamped, what is to be taken off to get to its start, and whether the stamp is a whole second.
    fn see(&mut self, seen: Seen<'_>) -> Option<(Request, i64, u64, bool)> {
        self.counts.lines += 1;
        self.record += 1;
        match seen.got {
            Ok(Got::Request) => self.asked += 1,
            Ok(Got::Answer(is)) => {
                *self.counts.answers.entry(is).or_default() += 1;
                return None;
            }
            Ok(Got::NoRequest) => {
                self.counts.no_request += 1;
                return None;
            }
            Ok(Got::Blank) => {
                self.counts.blank += 1;
                return None;
            }
            Err(why) => {
                self.unreadable(why, seen.text);
                return None;
            }
        }
        let Some(stamp) = seen.entry.stamp else {
            self.unreadable(Unreadable::Time, seen.text);
            return None;
        };
        let earlier = self.earlier(seen.entry);
        let counts = &mut self.counts;
        let request = self
            .anonymous
            .request(seen.entry, &mut |lacking| *counts.lacking.entry(lacking).or_default() += 1);
        // Some programs leave out a fraction of 0: a log that has fractions elsewhere means that very moment.
        self.has_fractions |= stamp.rem_euclid(SECOND) != 0;
        let whole_second = seen.entry.whole_second && !self.has_fractions;
        self.has_whole_seconds |= whole_second;
        self.has_users |= request.user.is_some();
        Some((request, stamp, earlier, whole_second))
    }

    fn unreadable(&mut self, why: Unreadable, text: &[u8]) {
        *self.counts.unreadable.entry(why).or_default() += 1;
        if self.first_unreadable.is_none() {
            let (input, line) = (self.input.clone(), self.record);
            self.first_unreadable = Some(UnreadableLine { input, line, why, form: redacted(text) });
        }
    }

    fn earlier(&mut self, entry: &Entry) -> u64 {
        if self.edge != Edge::End {
            return 0;
        }
        match entry.took {
            Some(took) => {
                self.with_duration += 1;
                self.coarse &= took.is_multiple_of(SECOND as u64);
                self.longest = self.longest.max(took);
                took
            }
            None => {
                self.without_duration += 1;
                0
            }
        }
    }

    fn finish(self, requests: u64, out_of_window: u64) -> Imported {
        let mut counts = self.counts;
        counts.requests = requests;
        counts.out_of_window = out_of_window;
        if !counts.answers.is_empty() {
            counts.unanswered =
                self.asked - counts.answers.get(&AnswerIs::Joined).copied().unwrap_or_default();
        }
        for (finding, is_so) in [
            (Finding::StampIsUnknown, self.edge == Edge::Unknown),
            (Finding::ArrivalIsEnd, self.without_duration > 0 && self.with_duration == 0),
            (Finding::SomeArrivalsAreEnds, self.without_duration > 0 && self.with_duration > 0),
            (Finding::WholeSecondDurations, self.with_duration > 0 && self.coarse && self.longest > 0),
            (Finding::WholeSeconds, self.has_whole_seconds),
            (Finding::UnreadableLines, counts.unreadable() > 0),
            (Finding::OutOfWindow, out_of_window > 0),
            (Finding::NoUsers, !self.has_users),
        ] {
            if is_so {
                counts.find(finding);
            }
        }
        Imported { requests, counts, first_unreadable: self.first_unreadable }
    }
}
