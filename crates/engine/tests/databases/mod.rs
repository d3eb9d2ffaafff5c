//! Commands of Redis and transactions of PostgreSQL, each arrival two of them in turn, statements of CQL, and servers that answer
//! them.

use super::job_of;
use super::together::FirstTogether;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use unblink_core::dispatch::Pool;
use unblink_core::plan::LoadSpec;
use unblink_engine::job::Job;
use unblink_engine::routing::Routing;
use unblink_wire::Limits;
use unblink_wire::blank::place;
use unblink_wire::cql::{self, Cql, Options, Statement};
use unblink_wire::postgres::{self, Postgres, Session, Transaction, User};
use unblink_wire::protocol::Protocol;
use unblink_wire::redis::{self, Command, Greeting, Redis};
use unblink_wire::ring::Ring;
use unblink_workload::answer::{Capture, Captured, Expect};
use unblink_workload::template::Holes;
use unblink_workload::{Composition, Context, Lets, Values};

/// Answers what comes first with the first of these, and so on; all that follows with the last one.
fn responder(answers: &'static [&'static [u8]]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            stream.set_nodelay(true).expect("an option");
            std::thread::spawn(move || {
                let (mut buffer, mut asked) = ([0; 4096], 0);
                while stream.read(&mut buffer).is_ok_and(|n| n > 0) {
                    let answer = answers[asked.min(answers.len() - 1)];
                    asked += 1;
                    if stream.write_all(answer).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

/// A read, and a write once it is answered.
pub(crate) fn job_in_commands(load: LoadSpec) -> Job<Redis> {
    let address = responder(&[b"+hello\r\n"]);
    let command = |words: &[&str]| {
        Command::new(&words.iter().map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>(), true)
    };
    let both = command(&["GET", "k:{{0}}"]).finding().then(command(&["SET", "k:{{0}}", "v"]));
    let greeting = Arc::new(Greeting::new(false, None, 0));
    let settings = redis::Settings { greeting, is_resp3: false, limits: Limits::default(), depth: 1 };
    let job = job_of(address, load, Pool::Fixed { n: 1 }, &[], vec![both; 2], settings);
    Job { expects: Expect::default().into(), ..job }
}

/// The same in transactions.
pub(crate) fn job_in_transactions(load: LoadSpec) -> Job<Postgres> {
    let address = responder(&[
        b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I",
        b"1\0\0\0\x041\0\0\0\x04Z\0\0\0\x05I",
        b"2\0\0\0\x04D\0\0\0\x0f\0\x01\0\0\0\x05helloC\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I",
    ]);
    let one = |text| Transaction::new(text, true).expect("a statement");
    let both = one("SELECT a FROM t WHERE id = {{0}}").finding().then(one("UPDATE t SET a = {{0}}"));
    let transactions = vec![both; 2];
    let user = User { name: "user".into(), password: None };
    let session = Arc::new(Session::new(user, "shop", &[], &transactions, [7; 32]));
    let settings = postgres::Settings { session, limits: Limits::default(), depth: 1 };
    let job = job_of(address, load, Pool::Fixed { n: 1 }, &[], transactions, settings);
    Job { expects: Expect::default().into(), ..job }
}

/// The same job, which takes these values of each answer.
fn taking<P: Protocol>(job: Job<P>, texts: &[&str]) -> Job<P> {
    let captured = |(number, text): (u32, &&str)| Captured {
        name: text.to_string(),
        number,
        capture: Capture::parse(text).expect("a capture"),
    };
    let captures = (0..).zip(texts).map(captured).collect();
    Job { expects: Expect { captures, ..Expect::default() }.into(), ..job }
}

/// Takes two values of a list.
pub(crate) fn job_taking_elements(load: LoadSpec) -> Job<Redis> {
    let address = responder(&[b"+PONG\r\n", b"*2\r\n$2\r\nid\r\n$5\r\nhello\r\n"]);
    let command = Command::new(&[b"HGETALL".to_vec(), b"k".to_vec()], false).telling();
    let greeting = Arc::new(Greeting::new(false, None, 0));
    let settings = redis::Settings { greeting, is_resp3: false, limits: Limits::default(), depth: 1 };
    let job = job_of(address, load, Pool::Fixed { n: 1 }, &[], vec![command; 2], settings);
    taking(job, &["element 0", "field id"])
}

/// Takes a column of a row.
pub(crate) fn job_taking_columns(load: LoadSpec) -> Job<Postgres> {
    let address = responder(&[
        b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I",
        b"1\0\0\0\x04Z\0\0\0\x05I",
        b"2\0\0\0\x04T\0\0\0\x1a\0\x01a\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0D\0\0\0\x0f\0\x01\0\0\0\x05helloC\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I",
    ]);
    let transactions = vec![Transaction::new("SELECT a FROM t", false).expect("a statement").telling(); 2];
    let user = User { name: "user".into(), password: None };
    let session = Arc::new(Session::new(user, "shop", &[], &transactions, [7; 32]));
    let settings = postgres::Settings { session, limits: Limits::default(), depth: 1 };
    let job = job_of(address, load, Pool::Fixed { n: 1 }, &[], transactions, settings);
    taking(job, &["column a"])
}

/// The same of CQL.
pub(crate) fn job_taking_columns_of_cql(load: LoadSpec) -> Job<Cql> {
    let address = node_in_frames(Some(FirstTogether::default()));
    taking(job_in_frames(address, load, (1, 100), Statement::telling), &["column b"])
}

/// Takes a connection, prepares every statement, with a value of bigint that is the key and a column of text, and answers it with a
/// row, the first ones all at once.
fn node_in_frames(mut first: Option<FirstTogether>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        stream.set_nodelay(true).expect("an option");
        let mut header = [0; 9];
        while stream.read_exact(&mut header).is_ok() {
            let [_, _, s, t, opcode, length @ ..] = header;
            let mut body = vec![0; u32::from_be_bytes(length) as usize];
            stream.read_exact(&mut body).expect("a frame");
            let prepared = b"\0\0\0\x04\0\x02id\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\0\0\x01k\0\x01t\0\x01a\0\x02\0\0\0\x01\0\0\0\x01\0\x01k\0\x01t\0\x01b\0\x0d";
            let (kind, answer) = match opcode {
                0x01 => (0x02, &b""[..]),
                0x09 => (0x08, &prepared[..]),
                // Behind the statement's id and the consistency it says whether columns are to be described.
                _ if body[6] & 2 == 0 => (
                    0x08,
                    &b"\0\0\0\x02\0\0\0\x01\0\0\0\x01\0\x01k\0\x01t\0\x01b\0\x0d\0\0\0\x01\0\0\0\x05hello"[..],
                ),
                _ => (0x08, &b"\0\0\0\x02\0\0\0\x04\0\0\0\x01\0\0\0\x01\0\0\0\x05hello"[..]),
            };
            let length = (answer.len() as u32).to_be_bytes();
            let frame = [&[0x84, 0, s, t, kind][..], &length, answer].concat();
            let written = match &mut first {
                Some(first) if opcode == 0x0a => first.answer(&mut stream, &frame),
                _ => stream.write_all(&frame),
            };
            if written.is_err() {
                return;
            }
        }
    });
    address
}

/// Statements of CQL whose value differs from one arrival to the next.
fn job_in_frames(
    address: SocketAddr,
    load: LoadSpec,
    (connections, streams): (u32, u32),
    made: impl Fn(Statement) -> Statement,
) -> Job<Cql> {
    let lets = Lets::default();
    let mut holes = Holes::new(&lets, 0);
    let text = holes.read("SELECT b FROM t WHERE a = {{index}}", Context::Body, place).expect("a template");
    let composition = Some(Composition::new(holes.into_holes()));
    let statement = Statement::new(&text, true, Options::default()).expect("a statement");
    let mut statements = vec![made(statement); 2];
    let session = Arc::new(cql::Session::new(None, None, &mut statements));
    let settings = cql::Settings { session, limits: Limits::default(), streams };
    let pool = Pool::Fixed { n: connections };
    let job = job_of(address, load, pool, &["regex ^hello\n$"], statements, settings);
    let values = Values::new(lets, vec![composition; 2], &[], &job.plan, 7).expect("values");
    let mut expect = job.expects.of(0).clone();
    expect.statuses = Vec::new();
    Job { expects: expect.into(), values: Some(values), ..job }
}

/// To any node.
pub(crate) fn job_in_statements(load: LoadSpec) -> Job<Cql> {
    job_in_frames(node_in_frames(Some(FirstTogether::default())), load, (1, 100), |plain| plain)
}

/// To the one of two that has the row, with one request at a time on each connection: more users than that wait, and requests change
/// places.
pub(crate) fn job_in_routed_statements(load: LoadSpec) -> Job<Cql> {
    let nodes = [node_in_frames(None), node_in_frames(None)];
    let mut job = job_in_frames(nodes[0], load, (2, 1), |plain| plain);
    let ring = Ring::new(nodes.to_vec(), vec![(0, vec![0]), (i64::MAX, vec![1])]);
    job.targets[0].routing = Some(Arc::new(Routing::new(ring)));
    job
}
