//! Runs the real binary in a folder of its own and reads what it says.
#![allow(dead_code)] // each test binary uses its part

pub(crate) mod bus;
pub(crate) mod hostile;
pub(crate) mod k8s;
pub(crate) mod lab;
pub(crate) mod relay;
pub(crate) mod somebody;
pub(crate) mod tried;

use rustix::process::{Pid, Signal};
use serde_json::Value;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// Far above what any run of these tests takes: only a hang meets it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder in which the binary runs, with no config file of the user's in reach.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Place {
        Place { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file into the folder and names it.
    pub(crate) fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, bytes).expect("a file");
        path
    }

    pub(crate) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// The run's document as the folder holds it.
    pub(crate) fn run_json(&self) -> Value {
        serde_json::from_str(&self.text("out/run.json")).expect("JSON")
    }

    /// Names of the files in a folder, in order.
    pub(crate) fn list(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path().join(folder)).expect("a folder");
        let mut names: Vec<_> =
            entries.map(|e| e.expect("an entry").file_name().into_string().expect("a name")).collect();
        names.sort();
        names
    }

    /// The binary with these arguments, not started yet.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_unblink"));
        command.args(args);
        self.settle(&mut command);
        command
    }

    /// The binary started by a shell that first does `setup`, such as lowering a limit.
    pub(crate) fn shell(&self, setup: &str, args: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{setup}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_unblink")]);
        command.args(args);
        self.settle(&mut command);
        command
    }

    /// The binary with all that it says on a terminal, as `script` of util-linux makes one; it comes out as standard output.
    pub(crate) fn on_terminal(&self, args: &[&str]) -> Command {
        let words = [&[env!("CARGO_BIN_EXE_unblink")], args].concat();
        let quoted: Vec<String> =
            words.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
        let mut command = Command::new("script");
        command.args(["-qec", &quoted.join(" "), "/dev/null"]);
        self.settle(&mut command);
        command
    }

    fn settle(&self, command: &mut Command) {
        command.current_dir(self.path()).env("HOME", self.path()).env("XDG_CONFIG_HOME", self.path());
        // Its own, whoever runs the tests.
        command.env("XDG_DATA_HOME", self.path().join("data")).env_remove("UNBLINK_STORE");
        command.env_remove("UNBLINK_ALLOW").env_remove("UNBLINK_POLICY");
        command.env_remove("NO_COLOR").env("LC_ALL", "C.UTF-8").stdin(Stdio::null());
    }

    pub(crate) fn call(&self, args: &[&str]) -> Said {
        finish(&mut self.command(args))
    }

    /// `unblink run ARGS --json -o out`, which must write a document.
    pub(crate) fn measure(&self, args: &[&str]) -> Run {
        let all = [&["run"], args, &["--json", "-o", "out"]].concat();
        self.call(&all).run()
    }

    /// The same in the background.
    pub(crate) fn start(&self, args: &[&str]) -> Started {
        let all = [&["run"], args, &["--json", "-o", "out"]].concat();
        Started::spawn(&mut self.command(&all))
    }
}

/// Runs a command to its end.
pub(crate) fn finish(command: &mut Command) -> Said {
    Started::spawn(command).wait()
}

/// A command under way. Its output goes to files, so that it never waits for a reader.
pub(crate) struct Started {
    child: Child,
    stdout: File,
    stderr: File,
}

impl Started {
    pub(crate) fn spawn(command: &mut Command) -> Started {
        let file = || tempfile::tempfile().expect("a temporary file");
        let (stdout, stderr) = (file(), file());
        let share = |file: &File| file.try_clone().expect("a descriptor");
        let child = command.stdout(share(&stdout)).stderr(share(&stderr)).spawn().expect("it starts");
        Started { child, stdout, stderr }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        rustix::process::kill_process(Pid::from_child(&self.child), signal).expect("a process");
    }

