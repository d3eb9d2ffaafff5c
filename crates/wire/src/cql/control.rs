//! A connection beside those of the load, on which a node tells of its cluster: once, and again when something has changed.
//!
//! Like the others it has no socket: whoever drives it writes [`Control::output`] and feeds what was read.

use super::cluster::Cluster;
use super::codes;
use super::fault::Fault;
use super::fields::{Fields, Stop};
use super::frame::{HEADER_BYTES, Header, OF_NOBODY, RESPONSE, flag, opcode, put, put_bytes, put_string};
use super::result::pass_flagged;
use super::session::Session;
use super::table::Table;
use core::net::SocketAddr;
use std::sync::Arc;

/// An answer is no longer: far more than a ring of a thousand nodes takes.
const BYTES_MAX: usize = 64 << 20;

/// Something has changed, as a node says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// Tables or keyspaces.
    Schema,
    /// Nodes have come, gone or moved.
    Topology,
    /// A node is up.
    Up,
    /// A node is down.
    Down,
}

/// What was heard.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Told {
    /// How the cluster is.
    Cluster(Cluster),
    /// That it has changed.
    Changed(Change),
}

/// What is waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Asks,
    Proves,
    Registers,
    /// Nothing was asked.
    Listens,
    /// Tables.
    Reads,
}

/// Tables, by the numbers of the streams on which they are asked for.
const LOCAL: usize = 0;
const PEERS: usize = 1;
const KEYSPACE: usize = 2;

/// Such a connection.
#[derive(Debug)]
pub struct Control {
    session: Arc<Session>,
    /// Where it goes.
    to: SocketAddr,
    step: Step,
    /// The node knows the newer table of peers, as far as anybody knows.
    has_newer: bool,
    tables: [Option<Table>; 3],
    received: Vec<u8>,
    out: Vec<u8>,
}

impl Control {
    /// For a run whose connections begin as the session says.
    pub fn new(session: Arc<Session>, to: SocketAddr) -> Control {
        let mut out = Vec::new();
        session.put_startup(&mut out);
        let tables = Default::default();
        Control { session, to, step: Step::Asks, has_newer: true, tables, received: Vec::new(), out }
    }

    /// What is to be written, once.
    pub fn output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// Asks how the cluster is. False if something else is waited for.
    pub fn ask(&mut self) -> bool {
        if self.step != Step::Listens {
            return false;
        }
        self.step = Step::Reads;
        self.tables = Default::default();
        query(LOCAL, "SELECT * FROM system.local", &mut self.out);
        self.ask_for_peers();
        match self.session.keyspace() {
            Some(keyspace) => {
                let name = keyspace.replace('\'', "''");
                let cql = format!("SELECT * FROM system_schema.keyspaces WHERE keyspace_name = '{name}'");
                query(KEYSPACE, &cql, &mut self.out);
            }
            None => self.tables[KEYSPACE] = Some(Table::default()),
        }
        true
    }

    fn ask_for_peers(&mut self) {
        let table = if self.has_newer { "peers_v2" } else { "peers" };
        query(PEERS, &format!("SELECT * FROM system.{table}"), &mut self.out);
    }

