//! Checks the real binary against the lab server and exact theory: `make check-oracle`.
//!
//! Each scenario runs at its published numbers (60 s at 1,000/s), three times, and the medians are
//! compared: p50 to p99 of response time with the exact model, p99.9 and p99.99 with the lab's own truth
//! log, each within 1 ms or 1 %, the larger. Up to p99 `unblink sim` must agree with the run, too, within the
//! same: it knows neither the kernel nor the loopback interface, which cost a real request some 0.1 ms. Exit code 1
//! when something is off. Where there is a second processor, the server and the client get one each, so that
//! neither waits for the other (`taskset`), and go before everything else there (`chrt`).
//!
//! With `--agents N` that many agents on this machine offer the load together, wherever there is a processor: one
//! for all of them, ahead of everything else, would make each wait for the records of the others.
//!
//! Usage: check_oracle UNBLINK [--runs N] [--seconds S] [--agents N] [SCENARIO…]

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;
use unblink_lab::{Scenario, oracle, read_truth};

type Failure = Box<dyn std::error::Error>;

const RATE_PER_S: u64 = 1000;
const USERS: u32 = 10;
const QUANTILES: [f64; 7] = [0.5, 0.9, 0.95, 0.98, 0.99, 0.999, 0.9999];
/// From this quantile on the lab's truth log is the reference: the machine's own pauses decide there.
const BY_TRUTH_FROM: f64 = 0.999;

struct Case {
    name: &'static str,
    scenario: &'static str,
    closed: bool,
}

const CASES: [Case; 7] = [
    Case { name: "healthy", scenario: "healthy", closed: false },
    Case { name: "stall", scenario: "stall", closed: false },
    Case { name: "stall-closed", scenario: "stall", closed: true },
    Case { name: "ramp", scenario: "ramp", closed: false },
    Case { name: "pauses", scenario: "pauses", closed: false },
    Case { name: "saturation", scenario: "saturation", closed: false },
    Case { name: "population", scenario: "healthy", closed: true },
];

#[derive(Clone)]
struct Options {
    unblink: PathBuf,
    runs: usize,
    seconds: u64,
    agents: Option<u32>,
    cases: Vec<&'static Case>,
}

fn main() -> ExitCode {
    let checked = options().and_then(|options| {
        println!("case          quantile     measured     expected    difference");
        let mut all_hold = true;
        for case in &options.cases {
            all_hold &= match case.name {
                "saturation" => saturation(&options)?,
                "population" => population(&options)?,
                _ => check(&options, case)?,
            };
        }
        Ok(all_hold)
    });
    match checked {
        Ok(true) => {
            println!("every figure is within 1 ms or 1 % of the reference");
            ExitCode::SUCCESS
        }
        Ok(false) => {
            println!("some figures are off (marked !): is something else running on this machine?");
            ExitCode::from(1)
        }
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::from(2)
        }
    }
}

fn options() -> Result<Options, Failure> {
    let mut args = std::env::args().skip(1);
    const USAGE: &str = "usage: check_oracle UNBLINK [--runs N] [--seconds S] [--agents N] [CASE…]";
    let unblink = PathBuf::from(args.next().ok_or(USAGE)?);
    let mut options = Options { unblink, runs: 3, seconds: 60, agents: None, cases: Vec::new() };
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--runs" => options.runs = args.next().ok_or("--runs needs a number")?.parse()?,
            "--seconds" => options.seconds = args.next().ok_or("--seconds needs a number")?.parse()?,
            "--agents" => options.agents = Some(args.next().ok_or("--agents needs a number")?.parse()?),
            name => {
                let case = CASES.iter().find(|c| c.name == name);
                options.cases.push(case.ok_or_else(|| format!("unknown case {name:?}"))?);
            }
        }
    }
    if options.cases.is_empty() {
        options.cases = CASES.iter().collect();
    }
    Ok(options)
}

/// One run's percentiles in ns: as measured, and by the truth log.
struct Sample {
    measured: Vec<u64>,
    truth: Vec<u64>,
    samples: u64,
}

