//! A store in PostgreSQL: a server of its own from the system's binaries, on a Unix-domain socket in a folder that is
//! taken away again. Where there are none, it says that it is skipped.

// It has a main of its own, which prints.
#![allow(clippy::print_stdout)]

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use support::run;
use unblink_store::{Filter, Location, Store, StoreError};

fn main() {
    // `cargo test -- --list` and the like ask for no test.
    if std::env::args().any(|arg| arg == "--list") {
        return;
    }
    let server = match Server::start() {
        Ok(server) => server,
        Err(why) => return println!("test a_store_in_postgresql ... SKIPPED: {why}"),
    };
    what_is_put_is_found_again(&server);
    tags_and_baselines_are_kept(&server);
    many_writers_at_once_lose_nothing(&server);
    what_is_wrong_is_said_without_a_password(&server);
    println!("test a_store_in_postgresql ... ok");
}

fn ids(store: &mut Store, filter: &Filter) -> Vec<String> {
    let (runs, _) = store.runs(filter).expect("runs");
    runs.into_iter().map(|run| run.id).collect()
}

fn what_is_put_is_found_again(server: &Server) {
    let runs: Vec<_> = (1..=5).map(run).collect();
    server.open().put(&runs).expect("put");
    let mut store = server.open();
    let (found, more) = store.runs(&Filter { limit: Some(2), ..Filter::default() }).expect("runs");
    assert_eq!((found, more), (vec![run(5), run(4)], true));
    let target = Filter { target: Some("HOST-3".into()), ..Filter::default() };
    assert_eq!(ids(&mut store, &target), [run(3).id]);
    let since = Filter { since: run(5).started_at.parse().ok(), ..Filter::default() };
    assert_eq!(ids(&mut store, &since), [run(5).id]);
    let tagged = Filter { tags: vec![("commit".into(), Some("c2".into()))], ..Filter::default() };
    assert_eq!(ids(&mut store, &tagged), [run(2).id]);
    assert_eq!(store.find(&run(4).id[..6]).expect("a run"), run(4));
    assert!(matches!(store.find("zz"), Err(StoreError::NoRun { .. })));
    let mut reader = Store::open_to_read(&server.location).expect("to read");
    assert_eq!(ids(&mut reader, &Filter::default()).len(), 5);
}

fn tags_and_baselines_are_kept(server: &Server) {
    let mut store = server.open();
    let id = run(1).id;
    store.tag(&id, "label", "before").expect("a tag");
    store.tag(&run(2).id, "commit", "").expect("a tag less");
    store.set_baseline("main", std::slice::from_ref(&id), "2026-02-01T00:00:00.000Z").expect("a baseline");
    // Another indexing leaves both alone.
    store.put(&[run(1)]).expect("put");
    assert_eq!(store.find(&id).expect("a run").tags.get("label").map(String::as_str), Some("before"));
    let baseline = Filter { baseline: Some("main".into()), ..Filter::default() };
    assert_eq!(ids(&mut store, &baseline), [id]);
    store.set_baseline("main", &[run(2).id, run(2).id], "2026-02-02T00:00:00.000Z").expect("a baseline");
    assert_eq!(ids(&mut store, &baseline), [run(2).id]);
}

fn many_writers_at_once_lose_nothing(server: &Server) {
    std::thread::scope(|scope| {
        for writer in 0..8u32 {
            scope.spawn(move || {
                let mut store = server.open();
                (0..4).for_each(|n| store.put(&[run(100 + writer * 4 + n)]).expect("put"));
            });
        }
    });
    assert_eq!(ids(&mut server.open(), &Filter::default()).len(), 5 + 32);
}

fn what_is_wrong_is_said_without_a_password(server: &Server) {
    let Location::Server(url) = &server.location else { panic!("a server") };
    let url = url.replace("unblink@", "unblink:s3cret@").replace("/postgres?", "/nowhere?");
    let error = Store::open(&Location::parse(&url).expect("a URL")).err().expect("refused").to_string();
    assert!(error.contains("\"nowhere\" does not exist") && !error.contains("s3cret"), "{error}");
}

/// A server, as long as this lives.
struct Server {
    binaries: PathBuf,
    folder: tempfile::TempDir,
    location: Location,
}

impl Server {
    /// Or why there is none.
    fn start() -> Result<Server, String> {
        let binaries = binaries().ok_or("PostgreSQL is not installed (apt-get install postgresql)")?;
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let (data, socket) = (folder.path().join("data"), folder.path().join("socket"));
        std::fs::create_dir(&socket).map_err(|error| error.to_string())?;
        if is_root() {
            // It refuses to run as root; Debian's packages make a user for it.
            let owned = Command::new("chown").args(["-R", "postgres"]).arg(folder.path()).output();
            said(owned).map_err(|why| format!("no user postgres to run the server as: {why}"))?;
        }
        let text = |path: &Path| path.display().to_string();
        let initdb =
            ["-D", &text(&data), "-A", "trust", "-U", "unblink", "--no-sync", "--no-locale", "-E", "UTF8"];
        said(as_somebody(&binaries.join("initdb")).args(initdb).output())?;
        let location = format!("postgres://unblink@localhost/postgres?host={}", text(&socket));
        let location = Location::parse(&location)?;
        let options = format!("-F -k {} -c listen_addresses=", text(&socket));
        let log = text(&folder.path().join("socket/log"));
        let server = Server { binaries, folder, location };
        let start = ["-D", &text(&data), "-w", "-t", "60", "-o", &options, "-l", &log, "start"];
        // It stays behind and would hold the pipes of its output open.
        let started = as_somebody(&server.binaries.join("pg_ctl"))
            .args(start)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .status();
        match started {
            Ok(status) if status.success() => Ok(server),
            _ => Err(format!("it does not start: {}", std::fs::read_to_string(log).unwrap_or_default())),
        }
    }

    fn open(&self) -> Store {
        Store::open(&self.location).expect("a store")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let data = self.folder.path().join("data");
        let mut stop = as_somebody(&self.binaries.join("pg_ctl"));
        let _ = stop.args(["-m", "immediate", "-w", "stop", "-D"]).arg(data).output();
    }
}

/// The folder of the newest: Debian keeps it off the PATH.
fn binaries() -> Option<PathBuf> {
    let has = |folder: &PathBuf| folder.join("initdb").is_file() && folder.join("pg_ctl").is_file();
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let debian = versions.filter_map(|entry| Some(entry.ok()?.path().join("bin")));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut debian: Vec<PathBuf> = debian.filter(has).collect();
    debian.sort();
    debian.pop().or_else(|| std::env::split_paths(&path).find(has))
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

/// A program of the server's, never as root.
fn as_somebody(program: &Path) -> Command {
    let mut command = if is_root() {
        let mut command = Command::new("runuser");
        command.args(["-u", "postgres", "--"]).arg(program);
        command
    } else {
        Command::new(program)
    };
    // Whose current folder the user postgres may not enter.
    command.current_dir("/");
    command
}

fn said(output: std::io::Result<Output>) -> Result<(), String> {
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_string()),
        Err(error) => Err(error.to_string()),
    }
}
