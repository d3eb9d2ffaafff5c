//! `unblink explain`: one server under every kind of load tool.

use crate::args::load::LoadArgs;
use crate::args::sim::ExplainArgs;
use crate::args::steady::Warmup;
use crate::errors::refuse;
use crate::sim::mix::Asked;
use crate::sim::{Described, Simulation};
use crate::{exit, output};

use anyhow::{Context, Result, bail};
use std::cell::RefCell;
use std::path::Path;
use unblink_core::dispatch::{Action, Event};
use unblink_core::sim::{Sight, Watch, ZERO};
use unblink_core::time::Instant;
use unblink_report::explain::{self, Explain, Figures, Ratio, Row};

/// Exact times of more arrivals would take too much memory.
const EXACT_ARRIVALS_MAX: u64 = 20_000_000;
/// Of a closed loop that has no scenario to say it.
const USERS: u32 = 10;

/// Simulates every client and shows them together.
pub(crate) fn explain(args: &ExplainArgs) -> Result<u8> {
    let described = describe(args)?;
    let load = described.load(&args.load);
    if load.closed.is_some() {
        bail!("--closed: explain compares tools with users who come at a rate: give it with -R");
    }
    if load.warmup == Warmup::Auto {
        bail!("--warmup auto: explain compares whole runs: give it a time, such as --warmup 5s");
    }
    let (explain, planned) = gather(&described, &load)?;
    if planned == 0 {
        bail!("no request falls due in this load: raise the rate or the duration");
    }
    if let Some(folder) = &args.output {
        std::fs::create_dir_all(folder).with_context(|| format!("can't create the folder {folder:?}"))?;
        output::write(&folder.join("explain.html"), &explain::html(&explain))?;
        output::write(&folder.join("explain.svg"), &explain::svg(&explain))?;
    }
    if args.json {
        let all = serde_json::json!({
            "simulated": true,
            "scenario": explain.scenario,
            "server": explain.server,
            "plan": explain.truth.plan,
            "loads": explain.truth.load_plans(),
            "planned": explain.planned,
            "truth_is_exact": !explain.exact_ns.is_empty(),
            "clients": explain.figures().iter().map(figures).collect::<Vec<_>>(),
        });
        output::print_json(&all)?;
    } else {
        output::print_report(&explain::terminal(&explain, &output::style()))?;
    }
    say_where(args.output.as_deref(), args.json)?;
    Ok(exit::OK)
}

fn figures(row: &Figures) -> serde_json::Value {
    let known = |i: usize| row.times[i].filter(|time| !time.is_bound).map(|time| time.ns);
    let longer_than = |i: usize| row.times[i].filter(|time| time.is_bound).map(|time| time.ns);
    let (ratio, bound) = match row.ratio {
        None => (None, None),
        Some(Ratio::Exact(ratio)) => (Some(ratio), None),
        Some(Ratio::Above(ratio)) => (Some(ratio), Some("above")),
        Some(Ratio::Below(ratio)) => (Some(ratio), Some("below")),
    };
    serde_json::json!({
        "name": row.name,
        "client": row.client,
        "does": row.does,
        "is_felt": row.is_felt,
        "is_right": row.is_right(),
        "is_other_users": row.is_other_users,
        "p50_ns": known(0),
        "p90_ns": known(1),
        "p99_ns": known(2),
        "p99_9_ns": known(3),
        "max_ns": known(4),
        "p50_longer_than_ns": longer_than(0),
        "p90_longer_than_ns": longer_than(1),
        "p99_longer_than_ns": longer_than(2),
        "p99_9_longer_than_ns": longer_than(3),
        "max_longer_than_ns": longer_than(4),
        "samples": row.samples,
        "omitted": row.omitted,
        "invented": row.invented,
        "p99_error": row.p99_error,
        "ratio": ratio,
        "ratio_bound": bound,
    })
}

fn describe(args: &ExplainArgs) -> Result<Described> {
    if args.load.replay.recorded.replay.is_some() {
        refuse!(
            ["replay"],
            "a replay has many kinds of requests, and this compares tools by one: unblink sim takes --replay"
        );
    }
    let mut world = args.world.clone();
    if world.server.is_none() && world.scenario.is_none() {
        world.scenario = Some("stall".into());
    }
    Described::new(&world)
}

fn say_where(folder: Option<&Path>, quietly: bool) -> Result<()> {
    let Some(folder) = folder.map(Path::display) else { return Ok(()) };
    let text = format!("Page     {folder}/explain.html\nPicture  {folder}/explain.svg");
    match quietly {
        true => output::note(format_args!("{text}")),
        false => output::print(&format!("\n{text}\n"))?,
    }
    Ok(())
}

fn gather(described: &Described, load: &LoadArgs) -> Result<(Explain, u64)> {
    let truth = described.simulation(load, "ideal", &Asked::default())?;
    let planned = truth.header.simulated.as_ref().and_then(|world| world.planned).unwrap_or(0);
    let exact = RefCell::new(Exact::new(&truth, planned));
    let (document, _) = truth.run_watched(Watching(&exact));
    let exact = exact.into_inner().finish(document.response_time.count.min(planned));
    let users = described.scenario.as_ref().map_or(USERS, |scenario| scenario.users);
    let mut rows = Vec::new();
    for client in clients(users) {
        let by_count =
            client.text.starts_with("closed") && described.scenario.as_ref().is_some_and(|s| s.by_count);
        let load = match by_count && load.requests.is_none() {
            true => LoadArgs { requests: Some(planned), duration: None, ..load.clone() },
            false => load.clone(),
        };
        let text = match client.text.as_str() {
            // A run that is hardly longer than what wrk2 leaves out would show nothing.
            "wrk2" if load.duration.is_some_and(|length| length.as_secs_f64() < 20.0) => "wrk2 discard=0s",
            text => text,
        };
        let (run, _) = described.simulation(&load, text, &Asked::default())?.run();
        rows.push(Row {
            name: client.name.into(),
            client: text.into(),
            does: client.does.into(),
            is_other_users: client.is_other_users,
            run,
        });
    }
    let explain = Explain {
        scenario: described.scenario.as_ref().map(|scenario| scenario.name.to_string()),
        server: described.server.clone(),
        planned,
        exact_ns: exact,
        truth: document,
        rows,
    };
    Ok((explain, planned))
}

