//! Poolers of PostgreSQL that give each transaction another server: what a connection has prepared is elsewhere, or was prepared by
//! others before.

use crate::support::{Place, Run};
use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// The names that are prepared on each server, and whose turn it is.
type Servers = Arc<Mutex<(Vec<BTreeSet<Vec<u8>>>, usize)>>;

/// Serves as a pooler before so many servers, in turn, until the test's process ends.
fn pooler(servers: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let servers: Servers = Arc::new(Mutex::new((vec![BTreeSet::new(); servers], 0)));
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            let servers = servers.clone();
            std::thread::spawn(move || serve(stream, &servers));
        }
    });
    address
}

pub(crate) fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
}

pub(crate) fn error(state: &str) -> Vec<u8> {
    message(b'E', format!("SERROR\0C{state}\0Ma statement\0\0").as_bytes())
}

/// Up to the end of the client.
fn serve(mut stream: TcpStream, servers: &Servers) -> io::Result<()> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    stream.read_exact(&mut vec![0; u32::from_be_bytes(length) as usize - 4])?;
    let ready = message(b'Z', b"I");
    stream.write_all(&[message(b'R', &[0; 4]), ready.clone()].concat())?;
    let mut transaction = Vec::new();
    loop {
        let mut head = [0; 5];
        stream.read_exact(&mut head)?;
        let mut body = vec![0; u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize - 4];
        stream.read_exact(&mut body)?;
        match head[0] {
            b'X' => return Ok(()),
            b'S' => {
                let answer = answer(&std::mem::take(&mut transaction), servers);
                stream.write_all(&[answer, ready.clone()].concat())?;
            }
            kind => transaction.push((kind, body)),
        }
    }
}

/// What the server whose turn it is answers to the messages of a transaction, up to the first error.
fn answer(transaction: &[(u8, Vec<u8>)], servers: &Servers) -> Vec<u8> {
    let mut all = servers.lock().expect("no panic");
    let turn = all.1 % all.0.len();
    all.1 += 1;
    let prepared = &mut all.0[turn];
    let mut out = Vec::new();
    for (kind, body) in transaction {
        let mut texts = body.split(|&byte| byte == 0).map(<[u8]>::to_vec);
        match kind {
            b'P' => {
                let name = texts.next().expect("a name");
                if !name.is_empty() && !prepared.insert(name) {
                    out.extend(error("42P05"));
                    break;
                }
                out.extend(message(b'1', b""));
            }
            b'B' => {
                let name = texts.nth(1).expect("a name");
                if !name.is_empty() && !prepared.contains(&name) {
                    out.extend(error("26000"));
                    break;
                }
                out.extend(message(b'2', b""));
            }
            _ => {
                out.extend(message(b'D', b"\0\x01\0\0\0\x01x"));
                out.extend(message(b'C', b"SELECT 1\0"));
            }
        }
    }
    out
}

fn asked(address: SocketAddr, more: &[&str]) -> Run {
    let url = format!("postgres://bench@{address}/shop");
    let args = ["run", &url, "--json", "-R", "200", "-n", "100", "--sql", "SELECT {{index}}"];
    let run = Place::new().call(&[&args[..], more].concat()).run();
    run.assert_accounts();
    run
}

#[test]
fn what_others_have_prepared_keeps_nobody_out() {
    let address = pooler(1);
    for _ in 0..2 {
        let run = asked(address, &["-c", "4"]);
        run.assert_all("ok");
        assert_eq!((run.connections("opened"), run.connections("failed")), (4, 0), "{run:?}");
    }
}

#[test]
fn what_is_prepared_elsewhere_is_prepared_again_for_the_same_request() {
    // Two of them have it when the load begins: those that the connections met at their logins.
    for (pool, depth) in [("2", "1"), ("2", "8"), ("1", "1")] {
        let address = pooler(9);
        let run = asked(address, &["--no-preflight", "-c", pool, "--depth", depth]);
        run.assert_all("ok");
        let again = run.connections("prepared_again");
        let under_way = pool.parse::<u64>().expect("a number") * depth.parse::<u64>().expect("a number");
        assert!((1..=under_way).contains(&again), "{again} of {under_way}: {run:?}");
        assert_eq!(run.connections("failed"), 0, "{run:?}");
    }
    // The check before the run gets through as well, and from then on all bring their statement.
    let run = asked(pooler(9), &["-c", "2"]);
    run.assert_all("ok");
    assert!(run.at("/origins/0/connections").get("prepared_again").is_none(), "{run:?}");
}
