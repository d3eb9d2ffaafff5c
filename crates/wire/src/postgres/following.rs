//! Requests of several transactions, and one of several by what stands in a place: tests.

use super::{Postgres, Session, Settings, Transaction, User, code_name};
use crate::Limits;
use crate::protocol::{Carrier, Protocol, Tag};
use crate::said::{Number, Said};

const LOGGED_IN: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
const ROW: &[u8] = b"D\0\0\0\x0b\0\x01\0\0\0\x01xC\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";
const NO_ROW: &[u8] = b"C\0\0\0\x0dSELECT 0\0Z\0\0\0\x05I";
const UPDATED: &[u8] = b"C\0\0\0\x0dUPDATE 1\0Z\0\0\0\x05I";

fn driven(
    transactions: &[Transaction],
    number: &'static str,
    answers: &[&[u8]],
) -> (Vec<String>, Vec<usize>) {
    let user = User { name: "user".into(), password: None };
    let session = Session::new(user, "shop", &[], transactions, [7; 32]);
    let prepared: Vec<u8> = b"1\0\0\0\x04".repeat(session.statements);
    let settings = Settings { session: session.into(), limits: Limits::default(), depth: 8 };
    let (mut one, mut shared, mut said) =
        (Postgres::new(&settings), Postgres::shared(1), Said::new(code_name));
    let take = |one: &mut Postgres| {
        let all = one.output(transactions).concat();
        one.wrote(all.len());
        all
    };
    one.begin(Carrier::Plain).unwrap();
    take(&mut one);
    let login = [LOGGED_IN, &prepared, b"Z\0\0\0\x05I"].concat();
    one.feed(&mut shared, &login, &mut said).unwrap();
    take(&mut one);
    for (number_of, transaction) in transactions.iter().enumerate() {
        let tag = Tag(number_of as u64);
        one.submit(&mut shared, tag, number_of as u32, transaction, &mut Number(number));
    }
    let syncs = |bytes: Vec<u8>| bytes.windows(5).filter(|five| five == b"S\0\0\0\x04").count();
    let mut written = vec![syncs(take(&mut one))];
    for answer in answers {
        one.feed(&mut shared, answer, &mut said).unwrap();
        written.push(syncs(take(&mut one)));
    }
    (said.lines, written)
}

#[test]
fn a_transaction_follows_another_once_that_is_done() {
    let sql = |text| Transaction::new(text, true).unwrap();
    let both = sql("SELECT a FROM t WHERE k = {{0}}").finding().then(sql("UPDATE t SET a = {{1}}").finding());
    assert!(!both.is_reading());
    let transactions = [both, sql("SELECT 1")];
    let (said, written) = driven(&transactions, "1", &[ROW, ROW, UPDATED]);
    assert_eq!(said, ["first 0", "followed 0", "first 1", "done 1 done 2", "done 0 done 2"]);
    assert_eq!(written, [2, 1, 0, 0]);
    let (said, written) = driven(&transactions[..1], "1", &[NO_ROW]);
    assert_eq!((said, written), (vec!["first 0".into(), "done 0 not_found 0".into()], vec![1, 0]));
    let (said, _) = driven(&transactions[..1], "1", &[ROW, NO_ROW]);
    assert_eq!(said.last().unwrap(), "done 0 not_found 2");
}

#[test]
fn one_of_several_is_chosen_by_what_stands_in_a_place() {
    let columns = (0..3).map(|n| Transaction::new(&format!("UPDATE t SET f{n} = {{{{1}}}}"), true).unwrap());
    let one = Transaction::one_of(0, columns.collect());
    let user = User { name: "user".into(), password: None };
    assert_eq!(Session::new(user, "shop", &[], std::slice::from_ref(&one), [7; 32]).statements, 3);
    let written = |number| {
        let mut out = Vec::new();
        one.write(false, &mut Number(number), &mut out);
        String::from_utf8_lossy(&out).into_owned()
    };
    for (number, column) in [("0", "f0"), ("2", "f2"), ("4", "f1")] {
        assert!(written(number).contains(&format!("SET {column} = $1")), "{number}: {}", written(number));
    }
    assert!(one.ready().is_none());
}

/// As behind a pooler that gives each transaction another server, where statements of others are.
#[test]
fn a_statement_that_is_known_already_is_sent_with_each_transaction_by_all_connections() {
    let transactions = [Transaction::new("SELECT 1", false).unwrap()];
    let user = User { name: "user".into(), password: None };
    let session = Session::new(user, "shop", &[], &transactions, [7; 32]);
    let settings = Settings { session: session.into(), limits: Limits::default(), depth: 8 };
    let (mut shared, mut said) = (Postgres::shared(2), Said::new(code_name));
    let mut logged_in = |prepared: &[u8]| {
        let mut one = Postgres::new(&settings);
        one.begin(Carrier::Plain).unwrap();
        let fed = one.feed(&mut shared, &[LOGGED_IN, prepared, b"Z\0\0\0\x05I"].concat(), &mut said);
        let all = one.output(&transactions).concat().len();
        one.wrote(all);
        fed.map(|()| one)
    };
    let mut first = logged_in(b"1\0\0\0\x04").unwrap();
    let refused = logged_in(b"E\0\0\0\x1aSERROR\0C42P01\0Mnone!\0\0");
    assert!(refused.is_err(), "a table that is not there");
    let asks = |one: &mut Postgres| {
        one.submit(&mut Postgres::shared(1), Tag(0), 0, &transactions[0], &mut Number(""));
        let all = one.output(&transactions).concat();
        one.wrote(all.len());
        // Parse, without a name.
        all.starts_with(b"P") && all[5] == 0
    };
    assert!(!asks(&mut first));
    let mut second = logged_in(b"E\0\0\0\x1aSERROR\0C42P05\0Mtwice\0\0").unwrap();
    assert!(asks(&mut second) && asks(&mut first));
}
