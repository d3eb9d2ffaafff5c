//! `unblink mirror`: real requests, asked of a baseline and a candidate.

mod books;
mod prepare;
mod target;

use crate::args::mirror::MirrorArgs;
use crate::folder::Folder;
use crate::observe::End;
use crate::run::guards::{errors_spent, requests_spent};
use crate::unshown::Shown;
use crate::{clock, environment, exit, output, secrets, signals};
use anyhow::{Context, Result};
use books::{Book, Ledger};
use prepare::{Prepared, prepare};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use unblink_analysis::paired::{self, Line, Over};
use unblink_analysis::quantile::{QUANTILES, Survival};
use unblink_artifact::document::{Aborted, GuardKind};
use unblink_artifact::mirror::{
    FILE, MirrorClients, MirrorConnections, MirrorDifference, MirrorDocument, MirrorQuantile, MirrorVerdict,
    SCHEMA,
};
use unblink_core::record::Track;
use unblink_core::time::Nanos;
use unblink_engine::mirror::{AskerFigures, Mirroring, SinkFigures, start};
use unblink_engine::{clock::Clock, limits};
use unblink_report::mirror as report;

/// An interval of the account.
const INTERVAL: Nanos = Nanos::from_secs(1);
/// The control thread looks this often.
const LOOK: Duration = Duration::from_millis(50);

/// Mirrors until the time is up or the user ends it, and reports. Gives the exit code.
pub(crate) fn mirror(args: &MirrorArgs) -> Result<u8> {
    let limits = limits::raise();
    let Prepared { mirror, shown, guards } = prepare(args, &limits)?;
    let folder = Folder::named_or_new(args.output.as_ref(), "unblink-mirrors")?;
    output::check_folder(&folder)?;
    std::fs::create_dir_all(&*folder).with_context(|| format!("can't create the folder {:?}", *folder))?;
    let listen = mirror.listener.local_addr()?.to_string();
    let started_at = clock::now();
    let ledger = Arc::new(Ledger::new(args.noise.is_some()));
    let interruptions = signals::listen()?;
    let mirroring = start(mirror, ledger.clone()).context("can't mirror")?;
    let (began, controls) = (mirroring.began(), mirroring.controls());
    let _listening = interruptions.attach(controls.clone(), false);
    if let Some(length) = args.length {
        controls.stop_from(began + length);
    }
    let (watching, _) = guards.watch(controls, began)?;
    output::note(format_args!("taking requests on {listen} (Ctrl-C ends it with a report)"));
    let errors_spent = watch(&mirroring, &ledger, args.guards.budget_errors);
    let (sink, asker) = mirroring.join().context("can't ask the targets")?;
    let length = sink.stopped_at.unwrap_or(began).since(began);
    let by_budget = by_budget(args, errors_spent, sink.budget_is_spent);
    let fired = watching.fired(Some(length)).map(|(why, rule)| why.end(rule, length));
    let aborted = match fired {
        Some(End::Aborted(aborted)) => Some(aborted),
        _ => by_budget.map(|(guard, rule)| Aborted { rule, at_ns: length.0, guard: Some(guard) }),
    };
    let mut book = ledger.book();
    book.close_interval();
    let head = Head { started_at, listen, shown, length, limits, aborted };
    let document = document(args, head, &book, &sink, &asker);
    output::write(&folder.join(FILE), &(output::to_json(&document)? + "\n"))?;
    output::write_beside(&folder.join(output::PAGE), &report::html(&document));
    let shown = Shown::of(present(args, &folder, &document), &folder, output::PAGE);
    let account = &document.account;
    let told = account.compared + account.left_out() + account.skipped.values().sum::<u64>();
    anyhow::ensure!(account.offered == told, "{} requests came in, and {told} are told of", account.offered);
    Ok(shown.code(match document.verdict {
        MirrorVerdict::NotSlower => exit::OK,
        MirrorVerdict::Slower | MirrorVerdict::FailsMore => exit::FAILED,
        MirrorVerdict::Unknown => exit::INVALID,
    }))
}

/// Closes intervals until the end. True if it came because as many requests had failed as may.
fn watch(mirroring: &Mirroring, ledger: &Ledger, errors_max: Option<u64>) -> bool {
    let clock = Clock::start();
    let mut next = clock.now() + INTERVAL;
    let mut is_spent = false;
    while !mirroring.is_over() {
        std::thread::sleep(LOOK);
        let mut book = ledger.book();
        if clock.now() >= next {
            next = next + INTERVAL;
            book.close_interval();
        }
        if !is_spent && errors_max.is_some_and(|max| book.failed >= max) {
            is_spent = mirroring.controls().stop();
            // What waits would fail, too.
            mirroring.controls().abort();
        }
    }
    is_spent
}

/// The budget that ended it, if one did.
fn by_budget(
    args: &MirrorArgs,
    errors_are_spent: bool,
    requests_are_spent: bool,
) -> Option<(GuardKind, String)> {
    let errors = args.guards.budget_errors.filter(|_| errors_are_spent);
    let requests = args.guards.budget_requests.filter(|_| requests_are_spent);
    errors
        .map(|max| (GuardKind::BudgetErrors, errors_spent(max)))
        .or(requests.map(|max| (GuardKind::BudgetRequests, requests_spent(max))))
}

struct Head {
    started_at: String,
    listen: String,
    shown: Vec<String>,
    length: Nanos,
    limits: limits::Limits,
    aborted: Option<Aborted>,
}

fn document(
    args: &MirrorArgs,
    head: Head,
    book: &Book,
    sink: &SinkFigures,
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
        account: book.account(sink.offered),
        verdict: verdict(args, &lines, noise.as_deref(), book.fails, head.aborted.is_some()),
        aborted: head.aborted,
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
        clients: MirrorClients { accepted: sink.connections, refused: sink.refused, cut_off: sink.cut_off },
        connections: asker
            .connections
            .into_iter()
            .zip(asker.sent_again)
            .take(if book.has_noise { 3 } else { 2 })
            .map(|(opened, sent_again)| MirrorConnections { opened, sent_again })
            .collect(),
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

/// Failures come first: they need no percentile. Slower is only who surely is, by more than the baseline's twin may be. A
/// mirror that a guard has ended did not see what it was to see, so that it finds faults and clears nobody.
fn verdict(
    args: &MirrorArgs,
    lines: &[Line],
    noise: Option<&[Line]>,
    fails: (u64, u64),
    is_aborted: bool,
) -> MirrorVerdict {
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
        _ if high < args.min_effect && !is_aborted => MirrorVerdict::NotSlower,
        _ => MirrorVerdict::Unknown,
    }
}

fn present(args: &MirrorArgs, folder: &Path, document: &MirrorDocument) -> Result<()> {
    if args.json {
        output::print_json(document)?;
    } else {
        output::print_report(&report::terminal(document, &output::style()))?;
    }
    output::say_where(folder, args.json)
}
