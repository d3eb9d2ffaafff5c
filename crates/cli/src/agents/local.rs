//! Agents on this machine, and a bus of their own that goes with them.

use super::beside;
use crate::output;
use anyhow::{Context, Result, bail};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;
use unblink_cluster::bus::Options;
use unblink_cluster::signed::KeyPair;

/// For the bus to say where it listens.
const READY_WITHIN: u32 = 200;
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// For agents to leave when all is done.
const LEFT_WITHIN: u32 = 100;

/// A bus and its agents, which end with this.
pub(super) struct Local {
    bus: Child,
    agents: Vec<Child>,
    /// Where they keep what they need.
    dir: PathBuf,
    pub(super) options: Options,
    operator: KeyPair,
}

impl Local {
    /// Starts the bus and `count` agents with a share each; they work in `dir`, which is made.
    pub(super) fn start(count: u32, server: Option<&PathBuf>, dir: PathBuf) -> Result<Local> {
        let server = server_found(server)?;
        // What is there belongs to somebody else: this one is taken away in the end.
        std::fs::create_dir(&dir).with_context(|| format!("can't create the folder {dir:?}"))?;
        let (operator, agent) = (KeyPair::new_user(), KeyPair::new_user());
        let config = dir.join("bus.conf");
        write(&config, &configuration(&dir, &operator, &agent))?;
        let seed = |pair: &KeyPair| pair.seed().context("a new key pair has a private key");
        let key = dir.join("agent.nk");
        write(&key, &seed(&agent)?)?;
        // The server's own input ends with this process, however that ends, and the server with it.
        // That output stays open as long as the server lives.
        let script = r#""$1" -c "$2" </dev/null 3>&1 >"$3" 2>&1 & exec >/dev/null; cat; kill $!"#;
        let log = dir.join("bus.log");
        let mut bus = Command::new("sh");
        bus.args(["-c", script, "sh"]).arg(&server).arg(&config).arg(&log).process_group(0);
        let bus = bus.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut bus = bus.context("can't start a shell for the bus")?;
        let life = bus.stdout.take();
        let options = Options {
            url: String::new(),
            seed: Some(seed(&operator)?),
            ca: None,
            fleet: "local".into(),
            within: Duration::ZERO,
        };
        let mut local = Local { bus, agents: Vec::new(), dir, options, operator };
        local.options.url = local.url(&server, &log, life)?;
        for number in 1..=count {
            local.agents.push(local.agent(number, &key)?);
        }
        Ok(local)
    }

    /// Waits until the bus says where it listens. `life` ends with it.
    fn url(&mut self, server: &Path, log: &Path, life: Option<ChildStdout>) -> Result<String> {
        let (ends, ended) = channel();
        std::thread::spawn(move || {
            let _ = life.map(|mut life| std::io::copy(&mut life, &mut std::io::sink()));
            let _ = ends.send(());
        });
        let mut has_ended = false;
        for _ in 0..READY_WITHIN {
            has_ended = ended.recv_timeout(LOOK_EVERY).is_ok();
            if has_ended {
                break;
            }
            if let Some(url) = listening(&self.dir) {
                return Ok(url);
            }
        }
        let said = std::fs::read_to_string(log).unwrap_or_default();
        let silent = if has_ended { "it has ended, and said nothing" } else { "it says nothing" };
        let last = said.lines().last().unwrap_or(silent);
        bail!("the bus does not start ({}): {last}", server.display())
    }

    fn agent(&self, number: u32, key: &Path) -> Result<Child> {
        let own = std::env::current_exe().context("can't tell where this program is")?;
        // `agent-*` is what a shell is given to merge their records.
        let log = self.dir.join(format!("log-{number}.txt"));
        let log = std::fs::File::create(&log).with_context(|| format!("can't write {log:?}"))?;
        let mut agent = Command::new(own);
        agent
            .args(["agent", "--in-place", "--quiet", "--shares", "1", "--fleet", &self.options.fleet])
            // The same user could run it here without agents.
            .arg("--allow-scripts")
            .args(["--bus", &self.options.url, "--accept-from", &self.operator.public_key()])
            .arg("--nkey")
            .arg(key)
            .arg("-o")
            .arg(self.dir.join(format!("agent-{number}")))
            // Ctrl-C is for the coordinator, which stops all of them at one instant.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            // What it has to say, it says to the coordinator as well.
            .stderr(log);
        agent.spawn().context("can't start an agent")
    }

    /// The own records of the agents, of one of the runs in which they took part, for where the bus has not brought all of them.
    pub(super) fn records(&self, run: u32) -> Vec<PathBuf> {
        let own = |number| super::agent::folder_of(&self.dir.join(format!("agent-{number}")), run, true);
        (1..=self.agents.len()).map(own).collect()
    }

