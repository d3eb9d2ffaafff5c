//! `--script`: wrk's scripts in Lua, read and opened before a run, and told of its figures after it.

use crate::args::load::LoadArgs;
use crate::args::run::RunArgs;
use crate::args::script::ScriptArgs;
use crate::errors::{refuse, refused};
use crate::guard::{Guard, Terms};
use crate::request::Request;
use crate::request::version::HttpArg;
use crate::secrets::MASK;
use crate::{exit, inputs, output};
use anyhow::{Error, Result};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;
use unblink_analysis::quantile::Survival;
use unblink_artifact::document::{RunDocument, ValuePlan};
use unblink_artifact::tally::Tally;
use unblink_cluster::agent::SCRIPT_STOPS;
use unblink_core::plan::WorkerShares;
use unblink_core::record::Series;
use unblink_engine::target::{Address, Target};
use unblink_wire::Whole;
use unblink_workload::script::{Figures, Looking, Net, Opening, Pulse, Script, Spread, Stops};

/// A script that has not come back for so many seconds never will.
const STUCK_S: u32 = 10;
/// Whoever looks for a connection before the run waits for so long.
const PATIENCE: Duration = Duration::from_secs(2);
const US: f64 = 1e3;
/// A program that somebody wrote is smaller.
const BYTES_MAX: u64 = 16 << 20;
/// A shorter argument is no secret, and stands in many a word.
const ARG_LENGTH_MIN: usize = 4;

/// The threads that call a script.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Threads {
    /// Of this process.
    pub here: u32,
    /// Which these are of all.
    pub shares: WorkerShares,
    /// What comes of it if one of them ends the load.
    pub stops: Stops,
}

impl Threads {
    /// One, and no other.
    pub(crate) const ALONE: Threads =
        Threads { here: 1, shares: WorkerShares { first: 0, of: 1 }, stops: Stops::Load };
}

/// A script's text and the request that it may change.
pub(crate) struct Source<'a> {
    args: &'a ScriptArgs,
    name: String,
    text: Vec<u8>,
    request: Request,
}

/// The script that `args` name, if they name one. Refuses arguments for none.
pub(crate) fn named(args: &ScriptArgs) -> Result<Option<&PathBuf>> {
    if args.script.is_none() && !(args.script_arg.is_empty() && args.script_args.is_empty()) {
        refuse!(["script-arg"], "--script-arg and the words after -- are for a script: add --script FILE");
    }
    Ok(args.script.as_ref())
}

/// What is in the script that `args` name, if they name one. Refuses what a script leaves no place for.
pub(crate) fn read(args: &RunArgs) -> Result<Option<Source<'_>>> {
    let of = &args.target.script;
    let Some(path) = named(of)? else { return Ok(None) };
    let [request] = args.requests.as_slice() else {
        refuse!(
            ["script"],
            "--script makes all requests of the run: give one URL, and neither --targets, --request nor several requests"
        );
    };
    if !args.lines.lines.is_empty() || request.share.is_some() {
        refuse!(
            ["request", "share", "script"],
            "--script makes all requests of the run: give one URL, and leave --request and shares out"
        );
    }
    if !args.journeys.is_empty() || !args.setup.is_empty() {
        refuse!(
            ["script"],
            "--script makes all requests of the run: leave [[journeys]] and [[setup]] out of the plan"
        );
    }
    if args.target.http != HttpArg::One {
        refuse!(
            ["http", "script"],
            "--script makes requests of HTTP/1.1, as wrk's scripts write them: leave --http out"
        );
    }
    if args.target.request.stream.is_some() || args.keep_failures.is_some() {
        refuse!(
            ["script"],
            "--script makes requests that nobody else knows: leave --stream and --keep-failures out, and look at answers in its response()"
        );
    }
    Source::read(of, path, request.below(&args.target.request)?).map(Some)
}