struct Client {
    name: &'static str,
    text: String,
    does: &'static str,
    /// Right, about users who behave differently.
    is_other_users: bool,
}

/// Static or dynamic schedule, queueing or not, corrected or raw, no schedule at all, and users who don't just wait.
fn clients(users: u32) -> Vec<Client> {
    let client = |name, text: &str, does| Client { name, text: text.into(), does, is_other_users: false };
    let people = |name, text: &str, does| Client { name, text: text.into(), does, is_other_users: true };
    vec![
        client(
            "pool",
            "connections=50",
            "keeps the schedule with 50 connections, queues what is late and counts from the due time: right, with \
             the queue in front of its pool.",
        ),
        client(
            "cassandra",
            "cassandra-stress",
            "does the same with fixed=: its 50 threads share one schedule and count from it. With throttle= it counts from \
             the send (clock=sent).",
        ),
        client(
            "wrk2",
            "wrk2",
            "gives each connection its own schedule and counts from it, but catches up at no more than twice the \
             rate and leaves its first 10 s out.",
        ),
        client(
            "YCSB raw",
            "ycsb",
            "sends everything that was planned, but counts from the send: the time in its own queue is missing.",
        ),
        client(
            "YCSB both",
            "ycsb-intended",
            "the same with both of its clocks: this one counts from the schedule and is right, with the queues of its 50 \
             threads in front; the other one is YCSB raw.",
        ),
        client(
            "k6",
            "k6",
            "drops what falls due while all of its virtual users wait: the worst moments are never asked about.",
        ),
        client(
            "k6 + HDR",
            "k6 correct=expected-interval",
            "the same, with values made up for what it dropped, as if its users had sent at an even pace.",
        ),
        client(
            "shifting",
            "connections=50 late=shift",
            "sends what is late and moves the rest of its schedule back, so that it asks for less than was planned.",
        ),
        client(
            "limiter",
            "schedule=dynamic connections=50",
            "takes its pace from a shared rate limiter, which forgets what it owes while all workers wait.",
        ),
        client(
            "limiters",
            "schedule=dynamic-local connections=50",
            "has a limiter for each worker, each of which forgets on its own.",
        ),
        client(
            "closed",
            &format!("closed={users}"),
            "asks again when it is answered: while the server stalls, it asks nothing.",
        ),
        client(
            "closed + HDR",
            &format!("closed={users} correct=expected-interval"),
            "the same, with values made up from the interval at which it should have asked.",
        ),
        client(
            "wrk",
            &format!("wrk closed={users}"),
            "asks again when it is answered, and makes values up from the mean interval at which it did ask.",
        ),
        people(
            "impatient",
            "retry patience=300ms back-off=100ms",
            "users who give up an attempt after 300 ms and try again, at most twice: right about them, and about the \
             load that they add to a server that is slow already.",
        ),
        people(
            "herd",
            "herd patience=300ms",
            "users who give up together and all come back when one of them is answered: right about them, and about the \
             rush with which an outage ends.",
        ),
    ]
}

/// Response times as they are, before any histogram.
struct Exact {
    /// By number of the arrival.
    intended: Vec<Instant>,
    /// What each connection carries.
    carried: Vec<u64>,
    response_ns: Vec<u64>,
    from: Instant,
}

struct Watching<'a>(&'a RefCell<Exact>);

impl Exact {
    fn new(simulation: &Simulation, planned: u64) -> Exact {
        let mut intended = Vec::new();
        if planned <= EXACT_ARRIVALS_MAX {
            intended.extend(simulation.intended().map(|offset| ZERO + offset));
        }
        let from = ZERO + simulation.warmup();
        Exact { intended, carried: Vec::new(), response_ns: Vec::new(), from }
    }

    /// Ascending; nothing unless all `count` of them were answered.
    fn finish(mut self, count: u64) -> Vec<u64> {
        if self.response_ns.len() as u64 != count {
            return Vec::new();
        }
        self.response_ns.sort_unstable();
        self.response_ns
    }
}

impl Watch for Watching<'_> {
    fn see(&mut self, at: Instant, sight: Sight) {
        let mut exact = self.0.borrow_mut();
        match sight {
            Sight::Action(Action::Send { flight, arrival, .. }) => {
                let place = flight.slot as usize;
                if exact.carried.len() <= place {
                    exact.carried.resize(place + 1, u64::MAX);
                }
                exact.carried[place] = arrival;
            }
            Sight::Turn(Event::Answered(flight, answer)) if answer.failure.is_none() => {
                let arrival = exact.carried.get(flight.slot as usize).copied().unwrap_or(u64::MAX);
                let intended = usize::try_from(arrival).ok().and_then(|k| exact.intended.get(k).copied());
                if let Some(intended) = intended.filter(|&intended| intended >= exact.from) {
                    exact.response_ns.push(at.since(intended).0);
                }
            }
            _ => {}
        }
    }
}
