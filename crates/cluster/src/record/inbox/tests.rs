//! What is missing of a record, and what was there already.

use super::*;
use crate::record::{Outbox, ends, sha256};

const NAMES: [&str; 2] = ["run.json", "lines"];
const SETTLED: Taken = Taken::Settled;
const EARLY: Taken = Taken::Early(AGAIN_AFTER);
const MISSING: Taken = Taken::Missing(AGAIN_AFTER_ASKED);

fn place(name: &str, version: u64, offset: u64) -> Place {
    Place { name: name.into(), version, offset, round: 0 }
}

struct Stand {
    dir: tempfile::TempDir,
    inbox: Inbox,
    now: Time,
}

impl Stand {
    fn new() -> Stand {
        let dir = tempfile::tempdir().unwrap();
        let inbox = Inbox::new(dir.path().to_path_buf(), &NAMES).unwrap();
        Stand { dir, inbox, now: 1_000 * SECOND }
    }

    fn resumed(self) -> Stand {
        Stand { inbox: Inbox::resumed(self.dir.path().to_path_buf(), &NAMES).unwrap(), ..self }
    }

    fn after(&mut self, time: Time) -> &mut Stand {
        self.now += time;
        self
    }

    fn takes(&mut self, name: &str, version: u64, offset: u64, bytes: &[u8]) -> Taken {
        self.inbox.take(self.now, &place(name, version, offset), bytes).unwrap()
    }

    fn lines(&mut self, offset: u64, bytes: &[u8]) -> Taken {
        self.takes("lines", 1, offset, bytes)
    }

    fn has(&self, name: &str) -> Vec<u8> {
        fs::read(self.dir.path().join(name)).unwrap()
    }

    /// What it says of a record that has these bytes in its lines, asked twice a second for so many seconds.
    fn whole(&mut self, bytes: &[u8], seconds: u64) -> Vec<Whole> {
        let ends = [FileEnd { name: "lines".into(), bytes: bytes.len() as u64, sha256: sha256(bytes) }];
        let one = |_| {
            self.now += SECOND / 2;
            self.inbox.whole(self.now, &ends).unwrap()
        };
        (0..2 * seconds).map(one).collect()
    }
}

fn asks(said: &[Whole]) -> usize {
    said.iter().filter(|whole| **whole == Whole::Lacks).count()
}

/// A bus passes on again what was not answered: nobody is asked for that.
#[test]
fn what_comes_late_is_waited_for() {
    let mut stand = Stand::new();
    assert_eq!(stand.lines(0, b"ab"), SETTLED);
    assert_eq!(stand.lines(4, b"ef"), EARLY);
    assert_eq!(stand.after(COMES_WITHIN - 1).lines(4, b"ef"), EARLY);
    assert_eq!((stand.lines(2, b"cd"), stand.lines(4, b"ef")), (SETTLED, SETTLED));
    // Later, something else is late.
    assert_eq!(stand.after(COMES_WITHIN).lines(8, b"ij"), EARLY);
    assert_eq!((stand.lines(6, b"gh"), stand.lines(8, b"ij")), (SETTLED, SETTLED));
    assert_eq!(stand.has("lines"), b"abcdefghij");
}

/// It is asked for once, and what lies behind it goes on waiting for as long as it may still come by itself. Then it makes room.
#[test]
fn what_does_not_come_is_asked_for() {
    let mut stand = Stand::new();
    stand.lines(0, b"ab");
    assert_eq!(stand.lines(4, b"ef"), EARLY);
    assert_eq!(stand.after(COMES_WITHIN).lines(5, b"f"), MISSING);
    let waits = Taken::Early(AGAIN_AFTER_ASKED);
    assert_eq!((stand.lines(4, b"ef"), stand.after(SECOND).lines(6, b"g")), (waits, waits), "once");
    stand.after(GIVEN_UP_AFTER - COMES_WITHIN - SECOND);
    assert_eq!((stand.lines(4, b"ef"), stand.lines(6, b"g")), (SETTLED, SETTLED));
    assert_eq!(stand.has("lines"), b"ab");
    assert_eq!(stand.inbox.again(), 0, "what makes room was never here");
    // All is sent again, of which the first part is here.
    assert_eq!((stand.lines(0, b"abcd"), stand.lines(4, b"efg")), (SETTLED, SETTLED));
    assert_eq!(stand.has("lines"), b"abcdefg");
}

