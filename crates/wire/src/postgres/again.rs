//! Transactions whose statements a pooler has lost: tests.

use super::{Postgres, Session, Settings, Transaction, User, code_name};
use crate::Limits;
use crate::blank::Filler;
use crate::protocol::{Carrier, Protocol, Tag};
use crate::said::Said;
use proptest::collection::vec;
use proptest::prelude::*;

const READY: &[u8] = b"Z\0\0\0\x05I";
const LOST: &[u8] = b"E\0\0\0\x19SERROR\0C26000\0Mgone\0\0";
const REFUSED: &[u8] = b"E\0\0\0\x18SERROR\0C23505\0Mtwo\0\0";
const ROW: &[u8] = b"2\0\0\0\x04D\0\0\0\x0b\0\x01\0\0\0\x01xC\0\0\0\x0dSELECT 1\0";

/// The number of the arrival, so that each value is another.
struct Arrival(u64);

impl Filler for Arrival {
    fn fill(&mut self, _: u32, out: &mut Vec<u8>) {
        out.extend(format!("arrival-{:03}", self.0).bytes());
    }
}

/// What a server does with a request.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Manner {
    Knows,
    /// It goes to a server that does not know the statement, and then to one that does what it is asked.
    Loses,
    /// The second one refuses it.
    LosesAndRefuses,
    /// Even a statement that came with it is not there.
    LosesTwice,
    Refuses,
}

/// Answers each transaction as it comes, by the number that is bound in it.
struct Server {
    manners: Vec<Manner>,
    /// Of each, how often it came by name, and with its text.
    seen: Vec<(u32, u32)>,
    /// Of the transaction that is coming.
    coming: Vec<u8>,
}

impl Server {
    fn hear(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for &byte in bytes {
            self.coming.push(byte);
            if self.coming.ends_with(b"S\0\0\0\x04") {
                let transaction = std::mem::take(&mut self.coming);
                out.extend(self.answer(&transaction));
                out.extend(READY);
            }
        }
    }

    fn answer(&mut self, transaction: &[u8]) -> Vec<u8> {
        let text = String::from_utf8_lossy(transaction);
        let at = text.find("arrival-").expect("a value") + 8;
        let number: usize = text[at..at + 3].parse().expect("a number");
        let brings = text.starts_with('P');
        assert_eq!(
            brings,
            text.contains("SELECT a FROM t WHERE k = $1") && !text.contains("ub_"),
            "{text:?}"
        );
        let (named, unnamed) = &mut self.seen[number];
        *(if brings { unnamed } else { named }) += 1;
        let parsed: &[u8] = if brings { b"1\0\0\0\x04" } else { b"" };
        match (self.manners[number], brings) {
            (Manner::Loses | Manner::LosesAndRefuses | Manner::LosesTwice, false)
            | (Manner::LosesTwice, true) => LOST.to_vec(),
            (Manner::Refuses | Manner::LosesAndRefuses, _) => [parsed, b"2\0\0\0\x04", REFUSED].concat(),
            _ => [parsed, ROW].concat(),
        }
    }
}

/// All requests, at most `depth` of them at once, with answers that come in pieces of `cut` bytes.
fn driven(manners: &[Manner], depth: usize, cut: usize) -> (Vec<String>, Vec<(u32, u32)>) {
    let transactions = [Transaction::new("SELECT a FROM t WHERE k = {{0}}", true).unwrap()];
    let user = User { name: "user".into(), password: None };
    let session = Session::new(user, "shop", &[], &transactions, [7; 32]);
    let settings = Settings { session: session.into(), limits: Limits::default(), depth: depth as u32 };
    let (mut one, mut shared, mut said) =
        (Postgres::new(&settings), Postgres::shared(1), Said::new(code_name));
    let take = |one: &mut Postgres| {
        let all = one.output(&transactions).concat();
        one.wrote(all.len());
        all
    };
    one.begin(Carrier::Plain).unwrap();
    take(&mut one);
    let login = [b"R\0\0\0\x08\0\0\0\0", READY, b"1\0\0\0\x04", READY].concat();
    one.feed(&mut shared, &login, &mut said).unwrap();
    take(&mut one);
    let mut server =
        Server { manners: manners.into(), seen: vec![(0, 0); manners.len()], coming: Vec::new() };
    let (mut submitted, mut answers) = (0, Vec::new());
    loop {
        let done = said.lines.iter().filter(|line| line.starts_with("done")).count();
        while submitted < manners.len() && submitted - done < depth {
            let number = submitted as u64;
            one.submit(&mut shared, Tag(number), 0, &transactions[0], &mut Arrival(number));
            submitted += 1;
        }
        server.hear(&take(&mut one), &mut answers);
        if answers.is_empty() {
            assert!(!one.is_answering(), "nothing is under way");
            return (said.lines, server.seen);
        }
        let piece: Vec<u8> = answers.drain(..cut.min(answers.len())).collect();
        one.feed(&mut shared, &piece, &mut said).unwrap();
    }
}

