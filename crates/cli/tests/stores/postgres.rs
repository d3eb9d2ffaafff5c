//! A real PostgreSQL.

use crate::support::{self, Place, Run, Said};
use rustix::process::{Pid, Signal};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub(crate) const PASSWORD: &str = "s3cr3t:/pw";

/// Where Debian, Fedora and others put the programs of a server.
fn program(name: &str) -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let of_debian = versions.map(|version| version.path().join("bin"));
    let folders =
        of_debian.chain(["/usr/bin", "/usr/local/bin", "/usr/lib/postgresql/bin"].map(PathBuf::from));
    folders.map(|folder| folder.join(name)).find(|path| path.is_file()).unwrap_or_else(|| {
        panic!("there is no {name}; install it: apt-get install postgresql (or: tools/setup test)")
    })
}

/// A server refuses to run as root: then it runs as its own user, whom the package made.
fn command(name: &str) -> Command {
    let path = program(name);
    if !rustix::process::geteuid().is_root() {
        return Command::new(path);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(path);
    command
}

/// A server of our own; it ends with this.
pub(crate) struct Postgres {
    pub(crate) child: Child,
    pub(crate) port: u16,
    pub(crate) folder: PathBuf,
    pub(crate) place: Place,
}

impl Postgres {
    /// With one user, who proves himself by `method`, and a table of 100 items.
    pub(crate) fn start(method: &str, settings: &[&str]) -> Postgres {
        let place = Place::new();
        let folder = place.path().join("postgres");
        std::fs::create_dir(&folder).expect("a folder");
        let password = place.file("password", PASSWORD);
        if rustix::process::geteuid().is_root() {
            let id = |flag: &str| {
                let said = Command::new("id").args([flag, "postgres"]).output().expect("id");
                String::from_utf8_lossy(&said.stdout).trim().parse().expect("the user postgres exists")
            };
            let (user, group) = (Some(id("-u")), Some(id("-g")));
            [&folder, &password].into_iter().for_each(|path| chown(path, user, group).expect("root may"));
            for path in [place.path(), &folder] {
                std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
            }
        }
        let port = TcpListener::bind("127.0.0.1:0").and_then(|one| one.local_addr()).expect("a port").port();
        let data = folder.join("data");
        let mut init = command("initdb");
        init.args(["-U", "bench", "-A", method, "--no-sync", "-E", "UTF8", "--locale=C", "--pwfile"]);
        let said = init.arg(&password).arg("-D").arg(&data).stdin(Stdio::null()).output().expect("it starts");
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        // Whoever switches TLS on finds a certificate for localhost; the key must be the server's own.
        let made = rcgen::generate_simple_self_signed(["localhost".to_string()]).expect("a certificate");
        place.file("certificate.pem", made.cert.pem());
        for (name, text) in
            [("server.crt", made.cert.pem()), ("server.key", made.signing_key.serialize_pem())]
        {
            let path = place.file(&format!("postgres/data/{name}"), text);
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("it is ours");
            if rustix::process::geteuid().is_root() {
                let of_folder = std::fs::metadata(&data).expect("a folder");
                chown(&path, Some(of_folder.uid()), Some(of_folder.gid())).expect("root may");
            }
        }
        let child = Postgres::spawn(&data, port, settings);
        let postgres = Postgres { child, port, folder: data, place };
        postgres.sql("CREATE TABLE item (id int PRIMARY KEY, name text); INSERT INTO item SELECT g, 'item ' || g FROM generate_series(1, 100) g");
        postgres
    }

    pub(crate) fn spawn(data: &Path, port: u16, settings: &[&str]) -> Child {
        let mut server = command("postgres");
        server.arg("-D").arg(data).args(["-p", &port.to_string()]);
        let own =
            ["listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", "log_min_messages=panic"];
        own.iter().chain(settings).for_each(|setting| {
            server.args(["-c", setting]);
        });
        let (stdin, stdout, stderr) = (Stdio::null(), Stdio::null(), Stdio::null());
        let mut child = server.stdin(stdin).stdout(stdout).stderr(stderr).spawn().expect("it starts");
        for _ in 0..2_000 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return child;
            }
            assert!(child.try_wait().expect("a child").is_none(), "the server has ended");
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("the server does not listen");
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://bench@127.0.0.1:{}/postgres", self.port)
    }

    /// What PostgreSQL's own client says.
    pub(crate) fn sql(&self, statements: &str) -> String {
        self.sql_in("postgres", statements)
    }

    /// The same in another database.
    pub(crate) fn sql_in(&self, database: &str, statements: &str) -> String {
        for _ in 0..200 {
            let mut client = Command::new(program("psql"));
            client.args([
                "-h",
                "127.0.0.1",
                "-p",
                &self.port.to_string(),
                "-U",
                "bench",
                "-d",
                database,
                "-qAtc",
                statements,
            ]);
            let said = client.env("PGPASSWORD", PASSWORD).output().expect("it starts");
            if said.status.success() {
                return String::from_utf8_lossy(&said.stdout).trim().to_string();
            }
            let error = String::from_utf8_lossy(&said.stderr);
            // It listens before it takes connections.
            assert!(error.contains("starting up") || error.contains("refused"), "{error}");
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("the server takes no connections");
    }

    pub(crate) fn command(place: &Place, args: &[&str]) -> Command {
        let mut command = place.command(args);
        command.env("PGPASSWORD", PASSWORD);
        command
    }

    pub(crate) fn call(&self, args: &[&str]) -> Said {
        support::finish(&mut Postgres::command(&Place::new(), args))
    }

    pub(crate) fn run(&self, more: &[&str]) -> Run {
        let url = self.url();
        let all = [&["run", url.as_str(), "--json"], &super::FORTY[..], more].concat();
        let run = self.call(&all).run();
        run.assert_accounts();
        run
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // "Immediate": it ends its own children, too.
        let _ = rustix::process::kill_process(Pid::from_child(&self.child), Signal::QUIT);
        let _ = self.child.wait();
    }
}
