//! A Cassandra of the lab's own.

use std::fmt::Write as _;
use std::io::{Error, Read, Result as IoResult, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal};

use super::cql::{Frame, frame};
use super::program::{find, free_port};
use super::{Folder, Hold, Started};
use crate::database::Database;
use crate::process::{Processors, Side};

const REMEDY: &str = "put the folder bin of its archive on PATH (https://cassandra.apache.org), or the one that tools/test-cassandra \
                      makes, target/tools/cassandra/bin";
/// Rows of its table.
const ROWS: u32 = 10_000;
/// Statements under way while it is filled.
const AT_ONCE: usize = 100;
const VALUE: &str = "a value of the lab";
const TRIES: u32 = 3;
const STEP: Duration = Duration::from_millis(200);
/// Until it takes statements: Java starts slowly, and slower still on a machine that is busy.
const STEPS_MAX: u32 = 1_500;
/// A statement that makes a table takes seconds, and no answer much longer.
const PATIENCE: Duration = Duration::from_secs(60);
/// Of an answer, which says little here.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// Started and filled.
pub(super) fn start(processors: &Processors) -> Result<(Started, Hold), String> {
    let program = find("cassandra", REMEDY)?;
    let io = |error: Error| format!("cassandra: {error}");
    for _ in 0..TRIES {
        let folder = Folder::new("cassandra").map_err(io)?;
        let port = free_port()?;
        // Its own, so that what answers at the port is known to be this one.
        let cluster = folder.0.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let settings = folder.0.join("cassandra.yaml");
        std::fs::write(&settings, yaml(&folder.0, &cluster, port, free_port()?)).map_err(io)?;
        let mut command = Command::new(&program);
        command.arg("-f").args(rustix::process::geteuid().is_root().then_some("-R"));
        for property in [
            format!("cassandra.config=file://{}", settings.display()),
            format!("cassandra.storagedir={}", folder.0.display()),
            // There are no others to wait for.
            "cassandra.ring_delay_ms=1".to_owned(),
            "cassandra.skip_wait_for_gossip_to_settle=0".to_owned(),
        ] {
            command.args(["-D", &property]);
        }
        command.env("MAX_HEAP_SIZE", "512M").env("HEAP_NEWSIZE", "128M");
        command.stdin(Stdio::null()).stdout(folder.log().map_err(io)?).stderr(Stdio::null());
        let child = processors.spawn(Side::Server, command).map_err(io)?;
        let mut started =
            Started { child, ends_by: Signal::KILL, port, version: String::new(), _folder: folder };
        if let Some(mut talk) = connect(&mut started, &cluster)? {
            let filled = fill(&mut talk).and_then(|()| talk.version());
            started.version = filled.map_err(|error| format!("Cassandra does not take its data: {error}"))?;
            let hold = Hold::Freeze { process: Pid::from_child(&started.child), is_frozen: false };
            return Ok((started, hold));
        }
    }
    Err("cassandra ends as soon as it is started: it needs the Java that its version asks for".to_owned())
}

fn yaml(folder: &Path, cluster: &str, port: u16, storage_port: u16) -> String {
    let folder = folder.display();
    let mut text = format!(
        "cluster_name: {cluster}\npartitioner: org.apache.cassandra.dht.Murmur3Partitioner\nendpoint_snitch: SimpleSnitch\n\
         listen_address: 127.0.0.1\nrpc_address: 127.0.0.1\nstorage_port: {storage_port}\nnative_transport_port: {port}\n\
         seed_provider:\n  - class_name: org.apache.cassandra.locator.SimpleSeedProvider\n    parameters:\n      \
         - seeds: \"127.0.0.1:{storage_port}\"\n\
         commitlog_sync: periodic\ncommitlog_sync_period: 10s\nmemtable_heap_space: 64MiB\nmemtable_offheap_space: 64MiB\n\
         auto_snapshot: false\ndata_file_directories: [{folder}/data]\n"
    );
    for (setting, name) in [
        ("commitlog_directory", "commitlog"),
        ("hints_directory", "hints"),
        ("saved_caches_directory", "saved_caches"),
        ("cdc_raw_directory", "cdc_raw"),
    ] {
        // Writing to a String can't fail.
        let _ = writeln!(text, "{setting}: {folder}/{name}");
    }
    text
}

