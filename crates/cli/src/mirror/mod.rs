//! `unblink mirror`: real requests, asked of a baseline and a candidate.

mod books;
mod target;

use crate::args::mirror::MirrorArgs;
use crate::errors::refuse;
use crate::folder::Folder;
use crate::guard::{Guard, Terms};
use crate::{clock, environment, exit, output, secrets, signals};
use anyhow::{Context, Result, bail};
use books::{Book, Ledger};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use unblink_analysis::paired::{self, Line, Over};
use unblink_analysis::quantile::{QUANTILES, Survival};
use unblink_artifact::mirror::{
    FILE, MirrorDifference, MirrorDocument, MirrorQuantile, MirrorVerdict, SCHEMA,
};
use unblink_core::record::Track;
use unblink_core::time::Nanos;
use unblink_engine::mirror::{AskerFigures, Bounds, Mirror, Mirroring, start};
use unblink_engine::{clock::Clock, limits};
use unblink_report::mirror as report;

/// Connections of those who mirror, at the most.
const CLIENTS_MAX: usize = 4_096;
/// An interval of the account.
const INTERVAL: Nanos = Nanos::from_secs(1);
/// The control thread looks this often.
const LOOK: Duration = Duration::from_millis(50);

/// Mirrors until the time is up or the user ends it, and reports. Gives the exit code.
pub(crate) fn mirror(args: &MirrorArgs) -> Result<u8> {
    let limits = limits::raise();
    let (mirror, shown) = prepare(args, &limits)?;
    let folder = Folder::named_or_new(args.output.as_ref(), "unblink-mirrors")?;
    output::check_folder(&folder)?;
    std::fs::create_dir_all(&*folder).with_context(|| format!("can't create the folder {:?}", *folder))?;
    let listen = mirror.listener.local_addr()?.to_string();
    let started_at = clock::now();
    let ledger = Arc::new(Ledger::new(args.noise.is_some()));
    let interruptions = signals::listen()?;
    let mirroring = start(mirror, ledger.clone()).context("can't mirror")?;
    let _listening = interruptions.attach(mirroring.controls());
    output::note(format_args!("taking requests on {listen} (Ctrl-C ends it with a report)"));
    let length = watch(&mirroring, &ledger, args.length);
    let (sink, asker) = mirroring.join().context("can't ask the targets")?;
    let mut book = ledger.book();
    book.close_interval();
    let head = Head { started_at, listen, shown, length, limits };
    let document = document(args, head, &book, sink.offered, &asker);
    let account = &document.account;
    let told = account.compared + account.left_out() + account.skipped.values().sum::<u64>();
    anyhow::ensure!(account.offered == told, "{} requests came in, and {told} are told of", account.offered);
    present(args, &folder, &document)?;
    Ok(match document.verdict {
        MirrorVerdict::NotSlower => exit::OK,
        MirrorVerdict::Slower | MirrorVerdict::FailsMore => exit::FAILED,
        MirrorVerdict::Unknown => exit::INVALID,
    })
}

/// Everything that can be refused is, before anything listens.
fn prepare(args: &MirrorArgs, limits: &limits::Limits) -> Result<(Mirror, Vec<String>)> {
    if !args.listen.ip().is_loopback() && !args.listen_anywhere {
        refuse!(
            ["listen"],
            "--listen {}: other machines reach it, and whoever does can send requests to your targets; listen on 127.0.0.1, \
             or add --listen-anywhere",
            args.listen
        );
    }
    if args.timeout.0 == 0 || args.length.is_some_and(|length| length.0 == 0) {
        bail!("--timeout and --for must be longer than nothing");
    }
    let headers = args.header.iter().map(|line| {
        unblink_wire::parse_header(line)
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .with_context(|| format!("--header {}: expected 'Name: value'", secrets::mask_header(line)))
    });
    let headers: Vec<(String, String)> = headers.collect::<Result<_>>()?;
    let guard = Guard::read()?;
    let all = [
        ("baseline", Some(&args.baseline)),
        ("candidate", Some(&args.candidate)),
        ("noise", args.noise.as_ref()),
    ];
    let mut terms = Terms::default();
    let mut targets = Vec::new();
    for (flag, url) in all {
        let Some(url) = url else { continue };
        let target = target::target(flag, url, &guard).with_context(|| format!("--{flag}"))?;
        terms.add(target.terms.clone());
        targets.push(target);
    }
    // Without an end it goes on for as long as anybody lets it.
    terms.check_end(args.length.unwrap_or(Nanos(u64::MAX))).context("--for")?;
    let each = (limits.connections(2) / (targets.len() as u64 + 1)).max(1);
    let connections = u32::try_from(each).unwrap_or(u32::MAX).min(args.connections).min(1 << 20);
    let listener =
        TcpListener::bind(args.listen).with_context(|| format!("can't listen on {}", args.listen))?;
    let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    let mirror = Mirror {
        listener,
        bounds: Bounds {
            pairs: args.queue as usize,
            bytes: size(args.queue_bytes),
            body: size(args.body_max),
            connections,
            clients: size(each).min(CLIENTS_MAX),
        },
        headers,
        host: targets[0].authority.clone(),
        timeout: args.timeout,
        mutating: args.mutating,
        apart: terms.rate_cap.filter(|rate| !rate.is_zero()).map(|rate| rate.time_of(1)),
        digests: args.noise.is_some(),
        targets: targets.iter().map(|target| target.target.clone()).collect(),
    };
    Ok((mirror, targets.into_iter().map(|target| target.shown).collect()))
}