impl<'a> Source<'a> {
    /// The script in the file `path`, which may change `request`.
    pub(crate) fn read(args: &'a ScriptArgs, path: &Path, request: Request) -> Result<Source<'a>> {
        let name = path.display().to_string();
        let text = inputs::read(path, BYTES_MAX)
            .map_err(|error| refused(&["script"], format!("can't read the script {name:?}: {error}")))?;
        if request.is_filled_in()? {
            refuse!(
                ["script"],
                "--script and templates exclude each other: let the script write what differs"
            );
        }
        let source = Source { args, name, text, request };
        let wrong = Script::check(&source.name, &source.text).err();
        wrong.map_or(Ok(source), |error| Err(refused(&["script"], format!("--script: {error}"))))
    }

    /// How the report calls its requests.
    pub(crate) fn called(&self) -> String {
        let file = self.args.script.as_deref().and_then(|path| path.file_name());
        format!("script {}", file.map(|name| name.to_string_lossy()).unwrap_or_default())
    }

    /// Runs the script up to its first requests.
    ///
    /// # Errors
    /// What is wrong with it, or that it would send where no load may go; `terms` are those of `target`.
    pub(crate) fn open(
        &self,
        target: &Target,
        threads: Threads,
        guard: &Arc<Guard>,
        terms: &Terms,
        load: &LoadArgs,
    ) -> Result<Arc<Script>> {
        let addresses: Vec<String> = target.addresses.iter().map(Address::to_string).collect();
        let script = self.begin(&addresses, threads, Arc::new(System(guard.clone())), load)?;
        for address in (0..threads.here).filter_map(|worker| script.address(worker as usize)) {
            check_address(address, guard, terms)
                .map_err(|why| self.wrong(script.args(), format!("{}: {why}", self.name)))?;
        }
        Ok(Arc::new(script))
    }

    /// It may have a function `done`: one that is never named is never called.
    pub(crate) fn may_want_figures(&self) -> bool {
        self.text.windows(4).any(|word| word == b"done")
    }

    /// The script of a load whose threads are all elsewhere, of which `done` is to be told.
    ///
    /// # Errors
    /// What is wrong with it here.
    pub(crate) fn of_others(&self, threads: u32, load: &LoadArgs) -> Result<Script> {
        let net = System(Arc::new(Guard::read()?));
        let origin = &self.request.url.origin;
        // Where it can't be told, a thread has no address.
        let addresses = net.lookup(&origin.host, &origin.port.to_string()).unwrap_or_default();
        let shares = WorkerShares { first: 0, of: threads };
        self.begin(&addresses, Threads { here: 0, shares, stops: Stops::Asks }, Arc::new(net), load)
    }

    fn wrong(&self, args: &[String], why: String) -> Error {
        refused(&["script"], format!("--script: {}", without(args, why)))
    }

    /// The same wherever its requests go: nobody has asked whether they may.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn begin(
        &self,
        addresses: &[String],
        Threads { here: workers, shares, stops }: Threads,
        net: Arc<dyn Net>,
        load: &LoadArgs,
    ) -> Result<Script> {
        let args: Vec<String> = self.args.script_arg.iter().chain(&self.args.script_args).cloned().collect();
        let wrong = |why: String| self.wrong(&args, why);
        let pulse = Arc::new(Pulse::new(workers));
        watch(&pulse, &self.name);
        let headers = self.request.all_headers();
        let url = &self.request.url;
        let has_port = has_port(&self.request.url_text);
        let port = url.origin.port.to_string();
        let script = Script::open(&Opening {
            name: &self.name,
            source: &self.text,
            url: &self.request.url_text,
            scheme: if url.origin.tls { "https" } else { "http" },
            host: &url.origin.host,
            port: has_port.then_some(port.as_str()),
            authority: &url.authority,
            path: &url.target,
            method: self.request.method(),
            headers: &headers,
            body: self.request.parts.body.as_deref(),
            args: &args,
            is_closed: load.closed.is_some(),
            workers,
            shares,
            stops,
            seed: load.seed,
            addresses,
            net,
            pulse,
        });
        let script = script.map_err(|error| wrong(error.to_string()))?;
        if script.delays() && load.think.is_some() {
            refuse!(
                ["think", "script"],
                "--think and the script's delay() both say for how long users pause: leave one of them out"
            );
        }
        for first in script.first() {
            let what = if script.is_fixed() { "its request" } else { "what request() returns" };
            Whole::all(first).map_err(|why| wrong(format!("{}: {what} can't be sent: {why}", self.name)))?;
        }
        Ok(script)
    }
}

