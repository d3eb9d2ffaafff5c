//! A PostgreSQL of the lab's own, with the tables that pgbench knows.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;

use super::program::{find, free_port, say};
use super::{Folder, Hold, Started};
use crate::database::Database;
use crate::process::{Processors, Side};

const USER: &str = Database::POSTGRES_USER;
/// What `pgbench --initialize` makes, as far as its reads ask for it.
const DATA: &str = "\
    CREATE TABLE pgbench_branches (bid int PRIMARY KEY, bbalance int, filler char(88)); \
    CREATE TABLE pgbench_accounts (aid int PRIMARY KEY, bid int, abalance int, filler char(84)); \
    INSERT INTO pgbench_branches VALUES (1, 0, ''); \
    INSERT INTO pgbench_accounts SELECT aid, 1, 0, '' FROM generate_series(1, 100000) aid; \
    ANALYZE";
const LOCK: &str = "BEGIN; LOCK TABLE pgbench_accounts IN ACCESS EXCLUSIVE MODE;";
const SETTINGS: [&str; 6] = [
    "listen_addresses=127.0.0.1",
    "max_connections=500",
    // Nothing but the load takes its time.
    "fsync=off",
    "autovacuum=off",
    // Who waits for the lock does not look for deadlocks meanwhile.
    "deadlock_timeout=1min",
    "log_min_messages=panic",
];
const TRIES: u32 = 5;
const STEP: Duration = Duration::from_millis(20);
/// Until it takes connections.
const STEPS_MAX: u32 = 1_500;

/// Started and filled.
pub(super) fn start(processors: &Processors) -> Result<(Started, Hold), String> {
    let program = |name| find(name, "apt-get install postgresql");
    let [initdb, postgres, psql] = [program("initdb")?, program("postgres")?, program("psql")?];
    let said = say(Command::new(&postgres).arg("--version"))?;
    let version = said.split_whitespace().nth(2).unwrap_or("?").to_owned();
    let folder = Folder::new("postgres").map_err(|error| format!("PostgreSQL: {error}"))?;
    give_away(&folder.0)?;
    let data = folder.0.join("data");
    let mut init = as_its_user(&initdb);
    init.args(["-U", USER, "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C", "-D"]).arg(&data);
    say(init.current_dir(&folder.0))?;
    let mut folder = Some(folder);
    for _ in 0..TRIES {
        // It goes on to the next try with its data.
        let Some(own) = folder.take() else { break };
        let port = free_port()?;
        let mut command = as_its_user(&postgres);
        command.arg("-D").arg(&data).args(["-p", &port.to_string()]).current_dir(&own.0);
        command.arg("-c").arg(format!("unix_socket_directories={}", own.0.display()));
        SETTINGS.iter().for_each(|setting| {
            command.args(["-c", setting]);
        });
        let io = |error: std::io::Error| format!("PostgreSQL: {error}");
        command.stderr(own.log().map_err(io)?).stdout(Stdio::null());
        let mut child = processors.spawn(Side::Server, command).map_err(io)?;
        let ask = |sql: &str| {
            let mut ask = client(&psql, &own.0, port);
            say(ask.args(["-v", "ON_ERROR_STOP=1", "-c", sql]))
        };
        for step in 0.. {
            if ask("SELECT 1").is_ok() {
                ask(DATA)?;
                let hold = hold(client(&psql, &own.0, port)).map_err(io)?;
                return Ok((Started { child, ends_by: Signal::QUIT, port, version, _folder: own }, hold));
            }
            if child.try_wait().map_err(io)?.is_some() {
                break;
            }
            if step == STEPS_MAX {
                let _ = crate::process::kill(&child);
                let _ = child.wait();
                return Err(format!("PostgreSQL does not take connections: {:?}", own.last_words()));
            }
            std::thread::sleep(STEP);
        }
        folder = Some(own);
    }
    let words = folder.map(|folder| folder.last_words()).unwrap_or_default();
    Err(format!("PostgreSQL ends as soon as it is started: {words:?}"))
}

/// It refuses to run as root: then it is the user whom its package made.
fn as_its_user(program: &Path) -> Command {
    if !rustix::process::geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(program);
    command
}

/// The folder is that user's.
fn give_away(folder: &Path) -> Result<(), String> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let id = |flag| {
        let said = say(Command::new("id").args([flag, "postgres"]))?;
        said.parse::<u32>().map_err(|_| format!("the user postgres has the number {said:?}"))
    };
    chown(folder, Some(id("-u")?), Some(id("-g")?))
        .and_then(|()| std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)))
        .map_err(|error| format!("can't give {} to the user postgres: {error}", folder.display()))
}

/// Its own client, over its own socket: nothing of it is on the loopback.
fn client(psql: &Path, folder: &Path, port: u16) -> Command {
    let mut command = Command::new(psql);
    command
        .args(["--no-psqlrc", "-q", "-U", USER, "-p", &port.to_string(), "-h"])
        .arg(folder)
        .arg("postgres");
    command
}

fn hold(mut client: Command) -> std::io::Result<Hold> {
    let mut client = client.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let orders = client.stdin.take();
    Ok(Hold::Lock { client, orders, take: LOCK, release: "COMMIT;" })
}
