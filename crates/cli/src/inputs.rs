//! The files that a command line and its plan were read from, and what stood in them: whoever reads them again later can tell
//! whether they are still the same, and machines that offer parts of one run whether they have read the same.

use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read, StdinLock};
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use unblink_cluster::record::Hashing;
use unblink_engine::bounded;

static STATE: Mutex<State> =
    Mutex::new(State { only: None, read: Vec::new(), hashes: false, sha256: BTreeMap::new() });

struct State {
    /// The files that came with a command of another machine, which reads no others here.
    only: Option<BTreeSet<PathBuf>>,
    read: Vec<PathBuf>,
    /// What is read is hashed on its way: somebody will ask.
    hashes: bool,
    /// What stood in a file when it was read last, as far as that is known.
    sha256: BTreeMap<PathBuf, String>,
}

impl State {
    /// Said before a file is opened: one that is never read can't be told from its errors, and a pipe keeps nobody waiting.
    fn admits(&self, path: &Path) -> io::Result<()> {
        match &self.only {
            Some(only) if !only.contains(&without_dots(path)) => Err(not_offered()),
            _ => Ok(()),
        }
    }
}

fn without_dots(path: &Path) -> PathBuf {
    path.components().filter(|part| *part != Component::CurDir).collect()
}

fn not_offered() -> io::Error {
    io::Error::new(
        ErrorKind::PermissionDenied,
        "it was not offered with the run, and this agent gives no file of its own away",
    )
}

/// May be opened, wherever it is.
pub(crate) fn is_readable(path: &Path) -> bool {
    lock().admits(path).is_ok()
}

/// Takes note of a file that is read, though not here.
///
/// # Errors
/// It may not be read.
pub(crate) fn note(path: &Path) -> io::Result<()> {
    let mut state = lock();
    state.admits(path)?;
    state.read.push(path.to_path_buf());
    Ok(())
}

/// Standard input, which is never another machine's.
pub(crate) fn stdin() -> io::Result<StdinLock<'static>> {
    if lock().only.is_some() {
        return Err(not_offered());
    }
    Ok(io::stdin().lock())
}

/// Opens a file, of which note is taken.
pub(crate) fn opened(path: &Path) -> io::Result<Input> {
    note(path)?;
    let file = File::open(path)?;
    Ok(match lock().hashes {
        true => Input::Hashed(path.to_path_buf(), Hashing::new(file)),
        false => Input::Plain(file),
    })
}

/// All of a file of at most `bytes_max` bytes, of which note is taken.
pub(crate) fn read(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    bounded::read_from(opened(path)?, bytes_max)
}

/// A file that is being read.
pub(crate) enum Input {
    Plain(File),
    Hashed(PathBuf, Hashing<File>),
}

impl Input {
    pub(crate) fn metadata(&self) -> io::Result<Metadata> {
        match self {
            Input::Plain(file) => file.metadata(),
            Input::Hashed(_, file) => file.get_ref().metadata(),
        }
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (path, file) = match self {
            Input::Plain(file) => return file.read(buffer),
            Input::Hashed(path, file) => (path, file),
        };
        let read = file.read(buffer)?;
        if read == 0 && !buffer.is_empty() {
            lock().sha256.insert(path.clone(), file.sha256());
        }
        Ok(read)
    }
}

/// What stands in files that are read from now on will be asked for, whatever was known of them before.
pub(crate) fn hash() {
    let mut state = lock();
    state.hashes = true;
    state.sha256.clear();
}

/// What may be read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readable {
    /// Whatever its user may read.
    All,
    /// Only what is known: the command is of another machine, and so are its files.
    Known,
}

/// What is read from now on is another command's. What stands in these files is known.
pub(crate) fn begin_with(known: impl IntoIterator<Item = (PathBuf, String)>, readable: Readable) {
    let sha256: BTreeMap<PathBuf, String> = known.into_iter().collect();
    let only = match readable {
        Readable::All => None,
        Readable::Known => Some(sha256.keys().map(|path| without_dots(path)).collect()),
    };
    *lock() = State { only, read: Vec::new(), hashes: false, sha256 };
}

/// What stood in a file when it was read. One that was not hashed then, or not read to its end, is read now.
pub(crate) fn sha256(path: &Path) -> io::Result<String> {
    if let Some(known) = lock().sha256.get(path) {
        return Ok(known.clone());
    }
    sha256_now(path)
}

/// What stands in a file now, whatever was read of it.
pub(crate) fn sha256_now(path: &Path) -> io::Result<String> {
    let mut file = Hashing::new(File::open(path)?);
    io::copy(&mut file, &mut io::sink())?;
    Ok(file.sha256())
}

/// The first of the files read so far that was written later than `at`, by the file system's account.
pub(crate) fn changed_since(at: Timestamp) -> Option<PathBuf> {
    let is_later = |path: &PathBuf| {
        let modified = std::fs::metadata(path).and_then(|known| known.modified()).ok();
        modified.and_then(|modified| Timestamp::try_from(modified).ok()).is_some_and(|modified| modified > at)
    };
    all().into_iter().find(is_later)
}

/// All files read so far, in their order.
pub(crate) fn all() -> Vec<PathBuf> {
    lock().read.clone()
}

fn lock() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unblink_cluster::record;

    /// What was read counts, and not what stands there when somebody asks.
    #[test]
    fn a_file_is_hashed_as_it_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("users.csv");
        let long = vec![b'7'; 300_000];
        std::fs::write(&path, &long).expect("a file");
        hash();
        assert!(read(&path, 1 << 20).expect("a file") == long);
        std::fs::write(&path, "id\nanne\n").expect("a file");
        assert_eq!(sha256(&path).expect("known"), record::sha256(&long));
        // Not to its end: what stands there is what there is to ask.
        let half = folder.path().join("trace");
        std::fs::write(&half, &long).expect("a file");
        opened(&half).expect("a file").read_exact(&mut [0; 9]).expect("it has more");
        assert_eq!(sha256(&half).expect("read again"), record::sha256(&long));
        // Read again, it is what it was then.
        read(&path, 1 << 20).expect("a file");
        assert_eq!(sha256(&path).expect("known"), record::sha256(b"id\nanne\n"));
        assert!(all().iter().filter(|noted| **noted == path).count() == 2 && all().contains(&half));
    }

    /// Of a command of another machine. What would leave the folder, or stands in it under another name, is none of its files.
    #[test]
    fn another_machines_command_reads_its_own_files() {
        let only = ["data/users.csv", "./plan.toml"].map(|name| without_dots(Path::new(name)));
        let mut state =
            State { only: Some(only.into()), read: Vec::new(), hashes: false, sha256: BTreeMap::new() };
        for name in ["data/users.csv", "./data/users.csv", "data/./users.csv", "plan.toml"] {
            assert!(state.admits(Path::new(name)).is_ok(), "{name}");
        }
        for name in ["/etc/hostname", "users.csv", "data", "", "-", "data/../plan.toml", "../data/users.csv"]
        {
            let said = state.admits(Path::new(name)).expect_err(name).to_string();
            assert!(said.contains("was not offered"), "{said}");
        }
        state.only = None;
        assert!(state.admits(Path::new("/etc/hostname")).is_ok());
    }
}