    /// Waits for its end, and says how much memory it has had at once, in bytes.
    pub(crate) fn memory_peak(&mut self) -> u64 {
        let mut peak = 0;
        while self.is_running() {
            peak = self.memory_so_far().max(peak);
            std::thread::sleep(Duration::from_millis(5));
        }
        peak
    }

    /// How much memory it has had at once until now, in bytes; 0 if it has ended.
    pub(crate) fn memory_so_far(&self) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
        peak.and_then(|peak| peak.parse::<u64>().ok()).unwrap_or(0) << 10
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("a child").is_none()
    }

    pub(crate) fn wait(self) -> Said {
        self.wait_for(PATIENCE)
    }

    /// The same of a command that takes long.
    pub(crate) fn wait_for(mut self, patience: Duration) -> Said {
        let status = self.wait_bounded(patience);
        let output =
            Output { status, stdout: read_all(&mut self.stdout), stderr: read_all(&mut self.stderr) };
        Said {
            status: output.status,
            stdout: String::from_utf8(output.stdout).expect("UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }

    fn wait_bounded(&mut self, patience: Duration) -> ExitStatus {
        let step = Duration::from_millis(5);
        for _ in 0..patience.as_millis() / step.as_millis() {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return status;
            }
            std::thread::sleep(step);
        }
        panic!("the command has not ended after {patience:?}: {}", self.hung());
    }

    fn hung(&mut self) -> String {
        let _ = self.child.kill();
        String::from_utf8_lossy(&read_all(&mut self.stderr)).into_owned()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // A test that failed leaves no load behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_all(file: &mut File) -> Vec<u8> {
    use std::io::{Read, Seek, SeekFrom};
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0)).expect("a file");
    file.read_to_end(&mut bytes).expect("a file");
    bytes
}

/// What a command has said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Said {
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// It has run to its end and said what it found, if only that no verdict can rest on it: what else the machine
    /// does is not up to the test.
    #[track_caller]
    pub(crate) fn assert_ran(&self) {
        assert!(matches!(self.code(), Some(0 | 3)), "{self:?}");
    }

    /// The document on stdout.
    #[track_caller]
    pub(crate) fn run(self) -> Run {
        match serde_json::from_str(&self.stdout) {
            Ok(document) => Run { document, code: self.code(), stderr: self.stderr },
            Err(error) => panic!("no document ({error}): {self:?}"),
        }
    }

    /// It was refused: exit code 2, one line of explanation that contains `parts`, nothing on stdout.
    #[track_caller]
    pub(crate) fn refused(&self, parts: &[&str]) {
        assert_eq!(self.code(), Some(2), "{self:?}");
        assert_eq!(self.stdout, "", "{self:?}");
        assert!(self.stderr.starts_with("error: "), "{self:?}");
        for part in parts {
            assert!(self.stderr.contains(part), "{part:?} is missing in {:?}", self.stderr);
        }
    }
}

/// A run that has ended, with its document.
pub(crate) struct Run {
    pub(crate) document: Value,
    pub(crate) code: Option<i32>,
    pub(crate) stderr: String,
}

impl Run {
    /// Connections that were closed with something open on them; left out where there were none.
    pub(crate) fn closed_open(&self) -> u64 {
        self.at("/origins/0/connections").get("closed_open").and_then(Value::as_u64).unwrap_or(0)
    }

    /// A value by its JSON pointer.
    #[track_caller]
    pub(crate) fn at(&self, pointer: &str) -> &Value {
        self.document.pointer(pointer).unwrap_or_else(|| panic!("there is no {pointer}"))
    }

    #[track_caller]
    pub(crate) fn count(&self, pointer: &str) -> u64 {
        self.at(pointer).as_u64().unwrap_or_else(|| panic!("{pointer} is {}", self.at(pointer)))
    }

    #[track_caller]
    pub(crate) fn number(&self, pointer: &str) -> f64 {
        self.at(pointer).as_f64().unwrap_or_else(|| panic!("{pointer} is {}", self.at(pointer)))
    }

