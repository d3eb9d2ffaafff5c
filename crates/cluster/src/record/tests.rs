//! What is told of a folder, and what arrives of it.

use super::*;
use proptest::prelude::*;
use std::fs::{self, OpenOptions};

const NAMES: [&str; 2] = ["run.json", "lines"];

/// Tells all that is new, where some messages come twice and some old ones come late.
fn tell(outbox: &mut Outbox, inbox: &mut Inbox, doubled: &mut Vec<(Place, Vec<u8>)>) {
    while let Some((place, bytes)) = outbox.piece(0).expect("files") {
        let arrived = inflated(&deflated(&bytes).expect("in memory")).expect("the same");
        assert_eq!(inbox.take(0, &place, &arrived).expect("a piece"), Taken::Settled);
        for (place, bytes) in doubled.iter().chain([&(place.clone(), bytes.clone())]) {
            inbox.take(0, place, bytes).expect("an old one");
        }
        outbox.told(&place, bytes.len() as u64, 0);
        doubled.push((place, bytes));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn what_arrives_is_what_was_written(parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..900), 1..12)) {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut outbox = Outbox::new(from.path().to_path_buf(), &NAMES);
        let mut inbox = Inbox::new(to.path().join("a"), &NAMES).unwrap();
        let mut doubled = Vec::new();
        for part in &parts {
            let mut file = OpenOptions::new().append(true).create(true).open(from.path().join("lines")).unwrap();
            file.write_all(part).unwrap();
            // Replaced as a whole.
            fs::write(from.path().join("new"), part).unwrap();
            fs::rename(from.path().join("new"), from.path().join("run.json")).unwrap();
            tell(&mut outbox, &mut inbox, &mut doubled);
        }
        let ends = ends(from.path(), &NAMES).unwrap();
        prop_assert_eq!(inbox.whole(0, &ends).unwrap(), Whole::Yes);
        prop_assert_eq!(fs::read(to.path().join("a/lines")).unwrap(), parts.concat());
        let other = FileEnd { sha256: sha256(b"x"), ..ends[1].clone() };
        prop_assert_eq!(inbox.whole(0, &[other]).unwrap(), Whole::NotYet);
    }
}

#[test]
fn a_piece_that_swells_is_refused() {
    let most = vec![0; PIECE_BYTES_MAX as usize];
    assert_eq!(inflated(&deflated(&most).unwrap()).unwrap(), most);
    assert!(inflated(&deflated(&[&most[..], &[0]].concat()).unwrap()).is_err());
    assert!(inflated(b"no such thing").is_err());
}

#[test]
fn nothing_else_is_written() {
    let to = tempfile::tempdir().unwrap();
    let mut inbox = Inbox::new(to.path().join("a"), &NAMES).unwrap();
    let place = |name: &str, offset| Place { name: name.into(), version: 1, offset, round: 0 };
    assert!(inbox.take(0, &place("../x", 0), b"x").is_err());
    assert!(inbox.take(0, &place("other", 0), b"x").is_err());
    assert_ne!(inbox.take(0, &place("lines", 5), b"x").expect("no error"), Taken::Settled, "a hole");
    assert!(!to.path().join("x").exists());
}

/// From when it was seen first until it has been told, whatever came after it.
#[test]
fn what_waits_is_behind() {
    let from = tempfile::tempdir().unwrap();
    let mut outbox = Outbox::new(from.path().to_path_buf(), &NAMES);
    let write = |bytes: usize| {
        let mut file = OpenOptions::new().append(true).create(true).open(from.path().join("lines")).unwrap();
        file.write_all(&vec![7; bytes]).unwrap();
    };
    let next = |outbox: &mut Outbox, now| {
        let (place, bytes) = outbox.piece(now).expect("a file").expect("a piece");
        (place, bytes.len() as u64)
    };
    assert_eq!(outbox.behind(5), 0);
    write(10);
    let (place, bytes) = next(&mut outbox, 10);
    assert_eq!(outbox.behind(12), 2, "it waits");
    outbox.told(&place, bytes, 13);
    assert_eq!((outbox.piece(20).unwrap(), outbox.behind(20)), (None, 3), "it has waited");
    // Two pieces, which were all there at 100: the first does not make the second any younger.
    write(3 * PIECE_BYTES_MAX as usize / 2);
    let (place, bytes) = next(&mut outbox, 100);
    outbox.told(&place, bytes, 140);
    write(1);
    let (place, bytes) = next(&mut outbox, 140);
    assert_eq!(outbox.behind(150), 50);
    outbox.told(&place, bytes, 190);
    assert_eq!(outbox.behind(1_000), 90);
    // A document that has been replaced is waited for anew.
    fs::write(from.path().join("run.json"), "1").unwrap();
    let (place, bytes) = next(&mut outbox, 1_000);
    fs::write(from.path().join("run.json"), "22").unwrap();
    let (newer, _) = next(&mut outbox, 1_100);
    assert_eq!((place.version, newer.version, outbox.behind(1_190)), (1, 2, 90));
    outbox.told(&place, bytes, 1_200);
    assert_eq!(outbox.behind(1_200), 100, "the old one is nobody's any more");
}

