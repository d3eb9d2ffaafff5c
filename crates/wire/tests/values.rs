//! Values of rows that are told by themselves: those that the server sent, however its bytes are cut; and what a hostile one makes of
//! them. Those of Redis are held against another client (`redis.rs`).

use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;
use std::sync::Arc;
use unblink_wire::blank::{Filler, place};
use unblink_wire::cql::{self, Cql, Options, Statement};
use unblink_wire::postgres::{self, Postgres, Transaction};
use unblink_wire::protocol::{Carrier, Protocol, Reply, Sink, Tag, VALUE_BYTES_MAX, Value, Violation};

/// Place, name and text.
type Told = (u64, Vec<u8>, Vec<u8>);

#[derive(Default)]
struct Heard {
    told: Vec<Told>,
    body: Vec<u8>,
    is_done: bool,
}

impl Sink for Heard {
    fn ready(&mut self) {}
    fn room(&mut self, _: u32) {}
    fn retired(&mut self) {}
    fn first(&mut self, _: Tag) {}
    fn head(&mut self, _: Tag, _: &[u8]) {}
    fn body(&mut self, _: Tag, piece: &[u8]) {
        self.body.extend_from_slice(piece);
    }
    fn value(&mut self, _: Tag, Value { place, name, text }: Value<'_>) {
        assert!(!self.is_done, "a value behind its answer");
        self.told.push((place.expect("a column"), name.expect("a name").to_vec(), text.to_vec()));
    }
    fn done(&mut self, _: Tag, _: Reply) {
        self.is_done = true;
    }
    fn lost(&mut self, _: Tag, _: Violation, _: bool) {}
}

struct Seven;

impl Filler for Seven {
    fn fill(&mut self, _: u32, out: &mut Vec<u8>) {
        out.push(b'7');
    }
}

/// What is said of `bytes`, which answer a request of `P` behind `logged_in`, in pieces of so many.
fn heard<P: Protocol>(
    settings: &P::Settings,
    request: &P::Request,
    (logged_in, bytes): (&[u8], &[u8]),
    cut: usize,
) -> (Heard, Result<(), Violation>) {
    let (mut connection, mut shared, mut heard) = (P::new(settings), P::shared(1), Heard::default());
    connection.begin(Carrier::Plain).expect("it begins");
    connection.feed(&mut shared, logged_in, &mut heard).expect("it is let in");
    connection.submit(&mut shared, Tag(0), 0, request, &mut Seven);
    let result = bytes.chunks(cut).try_for_each(|piece| connection.feed(&mut shared, piece, &mut heard));
    (heard, result)
}

fn of_cql(bytes: &[u8], cut: usize) -> (Heard, Result<(), Violation>) {
    let text = format!("SELECT b FROM t WHERE a={}", place(0));
    let mut statements = [Statement::new(&text, true, Options::default()).expect("a statement").telling()];
    let session = cql::Session::new(None, Some("shop".into()), &mut statements);
    let settings = cql::Settings { session: Arc::new(session), limits: Default::default(), streams: 4 };
    heard::<Cql>(&settings, &statements[0], (cql::fuzzing::LOGGED_IN, bytes), cut)
}

fn of_postgres(bytes: &[u8], cut: usize) -> (Heard, Result<(), Violation>) {
    let transactions = [Transaction::new("SELECT 1", false).expect("a statement").telling()];
    let user = postgres::User { name: "user".into(), password: None };
    let session = postgres::Session::new(user, "shop", &[], &transactions, [7; 32]);
    let settings = postgres::Settings { session: Arc::new(session), limits: Default::default(), depth: 1 };
    heard::<Postgres>(&settings, &transactions[0], (postgres::fuzzing::LOGGED_IN, bytes), cut)
}

type Row = Vec<Option<Vec<u8>>>;

/// Rows of text with the names of their columns, as a server of CQL sends them. Without `names` it does not say them.
fn in_cql(columns: &[String], names: bool, rows: &[Row]) -> Vec<u8> {
    let mut body = b"\0\0\0\x02".to_vec();
    body.extend(if names { 1u32 } else { 4 }.to_be_bytes());
    body.extend((columns.len() as u32).to_be_bytes());
    if names {
        body.extend(b"\0\x01k\0\x01t");
        for name in columns {
            body.extend((name.len() as u16).to_be_bytes());
            body.extend(name.bytes());
            body.extend(b"\0\x0d");
        }
    }
    body.extend((rows.len() as u32).to_be_bytes());
    put_values(rows.iter().flatten(), &mut body);
    let length = (body.len() as u32).to_be_bytes();
    [&b"\x84\0\0\0\x08"[..], &length, &body].concat()
}

fn put_values<'a>(values: impl Iterator<Item = &'a Option<Vec<u8>>>, out: &mut Vec<u8>) {
    for value in values {
        let length = value.as_ref().map_or(-1, |value| value.len() as i32);
        out.extend(length.to_be_bytes());
        out.extend(value.iter().flatten());
    }
}

fn message(kind: u8, payload: &[u8]) -> Vec<u8> {
    [&[kind][..], &(payload.len() as u32 + 4).to_be_bytes(), payload].concat()
}

