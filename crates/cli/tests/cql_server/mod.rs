//! A small server of CQL: it logs in, prepares and executes a handful of statements, and keeps a log. What it knows of the protocol is its
//! own, so that a misreading on our side does not cancel out.

pub(crate) mod nodes;
mod tables;

use nodes::Shared;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use tables::Tables;

/// How the server behaves.
#[derive(Clone, Default)]
pub(crate) struct Manner {
    pub(crate) password: Option<&'static str>,
    pub(crate) tls: bool,
    /// Of two requests the second one is answered first.
    pub(crate) reverses: bool,
    /// Forgets all statements after so many executions on a connection.
    pub(crate) forgets_after: Option<u32>,
    /// Adds warnings, a trace and a payload to its answers, and events between them.
    pub(crate) is_noisy: bool,
    /// Closes a connection after so many executions.
    pub(crate) closes_after: Option<u32>,
    /// Answers each so-many-th execution twice, over all connections.
    pub(crate) doubles_each: Option<usize>,
    /// Speaks version 5 alone.
    pub(crate) is_newer: bool,
    /// Takes too long to count more rows than these.
    pub(crate) counts_at_most: Option<usize>,
}

/// An execution, as it came.
#[derive(Clone, Debug)]
pub(crate) struct Executed {
    /// Which of two nodes did it.
    pub(crate) node: usize,
    pub(crate) statement: String,
    pub(crate) values: Vec<Vec<u8>>,
    pub(crate) consistency: u16,
    pub(crate) page_size: Option<u32>,
    pub(crate) serial_consistency: Option<u16>,
}

#[derive(Default)]
pub(crate) struct Log {
    pub(crate) prepared: Vec<String>,
    pub(crate) executed: Vec<Executed>,
    pub(crate) items: HashMap<i64, String>,
    pub(crate) tables: Tables,
}

/// It ends with the test.
pub(crate) struct Server {
    pub(crate) port: u16,
    pub(crate) log: Arc<Mutex<Log>>,
    /// Of its authority, in PEM.
    pub(crate) certificate: String,
}

impl Server {
    pub(crate) fn start(manner: Manner) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let items = (1..=100).map(|id| (id, format!("item {id}"))).collect();
        let log = Arc::new(Mutex::new(Log { items, ..Log::default() }));
        let made = rcgen::generate_simple_self_signed(["localhost".to_string()]).expect("a certificate");
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .expect("a server");
        let (config, of_threads) = (Arc::new(config), log.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let tls = manner.tls.then(|| config.clone());
                Server::talk(stream, manner.clone(), of_threads.clone(), tls, (0, Shared::alone()));
            }
        });
        Server { port, log, certificate: made.cert.pem() }
    }

    /// Serves a connection of this node.
    fn talk(
        stream: TcpStream,
        manner: Manner,
        log: Arc<Mutex<Log>>,
        tls: Option<Arc<ServerConfig>>,
        of: (usize, Arc<Mutex<Shared>>),
    ) {
        std::thread::spawn(move || {
            let _ = stream.set_nodelay(true);
            let own = stream.try_clone().expect("a stream");
            let mut connection =
                Connection { manner, log, of, own, known: Vec::new(), executed: 0, held: None };
            match tls {
                Some(config) => {
                    let session = ServerConnection::new(config).expect("a session");
                    connection.serve(&mut StreamOwned::new(session, stream));
                }
                None => connection.serve(&mut { stream }),
            }
        });
    }

    pub(crate) fn url(&self) -> String {
        format!("cql://127.0.0.1:{}/shop", self.port)
    }

    pub(crate) fn executed(&self) -> Vec<Executed> {
        self.log.lock().expect("no thread died").executed.clone()
    }
}

