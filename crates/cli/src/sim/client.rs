//! `--client` in words: a name, single choices, or both.

use super::AUTO_CONNECTIONS_MAX;
use super::words::{Word, split};
use crate::args::load::LoadArgs;
use crate::errors::refuse;
use crate::value::{self, Shape};
use anyhow::{Result, bail};
use unblink_artifact::document::{LoadKind, LoadPlan, RunPlan};
use unblink_core::sim::{ClientSpec, ClockFrom, Correct, Late, Pacing, Return, ToolSpec, UsersSpec};
use unblink_core::time::Nanos;

/// Who offers the load.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Client {
    /// The dispatcher of a real run.
    Ideal,
    /// Another one.
    Other {
        spec: ClientSpec,
        /// HdrHistogram's correction goes by the planned interval of a worker, which the load says.
        by_planned_interval: bool,
    },
}

const NAMES: &str = "ideal, wrk, wrk2, k6, ycsb, ycsb-intended, cassandra-stress, retry, herd";
const CHOICES: &str = "schedule=static|static-local|dynamic|dynamic-local, late=queue|shift|drop, \
                       clock=intended|sent, correct=none|expected-interval[:TIME]|backfill, connections=auto|N, \
                       closed=N, burst=N, catch-up=N, discard=TIME";

/// Users of a tool that waits, and connections of the others, unless they are given.
const USERS: u32 = 10;
const CONNECTIONS: u32 = 50;

/// What a run of single choices has come to.
#[derive(Clone, Copy)]
struct Choices {
    tool: ToolSpec,
    is_ideal: bool,
    by_planned_interval: bool,
}

/// The client that `text` describes; `connections` is what `-c` says.
pub(crate) fn parse(text: &str, connections: value::Connections) -> Result<Client> {
    let mut words = split("client", text).peekable();
    let mut choices = Choices { tool: ToolSpec::right(), is_ideal: true, by_planned_interval: false };
    if let Some(word) = words.next_if(|word| word.value.is_empty()) {
        match word.name {
            "ideal" => {}
            "retry" | "herd" => return users(&word, words),
            name => {
                choices.tool = preset(name).ok_or_else(|| {
                    word.wrong(format!(
                        "unknown client; expected one of {NAMES}, or one of the choices {CHOICES}"
                    ))
                })?;
                choices.is_ideal = false;
            }
        }
    }
    let (mut scheduled, mut pooled) = (None, false);
    for word in words {
        if matches!(word.name, "schedule" | "late" | "burst" | "catch-up") {
            scheduled = Some(word);
        }
        pooled |= word.name == "connections";
        choose(&word, &mut choices)?;
    }
    if choices.is_ideal {
        return Ok(Client::Ideal);
    }
    let closed = choices.tool.pacing == Pacing::Closed;
    if let Some(word) = scheduled.filter(|_| closed) {
        bail!(
            word.wrong(
                "users who wait for their answer (closed=N) keep no schedule; leave one of the two out"
            )
        );
    }
    match connections {
        value::Connections::Auto(None) => {}
        value::Connections::Auto(Some(_)) => refuse!(
            ["connections", "client"],
            "-c auto:MAX is for the ideal client; give the client {text:?} a number of connections, such as -c 50"
        ),
        value::Connections::Fixed(_) if closed => {
            refuse!(
                ["connections", "client"],
                "-c: each of the users of the client {text:?} has a connection; give closed=N in --client"
            )
        }
        value::Connections::Fixed(_) if pooled => {
            refuse!(["connections", "client"], "-c and connections= in --client say the same; give one")
        }
        value::Connections::Fixed(n) if n > AUTO_CONNECTIONS_MAX => {
            refuse!(["connections"], "-c: more than {AUTO_CONNECTIONS_MAX} connections are not simulated")
        }
        value::Connections::Fixed(n) => choices.tool.workers = Some(n),
    }
    check(&choices)?;
    let spec = ClientSpec::Tool(choices.tool);
    Ok(Client::Other { spec, by_planned_interval: choices.by_planned_interval })
}

