//! The file: JSON Lines, compressed with Zstandard. The first line says what the trace is, each further one is a
//! request, and the last one has the counts.
//!
//! Requests are in the order in which they started. Each says how long after the one before that was; the first one
//! counts from the `start` of the first line. A file without the last line was cut short.

use crate::lines::{self, Line};
use crate::{Counts, Finding};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// The version of the format.
pub const FORMAT: &str = "unblink.trace/1";
/// Fast, and half of what a high level would take.
const LEVEL: i32 = 1;

/// One request.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct Request {
    /// When it started, ns since 1970 UTC.
    pub at: i64,
    /// Such as GET.
    pub method: Cow<'static, str>,
    /// Path and query.
    pub path: Box<str>,
    /// What was answered.
    pub status: Option<u16>,
    /// Size of the answer.
    pub answer_bytes: Option<u64>,
    /// Size of the request.
    pub request_bytes: Option<u64>,
    /// From its start to the end of the answer, ns.
    pub took: Option<u64>,
    /// Who sent it: 16 digits that are the same for the same user and key.
    pub user: Option<Box<str>>,
    /// Headers that were kept, by their names in small letters.
    pub headers: Vec<(String, String)>,
}

/// The first line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// [`FORMAT`].
    pub format: String,
    /// The program that wrote it.
    pub made_by: String,
    /// When it begins, as in RFC 3339 with 9 digits of a second.
    #[serde(with = "nine_digits")]
    pub start: Timestamp,
    /// Formats of the logs that it is made of.
    pub source: Vec<String>,
    /// Names of the keys that numbered its users and ids; two traces with the same one agree.
    pub keys: Vec<String>,
}

impl Header {
    /// Of a trace that begins at `start_ns` since 1970 UTC.
    pub fn new(start_ns: i64, source: Vec<String>, keys: Vec<String>) -> Header {
        Header {
            format: FORMAT.into(),
            made_by: concat!("unblink ", env!("CARGO_PKG_VERSION")).into(),
            start: Timestamp::from_nanosecond(start_ns.into()).unwrap_or_default(),
            source,
            keys,
        }
    }

    /// The start, ns since 1970 UTC.
    pub fn start_ns(&self) -> i64 {
        i64::try_from(self.start.as_nanosecond()).unwrap_or(i64::MAX)
    }
}

/// A moment as in RFC 3339, with all digits of a second.
mod nine_digits {
    use jiff::Timestamp;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(moment: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{moment:.9}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

/// A request's line.
#[derive(Serialize, Deserialize)]
struct Row<'a> {
    /// ns since the request before.
    after: u64,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    path: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request_bytes: Option<u64>,
    /// ns
    #[serde(default, skip_serializing_if = "Option::is_none")]
    took: Option<u64>,
    #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
    user: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    headers: Cow<'a, [(String, String)]>,
}

/// The last line.
#[derive(Serialize, Deserialize)]
struct Trailer {
    end: Counts,
}

/// Writes a trace.
pub struct Writer<W: Write> {
    out: zstd::Encoder<'static, W>,
    line: Vec<u8>,
    /// When the request before started, once there is a first line.
    last: Option<i64>,
    file: Option<Unfinished>,
}

/// A file that is not the trace yet; what is not finished is removed.
struct Unfinished {
    partial: PathBuf,
    path: PathBuf,
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.partial);
    }
}

impl Writer<BufWriter<File>> {
    /// Into a file beside `path`, which takes its place when it is whole.
    ///
    /// # Errors
    /// The file can't be made.
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut partial = path.as_os_str().to_owned();
        partial.push(format!(".partial-{}", std::process::id()));
        let partial = PathBuf::from(partial);
        let out = BufWriter::new(File::create(&partial)?);
        let file = Some(Unfinished { partial, path: path.into() });
        Ok(Writer { file, ..Writer::to(out)? })
    }
}

impl<W: Write> Writer<W> {
    /// Into anything.
    ///
    /// # Errors
    /// Those of Zstandard.
    pub fn to(out: W) -> io::Result<Self> {
        let mut out = zstd::Encoder::new(out, LEVEL)?;
        out.include_checksum(true)?;
        Ok(Writer { out, line: Vec::new(), last: None, file: None })
    }

    /// The first line is written.
    pub fn has_begun(&self) -> bool {
        self.last.is_some()
    }

    /// Writes the first line.
    ///
    /// # Errors
    /// Those of the file.
    pub fn begin(&mut self, header: &Header) -> io::Result<()> {
        self.last = Some(header.start_ns());
        self.write_line(header)
    }

    /// Writes a request; none may have started later than it.
    ///
    /// # Errors
    /// Those of the file.
    pub fn request(&mut self, request: &Request) -> io::Result<()> {
        let last = self.last.replace(request.at).unwrap_or(request.at);
        let row = Row {
            after: request.at.abs_diff(last),
            method: Cow::Borrowed(&request.method),
            path: Cow::Borrowed(&request.path),
            status: request.status,
            answer_bytes: request.answer_bytes,
            request_bytes: request.request_bytes,
            took: request.took,
            user: request.user.as_deref().map(Cow::Borrowed),
            headers: Cow::Borrowed(&request.headers),
        };
        debug_assert!(last <= request.at, "requests are in order");
        self.write_line(&row)
    }

    /// Writes the last line, and puts the file where it belongs.
    ///
    /// # Errors
    /// Those of the file.
    pub fn finish(mut self, counts: &Counts) -> io::Result<W> {
        self.write_line(&Trailer { end: counts.clone() })?;
        let mut out = self.out.finish()?;
        out.flush()?;
        if let Some(file) = &self.file {
            fs::rename(&file.partial, &file.path)?;
        }
        Ok(out)
    }

