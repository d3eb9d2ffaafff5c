//! The truth log: what the server did to each request, as it saw it, written without disturbing the event loop.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use crate::LabError;
use crate::fault::Ending;

/// The first line of a truth log. Times are ns since the server was bound; see [`TruthRow`].
pub const TRUTH_HEADER: &str =
    "request,connection,arrived_ns,slot_ns,baseline_ns,answered_ns,clock_ns,abandoned,ending,events_ns";

/// A block is handed to the writer when it holds this many rows: more than a stall of a second holds back at
/// 1,000/s, so that no hand-over falls into their release.
const BLOCK_ROWS: usize = 2048;
/// Or when its oldest row is this old, in ns.
const BLOCK_AGE_NS: u64 = 200_000_000;
/// Blocks on the way to the disk: 4 MiB in all, some 60,000 rows. A disk further behind loses rows, counted.
const BLOCKS: usize = 32;

/// One served request. All times are ns since the server was bound, but for `baseline_ns`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TruthRow {
    /// Counted from 0 in order of arrival, probes included. Rows are in order of answering.
    pub request: u64,
    /// Counted from 0 in order of accepting, modulo 2³².
    pub connection: u32,
    /// When the server had read head and body.
    pub arrived_ns: u64,
    /// When it took its slot: the arrival, unless the concurrency is capped.
    pub slot_ns: u64,
    /// The delay sampled at that moment, a duration in ns.
    pub baseline_ns: u64,
    /// Just before the answer was handed to the kernel; for an abandoned request, when it would have been, or
    /// when the server ended.
    pub answered_ns: u64,
    /// Where the event clock's zero lay, which tells runs apart; `None`: it stood still.
    pub clock_ns: Option<u64>,
    /// The client closed, or shut its sending side, before the answer: the two look alike from here. The work was
    /// done all the same, the answer thrown away.
    pub abandoned: bool,
    /// How it ended: 0 answered with 200, 1 with 500, 2 reset.
    pub ending: Ending,
    /// Just before each event of an answer that came bit by bit was handed to the kernel, separated by spaces; `answered_ns`
    /// is that of the last one. Empty for whole answers.
    pub events_ns: Vec<u64>,
}

impl TruthRow {
    /// The arrival on the event clock, in ns.
    pub fn arrived_on_clock_ns(&self) -> Option<u64> {
        self.clock_ns.map(|zero_ns| self.arrived_ns.saturating_sub(zero_ns))
    }

    /// What the server took in all, in ns: no client can measure less.
    pub fn response_ns(&self) -> u64 {
        self.answered_ns - self.arrived_ns
    }

    /// What it took to the first event, or to the answer if that was a whole one, in ns.
    pub fn first_ns(&self) -> u64 {
        self.events_ns.first().map_or(self.response_ns(), |ns| ns - self.arrived_ns)
    }
}

/// Reads a truth log, in order of answering. A last line cut short by a crash is left out.
pub fn read_truth(path: impl AsRef<Path>) -> Result<Vec<TruthRow>, LabError> {
    let path = path.as_ref();
    let io_error = |source| LabError::TruthFile { path: path.to_owned(), source };
    let mut reader = BufReader::new(File::open(path).map_err(io_error)?);
    let (mut rows, mut text, mut line) = (Vec::new(), String::new(), 0);
    loop {
        text.clear();
        reader.read_line(&mut text).map_err(io_error)?;
        let Some(content) = text.strip_suffix('\n') else { return Ok(rows) };
        line += 1;
        let fail =
            |reason: &str| LabError::TruthLine { path: path.to_owned(), line, reason: reason.to_owned() };
        if line == 1 {
            if content != TRUTH_HEADER {
                return Err(fail("not the header of a truth log"));
            }
        } else {
            rows.push(parse_row(content).ok_or_else(|| fail("not a row of a truth log"))?);
        }
    }
}