/// The same as PostgreSQL sends them.
fn in_postgres(columns: &[String], rows: &[Row]) -> Vec<u8> {
    let mut described = (columns.len() as u16).to_be_bytes().to_vec();
    for name in columns {
        described.extend(name.bytes());
        described.extend([0; 19]);
    }
    let mut out = [message(b'2', b""), message(b'T', &described)].concat();
    for row in rows {
        let mut payload = (row.len() as u16).to_be_bytes().to_vec();
        put_values(row.iter(), &mut payload);
        out.extend(message(b'D', &payload));
    }
    out.extend(message(b'C', format!("SELECT {}\0", rows.len()).as_bytes()));
    out.extend(message(b'Z', b"I"));
    out
}

/// The values of the first row that are some.
fn first_of(columns: &[String], rows: &[Row]) -> Vec<Told> {
    let first = rows.first().into_iter().flatten().zip(columns).zip(0..);
    let some =
        first.filter_map(|((value, name), place)| Some((place, name.clone().into_bytes(), value.clone()?)));
    some.collect()
}

/// Columns, and rows of as many values. What parts values and rows may stand in a value.
fn table() -> impl Strategy<Value = (Vec<String>, Vec<Row>)> {
    (1..6usize).prop_flat_map(|columns| {
        let value =
            || prop_oneof!["[a\\t\\n\\\\N]{0,4}".prop_map(String::into_bytes), vec(any::<u8>(), 0..60)];
        (vec("[a-c]{0,3}", columns), vec(vec(weighted(0.8, value()), columns), 0..4))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn values_of_the_first_row_are_those_that_were_sent((columns, rows) in table(), cut in 1..60usize) {
        for (heard, result) in [
            of_cql(&in_cql(&columns, true, &rows), cut),
            of_postgres(&in_postgres(&columns, &rows), cut),
        ] {
            prop_assert_eq!(result, Ok(()));
            prop_assert!(heard.is_done);
            prop_assert_eq!(heard.told, first_of(&columns, &rows));
        }
    }

    /// One byte is another: whatever comes of it, it is the same for any cut, and each value stands in the body.
    #[test]
    fn what_a_hostile_server_tells_does_not_depend_on_cuts(
        (columns, rows) in table(), at in any::<usize>(), byte in any::<u8>(), cut in 1..60usize,
    ) {
        let changed = |mut bytes: Vec<u8>| {
            let at = at % bytes.len();
            bytes[at] = byte;
            bytes
        };
        let (in_cql, in_postgres) = (changed(in_cql(&columns, true, &rows)), changed(in_postgres(&columns, &rows)));
        for [(one, result), (other, same)] in [
            [of_cql(&in_cql, cut), of_cql(&in_cql, usize::MAX)],
            [of_postgres(&in_postgres, cut), of_postgres(&in_postgres, usize::MAX)],
        ] {
            prop_assert_eq!((one.is_done, result), (other.is_done, same));
            prop_assert_eq!(&one.told, &other.told);
            let is_there = |text: &[u8]| text.is_empty() || one.body.windows(text.len()).any(|part| part == text);
            prop_assert!(one.told.iter().all(|(_, _, text)| is_there(text)), "{:?}", one.told);
        }
    }
}

fn one_row(value: &[u8]) -> (Vec<String>, Vec<Row>) {
    (vec!["a".into()], vec![vec![Some(value.to_vec())]])
}

#[test]
fn a_long_value_is_told_to_be_too_long() {
    for length in [VALUE_BYTES_MAX, VALUE_BYTES_MAX + 1, 3 * VALUE_BYTES_MAX] {
        let (columns, rows) = one_row(&vec![b'x'; length]);
        for (heard, _) in
            [of_cql(&in_cql(&columns, true, &rows), 700), of_postgres(&in_postgres(&columns, &rows), 700)]
        {
            assert_eq!(heard.told[0].2.len() > VALUE_BYTES_MAX, length > VALUE_BYTES_MAX, "{length}");
        }
    }
}

/// Nothing can be told by name of columns whose names are not said, although they were asked for.
#[test]
fn columns_without_names_tell_nothing() {
    let (columns, rows) = one_row(b"x");
    let (heard, result) = of_cql(&in_cql(&columns, false, &rows), 7);
    assert_eq!((heard.is_done, result, heard.told.len(), &heard.body[..]), (true, Ok(()), 0, &b"x\n"[..]));
    let unnamed = [message(b'2', b""), message(b'D', b"\0\x01\0\0\0\x01x"), message(b'C', b"SELECT 1\0")];
    let (heard, result) = of_postgres(&[&unnamed.concat()[..], &message(b'Z', b"I")].concat(), 7);
    assert_eq!((heard.is_done, result, heard.told.len()), (true, Ok(()), 0));
}

#[test]
fn what_postgres_says_of_columns_must_fit() {
    let bound = message(b'2', b"");
    for columns in [&b""[..], b"\0\x01", b"\0\x01a\0", b"\0\0x", b"\xff\xffa\0"] {
        let (_, result) = of_postgres(&[&bound[..], &message(b'T', columns)].concat(), 3);
        assert_eq!(result, Err(postgres::Fault::BadMessage.into()), "{columns:?}");
    }
    let long = [&b"T"[..], &(1u32 << 20).to_be_bytes()].concat();
    assert_eq!(of_postgres(&[&bound[..], &long].concat(), 3).1, Err(Violation::TooLarge));
    // A row may have more values than there are columns, or none at all.
    let described = message(b'T', &[&b"\0\x01a"[..], &[0; 19]].concat());
    let row = message(b'D', b"\0\x02\0\0\0\x01x\0\0\0\x01y");
    let (heard, _) = of_postgres(&[bound, described, row].concat(), 3);
    assert_eq!(heard.told, [(0, b"a".to_vec(), b"x".to_vec())]);
}