    fn write_line(&mut self, value: &impl Serialize) -> io::Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, value)?;
        self.line.push(b'\n');
        self.out.write_all(&self.line)
    }
}

/// Why a trace can't be read.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// Of the file.
    #[error("can't read it: {0}")]
    Io(#[from] io::Error),
    /// It is something else.
    #[error("this is not a trace of unblink ({FORMAT}): make one of a log with `unblink import`")]
    NotATrace,
    /// Of a later version.
    #[error(
        "the trace has the format {0:?}, and this program reads {FORMAT:?}: read it with a newer unblink"
    )]
    Version(String),
    /// A line of it.
    #[error("line {line} of the trace (zstd -dc shows it): {why}")]
    Line {
        /// The first one is 1.
        line: u64,
        /// What is wrong.
        why: String,
    },
}

/// Reads a trace, request by request.
pub struct Reader<R: Read> {
    input: BufReader<zstd::Decoder<'static, BufReader<R>>>,
    text: Vec<u8>,
    line: u64,
    header: Header,
    last: i64,
    end: Option<Counts>,
    read: u64,
}

impl Reader<File> {
    /// # Errors
    /// The file can't be read, or is no trace.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        Reader::new(File::open(path)?)
    }
}

impl<R: Read> Reader<R> {
    /// Reads the first line.
    ///
    /// # Errors
    /// It can't be read, or is no trace.
    pub fn new(input: R) -> Result<Self, TraceError> {
        let mut input = BufReader::new(zstd::Decoder::new(input)?);
        let mut text = Vec::new();
        match lines::next(&mut input, &mut text) {
            Ok(Some(Line::Whole)) => {}
            Err(error) if error.kind() == io::ErrorKind::IsADirectory => return Err(error.into()),
            _ => return Err(TraceError::NotATrace),
        }
        #[derive(Deserialize)]
        struct Version {
            format: String,
        }
        let version: Version = serde_json::from_slice(&text).map_err(|_| TraceError::NotATrace)?;
        if version.format != FORMAT {
            return Err(match version.format.starts_with("unblink.trace/") {
                true => TraceError::Version(version.format),
                false => TraceError::NotATrace,
            });
        }
        let header: Header = serde_json::from_slice(&text).map_err(|error| in_line(1, &error))?;
        let last = header.start_ns();
        Ok(Reader { input, text, line: 1, header, last, end: None, read: 0 })
    }

    /// The first line.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The next request; none behind the last one.
    ///
    /// # Errors
    /// A line is none of a trace. That the file is cut is no error: [`Reader::counts`] tells.
    pub fn next_request(&mut self) -> Result<Option<Request>, TraceError> {
        if self.end.is_some() {
            return Ok(None);
        }
        self.line += 1;
        match lines::next(&mut self.input, &mut self.text) {
            Ok(Some(Line::Whole)) => {}
            // Cut between two lines, within one, or within a block of the compressed file.
            Ok(None | Some(Line::Unended)) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Ok(Some(Line::TooLong)) => {
                return Err(TraceError::Line { line: self.line, why: "it is longer than 1 MiB".into() });
            }
            Err(error) => return Err(error.into()),
        }
        if self.text.starts_with(b"{\"end\"") {
            let trailer: Trailer =
                serde_json::from_slice(&self.text).map_err(|error| in_line(self.line, &error))?;
            if trailer.end.requests != self.read {
                let why = format!("it counts {} requests, and there are {}", trailer.end.requests, self.read);
                return Err(TraceError::Line { line: self.line, why });
            }
            self.end = Some(trailer.end);
            return Ok(None);
        }
        let row: Row<'_> = serde_json::from_slice(&self.text).map_err(|error| in_line(self.line, &error))?;
        let at = i64::try_from(row.after).ok().and_then(|after| self.last.checked_add(after));
        let Some(at) = at else {
            return Err(TraceError::Line { line: self.line, why: "its time is beyond the year 2262".into() });
        };
        self.last = at;
        self.read += 1;
        Ok(Some(Request {
            at,
            method: Cow::Owned(row.method.into_owned()),
            path: row.path.into(),
            status: row.status,
            answer_bytes: row.answer_bytes,
            request_bytes: row.request_bytes,
            took: row.took,
            user: row.user.map(Into::into),
            headers: row.headers.into_owned(),
        }))
    }

    /// What the last line says, once [`Reader::next_request`] has come to the end; of a trace without one, what was
    /// read of it, with a finding.
    pub fn counts(&self) -> Counts {
        self.end.clone().unwrap_or_else(|| {
            let mut counts = Counts { requests: self.read, ..Counts::default() };
            counts.find(Finding::CutShort);
            counts
        })
    }
}

fn in_line(line: u64, error: &serde_json::Error) -> TraceError {
    TraceError::Line { line, why: error.to_string() }
}

/// A file, unpacked if its name says that it is packed (`.gz`, `.zst`).
///
/// # Errors
/// It can't be opened.
pub fn unpacked(path: &Path) -> io::Result<Box<dyn Read>> {
    let file = File::open(path)?;
    let about = file.metadata()?;
    if about.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    // A log that grows is read as far as it went at the start; a pipe to its end.
    let file = file.take(if about.is_file() { about.len() } else { u64::MAX });
    Ok(match path.extension().and_then(|end| end.to_str()) {
        Some("gz") => Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::new(file))),
        Some("zst") => Box::new(zstd::Decoder::new(file)?),
        _ => Box::new(file),
    })
}

/// Something that can be read line by line.
pub(crate) fn buffered(bytes: Box<dyn Read + '_>) -> impl BufRead + '_ {
    BufReader::with_capacity(1 << 17, bytes)
}