struct Connection {
    manner: Manner,
    log: Arc<Mutex<Log>>,
    /// The node that it goes to, and what the nodes share.
    of: (usize, Arc<Mutex<Shared>>),
    own: TcpStream,
    /// Statements that were prepared here, by their ids; nothing of those that were forgotten.
    known: Vec<Option<String>>,
    executed: u32,
    held: Option<Vec<u8>>,
}

const ERROR: u8 = 0x00;
const RESULT: u8 = 0x08;

type Answer = (u8, Vec<u8>);

fn error(code: i32, text: &str) -> Answer {
    let mut body = code.to_be_bytes().to_vec();
    put_string(text.as_bytes(), &mut body);
    (ERROR, body)
}

fn put_string(text: &[u8], out: &mut Vec<u8>) {
    out.extend((text.len() as u16).to_be_bytes());
    out.extend(text);
}

/// Takes the first `n` bytes off.
fn take<'a>(bytes: &mut &'a [u8], n: usize) -> &'a [u8] {
    let (taken, rest) = bytes.split_at(n);
    *bytes = rest;
    taken
}

fn number(bytes: &mut &[u8], n: usize) -> usize {
    take(bytes, n).iter().fold(0, |number, byte| number << 8 | usize::from(*byte))
}

/// Codes of the types of a statement's values and of its columns; nothing of what is not there.
fn types_of(statement: &str) -> Option<(Vec<u16>, Vec<u16>)> {
    const TYPES: [(&str, u16); 13] = [
        ("bigint", 0x02),
        ("blob", 0x03),
        ("boolean", 0x04),
        ("decimal", 0x06),
        ("double", 0x07),
        ("int", 0x09),
        ("timestamp", 0x0b),
        ("uuid", 0x0c),
        ("text", 0x0d),
        ("varint", 0x0e),
        ("timeuuid", 0x0f),
        ("inet", 0x10),
        ("date", 0x11),
    ];
    if let Some(types) = tables::types_of(statement) {
        return Some(types);
    }
    if statement.contains("FROM item WHERE id = ?") {
        return Some((vec![0x02], vec![0x0d]));
    }
    if statement.contains("INSERT INTO item (id, name) VALUES (?, ?)") {
        return Some((vec![0x02, 0x0d], vec![]));
    }
    if statement.contains("fail(") {
        return Some((vec![], vec![0x09]));
    }
    let name = statement.split("FROM typed_").nth(1)?.split(' ').next()?;
    let (_, code) = TYPES.iter().find(|(known, _)| *known == name)?;
    Some((vec![*code], vec![*code]))
}

fn put_columns(types: &[u16], with_keys: bool, out: &mut Vec<u8>) {
    out.extend(1u32.to_be_bytes());
    out.extend((types.len() as u32).to_be_bytes());
    // The first value is the key, as far as there is one.
    if with_keys {
        out.extend(u32::from(!types.is_empty()).to_be_bytes());
        if !types.is_empty() {
            out.extend([0, 0]);
        }
    }
    if !types.is_empty() {
        put_string(b"shop", out);
        put_string(b"t", out);
    }
    for code in types {
        put_string(b"c", out);
        out.extend(code.to_be_bytes());
    }
}

fn rows(columns: &[u16], skips_metadata: bool, rows: &[Vec<Vec<u8>>]) -> Answer {
    let mut body = 2u32.to_be_bytes().to_vec();
    match skips_metadata {
        true => {
            body.extend(4u32.to_be_bytes());
            body.extend((columns.len() as u32).to_be_bytes());
        }
        false => put_columns(columns, false, &mut body),
    }
    body.extend((rows.len() as u32).to_be_bytes());
    for value in rows.iter().flatten() {
        body.extend((value.len() as u32).to_be_bytes());
        body.extend(value);
    }
    (RESULT, body)
}