/// What somebody else has put far behind the end neither lets what is late be given up, nor is it asked for for ever.
#[test]
fn what_lies_far_behind_takes_nothing_from_what_is_near() {
    let mut stand = Stand::new();
    stand.lines(0, b"ab");
    stand.lines(1_000_000, b"x");
    assert_eq!(stand.after(GIVEN_UP_AFTER).lines(1_000_000, b"x"), SETTLED);
    assert_eq!(stand.lines(4, b"ef"), EARLY, "a nearer one");
    assert_eq!((stand.lines(2, b"cd"), stand.lines(4, b"ef")), (SETTLED, SETTLED));
    let asked = (0..10_000).filter(|_| stand.after(SECOND).lines(1_000_000, b"x") == MISSING).count();
    assert_eq!(asked, ASKS_MAX as usize);
}

/// Nothing comes behind the last piece that would tell that it is missing.
#[test]
fn the_end_is_asked_for_when_nothing_comes_any_more() {
    let mut stand = Stand::new();
    stand.lines(0, b"ab");
    assert_eq!(asks(&stand.whole(b"abcd", 9)), 0);
    stand.lines(2, b"c");
    assert_eq!(asks(&stand.whole(b"abcd", 9)), 0, "it grows");
    // For as long as nothing is heard of the agent, nothing of its record can come.
    stand.after(60 * SECOND);
    assert_eq!(asks(&stand.whole(b"abcd", 9)), 0, "it was away");
    assert_eq!(asks(&stand.whole(b"abcd", 600)), ASKS_AT_END_MAX as usize);
    stand.lines(0, b"abcd");
    assert_eq!(stand.whole(b"abcd", 1), [Whole::Yes; 2]);
    // And nothing at all has come.
    assert_eq!(asks(&Stand::new().whole(b"abcd", 12)), 1);
}

/// Agents at their end are answered twice a second each by who answers all others.
#[test]
fn nobody_reads_a_record_again_to_know_that_it_is_whole() {
    let mut stand = Stand::new();
    stand.lines(0, b"ab");
    stand.lines(1, b"bcd");
    fs::remove_file(stand.dir.path().join("lines")).unwrap();
    assert_eq!(stand.whole(b"abcd", 1), [Whole::Yes; 2]);
}

/// The bus may have let go of what was taken.
#[test]
fn what_another_coordinator_has_gathered_is_the_beginning() {
    let mut stand = Stand::new();
    stand.takes("run.json", 1, 0, b"first");
    stand.lines(0, b"abcd");
    stand.takes("run.json", 2, 0, b"last");
    // It ended while it wrote.
    OpenOptions::new().append(true).open(stand.dir.path().join("lines")).unwrap().write_all(b"e").unwrap();
    let mut stand = stand.resumed();
    assert_eq!(stand.lines(4, b"efg"), SETTLED);
    assert_eq!((stand.has("lines"), stand.has("run.json")), (b"abcdefg".to_vec(), b"last".to_vec()));
    assert_eq!(stand.whole(b"abcdefg", 1), [Whole::Yes; 2]);
    let document = FileEnd { name: "run.json".into(), bytes: 4, sha256: sha256(b"last") };
    assert_eq!(stand.inbox.whole(stand.now, &[document]).unwrap(), Whole::Yes);
    // What the bus still has comes again, and in the end it is the same.
    stand.takes("run.json", 1, 0, b"first");
    stand.takes("run.json", 2, 0, b"last");
    stand.lines(0, b"abcd");
    assert_eq!((stand.has("lines"), stand.has("run.json")), (b"abcdefg".to_vec(), b"last".to_vec()));
}

/// A long one is read some at a time.
#[test]
fn what_was_there_already_is_checked_at_the_end() {
    let bytes = vec![7; 5 * READ_AT_ONCE as usize / 2];
    let mut stand = Stand::new();
    let (first, last) = bytes.split_at(bytes.len() - 1);
    stand.lines(0, first);
    let mut stand = stand.resumed();
    stand.lines(first.len() as u64, last);
    assert_eq!(stand.whole(&bytes, 1), [Whole::NotYet; 2]);
    while stand.inbox.read_on().unwrap() {}
    assert_eq!(stand.whole(&bytes, 1), [Whole::Yes; 2]);

    // Other bytes than those that came: all is sent again, and is right then.
    fs::write(stand.dir.path().join("lines"), vec![8; first.len()]).unwrap();
    let mut stand = stand.resumed();
    stand.lines(first.len() as u64, last);
    assert_eq!(asks(&stand.whole(&bytes, 15)), 1);
    assert_eq!(stand.lines(0, first), SETTLED);
    assert_eq!(stand.lines(first.len() as u64, last), SETTLED);
    assert_eq!(stand.whole(&bytes, 1), [Whole::Yes; 2]);
    assert!(stand.has("lines") == bytes);

    // More than there is: what was written after the last of it was somebody else's.
    fs::write(stand.dir.path().join("lines"), b"abcdxx").unwrap();
    let mut stand = stand.resumed();
    assert_eq!(asks(&stand.whole(b"abcd", 12)), 1);
    stand.lines(0, b"abcd");
    assert_eq!(stand.whole(b"abcd", 1), [Whole::Yes; 2]);
}

