//! Transactions in a real PostgreSQL from the command line.

mod support;

use rustix::process::{Pid, Signal};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use support::{Place, Run, Said};

const FORTY: [&str; 4] = ["-R", "200", "-n", "40"];

const PASSWORD: &str = "s3cr3t:/pw";

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
struct Postgres {
    child: Child,
    port: u16,
    folder: PathBuf,
    _place: Place,
}

impl Postgres {
    /// With one user, who proves himself by `method`, and a table of 100 items.
    fn start(method: &str, settings: &[&str]) -> Postgres {
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
        let child = Postgres::spawn(&data, port, settings);
        let postgres = Postgres { child, port, folder: data, _place: place };
        postgres.sql("CREATE TABLE item (id int PRIMARY KEY, name text); INSERT INTO item SELECT g, 'item ' || g FROM generate_series(1, 100) g");
        postgres
    }

    fn spawn(data: &Path, port: u16, settings: &[&str]) -> Child {
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

    fn url(&self) -> String {
        format!("postgres://bench@127.0.0.1:{}/postgres", self.port)
    }

    /// What PostgreSQL's own client says.
    fn sql(&self, statements: &str) -> String {
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
                "postgres",
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

    fn command(place: &Place, args: &[&str]) -> Command {
        let mut command = place.command(args);
        command.env("PGPASSWORD", PASSWORD);
        command
    }

    fn call(&self, args: &[&str]) -> Said {
        support::finish(&mut Postgres::command(&Place::new(), args))
    }

    fn run(&self, more: &[&str]) -> Run {
        let url = self.url();
        let all = [&["run", url.as_str(), "--json"], &FORTY[..], more].concat();
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

#[test]
fn values_are_bound_and_answers_counted_by_what_they_are() {
    let postgres = Postgres::start("scram-sha-256", &[]);
    let insert = postgres.run(&[
        "-c",
        "4",
        "--no-preflight",
        "--sql",
        "INSERT INTO item VALUES (1000 + {{index}}, 'it''s {{index}}; DROP TABLE item')",
    ]);
    insert.assert_all("ok");
    assert_eq!(insert.at("/operations/0/protocol"), "postgres");
    assert_eq!(insert.at("/operations/0/name"), "INSERT INTO item VALUES (1000 + {{index}}, '***')");
    assert_eq!((insert.at("/origins/0/scheme"), insert.connections("opened")), (&"postgres".into(), 4));
    assert_eq!(
        postgres.sql("SELECT count(*), min(name), max(id) FROM item WHERE id >= 1000"),
        "40|it's 0; DROP TABLE item|1039"
    );
    let select =
        postgres.run(&["--let", "id=sequential(200)", "--sql", "SELECT * FROM item WHERE id = {{id}} + 81"]);
    select.assert_all("ok");
    // Keys 1 to 100 are there; the first arrivals ask for 81 and on.
    assert_eq!((select.count("/codes/done"), select.count("/codes/empty")), (20, 20));
}

#[test]
fn errors_are_failures_by_their_state() {
    let postgres = Postgres::start("md5", &[]);
    for (sql, kind) in [
        ("INSERT INTO item VALUES (1, 'again')", "postgres_unique_violation"),
        ("SELECT 1 / 0 FROM item", "postgres_data_exception"),
        ("SELECT pg_sleep(1) FROM item WHERE id = 'x{{index}}'", "postgres_data_exception"),
    ] {
        postgres.run(&["--sql", sql, "--no-preflight"]).assert_all_failed(kind);
    }
    // One of the statements fails, so that none of them is done.
    let transaction = ["--sql", "DELETE FROM item", "--sql", "SELECT 1 / (SELECT 0)", "--no-preflight"];
    postgres.run(&transaction).assert_all_failed("postgres_data_exception");
    assert_eq!(postgres.sql("SELECT count(*) FROM item"), "100");
    for (sql, parts) in [
        (
            "SELECT * FROM nope WHERE a = 's3cr3t'",
            &["can't prepare a statement", "relation \"nope\" does not exist (42P01)"][..],
        ),
        ("SELECT 1 / 0 FROM item", &["division by zero (22012)"]),
    ] {
        let said = postgres.call(&["run", &postgres.url(), "-R", "10", "-n", "1", "--sql", sql]);
        assert_eq!(said.code(), Some(1), "{said:?}");
        assert!(parts.iter().all(|part| said.stderr.replace("\n    ", " ").contains(part)), "{said:?}");
        assert!(!said.stderr.contains("s3cr3t"), "{said:?}");
    }
}

#[test]
fn what_is_expected_of_rows_is_held_against_them() {
    let postgres = Postgres::start("trust", &[]);
    for (sql, expect, outcome) in [
        (
            "SELECT id, name FROM item WHERE id IN (1, 2) ORDER BY id",
            "regex ^1\\titem 1\\n2\\titem 2\\n$",
            "ok",
        ),
        ("SELECT id, name FROM item WHERE id = 1", "contains=item 2", "failed"),
        ("SELECT NULL", "contains=\\N", "ok"),
        ("SELECT '{\"n\": 7}'::json", "json $.n == 7", "ok"),
        ("SELECT 1 FROM item WHERE id = 0", "status=done", "failed"),
        ("SELECT 1 FROM item WHERE id = 0", "status=empty", "ok"),
        ("INSERT INTO item VALUES (1, '')", "status=unique_violation", "ok"),
    ] {
        postgres.run(&["--sql", sql, "--expect", expect, "--no-preflight"]).assert_all(outcome);
    }
}

#[test]
fn several_transactions_go_over_one_connection_and_an_error_leaves_the_others_alone() {
    let postgres = Postgres::start("password", &[]);
    let run = postgres.run(&[
        "-c",
        "1",
        "--depth",
        "16",
        "--no-preflight",
        "--request",
        "50% SELECT 1 / (CASE WHEN id = 1 THEN 0 ELSE 1 END) FROM item WHERE id = 1",
        "--request",
        "50% SELECT repeat('x', 100000)",
    ]);
    assert_eq!(
        (run.arrivals("ok"), run.failures("postgres_data_exception"), run.connections("opened")),
        (20, 20, 1)
    );
}

#[test]
fn a_server_that_lets_nobody_in_says_why() {
    let postgres =
        Postgres::start("scram-sha-256", &["max_connections=4", "superuser_reserved_connections=0"]);
    for (url, parts) in [
        (
            postgres.url().replace("bench@", "bench:wr0ng@"),
            &["refuses the user or the password", "28P01"][..],
        ),
        (postgres.url().replace("/postgres", "/nope"), &["no such database", "3D000"]),
        (postgres.url().replace("bench@", "nobody:wr0ng@"), &["refuses the user or the password"]),
    ] {
        let said = postgres.call(&["run", &url, "-R", "10", "-n", "1", "--sql", "SELECT 1"]);
        let stderr = said.stderr.replace("\n    ", " ");
        assert_eq!(said.code(), Some(1), "{said:?}");
        assert!(parts.iter().all(|part| stderr.contains(part)) && !stderr.contains("wr0ng"), "{said:?}");
    }
    // More connections than it takes: those that it refuses fail, and all arrivals are accounted for.
    let run = postgres.run(&["-c", "8", "--sql", "SELECT 1"]);
    assert!(run.count("/origins/0/connections/failed") > 0, "{run:?}");
    assert_eq!(run.arrivals("ok"), 40);
}

#[test]
fn a_server_that_ends_in_a_run_loses_no_arrival() {
    let mut postgres = Postgres::start("trust", &[]);
    let (place, url) = (Place::new(), postgres.url());
    let args = [
        "run",
        &url,
        "--json",
        "-R",
        "200",
        "-d",
        "6s",
        "-c",
        "4",
        "--timeout",
        "1s",
        "--sql",
        "INSERT INTO item VALUES (1000 + {{index}}, '')",
        "--no-preflight",
    ];
    let started = support::Started::spawn(&mut Postgres::command(&place, &args));
    std::thread::sleep(Duration::from_secs(2));
    // "Fast": each connection is told, and closed.
    rustix::process::kill_process(Pid::from_child(&postgres.child), Signal::INT).expect("it runs");
    postgres.child.wait().expect("it ends");
    std::thread::sleep(Duration::from_secs(1));
    postgres.child = Postgres::spawn(&postgres.folder, postgres.port, &[]);
    let run = started.wait().run();
    run.assert_accounts();
    assert_eq!(run.arrivals("scheduled"), 1_200);
    assert!(run.arrivals("ok") > 400 && run.arrivals("ok") < 1_200, "{:?}", run.at("/arrivals"));
    // Each answer is one insert, and no more were done than were sent.
    let done: u64 = postgres.sql("SELECT count(*) FROM item WHERE id >= 1000").parse().expect("a number");
    assert!(done >= run.arrivals("ok") && done <= 1_200, "{done}");
}

/// As a pooler does that gives each transaction another connection to the server.
#[test]
fn statements_that_got_lost_are_prepared_again() {
    let postgres = Postgres::start("trust", &[]);
    let run = postgres.run(&[
        "-c",
        "1",
        "--no-preflight",
        "--request",
        "1 SELECT pg_catalog.set_config('a.b', '1', false)",
        "--request",
        "1 SELECT id FROM item WHERE id = 1",
    ]);
    run.assert_all("ok");
    postgres.sql("CREATE FUNCTION lose() RETURNS int LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'DEALLOCATE ALL'; RETURN 1; END $$");
    let run = postgres.run(&[
        "-c",
        "1",
        "--no-preflight",
        "--request",
        "1 SELECT lose()",
        "--request",
        "3 SELECT id FROM item WHERE id = 1",
    ]);
    // The first request behind it finds its statement gone; from then on each is prepared with its request.
    assert_eq!((run.failures("postgres_invalid_statement_name"), run.arrivals("ok")), (1, 39));
}

#[test]
fn what_postgres_can_not_do_is_refused() {
    let url = "postgres://bench@127.0.0.1:1/postgres";
    let called = |more: &[&str]| Place::new().call(&[&["run", url, "-R", "10", "-n", "1"], more].concat());
    for (more, part) in [
        (&["--sql", "BEGIN"][..], "one transaction anyway"),
        (&["--sql", "SELECT 'a"], "never closed"),
        (&["--sql", "SELECT 1", "-X", "GET"], "has no methods"),
        (&["--sql", "SELECT 1", "-H", "a: b"], "has no headers"),
        (&["--sql", "SELECT 1", "--http", "2"], "are for HTTP"),
        (&["--sql", "SELECT 1", "--depth", "65"], "at most 64"),
        (&["--body", "SELECT 1"], "takes statements"),
        (&[], "nothing is said of what to do"),
        (&["--sql", "SELECT 1", "--expect", "status=200"], "has a name"),
        (&["--sql", "SELECT 1", "--expect", "header a"], "has no headers"),
        (&["--sql", "SELECT 1", "--stream", "sse"], "answers of HTTP"),
    ] {
        called(more).refused(&[part]);
    }
    let said = Place::new().call(&["run", "http://127.0.0.1:1/", "-R", "10", "-n", "1", "--sql", "SELECT 1"]);
    said.refused(&["--sql is for PostgreSQL"]);
}