/// Where a script sends its requests, it must be allowed to.
fn check_address(address: &str, guard: &Guard, terms: &Terms) -> Result<(), String> {
    let Ok(address) = address.parse::<SocketAddr>() else { return Ok(()) };
    let own = guard.terms(&address.ip().to_string(), &[Address::Tcp(address)]);
    match own.map_err(|forbidden| forbidden.to_string())? {
        own if terms.is_less(&own) => Err(format!("{address} may have less load than the URL's host")),
        _ => Ok(()),
    }
}

/// What a script says, without its arguments: they may be secrets.
fn without(args: &[String], said: String) -> String {
    let told = args.iter().filter(|arg| arg.len() >= ARG_LENGTH_MIN);
    told.fold(said, |said, arg| said.replace(arg.as_str(), MASK))
}

/// Does a URL name its port?
fn has_port(url: &str) -> bool {
    let authority = url.split("://").nth(1).unwrap_or(url).split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    host.rsplit(']').next().unwrap_or_default().contains(':')
}

/// What the report says of the requests that a script makes.
pub(crate) fn describe(script: &Script) -> ValuePlan {
    let paused = if script.delays() { "; users pause for delay() milliseconds" } else { "" };
    let law = match (script.is_fixed(), script.hears()) {
        (true, false) => "has no request(): every request of a worker is the same",
        (true, true) => {
            "has no request(): every request of a worker is the same; response() is told of each answer"
        }
        (false, false) => "made by request(), ahead of their time where the worker has some left",
        (false, true) => {
            "made by request() as they fall due; response() is told of each answer, so that another run may ask something \
             else"
        }
    };
    ValuePlan { name: unblink_artifact::harmless::replaced(script.name()), law: format!("{law}{paused}") }
}

/// What failed of it while the load went on, if something did.
pub(crate) fn failed(script: &Script) -> Option<String> {
    let (count, first) = script.failures()?;
    let first = without(script.args(), first);
    Some(format!("the script failed {count} times, which count as script_failed; the first: {first}"))
}

/// Says that.
pub(crate) fn tell_failed(script: &Script) {
    if let Some(failed) = failed(script) {
        output::note(format_args!("warning: {failed}"));
    }
}

/// After a run: calls `done`. What that throws changes no result.
pub(crate) fn end(script: &Script, document: &RunDocument, tally: &Tally) {
    if script.is_stopped() {
        output::note(format_args!("{SCRIPT_STOPS}"));
    }
    if script.wants_figures()
        && let Err(error) = script.done(&figures(document, tally))
    {
        let error = without(script.args(), error.to_string());
        output::note(format_args!("warning: the script's done() failed: {error}"));
    }
}

fn figures(document: &RunDocument, tally: &Tally) -> Figures {
    let failed = |is_one: &dyn Fn(&str) -> bool| -> u64 {
        document.failures.iter().filter(|(kind, _)| is_one(kind)).map(|(_, count)| count).sum()
    };
    let is_broken = |kind: &str| {
        matches!(kind, "reset" | "closed_early" | "too_large" | "tls") || kind.starts_with("protocol_")
    };
    let series = &document.series;
    let (known, longer) =
        (tally.totals().track(Series::Response), tally.totals().track(Series::ResponseCensored));
    let survival = Survival::new(known, longer);
    let latency = Spread {
        min: if known.count() > 0 { known.histogram.min() as f64 / US } else { 0.0 },
        max: document.response_time.max.unwrap_or(0) as f64 / US,
        mean: known.mean_ns().unwrap_or(0.0) / US,
        stdev: known.histogram.stdev() / US,
        percentiles: survival.steps().map(|(ns, share)| (share * 100.0, ns as f64 / US)).collect(),
        values: known.bins().map(|(ns, count)| (ns as f64 / US, count)).collect(),
    };
    let measured = series.rows.iter().filter(|row| {
        row.start_ns >= series.load_from_ns && row.start_ns + row.length_ns <= series.load_to_ns
    });
    let rates =
        measured.map(|row| (row.ok + row.failed) as f64 * 1e9 / row.length_ns.max(1) as f64).collect();
    Figures {
        duration_us: series.load_to_ns.saturating_sub(series.load_from_ns) / 1_000,
        requests: document.codes.values().sum(),
        bytes: document.bytes_received,
        connect_errors: failed(&|kind| kind.starts_with("connect_") || kind.starts_with("no_")),
        read_errors: failed(&is_broken),
        write_errors: failed(&|kind| kind == "socket"),
        status_errors: failed(&|kind| kind.starts_with("status_") || kind == "shed"),
        timeouts: document.arrivals.timed_out,
        latency,
        requests_per_s: spread(rates),
    }
}

