//! A store against what a reader of its documentation would expect.

mod support;

use std::collections::BTreeMap;
use support::run;
use unblink_artifact::history::IndexedRun;
use unblink_store::{Filter, Location, Store, StoreError};

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().expect("a folder"))
    }

    /// In a folder that does not exist yet, under a name that a URL would have to escape.
    fn location(&self) -> Location {
        Location::File(self.0.path().join("data ?#%41/history.db"))
    }

    fn open(&self) -> Store {
        Store::open(&self.location()).expect("a store")
    }
}

fn ids(store: &mut Store, filter: &Filter) -> Vec<String> {
    let (runs, _) = store.runs(filter).expect("runs");
    runs.into_iter().map(|run| run.id).collect()
}

/// As on a medium that can't be written. Permissions would not do: they don't stop root.
#[test]
fn what_can_not_be_written_can_be_read() {
    let place = Place::new();
    place.open().put(&[run(1), run(2)]).unwrap();
    let Location::File(path) = place.location() else { panic!("a file") };
    // SQLite makes its log beside the file: where a folder has that name, nothing can be written.
    let log = std::path::PathBuf::from(format!("{}-wal", path.display()));
    let _ = std::fs::remove_file(&log);
    std::fs::create_dir(&log).expect("a folder");
    let failed = Store::open(&place.location()).err().map(|error| error.to_string());
    assert!(failed.is_none_or(|said| !said.contains("code")), "no numbers");
    let mut store = Store::open_to_read(&place.location()).expect("to read");
    assert_eq!(ids(&mut store, &Filter::default()).len(), 2);
}

#[test]
fn what_is_wrong_is_said_in_words() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = folder.path().join("notes.txt");
    std::fs::write(&text, "not a database, and longer than the head of one".repeat(9)).expect("a file");
    for (path, said) in [(text, "not an SQLite database"), (folder.path().into(), "can't be opened")] {
        let location = Location::File(path);
        for error in [Store::open(&location).err(), Store::open_to_read(&location).err()] {
            let error = error.expect("refused").to_string();
            assert!(error.contains(said) && !error.contains("code"), "{error}");
        }
    }
}

#[test]
fn what_is_put_is_found_again_as_it_was() {
    let place = Place::new();
    let runs: Vec<IndexedRun> = (1..=5).map(run).collect();
    place.open().put(&runs).unwrap();
    assert!(place.0.path().join("data ?#%41/history.db").is_file());
    let (found, more) = place.open().runs(&Filter::default()).unwrap();
    assert_eq!(found, runs.iter().rev().cloned().collect::<Vec<_>>());
    assert!(!more);
    let (found, more) = place.open().runs(&Filter { limit: Some(2), ..Filter::default() }).unwrap();
    assert_eq!(found, [run(5), run(4)]);
    assert!(more);
}

#[test]
fn filters_narrow_down() {
    let place = Place::new();
    let mut store = place.open();
    store.put(&(1..=12).map(run).collect::<Vec<_>>()).unwrap();
    let of = |filter: Filter, store: &mut Store| ids(store, &filter);
    let one = [run(12).id];
    assert_eq!(of(Filter { target: Some("HOST-12".into()), ..Filter::default() }, &mut store), one);
    assert_eq!(of(Filter { target: Some("a%b".into()), ..Filter::default() }, &mut store), [""; 0]);
    let tag = |value: Option<&str>| vec![("commit".to_string(), value.map(str::to_string))];
    assert_eq!(of(Filter { tags: tag(Some("c12")), ..Filter::default() }, &mut store), one);
    assert_eq!(of(Filter { tags: tag(None), ..Filter::default() }, &mut store).len(), 12);
    assert_eq!(of(Filter { tags: tag(Some("c1' OR 1=1 --")), ..Filter::default() }, &mut store), [""; 0]);
    let since = run(12).started_at.parse().ok();
    assert_eq!(of(Filter { since, ..Filter::default() }, &mut store), one);
    assert_eq!(of(Filter { series: Some("0".into()), ..Filter::default() }, &mut store).len(), 6);
    assert_eq!(of(Filter { validity: Some("invalid".into()), ..Filter::default() }, &mut store), [""; 0]);
    assert_eq!(of(Filter { verdict: Some("pass".into()), ..Filter::default() }, &mut store), [""; 0]);
}