impl Connection {
    fn serve(&mut self, stream: &mut (impl Read + Write)) {
        let mut header = [0; 9];
        while stream.read_exact(&mut header).is_ok() {
            let [version, _, s, t, opcode, length @ ..] = header;
            let mut body = vec![0; u32::from_be_bytes(length) as usize];
            if stream.read_exact(&mut body).is_err() {
                return;
            }
            assert_eq!(version, 4, "the version of a request");
            while self.of.1.lock().expect("no panic").is_frozen(self.of.0) {
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
            if !self.of.1.lock().expect("no panic").is_heard(&self.own) {
                continue;
            }
            let (kind, answer) = self.answer(opcode, &body);
            let is_execution = opcode == 0x0a;
            let mut frame = self.frame([s, t], kind, &answer, is_execution);
            let executions = self.log.lock().expect("no panic").executed.len();
            if is_execution && self.manner.doubles_each.is_some_and(|each| executions.is_multiple_of(each)) {
                frame.extend(frame.clone());
            }
            if self.manner.reverses && is_execution {
                match self.held.take() {
                    None => {
                        self.held = Some(frame);
                        continue;
                    }
                    Some(held) => frame.extend(held),
                }
            }
            if stream.write_all(&frame).is_err() || stream.flush().is_err() {
                return;
            }
            if self.manner.closes_after.is_some_and(|after| self.executed >= after) {
                return;
            }
        }
    }

    fn frame(&self, stream: [u8; 2], kind: u8, answer: &[u8], may_be_noisy: bool) -> Vec<u8> {
        let is_noisy = self.manner.is_noisy && may_be_noisy;
        let mut out = Vec::new();
        let mut body = Vec::new();
        if is_noisy {
            let event = b"\0\x0dSCHEMA_CHANGE\0\x07CREATED\0\x08KEYSPACE\0\x01k";
            out.extend(b"\x84\0\xff\xff\x0c");
            out.extend((event.len() as u32).to_be_bytes());
            out.extend(event);
            body.extend([7; 16]);
            body.extend(b"\0\x01\0\x07careful\0\x01\0\x03key\0\0\0\x05value");
        }
        body.extend(answer);
        out.extend([if self.manner.is_newer { 0x85 } else { 0x84 }, if is_noisy { 0x0e } else { 0 }]);
        out.extend(stream);
        out.push(kind);
        out.extend((body.len() as u32).to_be_bytes());
        out.extend(body);
        out
    }

    fn answer(&mut self, opcode: u8, mut body: &[u8]) -> Answer {
        match opcode {
            0x01 if self.manner.is_newer => error(0x0a, "Invalid or unsupported protocol version (4)"),
            0x01 if self.manner.password.is_some() => (0x03, b"\0\x01x".to_vec()),
            0x01 => (0x02, Vec::new()),
            0x0f => {
                let length = number(&mut body, 4);
                let expected = format!("\0me\0{}", self.manner.password.unwrap_or_default());
                match take(&mut body, length) == expected.as_bytes() {
                    true => (0x10, (-1i32).to_be_bytes().to_vec()),
                    false => error(0x100, "Provided username me and/or password are incorrect"),
                }
            }
            0x0b => {
                self.of.1.lock().expect("no panic").register(&self.own);
                (0x02, Vec::new())
            }
            0x07 => {
                let told = self.of.1.lock().expect("no panic").query(self.of.0, &nodes::text(body));
                if let Some(told) = told {
                    return told;
                }
                let length = number(&mut body, 4);
                match take(&mut body, length) {
                    b"USE \"shop\"" => (RESULT, b"\0\0\0\x03\0\x04shop".to_vec()),
                    b"USE \"ycsb\"" if self.log.lock().expect("no panic").tables.keyspace.is_some() => {
                        (RESULT, b"\0\0\0\x03\0\x04ycsb".to_vec())
                    }
                    _ => error(0x2200, "Keyspace 'nope' does not exist"),
                }
            }
            0x09 => {
                let length = number(&mut body, 4);
                self.prepare(String::from_utf8_lossy(take(&mut body, length)).into_owned())
            }
            0x0a => self.execute(body),
            other => error(0x0a, &format!("opcode {other}")),
        }
    }

    fn prepare(&mut self, statement: String) -> Answer {
        let Some((values, columns)) = types_of(&statement) else {
            return error(0x2200, "unconfigured table nope");
        };
        let mut body = 4u32.to_be_bytes().to_vec();
        put_string(&(self.known.len() as u16).to_be_bytes(), &mut body);
        put_columns(&values, true, &mut body);
        put_columns(&columns, false, &mut body);
        self.log.lock().expect("no thread died").prepared.push(statement.clone());
        self.known.push(Some(statement));
        (RESULT, body)
    }

    fn execute(&mut self, mut body: &[u8]) -> Answer {
        let length = number(&mut body, 2);
        let id = number(&mut take(&mut body, length), length);
        self.executed += 1;
        if self.manner.forgets_after.is_some_and(|after| self.executed.is_multiple_of(after)) {
            self.known.iter_mut().for_each(|statement| *statement = None);
        }
        let Some(Some(statement)) = self.known.get(id).cloned() else {
            let (kind, mut body) = error(0x2500, "Prepared query not found");
            put_string(&(id as u16).to_be_bytes(), &mut body);
            return (kind, body);
        };
        let (consistency, flags) = (number(&mut body, 2) as u16, number(&mut body, 1));
        let count = if flags & 1 != 0 { number(&mut body, 2) } else { 0 };
        let values = (0..count).map(|_| {
            let length = number(&mut body, 4);
            take(&mut body, length).to_vec()
        });
        let values: Vec<Vec<u8>> = values.collect();
        let page_size = (flags & 4 != 0).then(|| number(&mut body, 4) as u32);
        let serial_consistency = (flags & 0x10 != 0).then(|| number(&mut body, 2) as u16);
        assert!(body.is_empty(), "bytes behind an execution");
        let answer = self.done(&statement, &values, flags & 2 != 0);
        let mut log = self.log.lock().expect("no thread died");
        let node = self.of.0;
        log.executed.push(Executed { node, statement, values, consistency, page_size, serial_consistency });
        answer
    }

    fn done(&self, statement: &str, values: &[Vec<u8>], skips_metadata: bool) -> Answer {
        if let Some((_, code)) = statement.split_once("fail(") {
            let code = code.split(')').next().unwrap_or_default().trim_start_matches("0x");
            return error(i32::from_str_radix(code, 16).expect("a code"), "as it was asked for");
        }
        if tables::types_of(statement).is_some() {
            let tables = &mut self.log.lock().expect("no thread died").tables;
            return tables.execute((statement, values), skips_metadata, self.manner.counts_at_most);
        }
        if statement.contains("typed_") {
            let (_, columns) = types_of(statement).expect("it was prepared");
            return rows(&columns, skips_metadata, &[vec![values[0].clone()]]);
        }
        let id = i64::from_be_bytes(values[0][..].try_into().expect("a bigint"));
        let items = &mut self.log.lock().expect("no thread died").items;
        if statement.starts_with("SELECT") {
            let found = items.get(&id).map(|name| vec![name.clone().into_bytes()]);
            return rows(&[0x0d], skips_metadata, &found.into_iter().collect::<Vec<_>>());
        }
        let is_there = items.contains_key(&id);
        let name = String::from_utf8(values[1].clone()).expect("a text");
        if !statement.ends_with("IF NOT EXISTS") {
            items.insert(id, name);
            return (RESULT, 1u32.to_be_bytes().to_vec());
        }
        if !is_there {
            items.insert(id, name);
        }
        let mut body =
            b"\0\0\0\x02\0\0\0\x01\0\0\0\x01\0\x04shop\0\x01t\0\x09[applied]\0\x04\0\0\0\x01\0\0\0\x01"
                .to_vec();
        body.push(u8::from(!is_there));
        (RESULT, body)
    }
}