    /// Takes what was read.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.received.extend_from_slice(bytes);
    }

    /// The next that is known from it. It asks by itself for the first time.
    ///
    /// # Errors
    /// What is wrong with the connection, which can't be used any longer.
    pub fn told(&mut self) -> Result<Option<Told>, String> {
        loop {
            let Some(header) = self.received.first_chunk::<HEADER_BYTES>().map(|bytes| Header::read(*bytes))
            else {
                return Ok(None);
            };
            if header.version != RESPONSE {
                return Err(Fault::VersionUnsupported.to_string());
            }
            let end = HEADER_BYTES + header.length as usize;
            if header.flags & flag::COMPRESSED != 0 || end > BYTES_MAX {
                return Err(Fault::BadMessage.to_string());
            }
            if self.received.len() < end {
                return Ok(None);
            }
            let frame: Vec<u8> = self.received.drain(..end).collect();
            if let Some(told) = self.hear(header, Fields(&frame[HEADER_BYTES..]))? {
                return Ok(Some(told));
            }
        }
    }

    fn hear(&mut self, header: Header, mut fields: Fields<'_>) -> Result<Option<Told>, String> {
        let wrong = |_: Stop| Fault::BadMessage.to_string();
        pass_flagged(header.flags, &mut fields).map_err(wrong)?;
        if header.stream == OF_NOBODY && header.opcode == opcode::EVENT {
            return Ok(change(fields).map_err(wrong)?.map(Told::Changed));
        }
        match (self.step, header.opcode) {
            (Step::Asks, opcode::AUTHENTICATE) if self.session.put_password(&mut self.out) => {
                self.step = Step::Proves;
            }
            (Step::Asks, opcode::AUTHENTICATE) => return Err(Fault::PasswordNeeded.to_string()),
            (Step::Asks, opcode::READY) | (Step::Proves, opcode::AUTH_SUCCESS) => {
                self.step = Step::Registers;
                put(0, opcode::REGISTER, &mut self.out, |out| {
                    out.extend_from_slice(&3u16.to_be_bytes());
                    for name in ["TOPOLOGY_CHANGE", "STATUS_CHANGE", "SCHEMA_CHANGE"] {
                        put_string(name, out);
                    }
                });
            }
            (Step::Registers, opcode::READY) => {
                self.step = Step::Listens;
                self.ask();
            }
            (Step::Reads, opcode::RESULT) => {
                let table = Table::read(fields).map_err(|fault| fault.to_string())?;
                let place = usize::try_from(header.stream).ok().and_then(|n| self.tables.get_mut(n));
                *place.ok_or_else(|| Fault::UnknownStream.to_string())? = Some(table);
            }
            // Versions before 4 have the older table alone.
            (Step::Reads, opcode::ERROR) if header.stream as usize == PEERS && self.has_newer => {
                self.has_newer = false;
                self.ask_for_peers();
            }
            (_, opcode::ERROR) => {
                let code = fields.int().map_err(wrong)?;
                let text = String::from_utf8_lossy(fields.string().map_err(wrong)?).into_owned();
                return Err(format!("{text} ({})", codes::name(codes::of_error(code))));
            }
            _ => return Err(Fault::UnknownMessage.to_string()),
        }
        let [Some(local), Some(peers), Some(keyspace)] = &self.tables else { return Ok(None) };
        if self.step != Step::Reads {
            return Ok(None);
        }
        self.step = Step::Listens;
        let cluster = Cluster::of(local, peers, keyspace, self.to);
        cluster.map(|cluster| Some(Told::Cluster(cluster))).ok_or_else(|| Fault::BadMessage.to_string())
    }
}

fn query(stream: usize, cql: &str, out: &mut Vec<u8>) {
    put(stream as i16, opcode::QUERY, out, |out| {
        put_bytes(out, |out| out.extend_from_slice(cql.as_bytes()));
        // One replica, and nothing else is said.
        out.extend_from_slice(&[0, 1, 0]);
    });
}