#[test]
fn a_run_is_named_by_its_first_digits() {
    let place = Place::new();
    let mut store = place.open();
    assert!(matches!(store.find("latest"), Err(StoreError::NoRun { .. })));
    store.put(&[run(1), run(2), run(0x0abc)]).unwrap();
    assert_eq!(store.find("0ABC").unwrap(), run(0x0abc));
    assert_eq!(store.find(&run(2).id).unwrap(), run(2));
    assert_eq!(store.find("latest").unwrap().id, run(0x0abc).id);
    assert!(matches!(store.find("0"), Err(StoreError::Ambiguous { count: 3, .. })));
    assert!(matches!(store.find("%"), Err(StoreError::NoRun { .. })));
}

#[test]
fn tags_and_baselines_outlive_another_indexing() {
    let place = Place::new();
    let mut store = place.open();
    store.put(&[run(1), run(2)]).unwrap();
    let id = run(1).id;
    store.tag(&id, "commit", "changed").unwrap();
    store.tag(&id, "label", "before").unwrap();
    store.tag(&run(2).id, "commit", "").unwrap();
    store.set_baseline("main", std::slice::from_ref(&id), "2026-02-01T00:00:00.000Z").unwrap();
    store.put(&[run(1)]).unwrap();
    let found = store.find(&id).unwrap();
    assert_eq!(
        found.tags,
        [("commit", "changed"), ("label", "before")].map(|(a, b)| (a.into(), b.into())).into()
    );
    assert_eq!(found.baselines.len(), 1);
    assert!(store.find(&run(2).id).unwrap().tags.is_empty());
    let baseline = Filter { baseline: Some("main".into()), ..Filter::default() };
    assert_eq!(ids(&mut store, &baseline), std::slice::from_ref(&id));
    store.set_baseline("main", &[run(2).id, run(2).id], "2026-02-02T00:00:00.000Z").unwrap();
    assert_eq!(ids(&mut store, &baseline), [run(2).id]);
}

#[test]
fn of_two_claims_to_a_baseline_the_later_one_holds_in_any_order() {
    let claim = |number: u32, at: &str| {
        let baselines = BTreeMap::from([("main".to_string(), at.to_string())]);
        IndexedRun { baselines, ..run(number) }
    };
    let (old, new, also) = (claim(1, "2026-01-01T"), claim(2, "2026-02-01T"), claim(3, "2026-02-01T"));
    let baseline = Filter { baseline: Some("main".into()), ..Filter::default() };
    for order in [[&old, &new, &also], [&new, &old, &also], [&also, &new, &old]] {
        let place = Place::new();
        let mut store = place.open();
        order.iter().for_each(|run| store.put(std::slice::from_ref(*run)).unwrap());
        assert_eq!(ids(&mut store, &baseline), [also.id.clone(), new.id.clone()]);
    }
}

/// From a file that does not exist yet: they also meet while the tables are made.
#[test]
fn many_writers_at_once_lose_nothing() {
    const WRITERS: u32 = 12;
    const EACH: u32 = 8;
    let place = Place::new();
    let location = place.location();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let location = &location;
            scope.spawn(move || {
                for i in 0..EACH {
                    let run = run(writer * EACH + i);
                    let mut store = Store::open(location).expect("a store");
                    store.put(std::slice::from_ref(&run)).expect("written");
                    store.tag(&run.id, "writer", &writer.to_string()).expect("tagged");
                }
            });
        }
    });
    let (found, _) = place.open().runs(&Filter::default()).unwrap();
    assert_eq!(found.len() as u32, WRITERS * EACH);
    for (run, number) in found.iter().zip((0..WRITERS * EACH).rev()) {
        assert_eq!(run.tags["writer"], (number / EACH).to_string());
    }
}

#[test]
fn what_is_no_database_is_refused_and_left_alone() {
    let place = Place::new();
    let path = place.0.path().join("notes.txt");
    std::fs::write(&path, "not a database, but somebody's notes ".repeat(100)).unwrap();
    let error = Store::open(&Location::File(path.clone())).err().expect("refused").to_string();
    assert!(error.contains("notes.txt") && error.contains("not an SQLite database"), "{error}");
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("not a database"));
    assert!(Store::open(&Location::File(place.0.path().into())).is_err());
}