    /// The first of the agents that has ended, by its number, and the last that it said.
    pub(super) fn gone(&mut self) -> Option<(usize, String)> {
        let is_gone = |agent: &mut Child| matches!(agent.try_wait(), Ok(Some(_)));
        let number = self.agents.iter_mut().position(is_gone)? + 1;
        let said = std::fs::read_to_string(self.dir.join(format!("log-{number}.txt"))).unwrap_or_default();
        Some((number, said.lines().last().unwrap_or("it said nothing").to_string()))
    }

    /// Have all agents gone before there was a run?
    pub(super) fn all_gone(&mut self) -> bool {
        self.agents.iter_mut().all(|agent| matches!(agent.try_wait(), Ok(Some(_))))
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        for _ in 0..LEFT_WITHIN {
            if self.all_gone() {
                break;
            }
            // Who takes part in nothing ends with its input.
            self.agents.iter_mut().for_each(|agent| drop(agent.stdin.take()));
            std::thread::sleep(LOOK_EVERY);
        }
        for agent in &mut self.agents {
            let _ = agent.kill();
            let _ = agent.wait();
        }
        drop(self.bus.stdin.take());
        let _ = self.bus.wait();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// Where agents that are started here keep what they need. They end with their coordinator; their records stay if it was killed.
pub(super) fn folder_beside(folder: &Path, goes_on: bool) -> Result<PathBuf> {
    let dir = beside(folder, "local");
    if !dir.exists() {
        return Ok(dir);
    }
    if !goes_on {
        bail!(
            "the folder {dir:?} is in the way: where a coordinator was killed, it holds all that its agents recorded, and `unblink merge \
             {}/agent-*` makes the run of it, or the first one of a search (then `run-2-agent-*` and so on; --agents-resume is for agents elsewhere: these ended with their coordinator). Name another \
             folder with -o",
            dir.display()
        );
    }
    output::note(format_args!(
        "{} stays: it holds what agents had recorded when their coordinator was killed",
        dir.display()
    ));
    let mut others = (2..).map(|number| beside(folder, &format!("local-{number}")));
    Ok(others.find(|other| !other.exists()).unwrap_or(dir))
}

fn write(path: &Path, text: &str) -> Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    // A private key may be read by its owner.
    let file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).with_context(|| format!("can't write {path:?}"))
}

/// The first nats-server of those that may be meant.
fn server_found(named: Option<&PathBuf>) -> Result<PathBuf> {
    if let Some(path) = named {
        return match path.is_file() {
            true => Ok(path.clone()),
            false => bail!("--nats-server {path:?}: the file does not exist"),
        };
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(&path).map(|dir| dir.join("nats-server"));
    let mut all = in_path.chain([PathBuf::from("target/tools/nats-server")]);
    all.find(|path| path.is_file()).context(
        "there is no nats-server in PATH or target/tools, and local agents need one for their bus: install it (github.com/nats-io/nats-server, or tools/setup test in unblink's own sources), or name it with --nats-server",
    )
}

/// Everybody may say and hear what concerns them, and nothing else.
fn configuration(dir: &Path, operator: &KeyPair, agent: &KeyPair) -> String {
    // In quotes, as in a string of JSON.
    let dir = dir.display().to_string().replace('\\', r"\\").replace('"', "\\\"");
    let users = authorization(&operator.public_key(), &agent.public_key());
    format!(
        r#"server_name: unblink
listen: "127.0.0.1:-1"
ports_file_dir: "{dir}"
jetstream {{ store_dir: "{dir}/bus" }}
{users}"#
    )
}

/// Who may say and hear what, by their public keys.
pub(crate) fn authorization(operator: &str, agent: &str) -> String {
    format!(
        r#"authorization {{ users = [
  {{ nkey: {operator}, permissions: {{
    publish: ["ub.>", "$JS.API.>", "$JS.ACK.>"], subscribe: ["ub.>", "_INBOX.operator.>"] }} }}
  {{ nkey: {agent}, permissions: {{
    publish: ["ub.*.up.*", "ub.*.iv.*"], subscribe: ["ub.*.to.*", "_INBOX.agent.>"] }} }}
] }}
"#
    )
}

/// What the server wrote down about where it listens, once it has.
fn listening(dir: &Path) -> Option<String> {
    let entries = std::fs::read_dir(dir).ok()?;
    let mut ports = entries.filter_map(|entry| {
        let path = entry.ok()?.path();
        (path.extension()? == "ports").then_some(path)
    });
    let text = std::fs::read_to_string(ports.next()?).ok()?;
    let said: serde_json::Value = serde_json::from_str(&text).ok()?;
    said["nats"].as_array()?.iter().find_map(|url| url.as_str()).map(str::to_string)
}