fn preset(name: &str) -> Option<ToolSpec> {
    let right = ToolSpec::right();
    let local = ToolSpec { pacing: Pacing::StaticLocal, workers: Some(CONNECTIONS), ..right };
    Some(match name {
        "wrk" => ToolSpec {
            pacing: Pacing::Closed,
            clock: ClockFrom::Sent,
            correct: Correct::Backfill,
            workers: Some(USERS),
            ..right
        },
        "wrk2" => ToolSpec { catch_up: Some(2), discard: Nanos::from_secs(10), ..local },
        "k6" => ToolSpec { late: Late::Drop, clock: ClockFrom::Sent, workers: Some(CONNECTIONS), ..right },
        "ycsb" => ToolSpec { clock: ClockFrom::Sent, ..local },
        "ycsb-intended" => local,
        // With fixed=: its threads take the next entry of one schedule as they become free.
        "cassandra-stress" => ToolSpec { workers: Some(CONNECTIONS), ..right },
        _ => return None,
    })
}

fn choose(word: &Word<'_>, choices: &mut Choices) -> Result<()> {
    let tool = &mut choices.tool;
    choices.is_ideal = false;
    match (word.name, word.value) {
        ("schedule", "static") => tool.pacing = Pacing::Static,
        ("schedule", "static-local") => tool.pacing = Pacing::StaticLocal,
        ("schedule", "dynamic") => tool.pacing = Pacing::Dynamic,
        ("schedule", "dynamic-local") => tool.pacing = Pacing::DynamicLocal,
        ("late", "queue") => tool.late = Late::Queue,
        ("late", "shift") => tool.late = Late::Shift,
        ("late", "drop") => tool.late = Late::Drop,
        ("clock", "intended") => tool.clock = ClockFrom::Intended,
        ("clock", "sent") => tool.clock = ClockFrom::Sent,
        ("correct", "none") => tool.correct = Correct::Nothing,
        ("correct", "backfill") => tool.correct = Correct::Backfill,
        ("correct", "expected-interval") => choices.by_planned_interval = true,
        ("correct", text) if text.starts_with("expected-interval:") => {
            let interval = word.time_of(&text["expected-interval:".len()..])?;
            if interval == Nanos::ZERO {
                bail!(word.wrong("an interval of 0 would invent values for ever"));
            }
            tool.correct = Correct::ExpectedInterval(interval);
        }
        ("connections", "auto") => tool.workers = None,
        ("connections", _) => tool.workers = Some(word.count()?),
        ("closed", _) => {
            tool.pacing = Pacing::Closed;
            tool.workers = Some(word.count()?);
            tool.clock = ClockFrom::Sent;
        }
        ("burst", _) => tool.burst = burst(word)?,
        ("catch-up", _) => tool.catch_up = Some(word.count()?),
        ("discard", _) => tool.discard = word.time()?,
        ("schedule" | "late" | "clock" | "correct", _) => {
            bail!(word.wrong(format!("unknown choice; expected one of {CHOICES}")))
        }
        _ => {
            bail!(
                word.wrong(format!("unknown word; expected one of {NAMES}, or one of the choices {CHOICES}"))
            )
        }
    }
    if choices.by_planned_interval && word.name == "correct" && word.value != "expected-interval" {
        choices.by_planned_interval = false;
    }
    Ok(())
}

/// Permits that a limiter saves up; 0 says that it owes nothing.
fn burst(word: &Word<'_>) -> Result<u32> {
    match word.value {
        "0" => Ok(0),
        _ => word.count(),
    }
}

/// What has no effect, or no meaning, is not what was meant.
fn check(choices: &Choices) -> Result<()> {
    let tool = &choices.tool;
    let corrects = choices.by_planned_interval || tool.correct == Correct::Backfill;
    let needs = match tool.pacing {
        _ if tool.workers.is_some() => None,
        Pacing::StaticLocal | Pacing::DynamicLocal => Some("a schedule for each connection"),
        Pacing::Dynamic => Some("a rate limiter that waits for a free connection"),
        _ if tool.late != Late::Queue => Some("late=shift and late=drop, since otherwise nothing is late,"),
        _ if corrects => Some("the interval of each connection, by which the correction goes,"),
        _ => None,
    };
    if let Some(what) = needs {
        refuse!(["client"], "--client: {what} needs a number of connections: add connections=50, say");
    }
    if tool.burst > 0 && !matches!(tool.pacing, Pacing::Dynamic | Pacing::DynamicLocal) {
        refuse!(
            ["client"],
            "--client: burst=N is what a rate limiter saves up: add schedule=dynamic or schedule=dynamic-local"
        );
    }
    if tool.catch_up.is_some() && tool.pacing != Pacing::StaticLocal {
        refuse!(
            ["client"],
            "--client: catch-up=N is for schedule=static-local: one schedule for all is caught up with at once"
        );
    }
    Ok(())
}