fn spread(mut values: Vec<f64>) -> Spread {
    values.sort_by(f64::total_cmp);
    let (Some(&min), Some(&max)) = (values.first(), values.last()) else { return Spread::default() };
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let stdev = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
    let percentiles = (1..).zip(&values).map(|(rank, &value)| (f64::from(rank) * 100.0 / count, value));
    let different = values.chunk_by(|a, b| a == b).map(|equal| (equal[0], equal.len() as u64)).collect();
    Spread { min, max, mean, stdev, percentiles: percentiles.collect(), values: different }
}

/// Ends the process when the script does not come back: nothing can interrupt it, and the run would never end.
fn watch(pulse: &Arc<Pulse>, name: &str) {
    let (pulse, name) = (Arc::downgrade(pulse), name.to_string());
    std::thread::spawn(move || {
        let mut looking = Looking::default();
        while let Some(pulse) = Weak::upgrade(&pulse) {
            if looking.is_stuck(&pulse, STUCK_S) {
                output::note(format_args!(
                    "error: --script: {name} has not come back for {STUCK_S} s: does a function of it loop for ever? What \
                     was recorded before is in the run's folder, if it had begun"
                ));
                std::process::exit(exit::USAGE.into());
            }
            drop(pulse);
            std::thread::sleep(Duration::from_secs(1));
        }
    });
}

/// The port of a service that a script looks for.
pub(crate) fn port(service: &str) -> Result<u16, String> {
    match service {
        "http" => Ok(80),
        "https" => Ok(443),
        number => number
            .parse()
            .map_err(|_| format!("wrk.lookup: {number:?} is not a port: give a number, http or https")),
    }
}

/// The network of this machine, as far as load may go.
struct System(Arc<Guard>);

impl Net for System {
    fn lookup(&self, host: &str, service: &str) -> Result<Vec<String>, String> {
        let found = (host, port(service)?).to_socket_addrs();
        let found = found.map_err(|error| format!("wrk.lookup: can't resolve {host:?}: {error}"))?;
        let mut addresses: Vec<String> = Vec::new();
        for address in found.map(|address| address.to_string()) {
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        Ok(addresses)
    }

    fn connect(&self, address: &str) -> bool {
        let may =
            |address: &SocketAddr| self.0.terms(&address.ip().to_string(), &[Address::Tcp(*address)]).is_ok();
        address
            .parse::<SocketAddr>()
            .is_ok_and(|address| may(&address) && TcpStream::connect_timeout(&address, PATIENCE).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_there_only_if_the_url_has_one() {
        for (url, has) in [
            ("http://h:80/", true),
            ("http://h/a:b", false),
            ("http://u:p@h/", false),
            ("http://u:p@h:8080", true),
            ("http://[::1]/", false),
            ("http://[::1]:80/?a:b", true),
        ] {
            assert_eq!(has_port(url), has, "{url}");
        }
    }

    #[test]
    fn rates_are_spread() {
        let spread = spread(vec![3.0, 1.0, 2.0, 2.0]);
        assert_eq!((spread.min, spread.max, spread.mean), (1.0, 3.0, 2.0));
        assert_eq!(spread.stdev, 0.5f64.sqrt());
        assert_eq!(spread.percentiles, [(25.0, 1.0), (50.0, 2.0), (75.0, 2.0), (100.0, 3.0)]);
        assert_eq!(spread.values, [(1.0, 1), (2.0, 2), (3.0, 1)]);
    }

    #[test]
    fn addresses_are_looked_up_by_port_or_name() {
        let system = System(Guard::default().into());
        assert_eq!(system.lookup("127.0.0.1", "8080"), Ok(vec!["127.0.0.1:8080".to_string()]));
        assert_eq!(system.lookup("127.0.0.1", "http"), Ok(vec!["127.0.0.1:80".to_string()]));
        assert!(system.lookup("127.0.0.1", "gopher").is_err());
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        assert!(system.connect(&listener.local_addr().expect("an address").to_string()));
        assert!(!system.connect("nowhere"));
    }
}