/// What an event says; nothing if it is of a kind that nobody has asked for.
fn change(mut fields: Fields<'_>) -> Result<Option<Change>, Stop> {
    let (kind, what) = (fields.string()?, fields.string()?);
    Ok(match (kind, what) {
        (b"SCHEMA_CHANGE", _) => Some(Change::Schema),
        (b"TOPOLOGY_CHANGE", _) => Some(Change::Topology),
        (b"STATUS_CHANGE", b"UP") => Some(Change::Up),
        (b"STATUS_CHANGE", b"DOWN") => Some(Change::Down),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(stream: i16, opcode: u8, body: &[u8]) -> Vec<u8> {
        let mut out = vec![RESPONSE, 0];
        out.extend(stream.to_be_bytes());
        out.push(opcode);
        out.extend((body.len() as u32).to_be_bytes());
        out.extend(body);
        out
    }

    /// A row of texts, but that columns whose names end in `address` are addresses and `tokens` a set.
    fn table(columns: &[(&str, &[u8])]) -> Vec<u8> {
        let mut body = b"\0\0\0\x02\0\0\0\x01".to_vec();
        body.extend((columns.len() as u32).to_be_bytes());
        put_string("system", &mut body);
        put_string("t", &mut body);
        for (name, _) in columns {
            put_string(name, &mut body);
            let kind: &[u8] = match *name {
                "tokens" => b"\0\x22\0\x0d",
                name if name.ends_with("address") => b"\0\x10",
                _ => b"\0\x0d",
            };
            body.extend(kind);
        }
        body.extend(1u32.to_be_bytes());
        for (_, value) in columns {
            put_bytes(&mut body, |out| out.extend_from_slice(value));
        }
        body
    }

    fn tokens(token: &str) -> Vec<u8> {
        let mut out = 1u32.to_be_bytes().to_vec();
        put_bytes(&mut out, |out| out.extend_from_slice(token.as_bytes()));
        out
    }

    fn control() -> Control {
        let session = Session::new(None, Some("shop".into()), &mut []);
        let mut control = Control::new(session.into(), ([127, 0, 0, 1], 9042).into());
        assert_eq!(control.output()[4], opcode::STARTUP);
        control.feed(&frame(0, opcode::READY, b""));
        assert_eq!(control.told(), Ok(None));
        assert!(
            control.output().ends_with(b"\0\x03\0\x0fTOPOLOGY_CHANGE\0\x0dSTATUS_CHANGE\0\x0dSCHEMA_CHANGE")
        );
        control.feed(&frame(0, opcode::READY, b""));
        assert_eq!(control.told(), Ok(None));
        let asked = control.output();
        let asked = String::from_utf8_lossy(&asked);
        assert!(asked.contains("system.peers_v2") && asked.contains("keyspace_name = 'shop'"), "{asked}");
        control
    }

    #[test]
    fn a_node_tells_of_its_cluster_and_of_what_changes() {
        let mut control = control();
        let (mine, theirs) = (tokens("-5"), tokens("5"));
        let partitioner = ("partitioner", &b"org.apache.cassandra.dht.Murmur3Partitioner"[..]);
        let local = table(&[("data_center", b"a"), ("tokens", &mine), partitioner]);
        control.feed(&frame(0, opcode::RESULT, &local));
        // The newer table is not there.
        control.feed(&frame(1, opcode::ERROR, b"\0\0\x22\0\0\x02no"));
        assert_eq!(control.told(), Ok(None));
        assert!(String::from_utf8_lossy(&control.output()).contains("FROM system.peers\0"));
        let peer = table(&[("data_center", b"a"), ("rpc_address", &[127, 0, 0, 2]), ("tokens", &theirs)]);
        let keyspace = table(&[("replication", b"\0\0\0\0")]);
        let answers = [frame(1, opcode::RESULT, &peer), frame(2, opcode::RESULT, &keyspace)].concat();
        let (last, most) = answers.split_last().unwrap();
        control.feed(most);
        assert_eq!(control.told(), Ok(None));
        control.feed(&[*last]);
        let Ok(Some(Told::Cluster(cluster))) = control.told() else { panic!("no cluster") };
        assert!(cluster.has_known_tokens() && cluster.nodes_of("a") == (2, 2));
        let ring = cluster.ring("a", |_| true);
        let of = |token| ring.nodes()[usize::from(ring.replicas(token)[0])].to_string();
        assert_eq!([of(-6), of(0), of(6)], ["127.0.0.1:9042", "127.0.0.2:9042", "127.0.0.1:9042"]);
        for (event, expected) in [
            (&b"\0\x0dSTATUS_CHANGE\0\x02UP\x04\x7f\0\0\x02\0\0\x23\x52"[..], Some(Change::Up)),
            (b"\0\x0fTOPOLOGY_CHANGE\0\x08NEW_NODE", Some(Change::Topology)),
            (b"\0\x0dSCHEMA_CHANGE\0\x07CREATED", Some(Change::Schema)),
            (b"\0\x0dSTATUS_CHANGE\0\x05LATER", None),
        ] {
            control.feed(&frame(OF_NOBODY, opcode::EVENT, event));
            assert_eq!(control.told(), Ok(expected.map(Told::Changed)));
        }
    }

    #[test]
    fn what_can_not_be_is_said() {
        let mut control = control();
        control.feed(&frame(0, opcode::ERROR, b"\0\0\x10\x01\0\x04busy"));
        assert_eq!(control.told(), Err("busy (overloaded)".into()));
        for bytes in [&b"HTTP/1.1 400"[..], &frame(7, opcode::RESULT, b"\0\0\0\x02\0\0\0\0\0\0\0\0\0\0\0\0")]
        {
            let mut control = self::control();
            control.feed(bytes);
            assert!(control.told().is_err());
        }
    }
}
