//! Redis's protocol against another implementation of it, in both directions.

use proptest::collection::vec;
use proptest::prelude::*;
use redis::Value;
use std::path::Path;
use unblink_wire::blank::{Filler, place};
use unblink_wire::protocol::{Carrier, Protocol, Reply, Sink, Tag, Value as Told, Violation};
use unblink_wire::redis::fuzzing::{COMMANDS, Driven, Event, check, drive};
use unblink_wire::redis::{Command, Greeting, Redis, Settings};

/// A reply as a server writes it.
fn reply(is_resp3: bool) -> impl Strategy<Value = Vec<u8>> {
    let of_length =
        |kind: char, text: Vec<u8>| [format!("{kind}{}\r\n", text.len()).as_bytes(), &text, b"\r\n"].concat();
    let word = "[A-Z]{1,9}( [ -~]{0,40})?";
    let simple = prop_oneof![
        "[ -~]{0,30}".prop_map(|text| format!("+{text}\r\n").into_bytes()),
        word.prop_map(|text| format!("-{text}\r\n").into_bytes()),
        any::<i64>().prop_map(|number| format!(":{number}\r\n").into_bytes()),
        vec(any::<u8>(), 0..300).prop_map(move |text| of_length('$', text)),
        Just(b"$-1\r\n".to_vec()),
        Just(b"*-1\r\n".to_vec()),
    ];
    let of_three = prop_oneof![
        Just(b"_\r\n".to_vec()),
        any::<bool>().prop_map(|is| format!("#{}\r\n", if is { 't' } else { 'f' }).into_bytes()),
        (-1e9..1e9f64).prop_map(|number| format!(",{number}\r\n").into_bytes()),
        "-?[1-9][0-9]{0,60}".prop_map(|number| format!("({number}\r\n").into_bytes()),
        word.prop_map(move |text| of_length('!', text.into_bytes())),
        "[ -~]{0,30}".prop_map(move |text| of_length('=', format!("txt:{text}").into_bytes())),
    ];
    let leaf = if is_resp3 { prop_oneof![simple, of_three].boxed() } else { simple.boxed() };
    leaf.prop_recursive(5, 40, 6, move |inner| {
        let kinds =
            if is_resp3 { prop_oneof![Just('*'), Just('~'), Just('%')].boxed() } else { Just('*').boxed() };
        (kinds, vec(inner, 0..6)).prop_map(|(kind, mut values)| {
            let count = match kind {
                '%' => {
                    values.truncate(values.len() / 2 * 2);
                    values.len() / 2
                }
                _ => values.len(),
            };
            [format!("{kind}{count}\r\n").into_bytes(), values.concat()].concat()
        })
    })
}

/// What the other implementation makes of it: a line for each value, and what it is called.
fn read_by_the_other(bytes: &[u8]) -> Option<(Vec<u8>, String)> {
    let value = redis::parse_redis_value(bytes).ok()?;
    let (mut lines, mut error) = (Vec::new(), None);
    flatten(&value, &mut lines, &mut error);
    let code = match (error, &value) {
        (Some(error), _) => error,
        (None, Value::Nil) => "nil".to_string(),
        _ => "ok".to_string(),
    };
    Some((lines.join(&b"\n"[..]), code))
}

fn flatten(value: &Value, lines: &mut Vec<Vec<u8>>, error: &mut Option<String>) {
    match value {
        Value::Nil => lines.push(Vec::new()),
        Value::Int(number) => lines.push(number.to_string().into_bytes()),
        Value::BulkString(text) | Value::BigNumber(text) => lines.push(text.clone()),
        Value::SimpleString(text) => lines.push(text.clone().into_bytes()),
        Value::Okay => lines.push(b"OK".to_vec()),
        Value::Array(values) | Value::Set(values) => values.iter().for_each(|one| flatten(one, lines, error)),
        Value::Map(pairs) => pairs.iter().for_each(|(key, value)| {
            flatten(key, lines, error);
            flatten(value, lines, error);
        }),
        Value::Double(number) => lines.push(number.to_string().into_bytes()),
        Value::Boolean(is) => lines.push(if *is { b"t".to_vec() } else { b"f".to_vec() }),
        Value::VerbatimString { text, .. } => lines.push(format!("txt:{text}").into_bytes()),
        Value::ServerError(wrong) => {
            let text = [wrong.code(), wrong.details().unwrap_or_default()].join(" ");
            lines.push(text.trim_end().to_string().into_bytes());
            error.get_or_insert_with(|| wrong.code().to_string());
        }
        other => panic!("{other:?} is not in these replies"),
    }
}