    /// One of `scheduled`, `ok`, `failed` and so on.
    #[track_caller]
    pub(crate) fn arrivals(&self, name: &str) -> u64 {
        self.count(&format!("/arrivals/{name}"))
    }

    /// Arrivals that a guard kept from falling due.
    pub(crate) fn withheld(&self) -> u64 {
        self.document["arrivals"]["withheld"].as_u64().unwrap_or(0)
    }

    #[track_caller]
    pub(crate) fn connections(&self, name: &str) -> u64 {
        self.count(&format!("/origins/0/connections/{name}"))
    }

    /// Failures of one kind; 0 when it does not occur.
    pub(crate) fn failures(&self, kind: &str) -> u64 {
        self.document["failures"][kind].as_u64().unwrap_or(0)
    }

    /// (value in ns, censored) of a quantile, such as `("response_time", 0.99)`.
    #[track_caller]
    pub(crate) fn quantile(&self, distribution: &str, q: f64) -> (u64, bool) {
        let quantiles = self.at(&format!("/{distribution}/quantiles")).as_array().expect("a list");
        let found = quantiles.iter().find(|entry| entry["q"].as_f64() == Some(q)).expect("a quantile");
        (found["value"].as_u64().expect("ns"), found["censored"].as_bool().expect("a flag"))
    }

    pub(crate) fn has_finding(&self, code: &str) -> bool {
        let findings = self.document["validity"]["findings"].as_array().expect("a list");
        findings.iter().any(|finding| finding["code"] == code)
    }

    /// Every arrival has one end, every failure one kind, and nothing is counted twice.
    #[track_caller]
    pub(crate) fn assert_accounts(&self) {
        let parts = ["ok", "failed", "timed_out", "unfinished", "unsent"];
        let ended: u64 = parts.iter().map(|part| self.arrivals(part)).sum();
        assert_eq!(ended + self.withheld(), self.arrivals("scheduled"), "{:#}", self.document["arrivals"]);
        let failures = self.at("/failures").as_object().expect("an object");
        let failed: u64 = failures.values().map(|n| n.as_u64().expect("a count")).sum();
        assert_eq!(failed, self.arrivals("failed"), "{failures:?}");
        assert!(self.arrivals("timed_out_never_sent") <= self.arrivals("timed_out"));
        // What a killed run had under way has no age.
        if self.at("/status") != "running" {
            assert_eq!(self.count("/response_time/count"), ended - failed, "all but the failed");
        }
        assert_eq!(self.count("/failed_response_time/count"), failed);
        assert!(!self.has_finding("accounting"), "{:#}", self.document["validity"]);
        let (opened, attempted) = (self.connections("opened"), self.connections("attempted"));
        assert!(
            opened + self.connections("failed") <= attempted,
            "{:#}",
            self.document["origins"][0]["connections"]
        );
        // A part may use what was opened before it.
        assert!(self.connections("peak") <= opened || self.document["part"].is_object());
    }

    /// The run came to its end, and every arrival ended as `outcome`.
    #[track_caller]
    pub(crate) fn assert_all(&self, outcome: &str) {
        self.assert_accounts();
        assert_eq!(self.at("/status"), "complete");
        // Where the check before the run failed, nothing was measured.
        assert_ne!(self.arrivals("scheduled"), 0, "{self:?}");
        assert_eq!(self.arrivals(outcome), self.arrivals("scheduled"), "{self:?}");
    }

    /// Every arrival failed of one kind.
    #[track_caller]
    pub(crate) fn assert_all_failed(&self, kind: &str) {
        self.assert_all("failed");
        assert_eq!(self.failures(kind), self.arrivals("scheduled"), "{self:?}");
    }

    fn summary(&self) -> Value {
        let parts = ["status", "arrivals", "failures", "origins", "codes"];
        parts.iter().map(|&part| (part.to_string(), self.document[part].clone())).collect()
    }
}

impl fmt::Debug for Run {
    /// What a failed test must show; the whole document is too long to read.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exit {:?}, stderr {:?}, {:#}", self.code, self.stderr, self.summary())
    }
}