fn users<'a>(kind: &Word<'_>, words: impl Iterator<Item = Word<'a>>) -> Result<Client> {
    let is_herd = kind.name == "herd";
    let mut spec = UsersSpec {
        patience: (!is_herd).then(|| Nanos::from_secs(1)),
        attempts_max: if is_herd { 100 } else { 3 },
        comes_back: match is_herd {
            true => Return::Together(Nanos::from_secs(1)),
            false => Return::After(Nanos::from_millis(100)),
        },
        budget_percent: None,
    };
    for word in words {
        match word.name {
            "patience" => spec.patience = Some(word.some_time()?),
            "attempts" => spec.attempts_max = word.count()?,
            "back-off" if !is_herd => spec.comes_back = Return::After(word.time()?),
            "probe" if is_herd => spec.comes_back = Return::Together(word.some_time()?),
            "budget" => {
                let percent = word.value.strip_suffix('%').and_then(|n| n.parse::<u32>().ok());
                let percent = percent.ok_or_else(|| {
                    word.wrong(
                        "expected a limit for further attempts, as a share of the arrivals, such as 10%",
                    )
                })?;
                spec.budget_percent = Some(percent);
            }
            _ if is_herd => {
                bail!(word.wrong(
                    "unknown word; herd takes patience=TIME, attempts=N, probe=TIME and budget=PERCENT"
                ))
            }
            _ => bail!(word.wrong(
                "unknown word; retry takes patience=TIME, attempts=N, back-off=TIME and budget=PERCENT"
            )),
        }
    }
    Ok(Client::Other { spec: ClientSpec::Users(spec), by_planned_interval: false })
}

/// Are its figures what users feel?
pub(crate) fn is_felt(client: &Client) -> bool {
    match client {
        Client::Ideal | Client::Other { spec: ClientSpec::Users(_), .. } => true,
        Client::Other { spec: ClientSpec::Tool(tool), by_planned_interval } => {
            matches!(tool.pacing, Pacing::Static | Pacing::StaticLocal)
                && tool.late == Late::Queue
                && tool.clock == ClockFrom::Intended
                && tool.correct == Correct::Nothing
                && !by_planned_interval
                && tool.catch_up.is_none()
                && tool.discard == Nanos::ZERO
        }
    }
}

/// May what it sends leave the plan's schedule?
pub(crate) fn moves_schedule(client: Option<&ClientSpec>) -> bool {
    match client {
        Some(ClientSpec::Tool(tool)) => {
            !matches!(tool.pacing, Pacing::Static | Pacing::StaticLocal) || tool.late == Late::Shift
        }
        None | Some(ClientSpec::Users(_)) => false,
    }
}

/// What a tool makes of the load that it was asked for.
pub(super) fn describe_tool(tool: &ToolSpec, plan: &mut RunPlan, loads: &mut [LoadPlan]) {
    plan.warmup_ns += tool.discard.0;
    plan.duration_ns = plan.duration_ns.saturating_sub(tool.discard.0);
    if tool.pacing == Pacing::Closed {
        for load in loads {
            load.kind =
                LoadKind::Closed { users: tool.workers, think_ns: 0, ramp_up_ns: None, is_recorded: false };
        }
        let people = if tool.workers == Some(1) { "user" } else { "users" };
        plan.summary =
            format!("closed, {} {people}, in the place of: {}", tool.workers.unwrap_or(0), plan.summary);
    }
}

