//! Commands of Redis and transactions of PostgreSQL, each arrival two of them in turn, and servers that answer them.

use super::job_of;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use unblink_core::dispatch::Pool;
use unblink_core::plan::LoadSpec;
use unblink_engine::job::Job;
use unblink_wire::Limits;
use unblink_wire::postgres::{self, Postgres, Session, Transaction, User};
use unblink_wire::redis::{self, Command, Greeting, Redis};
use unblink_workload::answer::Expect;

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