/// Text and code of the answer with this number, as far as it is whole.
fn answer(outcome: &Driven, number: u64) -> Option<(Vec<u8>, &'static str)> {
    let text = outcome.events.iter().find_map(|event| match event {
        Event::Body(tag, text) if *tag == number => Some(text.clone()),
        _ => None,
    });
    outcome.events.iter().find_map(|event| match event {
        Event::Done(tag, code, _) if *tag == number => Some((text.clone().unwrap_or_default(), *code)),
        _ => None,
    })
}

/// Without blanks at the ends of lines: the other implementation drops an error's.
fn trimmed(text: &[u8]) -> Vec<u8> {
    text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii_end).collect::<Vec<_>>().join(&b'\n')
}

fn assert_same(ours: (Vec<u8>, &str), theirs: (Vec<u8>, String)) {
    let ((our_text, our_code), (their_text, their_code)) = (ours, theirs);
    assert_eq!(trimmed(&our_text), trimmed(&their_text));
    // Words that have no name of their own share one.
    assert!(our_code == their_code || our_code == "OTHER", "{our_code} is not {their_code}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn replies_of_resp2_are_read_as_by_another_client(replies in vec(reply(false), 1..4), cut in 1..400usize) {
        let outcome = drive(false, u64::MAX >> 1, &replies.concat(), || cut);
        prop_assert_eq!(outcome.result, Ok(()));
        for (number, reply) in (0..).zip(&replies) {
            assert_same(answer(&outcome, number).expect("whole"), read_by_the_other(reply).expect("a reply"));
        }
    }

    #[test]
    fn replies_of_resp3_are_read_as_by_another_client(replies in vec(reply(true), 1..4), cut in 1..400usize) {
        let outcome = drive(true, u64::MAX >> 1, &replies.concat(), || cut);
        prop_assert_eq!(outcome.result, Ok(()));
        for (number, reply) in (0..).zip(&replies) {
            assert_same(answer(&outcome, number).expect("whole"), read_by_the_other(reply).expect("a reply"));
        }
    }

    /// Whatever a server answers: each value by itself is what the other implementation finds there.
    #[test]
    fn values_are_those_that_another_client_finds(reply in reply(true), cut in 1..400usize) {
        let mut connection = ready(true);
        let (mut shared, mut kept) = (Redis::shared(1), Values::default());
        let command = Command::new(&[b"X".to_vec()], false).telling();
        connection.submit(&mut shared, Tag(0), 0, &command, &mut Words(&[]));
        reply.chunks(cut).for_each(|piece| connection.feed(&mut shared, piece, &mut kept).expect("a reply"));
        prop_assert_eq!(kept.0, values_of_the_other(&redis::parse_redis_value(&reply).expect("a reply")));
    }

    #[test]
    fn cuts_never_matter(replies in vec(reply(true), 0..5), changed in vec((any::<usize>(), any::<u8>()), 0..3), seed in any::<u8>()) {
        let mut bytes = replies.concat();
        for (at, byte) in changed {
            if !bytes.is_empty() {
                let at = at % bytes.len();
                bytes[at] = byte;
            }
        }
        for choice in [b"03", b"13", b"02", b"12"] {
            check(&[&choice[..], &[seed], &bytes].concat());
        }
    }

    /// It may be stricter, and is never of another opinion.
    #[test]
    fn what_is_taken_after_a_change_is_read_alike(reply in reply(false), at in any::<usize>(), byte in any::<u8>()) {
        let mut bytes = reply;
        let at = at % bytes.len();
        bytes[at] = byte;
        let outcome = drive(false, 1 << 20, &bytes, || 7);
        if outcome.result.is_ok()
            && let Some(ours) = answer(&outcome, 0)
            && answer(&outcome, 1).is_none()
            && let Some(theirs) = read_by_the_other(&bytes)
        {
            assert_same(ours, theirs);
        }
    }

    #[test]
    fn commands_are_written_as_by_another_client(words in vec(vec(any::<u8>(), 0..60), 1..7), drawn in vec(any::<bool>(), 7)) {
        let mut other = redis::Cmd::new();
        words.iter().for_each(|word| { other.arg(word.as_slice()); });
        let expected = other.get_packed_command();
        let places = words.iter().enumerate().map(|(number, word)| match drawn[number] {
            true => place(number as u32).into_bytes(),
            false => word.clone(),
        });
        // Nothing else is written with two braces.
        prop_assume!(!words.iter().any(|word| word.windows(2).any(|two| two == b"{{")));
        let command = Command::new(&places.collect::<Vec<_>>(), true);
        let mut connection = ready(false);
        let (mut shared, tag) = (Redis::shared(1), Tag(0));
        connection.submit(&mut shared, tag, 0, &command, &mut Words(&words));
        prop_assert_eq!(connection.output(std::slice::from_ref(&command)).concat(), expected);
    }
}

struct Words<'a>(&'a [Vec<u8>]);