/// The time in which each of the tool's connections should send one request.
pub(super) fn planned_interval(tool: &ToolSpec, args: &LoadArgs) -> Result<Nanos> {
    let (Some(Shape::Hold(rate)), Some(workers)) = (&args.rate, tool.workers) else {
        refuse!(
            ["client", "rate"],
            "--client: correct=expected-interval goes by the interval in which each connection should send, which \
             takes one constant rate and a number of connections; or give it: correct=expected-interval:10ms"
        );
    };
    Ok(rate.time_of(u64::from(workers)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> Result<Client> {
        parse(text, value::Connections::Auto(None))
    }

    fn tool(text: &str) -> ToolSpec {
        match plain(text).unwrap() {
            Client::Other { spec: ClientSpec::Tool(tool), .. } => tool,
            other => panic!("{text} is {other:?}"),
        }
    }

    #[test]
    fn names_and_choices() {
        assert_eq!(plain("ideal").unwrap(), Client::Ideal);
        assert_eq!(plain("").unwrap(), Client::Ideal);
        let wrk = tool("wrk");
        assert_eq!((wrk.pacing, wrk.correct, wrk.workers), (Pacing::Closed, Correct::Backfill, Some(10)));
        assert_eq!(tool("wrk closed=3").workers, Some(3));
        let k6 = tool("k6 connections=20");
        assert_eq!((k6.late, k6.clock, k6.workers), (Late::Drop, ClockFrom::Sent, Some(20)));
        assert_eq!(tool("ycsb clock=intended"), tool("ycsb-intended"));
        assert_eq!(tool("closed=10").clock, ClockFrom::Sent);
        let limiter = tool("schedule=dynamic connections=50 burst=20");
        assert_eq!((limiter.pacing, limiter.burst), (Pacing::Dynamic, 20));
        assert_eq!(tool("schedule=dynamic connections=50 burst=0").burst, 0);
        assert_eq!(tool("cassandra-stress"), tool("connections=50"));
        assert!(is_felt(&plain("cassandra-stress").unwrap()));
        assert!(!is_felt(&plain("cassandra-stress clock=sent").unwrap()), "throttle=");
        let interval = Correct::ExpectedInterval(Nanos::from_micros(10_170));
        assert_eq!(tool("closed=10 correct=expected-interval:10.17ms").correct, interval);
        let with_c = parse("late=drop", value::Connections::Fixed(7)).unwrap();
        assert!(matches!(with_c, Client::Other { spec: ClientSpec::Tool(t), .. } if t.workers == Some(7)));
        assert!(is_felt(&plain("ycsb-intended").unwrap()) && !is_felt(&plain("wrk2").unwrap()));
        assert!(is_felt(&plain("retry patience=300ms attempts=5 back-off=0s budget=10%").unwrap()));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, part) in [
            ("gatling", "ycsb-intended"),
            ("wrk3 closed=1", "word 1"),
            ("late=later", "late=queue|shift|drop"),
            ("late=drop", "connections=50"),
            ("schedule=dynamic", "connections=50"),
            ("schedule=static-local", "connections=50"),
            ("correct=backfill", "connections=50"),
            ("closed=0", "0"),
            ("closed=2000000", "more than 1000000"),
            ("closed=10 late=drop", "word 2"),
            ("clock=sent speed=9", "word 2"),
            ("correct=expected-interval:0s", "for ever"),
            ("connections=5 catch-up=2", "static-local"),
            ("connections=5 burst=2", "schedule=dynamic"),
            ("schedule=dynamic connections=5 burst=few", "word 3"),
            ("closed=5 burst=2", "keep no schedule"),
            ("retry late=drop", "back-off=TIME"),
            ("retry budget=10", "10%"),
            ("herd back-off=1s", "probe=TIME"),
        ] {
            let error = plain(text).unwrap_err().to_string();
            assert!(error.starts_with("--client: ") && error.contains(part), "{text}: {error}");
        }
        assert!(parse("k6", value::Connections::Auto(Some(5))).is_err());
        assert!(parse("wrk", value::Connections::Fixed(5)).is_err());
        assert!(parse("connections=5", value::Connections::Fixed(5)).is_err());
    }
}