/// Whoever is cut off from the start to the end tells the lines first.
#[test]
fn a_document_that_replaces_another_one_comes_last() {
    let from = tempfile::tempdir().unwrap();
    let mut outbox = Outbox::new(from.path().to_path_buf(), &NAMES);
    let mut next = || {
        let (place, bytes) = outbox.piece(0).expect("files")?;
        outbox.told(&place, bytes.len() as u64, 0);
        Some((place.name, place.version))
    };
    fs::write(from.path().join("run.json"), "1").unwrap();
    fs::write(from.path().join("lines"), "1").unwrap();
    assert_eq!(next(), Some(("run.json".into(), 1)), "the first one comes first");
    fs::write(from.path().join("run.json"), "22").unwrap();
    assert_eq!(next(), Some(("lines".into(), 1)));
    assert_eq!(next(), Some(("run.json".into(), 2)));
    assert_eq!(next(), None);
}

#[test]
fn long_files_come_in_pieces() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(from.path().join("lines"), vec![7; 3 * PIECE_BYTES_MAX as usize / 2]).unwrap();
    let mut outbox = Outbox::new(from.path().to_path_buf(), &NAMES);
    let mut inbox = Inbox::new(to.path().join("a"), &NAMES).unwrap();
    let mut doubled = Vec::new();
    tell(&mut outbox, &mut inbox, &mut doubled);
    assert_eq!(doubled.len(), 2);
    assert_eq!(inbox.whole(0, &ends(from.path(), &NAMES).unwrap()).unwrap(), Whole::Yes);
}

/// Whoever kept it has lost it: what was told is told again, and whoever has some of it has all of it once.
#[test]
fn what_has_been_lost_on_the_way_is_told_again() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut outbox = Outbox::new(from.path().to_path_buf(), &NAMES);
    let mut inbox = Inbox::new(to.path().join("a"), &NAMES).unwrap();
    let write = |text: &[u8]| {
        let lines = from.path().join("lines");
        OpenOptions::new().append(true).create(true).open(lines).unwrap().write_all(text).unwrap();
    };
    fs::write(from.path().join("run.json"), "1").unwrap();
    write(b"one ");
    tell(&mut outbox, &mut inbox, &mut Vec::new());
    // This is kept, and nobody has it when it is lost.
    write(b"two ");
    let (place, bytes) = outbox.piece(0).unwrap().expect("a piece");
    outbox.told(&place, bytes.len() as u64, 0);
    write(b"three ");
    let (late, more) = outbox.piece(0).unwrap().expect("a piece");
    outbox.begin_again();
    // What is heard only now was said of what is lost.
    outbox.told(&late, more.len() as u64, 0);
    assert_ne!(inbox.take(0, &late, &more).unwrap(), Taken::Settled, "a hole");
    let mut again = Vec::new();
    tell(&mut outbox, &mut inbox, &mut again);
    let places: Vec<(&str, u64)> =
        again.iter().map(|(place, _)| (place.name.as_str(), place.offset)).collect();
    assert_eq!(places, [("run.json", 0), ("lines", 0)]);
    assert_eq!(fs::read(to.path().join("a/lines")).unwrap(), b"one two three ");
    assert_eq!(inbox.whole(0, &ends(from.path(), &NAMES).unwrap()).unwrap(), Whole::Yes);
    // A coordinator that has taken the run up had nothing.
    let mut other = Inbox::new(to.path().join("b"), &NAMES).unwrap();
    outbox.begin_again();
    tell(&mut outbox, &mut other, &mut Vec::new());
    assert_eq!(other.whole(0, &ends(from.path(), &NAMES).unwrap()).unwrap(), Whole::Yes);
}

/// What is told again waits since it is known to be lost; what had not been told waits for as long as it did.
#[test]
fn what_is_told_again_is_behind() {
    let from = tempfile::tempdir().unwrap();
    let mut outbox = Outbox::new(from.path().to_path_buf(), &NAMES);
    let lines = from.path().join("lines");
    fs::write(&lines, "one").unwrap();
    let (place, bytes) = outbox.piece(10).unwrap().expect("a piece");
    outbox.told(&place, bytes.len() as u64, 12);
    outbox.begin_again();
    let (place, bytes) = outbox.piece(100).unwrap().expect("a piece");
    outbox.told(&place, bytes.len() as u64, 130);
    assert_eq!(outbox.behind(1_000), 30);
    OpenOptions::new().append(true).open(&lines).unwrap().write_all(b" two").unwrap();
    let _ = outbox.piece(200).unwrap().expect("a piece");
    outbox.begin_again();
    let (place, bytes) = outbox.piece(250).unwrap().expect("a piece");
    assert_eq!((place.offset, bytes.len()), (0, 7));
    outbox.told(&place, 7, 260);
    assert_eq!(outbox.behind(1_000), 60);
}

/// Ten seconds without anything that is kept, whatever else is tried meanwhile; and what the bus says of it.
#[test]
fn what_is_not_kept_for_a_while_is_told() {
    const SECOND: Time = 1_000_000_000;
    let from = tempfile::tempdir().unwrap();
    let mut outbox = Outbox::new(from.path().to_path_buf(), &NAMES);
    assert!(outbox.piece(0).unwrap().is_none());
    assert_eq!(outbox.unkept(100 * SECOND), None, "there is nothing to keep");
    fs::write(from.path().join("lines"), "one").unwrap();
    let (place, bytes) = outbox.piece(SECOND).unwrap().expect("a piece");
    assert_eq!(outbox.unkept(11 * SECOND - 1), None);
    assert!(outbox.unkept(11 * SECOND).unwrap().ends_with("for 10 s: it does not answer"));
    outbox.piece(5 * SECOND).unwrap();
    outbox.refused("no space left".into());
    assert!(outbox.unkept(11 * SECOND).unwrap().ends_with("for 10 s: no space left"));
    outbox.told(&place, bytes.len() as u64, 12 * SECOND);
    assert_eq!(outbox.unkept(100 * SECOND), None, "all has been kept");
}