fn parse_row(line: &str) -> Option<TruthRow> {
    let mut fields = line.split(',');
    let mut next = || fields.next();
    let row = TruthRow {
        request: next()?.parse().ok()?,
        connection: next()?.parse().ok()?,
        arrived_ns: next()?.parse().ok()?,
        slot_ns: next()?.parse().ok()?,
        baseline_ns: next()?.parse().ok()?,
        answered_ns: next()?.parse().ok()?,
        clock_ns: match next()? {
            "" => None,
            ns => Some(ns.parse().ok()?),
        },
        abandoned: match next()? {
            "0" => false,
            "1" => true,
            _ => return None,
        },
        ending: Ending::from_code(next()?)?,
        events_ns: next()?.split_terminator(' ').map(|ns| ns.parse().ok()).collect::<Option<_>>()?,
    };
    let times = [row.arrived_ns].into_iter().chain(row.events_ns.iter().copied()).chain([row.answered_ns]);
    (fields.next().is_none() && times.is_sorted()).then_some(row)
}

/// The event loop's end: collects rows into blocks, which a thread of its own formats and writes.
#[derive(Debug)]
pub(crate) struct TruthLog {
    block: Vec<TruthRow>,
    /// When the block's first row came.
    since_ns: Option<u64>,
    full: SyncSender<Vec<TruthRow>>,
    /// Written blocks come back for their memory.
    empty: Receiver<Vec<TruthRow>>,
    lost: u64,
    writer: JoinHandle<TruthAccount>,
}

/// What became of the rows.
#[derive(Debug, Default)]
pub(crate) struct TruthAccount {
    pub(crate) written: u64,
    pub(crate) lost: u64,
    pub(crate) error: Option<String>,
}

impl TruthLog {
    /// Creates or empties the file and writes the header.
    pub(crate) fn create(path: PathBuf) -> Result<Self, LabError> {
        let io_error = |source| LabError::TruthFile { path: path.clone(), source };
        let mut file = File::create(&path).map_err(io_error)?;
        writeln!(file, "{TRUTH_HEADER}").map_err(io_error)?;
        let (full, to_write) = sync_channel(BLOCKS);
        let (give_back, empty) = sync_channel(BLOCKS);
        let writer = std::thread::Builder::new()
            .name("lab-truth".to_owned())
            .spawn(move || write_blocks(file, &to_write, &give_back))
            .map_err(LabError::Thread)?;
        Ok(Self { block: Vec::with_capacity(BLOCK_ROWS), since_ns: None, full, empty, lost: 0, writer })
    }

    pub(crate) fn append(&mut self, now_ns: u64, row: TruthRow) {
        self.block.push(row);
        self.since_ns.get_or_insert(now_ns);
        if self.block.len() >= BLOCK_ROWS {
            self.flush();
        }
    }

    /// When [`flush`](Self::flush) is due.
    pub(crate) fn flush_at_ns(&self) -> Option<u64> {
        self.since_ns.map(|ns| ns + BLOCK_AGE_NS)
    }

    /// Hands the block to the writer, without waiting for it.
    pub(crate) fn flush(&mut self) {
        let block = self.take_block();
        if let Err(TrySendError::Full(block) | TrySendError::Disconnected(block)) = self.full.try_send(block)
        {
            self.lost += block.len() as u64;
            self.block = block;
            self.block.clear();
        }
    }

    /// Writes what is left and waits for the disk.
    pub(crate) fn finish(mut self) -> TruthAccount {
        let block = self.take_block();
        let rows = block.len() as u64;
        if self.full.send(block).is_err() {
            self.lost += rows;
        }
        drop(self.full);
        let mut account = self.writer.join().unwrap_or_else(|_| TruthAccount {
            error: Some("the writer's thread panicked".to_owned()),
            ..TruthAccount::default()
        });
        account.lost += self.lost;
        account
    }

    fn take_block(&mut self) -> Vec<TruthRow> {
        self.since_ns = None;
        let mut fresh = self.empty.try_recv().unwrap_or_else(|_| Vec::with_capacity(BLOCK_ROWS));
        fresh.clear();
        std::mem::replace(&mut self.block, fresh)
    }
}

