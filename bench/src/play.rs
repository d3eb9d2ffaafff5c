//! One load by one tool: a fresh server, the tool on its own processor, and what both say.

use crate::clock::{SECOND_NS, now_ns};
use crate::deviation;
use crate::generator::{Generator, Job, Tool};
use crate::nginx::Nginx;
use crate::part::{CONNECTIONS, Part, Server};
use crate::process::{Ended, start_measured};
use crate::results::Run;
use crate::target::{Responder, steady_rate};
use anyhow::{Result, bail};
use std::path::Path;
use std::time::Duration;

/// Where the two sides run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Processors {
    pub client: usize,
    pub server: usize,
}

/// How much longer than its load a tool may take before it is ended.
const PATIENCE: Duration = Duration::from_secs(45);
/// From the start of a tool until its rate at nginx is counted, and as long before its end.
const EDGE: Duration = Duration::from_millis(700);

/// One load of a part.
pub(crate) struct Turn<'a> {
    pub part: Part,
    pub generator: &'a Generator,
    pub rate_per_s: Option<u64>,
    pub seconds: u64,
    pub processors: Processors,
}

impl Turn<'_> {
    /// Offers the load. `None`: the tool can't. What goes wrong is noted in the run.
    pub(crate) fn play(&self, round: u32) -> Option<Run> {
        let mut run =
            Run { tool: self.generator.tool.name(), round, rate_per_s: self.rate_per_s, ..Run::default() };
        match self.measure(&mut run) {
            Ok(true) => Some(run),
            Ok(false) => None,
            Err(error) => {
                run.failure = Some(format!("{error:#}"));
                Some(run)
            }
        }
    }

    fn measure(&self, run: &mut Run) -> Result<bool> {
        let folder = tempfile::tempdir()?;
        match self.part.server(self.seconds) {
            Server::Responder { arguments, stamped } => {
                self.ask_responder(run, folder.path(), &arguments, stamped)
            }
            Server::Nginx { close } => self.ask_nginx(run, folder.path(), close),
        }
    }

    fn command(&self, url: &str, folder: &Path) -> Result<Option<Vec<String>>> {
        self.generator.command(&Job {
            url,
            seconds: self.seconds,
            connections: CONNECTIONS,
            rate_per_s: self.rate_per_s,
            is_fresh: self.part.is_fresh(),
            folder,
        })
    }

    fn limit(&self) -> Duration {
        Duration::from_secs(self.seconds) + PATIENCE
    }

    fn ask_responder(
        &self,
        run: &mut Run,
        folder: &Path,
        arguments: &[String],
        stamped: bool,
    ) -> Result<bool> {
        // Tools send a few more than they were asked for.
        let room = self.rate_per_s.filter(|_| stamped).map(|rate| rate * (self.seconds + 5) + 100_000);
        let responder = Responder::start(self.processors.server, arguments, room)?;
        let Some(words) = self.command(&format!("http://{}/", responder.address), folder)? else {
            responder.finish()?;
            return Ok(false);
        };
        run.command = words;
        let ended = start_measured(self.processors.client, &run.command)?.wait(self.limit());
        let seen = responder.finish()?;
        let ended = ended?;
        let summary = &seen.summary;
        run.requests = summary.answers;
        run.answers_per_s = steady_rate(summary);
        let seconds = summary.last_ns.saturating_sub(summary.first_ns) as f64;
        run.server_busy_share = (seconds > 0.0).then(|| summary.cpu_ns as f64 / seconds);
        if let Some(rate_per_s) = self.rate_per_s.filter(|_| stamped) {
            run.deviation = deviation::of(&seen.stamps, rate_per_s);
            if let Some(stall) = self.part.stall(rate_per_s, self.seconds) {
                run.exact = stall.exact();
                run.by_server = stall.by_server(&seen.stamps);
            }
        }
        self.account(run, &ended, folder)
    }

    fn ask_nginx(&self, run: &mut Run, folder: &Path, close: bool) -> Result<bool> {
        let mut nginx = Nginx::start(self.processors.server, close)?;
        let Some(words) = self.command(&nginx.url.clone(), folder)? else { return Ok(false) };
        run.command = words;
        let measured = start_measured(self.processors.client, &run.command)?;
        std::thread::sleep(EDGE);
        let (from, from_ns) = (nginx.requests()?, now_ns());
        std::thread::sleep(Duration::from_secs(self.seconds).saturating_sub(2 * EDGE));
        let (to, to_ns) = (nginx.requests()?, now_ns());
        let ended = measured.wait(self.limit())?;
        run.requests = nginx.requests()?;
        let answers_per_s = (to - from) as f64 * SECOND_NS as f64 / (to_ns - from_ns) as f64;
        run.answers_per_s = Some(answers_per_s).filter(|&answers| answers > 0.0);
        self.account(run, &ended, folder)
    }

    fn account(&self, run: &mut Run, ended: &Ended, folder: &Path) -> Result<bool> {
        run.client_cpu_ns = ended.usage.cpu_ns;
        run.memory_bytes_max = ended.usage.memory_bytes_max;
        // unblink says with 3 that a run can't be believed: its requests were sent all the same.
        let is_fine =
            ended.usage.exit == 0 || matches!(self.generator.tool, Tool::Unblink(_)) && ended.usage.exit == 3;
        if !is_fine {
            let last =
                ended.stderr.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
            bail!("exit code {}: {}", ended.usage.exit, last.trim());
        }
        if run.requests == 0 {
            bail!("no request was answered");
        }
        if self.part.stall(1, self.seconds).is_some() {
            run.reported = self.generator.reported(ended, folder)?;
        }
        Ok(true)
    }
}