proptest! {
    #[test]
    fn each_request_ends_once_as_it_truly_did(
        manners in vec(prop_oneof![
            3 => Just(Manner::Knows), 2 => Just(Manner::Loses), 1 => Just(Manner::LosesAndRefuses),
            1 => Just(Manner::LosesTwice), 1 => Just(Manner::Refuses),
        ], 1..30),
        depth in 1..9usize,
        cut in 1..80usize,
    ) {
        let (said, seen) = driven(&manners, depth, cut);
        for (number, (manner, (named, unnamed))) in manners.iter().zip(seen).enumerate() {
            let code = match manner {
                Manner::Knows | Manner::Loses => "done",
                Manner::LosesTwice => "invalid_statement_name",
                Manner::Refuses | Manner::LosesAndRefuses => "unique_violation",
            };
            let of_it = |what: &str| {
                let start = format!("{what} {number}");
                said.iter().filter(|line| **line == start || line.starts_with(&format!("{start} "))).cloned().collect::<Vec<_>>()
            };
            prop_assert_eq!(of_it("first").len(), 1);
            let ends = of_it("done");
            prop_assert!(ends.len() == 1 && ends[0].contains(code), "{:?} {:?}", manner, ends);
            // By name once at the most; with its text if it was lost, or if another was before it was sent.
            let again = of_it("again").len() as u32;
            prop_assert!(named <= 1 && named + unnamed == 1 + again, "{manner:?}: {named}, {unnamed}");
            prop_assert_eq!(again == 1, named == 1 && unnamed == 1);
        }
    }
}

#[test]
fn what_nobody_waits_for_is_not_sent_again() {
    let transactions = [Transaction::new("SELECT 1", false).unwrap()];
    let user = User { name: "user".into(), password: None };
    let session = Session::new(user, "shop", &[], &transactions, [7; 32]);
    let settings = Settings { session: session.into(), limits: Limits::default(), depth: 2 };
    let (mut one, mut shared, mut said) =
        (Postgres::new(&settings), Postgres::shared(1), Said::new(code_name));
    one.login = None;
    for number in 0..2 {
        one.submit(&mut shared, Tag(number), 0, &transactions[0], &mut Arrival(number));
    }
    let written = one.output(&transactions).concat().len();
    one.wrote(written);
    assert!(!one.cancel(Tag(0), 0));
    one.feed(&mut shared, &[LOST, READY].concat().repeat(2), &mut said).unwrap();
    assert_eq!(said.lines, ["first 0", "done 0 invalid_statement_name 0", "first 1", "again 1"]);
    assert!(one.output(&transactions).concat().starts_with(b"P") && one.is_answering());
}

/// What follows a request was written when it began, and its statement may have got lost since.
#[test]
fn what_follows_brings_its_statement_once_another_was_lost() {
    let sql = |text| Transaction::new(text, true).unwrap();
    let transactions = [sql("SELECT a FROM t WHERE k = {{0}}").then(sql("UPDATE t SET a = {{0}}"))];
    let take = |one: &mut Postgres| {
        let all = one.output(&transactions).concat();
        one.wrote(all.len());
        String::from_utf8_lossy(&all).into_owned()
    };
    for first_is_lost in [true, false] {
        let user = User { name: "user".into(), password: None };
        let session = Session::new(user, "shop", &[], &transactions, [7; 32]);
        let settings = Settings { session: session.into(), limits: Limits::default(), depth: 1 };
        let (mut one, mut shared, mut said) =
            (Postgres::new(&settings), Postgres::shared(1), Said::new(code_name));
        one.login = None;
        one.submit(&mut shared, Tag(0), 0, &transactions[0], &mut Arrival(7));
        assert!(take(&mut one).starts_with('B'));
        let mut feed = |one: &mut Postgres, answer: &[u8]| {
            one.feed(&mut shared, &[answer, READY].concat(), &mut said).unwrap();
            take(one)
        };
        if first_is_lost {
            assert!(feed(&mut one, LOST).contains("SELECT a FROM t WHERE k = $1"));
        }
        let mut second = feed(&mut one, ROW);
        if !first_is_lost {
            assert!(second.starts_with('B'));
            second = feed(&mut one, LOST);
        }
        assert!(second.starts_with('P') && second.contains("SET a = $1") && second.contains("arrival-007"));
        feed(&mut one, b"1\0\0\0\x042\0\0\0\x04C\0\0\0\x0dUPDATE 1\0");
        let expected = if first_is_lost {
            ["first 0", "again 0", "followed 0", "done 0 done 2"]
        } else {
            ["first 0", "followed 0", "again 0", "done 0 done 2"]
        };
        assert_eq!(said.lines, expected);
        assert!(!one.is_answering());
    }
}
