//! Two nodes that are a cluster, on 127.0.0.1 and 127.0.0.2: what they tell of it, and how they come and go.

use super::{Answer, Log, Manner, RESULT, Server, error, put_string, take};
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Keys from 1 to 100 whose tokens are above 0, as Cassandra's `MurmurHash` says: the second node's. The others are the first's.
pub(crate) const OF_SECOND: [i64; 43] = [
    1, 4, 5, 6, 8, 10, 11, 14, 17, 18, 22, 28, 29, 31, 32, 33, 37, 40, 42, 45, 46, 48, 55, 57, 61, 66, 67,
    69, 70, 72, 73, 74, 76, 77, 82, 87, 90, 92, 93, 95, 98, 99, 100,
];

/// What the nodes share.
#[derive(Default)]
pub(crate) struct Shared {
    /// Which of them are up.
    up: [bool; 2],
    /// Connections of each.
    streams: [Vec<TcpStream>; 2],
    /// Connections that want to hear of changes.
    registered: Vec<TcpStream>,
    /// Clients whose connections are no longer answered.
    unheard: Vec<SocketAddr>,
    /// The second one stands still.
    is_frozen: bool,
    /// The second one's row says nothing of where it listens.
    is_nowhere: bool,
    /// There is only the older table of peers.
    is_old: bool,
    /// There is no other.
    is_alone: bool,
    /// Each has the other's keys.
    is_swapped: bool,
    schema: u8,
}

/// A cluster of two nodes.
pub(crate) struct Cluster {
    pub(crate) port: u16,
    pub(crate) log: Arc<Mutex<Log>>,
    shared: Arc<Mutex<Shared>>,
    manner: Manner,
}

impl Cluster {
    pub(crate) fn start(is_old: bool, is_nowhere: bool) -> Cluster {
        let shared = Shared { up: [true; 2], is_old, is_nowhere, ..Shared::default() };
        let shared = Arc::new(Mutex::new(shared));
        // Both on the same port.
        let (first, second) = loop {
            let first = TcpListener::bind("127.0.0.1:0").expect("a free port");
            let port = first.local_addr().expect("an address").port();
            if let Ok(second) = TcpListener::bind(("127.0.0.2", port)) {
                break (first, second);
            }
        };
        let port = first.local_addr().expect("an address").port();
        let items = (1..=100).map(|id| (id, format!("item {id}"))).collect();
        let log = Arc::new(Mutex::new(Log { items, ..Log::default() }));
        let cluster = Cluster { port, log, shared, manner: Manner::default() };
        [first, second].into_iter().enumerate().for_each(|(node, listener)| cluster.serve(node, listener));
        cluster
    }

    fn serve(&self, node: usize, listener: TcpListener) {
        let (manner, log, shared) = (self.manner.clone(), self.log.clone(), self.shared.clone());
        listener.set_nonblocking(true).expect("a listener");
        std::thread::spawn(move || {
            loop {
                if !shared.lock().expect("no panic").up[node] {
                    return;
                }
                let Ok((stream, _)) = listener.accept() else {
                    std::thread::sleep(Duration::from_millis(2));
                    continue;
                };
                stream.set_nonblocking(false).expect("a stream");
                shared.lock().expect("no panic").streams[node].push(stream.try_clone().expect("a stream"));
                Server::talk(stream, manner.clone(), log.clone(), None, (node, shared.clone()));
            }
        });
    }

    pub(crate) fn url(&self) -> String {
        format!("cql://127.0.0.1:{}/shop", self.port)
    }