/// `None`: it has ended, or somebody else listens at its port.
fn connect(started: &mut Started, cluster: &str) -> Result<Option<Talk>, String> {
    for _ in 0..STEPS_MAX {
        if let Ok(mut talk) = Talk::begin(started.port) {
            let said = talk.ask("SELECT cluster_name FROM system.local").unwrap_or_default();
            let is_ours = said.windows(cluster.len()).any(|text| text == cluster.as_bytes());
            return Ok(is_ours.then_some(talk));
        }
        if started.child.try_wait().map_err(|error| error.to_string())?.is_some() {
            return Ok(None);
        }
        std::thread::sleep(STEP);
    }
    Err(format!("cassandra does not listen: {:?}", started._folder.last_words()))
}

fn fill(talk: &mut Talk) -> IoResult<()> {
    let keyspace = Database::CASSANDRA_KEYSPACE;
    talk.ask(&format!(
        "CREATE KEYSPACE {keyspace} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}"
    ))?;
    talk.ask(&format!("CREATE TABLE {keyspace}.items (id int PRIMARY KEY, value text)"))?;
    let ids: Vec<u32> = (1..=ROWS).collect();
    for some in ids.chunks(AT_ONCE) {
        for (stream, id) in (0..).zip(some) {
            talk.send(stream, &format!("INSERT INTO {keyspace}.items (id, value) VALUES ({id}, '{VALUE}')"))?;
        }
        for _ in some {
            talk.answer()?;
        }
    }
    Ok(())
}

/// A client that waits.
struct Talk {
    stream: TcpStream,
}

impl Talk {
    fn begin(port: u16) -> IoResult<Talk> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        let mut talk = Talk { stream };
        // One option.
        let mut body = vec![0, 1];
        for text in ["CQL_VERSION", "3.0.0"] {
            body.extend((text.len() as u16).to_be_bytes());
            body.extend(text.as_bytes());
        }
        talk.stream.write_all(&frame(0, Frame::STARTUP, &body))?;
        match talk.read()? {
            (Frame::READY, _) => Ok(talk),
            (opcode, _) => Err(Error::other(format!("it answers the start with {opcode:#04x}"))),
        }
    }

    fn send(&mut self, stream: i16, statement: &str) -> IoResult<()> {
        let mut body = (statement.len() as u32).to_be_bytes().to_vec();
        body.extend(statement.as_bytes());
        // Consistency ONE, no flags.
        body.extend([0, 1, 0]);
        self.stream.write_all(&frame(stream, Frame::QUERY, &body))
    }

    fn answer(&mut self) -> IoResult<Vec<u8>> {
        match self.read()? {
            (Frame::RESULT, body) => Ok(body),
            // A code and a text.
            (_, body) => {
                Err(Error::other(String::from_utf8_lossy(body.get(6..).unwrap_or_default()).into_owned()))
            }
        }
    }

    fn ask(&mut self, statement: &str) -> IoResult<Vec<u8>> {
        self.send(0, statement)?;
        self.answer()
    }

    /// As it says itself: the last of the bytes that are a row of one text.
    fn version(&mut self) -> IoResult<String> {
        let said = self.ask("SELECT release_version FROM system.local")?;
        let text = String::from_utf8_lossy(&said);
        let word = text.rsplit(|c: char| c.is_control()).next();
        Ok(word.filter(|word| !word.is_empty()).unwrap_or("?").to_owned())
    }

    fn read(&mut self) -> IoResult<(u8, Vec<u8>)> {
        let mut head = [0; 9];
        self.stream.read_exact(&mut head)?;
        let [.., opcode, a, b, c, d] = head;
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        if length > ANSWER_BYTES_MAX {
            return Err(Error::other("it speaks something else"));
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok((opcode, body))
    }
}