fn write_blocks(
    mut file: File,
    full: &Receiver<Vec<TruthRow>>,
    empty: &SyncSender<Vec<TruthRow>>,
) -> TruthAccount {
    let mut account = TruthAccount::default();
    let mut text = Vec::new();
    for block in full {
        // After an error the file's end is unknown; rows after it could not be told from torn ones.
        if account.error.is_none() {
            text.clear();
            block.iter().for_each(|row| format_row(&mut text, row));
            account.error = file.write_all(&text).err().map(|error| error.to_string());
        }
        let count = if account.error.is_none() { &mut account.written } else { &mut account.lost };
        *count += block.len() as u64;
        // A full return path means that there is memory enough.
        let _ = empty.try_send(block);
    }
    account
}

fn format_row(text: &mut Vec<u8>, row: &TruthRow) {
    let TruthRow { request, connection, arrived_ns, slot_ns, baseline_ns, answered_ns, .. } = row;
    // Writing to a Vec cannot fail.
    let _ = write!(text, "{request},{connection},{arrived_ns},{slot_ns},{baseline_ns},{answered_ns},");
    if let Some(clock_ns) = row.clock_ns {
        let _ = write!(text, "{clock_ns}");
    }
    let _ = write!(text, ",{},{},", u8::from(row.abandoned), row.ending.code());
    for (nth, ns) in row.events_ns.iter().enumerate() {
        let _ = write!(text, "{}{ns}", if nth == 0 { "" } else { " " });
    }
    text.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(request: u64) -> TruthRow {
        TruthRow {
            request,
            connection: 3,
            arrived_ns: 10 * request,
            slot_ns: 10 * request + 1,
            baseline_ns: 10_000_000,
            answered_ns: 10 * request + 10_000_002,
            clock_ns: (request != 2).then_some(5),
            abandoned: request == 1,
            ending: if request == 3 { Ending::Reset } else { Ending::Ok },
            events_ns: (0..request % 4).map(|nth| 10 * request + 2 + nth).collect(),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("truth.csv");
        let rows: Vec<_> = (0..5_000).map(row).collect();
        let mut log = TruthLog::create(path.clone()).expect("a log");
        for row in &rows {
            log.append(row.answered_ns, row.clone());
        }
        let account = log.finish();
        assert_eq!((account.written, account.lost, account.error), (5_000, 0, None));
        assert_eq!(read_truth(&path).expect("rows"), rows);

        let mut text = std::fs::read_to_string(&path).expect("text");
        text.truncate(text.len() - 3);
        std::fs::write(&path, &text).expect("written");
        assert_eq!(read_truth(&path).expect("a cut line is left out").len(), 4_999);
        std::fs::write(&path, text + ",\n").expect("written");
        let error = read_truth(&path).expect_err("a wrong line").to_string();
        assert!(error.ends_with("line 5001: not a row of a truth log"), "{error}");
    }

    #[test]
    fn other_files_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("other.csv");
        assert!(matches!(read_truth(&path), Err(LabError::TruthFile { .. })));
        std::fs::write(&path, "a,b\n1,2\n").expect("written");
        assert!(matches!(read_truth(&path), Err(LabError::TruthLine { line: 1, .. })));
        assert!(matches!(TruthLog::create(folder.path().into()), Err(LabError::TruthFile { .. })));
    }

    #[test]
    fn a_full_disk_is_confessed() {
        let mut log = TruthLog::create("/dev/null".into()).expect("a log");
        log.append(0, row(0));
        assert_eq!(log.flush_at_ns(), Some(BLOCK_AGE_NS));
        log.flush();
        assert_eq!(log.flush_at_ns(), None);
        assert_eq!(log.finish().written, 1);
        // The header already meets the full device.
        assert!(matches!(TruthLog::create("/dev/full".into()), Err(LabError::TruthFile { .. })));
        let full = File::options().write(true).open("/dev/full").expect("the device");
        let (sender, blocks) = sync_channel(2);
        let (give_back, _empty) = sync_channel(2);
        for rows in [2, 3] {
            sender.send(vec![row(0); rows]).expect("room");
        }
        drop(sender);
        let account = write_blocks(full, &blocks, &give_back);
        assert_eq!((account.written, account.lost), (0, 5));
        assert!(account.error.expect("an error").contains("No space left"));
    }
}