impl Filler for Words<'_> {
    fn fill(&mut self, place: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0[place as usize]);
    }
}

struct Nobody;

impl Sink for Nobody {
    fn ready(&mut self) {}
    fn room(&mut self, _: u32) {}
    fn retired(&mut self) {}
    fn first(&mut self, _: Tag) {}
    fn head(&mut self, _: Tag, _: &[u8]) {}
    fn body(&mut self, _: Tag, _: &[u8]) {}
    fn done(&mut self, _: Tag, _: Reply) {}
    fn lost(&mut self, _: Tag, _: Violation, _: bool) {}
}

/// Place, name and text.
type Single = (Option<u64>, Option<Vec<u8>>, Vec<u8>);

/// What is told of values.
#[derive(Default)]
struct Values(Vec<Single>);

impl Sink for Values {
    fn ready(&mut self) {}
    fn room(&mut self, _: u32) {}
    fn retired(&mut self) {}
    fn first(&mut self, _: Tag) {}
    fn head(&mut self, _: Tag, _: &[u8]) {}
    fn body(&mut self, _: Tag, _: &[u8]) {}
    fn value(&mut self, _: Tag, Told { place, name, text }: Told<'_>) {
        self.0.push((place, name.map(<[u8]>::to_vec), text.to_vec()));
    }
    fn done(&mut self, _: Tag, _: Reply) {}
    fn lost(&mut self, _: Tag, _: Violation, _: bool) {}
}

/// The text of what is a value, and holds no others.
fn single(value: &Value) -> Option<Vec<u8>> {
    let is_none =
        matches!(value, Value::Nil | Value::ServerError(_) | Value::Array(_) | Value::Set(_) | Value::Map(_));
    let mut lines = Vec::new();
    (!is_none).then(|| flatten(value, &mut lines, &mut None))?;
    lines.pop()
}

fn values_of_the_other(value: &Value) -> Vec<Single> {
    let all: Vec<&Value> = match value {
        Value::Array(values) | Value::Set(values) => values.iter().collect(),
        Value::Map(pairs) => pairs.iter().flat_map(|(key, value)| [key, value]).collect(),
        value => return single(value).into_iter().map(|text| (None, None, text)).collect(),
    };
    let texts: Vec<Option<Vec<u8>>> = all.into_iter().map(single).collect();
    let named = (0..).zip(&texts).filter_map(|(place, text)| {
        let before = (place % 2 == 1).then(|| texts[place as usize - 1].clone()).flatten();
        Some((Some(place), before, text.clone()?))
    });
    named.collect()
}

/// A connection that has greeted.
fn ready(is_resp3: bool) -> Redis {
    let greeting = Greeting::new(false, None, 0).into();
    let settings = Settings { greeting, is_resp3, limits: Default::default(), depth: 1 };
    let (mut redis, mut shared) = (Redis::new(&settings), Redis::shared(1));
    assert_eq!(redis.begin(Carrier::Plain), Ok(false));
    redis.wrote(redis.output(&[]).concat().len());
    redis.feed(&mut shared, b"+PONG\r\n", &mut Nobody).expect("it is greeted");
    redis
}

#[test]
fn pushes_between_answers_are_told_and_answer_nothing() {
    let bytes = b">2\r\n+message\r\n+a\r\n+OK\r\n>1\r\n+b\r\n$-1\r\n";
    let outcome = drive(true, 1_000, bytes, || 5);
    assert_eq!(outcome.result, Ok(()));
    let pushes = outcome.events.iter().filter(|event| matches!(event, Event::Unsolicited)).count();
    assert_eq!(pushes, 2);
    assert_eq!(answer(&outcome, 0), Some((b"OK".to_vec(), "ok")));
    assert_eq!(answer(&outcome, 1).map(|(_, code)| code), Some("nil"));
}

#[test]
fn what_nobody_asked_for_ends_the_connection() {
    let bytes = b"+OK\r\n".repeat(COMMANDS as usize + 1);
    let outcome = drive(false, 1_000, &bytes, || 3);
    assert!(
        matches!(outcome.result, Err(Violation::Malformed(number)) if Redis::VIOLATIONS[usize::from(number)] == "unasked")
    );
    assert!(answer(&outcome, COMMANDS - 1).is_some());
}

#[test]
fn the_corpus_breaks_no_invariant() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/redis");
    let entries: Vec<_> = std::fs::read_dir(&folder).expect("fuzz/corpus/redis exists").collect();
    assert!(entries.len() >= 30, "only {} seeds", entries.len());
    for entry in entries {
        let path = entry.expect("a readable entry").path();
        let bytes = std::fs::read(&path).expect("a readable seed");
        let checked = std::panic::catch_unwind(|| check(&bytes));
        assert!(checked.is_ok(), "{} breaks an invariant", path.display());
    }
}