fn check(options: &Options, case: &Case) -> Result<bool, Failure> {
    let samples: Vec<Sample> = (0..options.runs).map(|_| sample(options, case)).collect::<Result<_, _>>()?;
    let scenario = Scenario::preset(case.scenario).ok_or("no such scenario")?;
    let length = Duration::from_secs(options.seconds);
    let mut exact = match case.closed {
        true => oracle::closed_loop(&scenario, USERS, length),
        false => oracle::open_loop(&scenario, RATE_PER_S, length, None),
    };
    exact.sort_unstable();
    let mut holds = true;
    for (i, &q) in QUANTILES.iter().enumerate() {
        let measured = median(samples.iter().map(|s| s.measured[i]).collect());
        let by_truth = q >= BY_TRUTH_FROM;
        let expected = match by_truth {
            true => median(samples.iter().map(|s| s.truth[i]).collect()),
            false => oracle::percentile(&exact, q).ok_or("no exact value")?,
        };
        holds &= row(case.name, q, measured, expected, if by_truth { "truth log" } else { "" });
    }
    let simulated = simulated(options, case)?;
    for (i, &q) in QUANTILES.iter().enumerate().filter(|(_, q)| **q < BY_TRUTH_FROM) {
        let measured = median(samples.iter().map(|s| s.measured[i]).collect());
        holds &= row(case.name, q, measured, simulated[i], "unblink sim");
    }
    let counts: Vec<String> = samples.iter().map(|s| s.samples.to_string()).collect();
    println!("{:<13} samples {} (exact model: {})", case.name, counts.join(", "), exact.len());
    Ok(holds)
}

fn row(name: &str, q: f64, measured: u64, expected: u64, note: &str) -> bool {
    let ms = |ns: u64| ns as f64 / 1e6;
    let allowed = (expected / 100).max(1_000_000);
    let holds = measured.abs_diff(expected) <= allowed;
    let sign = if holds { ' ' } else { '!' };
    println!(
        "{name:<13} p{:<9} {:>9.3} ms {:>9.3} ms {:>+9.3} ms {sign} {note}",
        format!("{}", (q * 1e6).round() / 1e4),
        ms(measured),
        ms(expected),
        ms(measured) - ms(expected),
    );
    holds
}

fn sample(options: &Options, case: &Case) -> Result<Sample, Failure> {
    let folder = TempFolder::new()?;
    let truth_file = folder.0.join("truth.csv");
    let lab = Lab::start(&options.unblink, case.scenario, &truth_file, &[])?;
    let (users, rate) = (USERS.to_string(), RATE_PER_S.to_string());
    let load = if case.closed { ["--closed", &users] } else { ["-R", &rate] };
    let document = run(options, &lab.url, &folder.0.join("run"), &load)?;
    lab.stop()?;
    let measured = quantiles(&document)?;
    let mut truth: Vec<u64> = read_truth(&truth_file)?.iter().map(|r| r.response_ns()).collect();
    truth.sort_unstable();
    let by_truth = QUANTILES.iter().map(|&q| oracle::percentile(&truth, q).ok_or("an empty truth log"));
    Ok(Sample {
        measured,
        truth: by_truth.collect::<Result<_, _>>()?,
        samples: document["response_time"]["count"].as_u64().unwrap_or(0),
    })
}

/// What `unblink sim` says of the same load.
fn simulated(options: &Options, case: &Case) -> Result<Vec<u64>, Failure> {
    let (users, rate) = (USERS.to_string(), RATE_PER_S.to_string());
    let load = if case.closed { ["--closed", &users] } else { ["-R", &rate] };
    quantiles(&simulate(options, case.scenario, &load)?)
}

