//! `unblink demo`: the same stall, measured closed-loop and open-loop, beside the exact value.

use crate::args::{Cli, Command, DemoArgs};
use crate::folder::Folder;
use crate::request::Request;
use crate::unshown::Shown;
use crate::{exit, output, run, signals};
use anyhow::{Context, Result, bail};
use clap::Parser;
use std::path::Path;
use std::time::Duration;
use unblink_analysis::quantile::QUANTILES;
use unblink_artifact::document::{RunDocument, RunStatus};
use unblink_core::time::SECOND_NS;
use unblink_lab::{Gate, Scenario, ServerConfig, oracle};
use unblink_report::demo::{self, Demo};
use unblink_report::format;

const RATE_PER_S: u64 = 1000;
const USERS: u32 = 10;
/// What shows both runs and the exact value.
const PAGE: &str = "demo.html";
/// Points of the exact curve.
const TRUTH_POINTS: u32 = 400;

struct Length {
    seconds: u64,
    stall_at_seconds: u64,
}

/// As published: 60 s with the stall in the middle.
const FULL: Length = Length { seconds: 60, stall_at_seconds: 30 };

impl Length {
    /// The stall, of a second, begins a little before the middle: what piled up has time to go away.
    fn of(seconds: u32) -> Length {
        let seconds = u64::from(seconds);
        Length { seconds, stall_at_seconds: (seconds * 5 / 12).max(1) }
    }
}

/// Shows what a closed loop hides.
pub(crate) fn demo(args: &DemoArgs) -> Result<u8> {
    let length = if args.full { FULL } else { Length::of(args.seconds) };
    let scenario = scenario(&length)?;
    let folder = Folder::named_or_new(args.output.as_ref(), "unblink-demo")?;
    output::check_folder(&folder)?;
    let interruptions = signals::listen()?;
    let measure =
        |load: &[&str], name: &str| measure(&scenario, &length, load, &folder.join(name), &interruptions);

    output::note(format_args!(
        "A server that answers in 10 ms, and once not at all for 1 s. Twice {} s:",
        length.seconds
    ));
    output::note(format_args!(
        "  1/2  closed loop: {USERS} users, each waits for its answer (as ab, hey, wrk, Locust do)"
    ));
    let users = USERS.to_string();
    let closed = measure(&["--closed", &users], "closed")?;
    if closed.status == RunStatus::Interrupted {
        return Ok(exit::INTERRUPTED);
    }
    let many = format::plain(&format::count(RATE_PER_S));
    output::note(format_args!("  2/2  open loop: {many} arrivals a second, whatever the server does"));
    let rate = RATE_PER_S.to_string();
    let open = measure(&["-R", &rate], "open")?;
    if open.status == RunStatus::Interrupted {
        return Ok(exit::INTERRUPTED);
    }

    let begins_ns = length.stall_at_seconds * SECOND_NS;
    let demo = Demo {
        closed,
        open,
        truth: truth(&scenario, &length),
        stall_ns: (begins_ns, begins_ns + SECOND_NS),
        scenario: scenario.describe(),
    };
    output::write_beside(&folder.join(PAGE), &demo::html(&demo));
    output::write_beside(&folder.join("demo.svg"), &demo::svg(&demo));
    let shown = Shown::of(show(args, &demo, &folder), &folder, PAGE);
    // Shown is shown: what a busy machine did to a run stands in the text.
    Ok(shown.code(exit::OK))
}

fn show(args: &DemoArgs, demo: &Demo, folder: &Path) -> Result<()> {
    if args.json {
        let truth: Vec<_> =
            demo.truth.iter().map(|(q, ns)| serde_json::json!({ "q": q, "value": ns })).collect();
        let all = serde_json::json!({
            "scenario": demo.scenario,
            "closed": demo.closed,
            "open": demo.open,
            "truth": { "unit": "ns", "quantiles": truth },
        });
        output::print_json(&all)?;
        output::note(format_args!("Page  {}/{PAGE}", folder.display()));
    } else {
        output::print_report(&demo::terminal(demo, &output::style()))?;
        output::print(&format!("\nPage  {0}/{PAGE}\nRuns  {0}/closed  {0}/open\n", folder.display()))?;
    }
    Ok(())
}

fn scenario(length: &Length) -> Result<Scenario> {
    let mut scenario = Scenario::preset("stall").context("the lab has no scenario \"stall\"")?;
    scenario.gates = vec![Gate::once(length.stall_at_seconds * SECOND_NS, SECOND_NS)];
    Ok(scenario)
}

/// One run against a server of its own, so that its clock of events starts anew.
fn measure(
    scenario: &Scenario,
    length: &Length,
    load: &[&str],
    folder: &Path,
    interruptions: &signals::Interruptions,
) -> Result<RunDocument> {
    let mut config = ServerConfig::new(scenario.clone());
    config.listen.set_port(0);
    let server = unblink_lab::spawn(config)?;
    let url = format!("http://{}/", server.local_addr());
    let duration = format!("{}s", length.seconds);
    let command = ["unblink", "run", &url, "--duration", &duration].into_iter().chain(load.iter().copied());
    let Command::Run(mut args) = Cli::try_parse_from(command)?.command else { bail!("not a run") };
    args.requests = vec![Request::new(None, &url)?];
    // The user's config file protects targets elsewhere; this one was started for the purpose.
    let prepared = run::prepare_under(&args, None)?;
    let (document, _) = run::execute(prepared, folder, false, false, interruptions)?;
    server.stop()?;
    let page = unblink_report::html::render(&document);
    output::write_beside(&folder.join("report.html"), &page);
    if document.status == RunStatus::Interrupted {
        output::note(format_args!("interrupted; what was recorded is in {}", folder.display()));
    }
    Ok(document)
}

/// Exact percentiles of response time by the scenario's model.
fn truth(scenario: &Scenario, length: &Length) -> Vec<(f64, u64)> {
    let mut exact = oracle::open_loop(scenario, RATE_PER_S, Duration::from_secs(length.seconds), None);
    exact.sort_unstable();
    // Between the printed ones, evenly over 1/(1 − q), for the line in the picture.
    let between = (0..=TRUTH_POINTS).map(|i| 1.0 - 10f64.powf(-4.0 * f64::from(i) / f64::from(TRUTH_POINTS)));
    let mut quantiles: Vec<f64> = QUANTILES.into_iter().chain([1.0]).chain(between).collect();
    quantiles.sort_by(f64::total_cmp);
    quantiles.dedup();
    quantiles.into_iter().filter_map(|q| Some((q, oracle::percentile(&exact, q)?))).collect()
}