/// A document whose first piece is missing does not take the place of the one before it.
#[test]
fn a_document_stays_until_another_one_is_in_its_place() {
    let mut stand = Stand::new();
    stand.takes("run.json", 1, 0, b"first");
    assert_eq!(stand.takes("run.json", 2, 3, b"t"), EARLY);
    assert_eq!(stand.has("run.json"), b"first");
    let mut stand = stand.resumed();
    assert_eq!(stand.takes("run.json", 2, 3, b"t"), EARLY);
    assert_eq!(stand.has("run.json"), b"first");
    assert_eq!(
        (stand.takes("run.json", 2, 0, b"las"), stand.takes("run.json", 2, 3, b"t")),
        (SETTLED, SETTLED)
    );
    assert_eq!(stand.has("run.json"), b"last");
}

/// A disk that is full is no fault of the bus: it passes on again what was not answered, and nobody is asked for that.
#[test]
fn what_could_not_be_written_is_not_asked_for() {
    let mut stand = Stand::new();
    assert_eq!(stand.lines(0, b"ab"), SETTLED);
    let (path, aside) = (stand.dir.path().join("lines"), stand.dir.path().join("aside"));
    fs::rename(&path, &aside).unwrap();
    assert!(stand.inbox.take(stand.now, &place("lines", 1, 2), b"cd").is_err());
    for _ in 0..4 {
        assert_eq!(stand.lines(4, b"ef"), EARLY);
        stand.after(COMES_WITHIN);
    }
    fs::rename(&aside, &path).unwrap();
    assert_eq!((stand.lines(2, b"cd"), stand.lines(4, b"ef")), (SETTLED, SETTLED));
    assert_eq!(stand.inbox.again(), 0);
    assert_eq!((stand.lines(2, b"cd"), stand.lines(0, b"abcd")), (SETTLED, SETTLED));
    assert_eq!((stand.inbox.again(), stand.has("lines")), (2, b"abcdef".to_vec()));
    // From now on what is missing is asked for.
    assert_eq!(stand.lines(8, b"ij"), EARLY);
    assert_eq!(stand.after(COMES_WITHIN).lines(8, b"ij"), MISSING);
}

/// From the agent's side: one piece is lost on the bus that had said that it had kept it, and in the end all is here.
#[test]
fn a_piece_that_a_bus_has_lost_comes_once_it_is_asked_for() {
    let (from, mut stand) = (tempfile::tempdir().unwrap(), Stand::new());
    let mut outbox = Outbox::new(from.path().to_path_buf(), &NAMES);
    let (mut seconds, mut asked) = (0, 0);
    let mut waiting: Vec<(Place, Vec<u8>)> = Vec::new();
    while seconds < 12 {
        let lines = from.path().join("lines");
        let mut file = OpenOptions::new().append(true).create(true).open(lines).unwrap();
        file.write_all(&[b'a' + seconds; 3]).unwrap();
        while let Some((place, bytes)) = outbox.piece(stand.now).unwrap() {
            outbox.told(&place, bytes.len() as u64, stand.now);
            // Of the first round.
            if (place.round, place.offset) != (0, 9) {
                waiting.push((place, bytes));
            }
        }
        let mut is_missing = false;
        waiting.retain(|(place, bytes)| match stand.inbox.take(stand.now, place, bytes).unwrap() {
            Taken::Settled => false,
            Taken::Early(_) => true,
            Taken::Missing(_) => {
                is_missing = true;
                true
            }
        });
        if is_missing {
            asked += 1;
            outbox.begin_again();
        }
        stand.after(SECOND);
        seconds += 1;
    }
    assert_eq!(asked, 1);
    let ends = ends(from.path(), &NAMES).unwrap();
    assert_eq!(stand.inbox.whole(stand.now, &ends).unwrap(), Whole::Yes);
}