fn simulate(options: &Options, scenario: &str, load: &[&str]) -> Result<serde_json::Value, Failure> {
    let folder = TempFolder::new()?;
    let output = Command::new(&options.unblink)
        .env("UNBLINK_STORE", "none")
        .args(["sim", "--scenario", scenario, "--json", "-d", &format!("{}s", options.seconds)])
        .args(load)
        .arg("-o")
        .arg(folder.0.join("sim"))
        .output()?;
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn quantiles(document: &serde_json::Value) -> Result<Vec<u64>, Failure> {
    let quantiles = document["response_time"]["quantiles"].as_array().ok_or("no quantiles")?;
    let value =
        |q: f64| quantiles.iter().find(|x| x["q"].as_f64() == Some(q)).and_then(|x| x["value"].as_u64());
    QUANTILES.iter().map(|&q| value(q).ok_or("a quantile is missing".into())).collect()
}

/// Cap 5 with a timeout of 5 s: no latency can be quoted, of the real run nor of the simulated one.
fn saturation(options: &Options) -> Result<bool, Failure> {
    const TIMEOUT: [&str; 2] = ["--timeout", "5s"];
    let folder = TempFolder::new()?;
    let lab = Lab::start(&options.unblink, "saturation", &folder.0.join("truth.csv"), &[])?;
    let rate = RATE_PER_S.to_string();
    let document = run(options, &lab.url, &folder.0.join("run"), &["-R", &rate, TIMEOUT[0], TIMEOUT[1]])?;
    lab.stop()?;
    let simulated = simulate(options, "saturation", &[&["-R", &rate], &TIMEOUT[..]].concat())?;
    let holds = [("unblink run", &document), ("unblink sim", &simulated)].map(|(of, d)| is_saturated(of, d));
    Ok(holds == [true, true])
}

/// A thousand users on a server that takes 100 ms: 10,000 requests a second, within 5 % from the first second on.
fn population(options: &Options) -> Result<bool, Failure> {
    const EXACT_PER_S: f64 = 10_000.0;
    let folder = TempFolder::new()?;
    let lab = Lab::start(&options.unblink, "healthy", &folder.0.join("truth.csv"), &["--baseline", "100ms"])?;
    let mut holds = true;
    for seconds in [1, options.seconds.min(10)] {
        let options = Options { seconds, ..options.clone() };
        let document =
            run(&options, &lab.url, &folder.0.join(format!("run-{seconds}")), &["--closed", "1000"])?;
        let sent = document["rate"]["sent"].as_f64().ok_or("no rate")?;
        let is_near = (sent / EXACT_PER_S - 1.0).abs() < 0.05;
        holds &= is_near;
        let sign = if is_near { ' ' } else { '!' };
        println!("population    {sent:.0}/s sent over {seconds} s, expected {EXACT_PER_S:.0}/s {sign}");
    }
    lab.stop()?;
    Ok(holds)
}

fn is_saturated(of: &str, document: &serde_json::Value) -> bool {
    let p50 = &document["response_time"]["quantiles"][0];
    let saturated = document["validity"]["findings"]
        .as_array()
        .is_some_and(|all| all.iter().any(|f| f["code"] == "saturated"));
    let holds = document["validity"]["status"] == "invalid"
        && saturated
        && p50["censored"] == true
        && p50["value"] == 5_000_000_000u64;
    println!(
        "saturation    {of}: {} with finding \"saturated\": {saturated}; {} of {} ok; p50 {} {} ms {}",
        document["validity"]["status"],
        document["arrivals"]["ok"],
        document["arrivals"]["scheduled"],
        if p50["censored"] == true { ">" } else { "=" },
        p50["value"].as_u64().unwrap_or(0) / 1_000_000,
        if holds { "" } else { "!" },
    );
    holds
}

fn run(options: &Options, url: &str, folder: &Path, load: &[&str]) -> Result<serde_json::Value, Failure> {
    let mut command = match options.agents {
        None => on_processor(0, &options.unblink),
        Some(_) => Command::new(&options.unblink),
    };
    let output = command
        .args(["run", url, "--no-preflight", "--no-store", "--json", "-d"])
        .arg(format!("{}s", options.seconds))
        .args(options.agents.map(|n| format!("--agents=local:{n}")))
        .arg("-o")
        .arg(folder)
        .args(load)
        .stderr(Stdio::inherit())
        .output()?;
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Runs `program` on the processor `number` alone and ahead of whatever else wants that processor, each where it
/// is possible: the kernel's own housekeeping takes several milliseconds at a time on some machines.
fn on_processor(number: usize, program: &Path) -> Command {
    let mut words = Vec::new();
    let works = |words: &[&str]| {
        let probe = Command::new(words[0]).args(&words[1..]).arg("true").stderr(Stdio::null()).status();
        probe.is_ok_and(|status| status.success())
    };
    let cpu = number.to_string();
    let several = std::thread::available_parallelism().is_ok_and(|n| n.get() > 1);
    let pinning = ["taskset", "--cpu-list", &cpu];
    if several && works(&pinning) {
        words.extend(pinning);
    }
    let realtime = ["chrt", "--fifo", "10"];
    if several && works(&realtime) {
        words.extend(realtime);
    }
    let Some((first, rest)) = words.split_first() else { return Command::new(program) };
    let mut command = Command::new(first);
    command.args(rest).arg(program);
    command
}

struct Lab {
    child: Child,
    url: String,
}

impl Lab {
    fn start(unblink: &Path, scenario: &str, truth: &Path, more: &[&str]) -> Result<Lab, Failure> {
        let mut child = on_processor(1, unblink)
            .args(["lab", "serve", "--json", "--listen", "127.0.0.1:0", "--scenario", scenario, "--truth"])
            .arg(truth)
            .args(more)
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        let first: serde_json::Value = serde_json::from_str(&line)?;
        let url = first["url"].as_str().ok_or("no url")?.to_string();
        Ok(Lab { child, url })
    }

    fn stop(mut self) -> Result<(), Failure> {
        Command::new("kill").args(["-INT", &self.child.id().to_string()]).status()?;
        self.child.wait()?;
        Ok(())
    }
}

struct TempFolder(PathBuf);

impl TempFolder {
    fn new() -> Result<TempFolder, Failure> {
        let path = std::env::temp_dir().join(format!("unblink-oracle-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(TempFolder(path))
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        // A leftover in the system's folder for temporary files does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values[values.len() / 2]
}