    /// The second node is gone, and its connections end.
    pub(crate) fn stop_second(&self) {
        let mut shared = self.shared.lock().expect("no panic");
        shared.up[1] = false;
        for stream in shared.streams[1].drain(..) {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }

    /// The second node keeps its connections and answers nothing for a while.
    pub(crate) fn freeze_second(&self, is_frozen: bool) {
        self.shared.lock().expect("no panic").is_frozen = is_frozen;
    }

    /// It is back.
    pub(crate) fn start_second(&self) {
        self.shared.lock().expect("no panic").up[1] = true;
        let listener = loop {
            match TcpListener::bind(("127.0.0.2", self.port)) {
                Ok(listener) => break listener,
                Err(_) => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        self.serve(1, listener);
    }

    /// Each node has the other's keys from now on.
    pub(crate) fn swap(&self) {
        self.shared.lock().expect("no panic").is_swapped = true;
        self.tell(b"\0\x0fTOPOLOGY_CHANGE\0\x0aMOVED_NODE\x04\x7f\0\0\x02\0\0\x23\x52");
    }

    /// A table has changed.
    pub(crate) fn change_schema(&self) {
        self.shared.lock().expect("no panic").schema += 1;
        self.tell(b"\0\x0dSCHEMA_CHANGE\0\x07UPDATED\0\x05TABLE\0\x04shop\0\x04item");
    }

    /// Connections that want to hear of changes stay open, and hear nothing any more.
    pub(crate) fn fall_silent(&self) {
        let mut shared = self.shared.lock().expect("no panic");
        let silent: Vec<TcpStream> = shared.registered.drain(..).collect();
        shared.unheard.extend(silent.iter().map(|stream| stream.peer_addr().expect("an address")));
    }

    fn tell(&self, event: &[u8]) {
        let mut frame = b"\x84\0\xff\xff\x0c".to_vec();
        frame.extend((event.len() as u32).to_be_bytes());
        frame.extend(event);
        for mut stream in &self.shared.lock().expect("no panic").registered {
            let _ = stream.write_all(&frame);
        }
    }
}

impl Shared {
    /// Of one node.
    pub(super) fn alone() -> Arc<Mutex<Shared>> {
        Arc::new(Mutex::new(Shared { is_alone: true, ..Shared::default() }))
    }

    /// The last connection of the node wants to hear of changes.
    pub(super) fn register(&mut self, stream: &TcpStream) {
        self.registered.push(stream.try_clone().expect("a stream"));
    }

    pub(super) fn is_frozen(&self, node: usize) -> bool {
        self.is_frozen && node == 1
    }

    pub(super) fn is_heard(&self, stream: &TcpStream) -> bool {
        stream.peer_addr().is_ok_and(|client| !self.unheard.contains(&client))
    }

    /// The answer to a query of the system's tables by a node.
    pub(super) fn query(&self, node: usize, cql: &str) -> Option<Answer> {
        let last = |node: usize| [127, 0, 0, node as u8 + 1];
        let token = |node: usize| if (node == 0) != self.is_swapped { "0" } else { "9223372036854775807" };
        let texts = |all: &[&str], count: u32| {
            let mut out = count.to_be_bytes().to_vec();
            for text in all {
                out.extend((text.len() as u32).to_be_bytes());
                out.extend(text.as_bytes());
            }
            out
        };
        const TEXT: &[u8] = b"\0\x0d";
        const INET: &[u8] = b"\0\x10";
        const SET: &[u8] = b"\0\x22\0\x0d";
        let peer = 1 - node;
        let where_it_is = (!self.is_nowhere || peer == 0).then(|| last(peer).to_vec());
        let data_center = ("data_center", TEXT, Some(b"here".to_vec()));
        let tokens = |node| ("tokens", SET, Some(texts(&[token(node)], 1)));
        Some(match cql {
            "SELECT * FROM system.local" => table(&[
                data_center,
                ("partitioner", TEXT, Some(b"org.apache.cassandra.dht.Murmur3Partitioner".to_vec())),
                ("schema_version", b"\0\x0c", Some(vec![self.schema; 16])),
                ("rpc_address", INET, Some(vec![0; 4])),
                tokens(node),
            ]),
            "SELECT * FROM system.peers_v2" if self.is_alone => {
                (RESULT, [&[0, 0, 0, 2][..], &[0; 12]].concat())
            }
            "SELECT * FROM system.peers_v2" if self.is_old => error(0x2200, "unconfigured table peers_v2"),
            "SELECT * FROM system.peers_v2" => {
                table(&[data_center, ("native_address", INET, where_it_is), tokens(peer)])
            }
            "SELECT * FROM system.peers" => table(&[
                ("peer", INET, Some(last(peer).to_vec())),
                data_center,
                ("rpc_address", INET, where_it_is),
                tokens(peer),
            ]),
            "SELECT * FROM system_schema.keyspaces WHERE keyspace_name = 'shop'" => table(&[(
                "replication",
                b"\0\x21\0\x0d\0\x0d",
                Some(texts(
                    &["class", "org.apache.cassandra.locator.SimpleStrategy", "replication_factor", "1"],
                    2,
                )),
            )]),
            _ => return None,
        })
    }
}

/// A column's name, its type, and its value if there is one.
type Column<'a> = (&'a str, &'a [u8], Option<Vec<u8>>);

/// One row.
fn table(columns: &[Column<'_>]) -> Answer {
    let mut body = b"\0\0\0\x02\0\0\0\x01".to_vec();
    body.extend((columns.len() as u32).to_be_bytes());
    put_string(b"system", &mut body);
    put_string(b"t", &mut body);
    for (name, kind, _) in columns {
        put_string(name.as_bytes(), &mut body);
        body.extend(*kind);
    }
    body.extend(1u32.to_be_bytes());
    for (_, _, value) in columns {
        match value {
            None => body.extend((-1i32).to_be_bytes()),
            Some(value) => {
                body.extend((value.len() as u32).to_be_bytes());
                body.extend(value);
            }
        }
    }
    (RESULT, body)
}

/// The text of a query.
pub(super) fn text(mut body: &[u8]) -> String {
    let length = super::number(&mut body, 4);
    String::from_utf8_lossy(take(&mut body, length)).into_owned()
}