/// Closes intervals until the end. Says for how long requests were taken.
fn watch(mirroring: &Mirroring, ledger: &Ledger, length: Option<Nanos>) -> Nanos {
    let clock = Clock::start();
    let began = clock.now();
    let mut next = began + INTERVAL;
    let mut taken = None;
    while !mirroring.is_over() {
        std::thread::sleep(LOOK);
        let now = clock.now();
        if now >= next {
            next = next + INTERVAL;
            ledger.book().close_interval();
        }
        if length.is_some_and(|length| now.since(began) >= length) && taken.is_none() {
            mirroring.controls().stop();
        }
        if taken.is_none() && mirroring.takes_no_more() {
            taken = Some(now.since(began));
        }
    }
    taken.unwrap_or_else(|| clock.now().since(began))
}

struct Head {
    started_at: String,
    listen: String,
    shown: Vec<String>,
    length: Nanos,
    limits: limits::Limits,
}

fn document(
    args: &MirrorArgs,
    head: Head,
    book: &Book,
    offered: u64,
    asker: &AskerFigures,
) -> MirrorDocument {
    let lines = book.over.lines(&QUANTILES);
    let noise = book.has_noise.then(|| book.over_twins.lines(&QUANTILES));
    let handed_over =
        |track: &Track<u64>| Survival::known(track).quantile(0.99).map_or(0, |value| value.value_ns);
    let mut shown = head.shown.into_iter();
    let mut next = || shown.next().unwrap_or_default();
    let (baseline, candidate) = (next(), next());
    let median = |over: &Over| {
        let (value_ns, between) = over.median()?;
        let (low_ns, high_ns) = between.unzip();
        Some(MirrorDifference { value_ns, low_ns, high_ns })
    };
    MirrorDocument {
        schema: SCHEMA.into(),
        tool: environment::tool(),
        started_at: head.started_at,
        command: secrets::mask_command(environment::arguments()),
        environment: environment::describe(&head.limits),
        listen: head.listen,
        baseline,
        candidate,
        noise: args.noise.is_some().then(next),
        length_ns: head.length.0,
        account: book.account(offered),
        verdict: verdict(args, &lines, noise.as_deref(), book.fails),
        quantiles: lines.iter().map(quantile).collect(),
        pair_median: median(&book.over),
        noise_quantiles: noise.map(|lines| lines.iter().map(quantile).collect()),
        bodies: book.bodies(),
        operations: book.operations(),
        decides: args.percentile,
        min_effect: args.min_effect,
        handed_over_p99_ns: handed_over(&asker.handed_over),
        handed_over_max_ns: asker.handed_over.max_ns,
        open_max: asker.open_max,
    }
}

fn quantile(line: &Line) -> MirrorQuantile {
    let (baseline_ns, candidate_ns) = line.sides_ns.unzip();
    let (low_ns, high_ns) = line.between_ns.unzip();
    let (change_low, change_high) = line.change.unzip();
    let difference_ns = line.sides_ns.map(|(baseline, candidate)| candidate as i64 - baseline as i64);
    MirrorQuantile {
        q: line.q,
        baseline_ns,
        candidate_ns,
        difference_ns,
        low_ns,
        high_ns,
        change_low,
        change_high,
    }
}

/// Failures come first: they need no percentile. Slower is only who surely is, by more than the baseline's twin may be.
fn verdict(args: &MirrorArgs, lines: &[Line], noise: Option<&[Line]>, fails: (u64, u64)) -> MirrorVerdict {
    if paired::fails_more(fails.0, fails.1) {
        return MirrorVerdict::FailsMore;
    }
    let at = |lines: &[Line]| lines.iter().find(|line| line.q == args.percentile).copied();
    let Some((line, (low, high))) = at(lines).and_then(|line| Some((line, line.change?))) else {
        return MirrorVerdict::Unknown;
    };
    let own = line.sides_ns.map_or(0.0, |(first, second)| second as f64 / first.max(1) as f64 - 1.0);
    // Where the twin tells nothing, nobody knows what differs by itself.
    let by_itself = match noise {
        None => Some(0.0),
        Some(lines) => at(lines).and_then(|line| line.change).map(|(_, high)| high.max(0.0)),
    };
    match by_itself {
        Some(by_itself) if low > by_itself && own >= args.min_effect => MirrorVerdict::Slower,
        _ if high < args.min_effect => MirrorVerdict::NotSlower,
        _ => MirrorVerdict::Unknown,
    }
}

fn present(args: &MirrorArgs, folder: &Path, document: &MirrorDocument) -> Result<()> {
    output::write(&folder.join(FILE), &(output::to_json(document)? + "\n"))?;
    output::write_beside(&folder.join(output::PAGE), &report::html(document));
    if args.json {
        output::print_json(document)?;
    } else {
        output::print_report(&report::terminal(document, &output::style()))?;
    }
    output::say_where(folder, args.json)
}
