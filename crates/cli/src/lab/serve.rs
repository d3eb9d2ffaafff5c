//! `unblink lab serve`.

use crate::args::lab::serve::{Clock, Http, ServeArgs};
use crate::{exit, output};
use anyhow::{Context, Result, bail};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::time::Duration;
use unblink_core::time::{Nanos, SECOND_NS};
use unblink_lab::{
    Baseline, ClockStart, EventStream, Gate, Protocol, Scenario, Server, ServerConfig, Summary, Tls,
};
use unblink_report::format;

/// Serves until a signal comes.
pub(crate) fn serve(args: &ServeArgs) -> Result<u8> {
    let scenario = scenario(args)?;
    let line = scenario.describe();
    let hint = hint(&scenario, args.clock, args.made_for);
    let mut config = ServerConfig::new(scenario);
    config.listen = args.listen;
    config.clock = match args.clock {
        Clock::First => ClockStart::FirstRequest,
        Clock::Process => ClockStart::ProcessStart,
        Clock::Arm => ClockStart::Arm,
    };
    config.probe_gap = Duration::from_nanos(args.probe_gap.0);
    config.truth_log = args.truth.clone();
    config.body_bytes = usize::try_from(args.body_size).context("--body-size is too large")?;
    config.json = args.answer_json;
    config.metrics = args.metrics;
    config.tls = tls(args)?;
    config.protocol = protocol(args);
    config.events = events(args)?;
    let (protocol, is_tls) = (config.protocol, config.tls.is_some());
    let server = Server::bind(config)?;
    // Before the address is told: whoever knows it may already end this.
    let stopper = server.stopper();
    let mut signals = Signals::new([SIGINT, SIGTERM]).context("can't listen for Ctrl-C")?;
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || signals.forever().for_each(|_| stopper.stop()))
        .context("can't listen for Ctrl-C")?;
    if let Some(path) = &args.write_cert {
        output::write(path, server.certificate_pem().unwrap_or_default())?;
    }
    let address = server.local_addr();
    let url = protocol.url(&address.to_string(), is_tls);
    let metrics = server.metrics_addr().map(|at| format!("http://{at}/metrics"));
    if args.json {
        let mut first = serde_json::json!({ "url": url, "address": address.to_string(), "scenario": line });
        metrics.iter().for_each(|metrics| first["metrics"] = metrics.as_str().into());
        output::print(&format!("{first}\n"))?;
    } else {
        let hint = hint.map(|hint| format!("\n{hint}")).unwrap_or_default();
        let version = if args.http == Http::Two { " (HTTP/2)" } else { "" };
        let metrics = metrics.map(|metrics| format!("\nmetrics on {metrics}")).unwrap_or_default();
        output::print(&format!("{line}\nlistening on {url}{version} until Ctrl-C{metrics}{hint}\n"))?;
    }
    let summary = server.run()?;
    print_summary(&summary, args)?;
    Ok(exit::OK)
}

fn protocol(args: &ServeArgs) -> Protocol {
    match args.http {
        _ if args.grpc => Protocol::Grpc,
        _ if args.ws => Protocol::WebSocket,
        Http::One => Protocol::Http1,
        Http::Two => Protocol::Http2,
    }
}

fn events(args: &ServeArgs) -> Result<Option<EventStream>> {
    let gap = Duration::from_nanos(args.event_gap.0);
    if args.events.is_none() && !args.grpc && gap != EventStream::default().gap {
        bail!("--event-gap is the time between events, and answers come whole: add --events COUNT");
    }
    // Of gRPC, the method says whether its answer is a stream.
    let count = args.events.or(args.grpc.then_some(EventStream::default().count));
    Ok(count.map(|count| EventStream { count, gap }))
}

/// When something is to be seen, if that is not from the first request on: a run of the usual length may miss it.
fn hint(scenario: &Scenario, clock: Clock, made_for: Nanos) -> Option<String> {
    let gates = scenario.gates.iter().map(|gate| {
        let last = gate.period_ns.saturating_mul(u64::from(gate.count.saturating_sub(1)));
        let what = if gate.count > 1 { "the first pause begins" } else { "the stall begins" };
        (what, gate.first_at_ns, gate.first_at_ns.saturating_add(last).saturating_add(gate.duration_ns))
    });
    let ramp = match scenario.baseline {
        Baseline::Ramp { start_ns, end_ns, .. } => Some(("the ramp begins", start_ns, end_ns)),
        Baseline::Constant { .. } => None,
    };
    let all: Vec<_> = gates.chain(ramp).collect();
    let (what, begin, _) = all.iter().copied().min_by_key(|event| event.1).filter(|event| event.1 > 0)?;
    let end = all.iter().map(|event| event.2).max()?;
    // As much after a stall as before it, in whole seconds; never more than the run for which the events were placed.
    let least = end.max(begin.saturating_mul(2));
    let whole = least.div_ceil(SECOND_NS) * SECOND_NS;
    let enough = if (least..whole).contains(&made_for.0) { made_for.0 } else { whole };
    let zero = match clock {
        Clock::First => "the first request",
        Clock::Process => "the start",
        Clock::Arm => "POST /_lab/arm",
    };
    Some(format!(
        "{what} {} after {zero}: run for at least {}",
        format::plain(&format::moment(begin)),
        format::plain(&format::moment(enough))
    ))
}

fn tls(args: &ServeArgs) -> Result<Option<Tls>> {
    if args.write_cert.is_some() && !args.tls {
        bail!("--write-cert writes the certificate that --tls makes: add --tls");
    }
    Ok(match (&args.cert, &args.key) {
        (Some(_), Some(_)) if args.tls => {
            bail!("--tls makes a certificate, --cert and --key bring one: leave --tls out, or both of them")
        }
        (Some(certificates), Some(key)) => {
            Some(Tls::Files { certificates: certificates.clone(), key: key.clone() })
        }
        (Some(_), None) => bail!("--cert needs the key of that certificate: add --key FILE (PEM)"),
        (None, Some(_)) => bail!("--key needs the certificate that it belongs to: add --cert FILE (PEM)"),
        (None, None) => args.tls.then_some(Tls::SelfSigned),
    })
}

fn print_summary(summary: &Summary, args: &ServeArgs) -> Result<()> {
    let late = &summary.lateness;
    if args.json {
        let text = serde_json::json!({
            "requests": summary.requests,
            "requests_peak": summary.requests_peak,
            "served": summary.served,
            "abandoned": summary.abandoned,
            "unserved": summary.unserved,
            "bad_requests": summary.bad_requests,
            "connections": summary.connections,
            "connections_peak": summary.connections_peak,
            "lateness": {
                "unit": "ns", "count": late.count,
                "p50": late.p50_ns, "p99": late.p99_ns, "p999": late.p999_ns, "max": late.max_ns,
            },
            "truth_rows": summary.truth_rows,
            "truth_rows_lost": summary.truth_rows_lost,
        });
        output::print(&format!("{text}\n"))?;
    } else {
        output::print(&format!(
            "\n{} requests (at most {} at once) on {} connections (at most {} open), {} abandoned, {} malformed\n\
             own lateness: p50 {}, p99 {}, max {}\n",
            format::count(summary.requests),
            format::count(summary.requests_peak),
            format::count(summary.connections),
            format::count(summary.connections_peak),
            format::count(summary.abandoned),
            format::count(summary.bad_requests),
            format::duration(late.p50_ns),
            format::duration(late.p99_ns),
            format::duration(late.max_ns),
        ))?;
    }
    if let Some(error) = &summary.truth_error {
        output::note(format_args!(
            "warning: the truth log is not whole: {error} ({} rows lost)",
            summary.truth_rows_lost
        ));
    }
    Ok(())
}

/// The preset with the numbers that were given.
fn scenario(args: &ServeArgs) -> Result<Scenario> {
    if args.made_for.0 == 0 {
        bail!("--made-for 0 leaves no time for anything: give the length of the run, such as 60s");
    }
    let preset = |name: &str| Scenario::preset(name).map(|preset| preset.for_length(args.made_for.0));
    let mut scenario = preset(&args.scenario).context("unknown scenario")?;
    if let Baseline::Constant { delay_ns } = &mut scenario.baseline {
        set(delay_ns, args.baseline);
    }
    if args.ramp_to.or(args.ramp_start).or(args.ramp_end).is_some() || args.scenario == "ramp" {
        let ramp = preset("ramp").map(|s| s.baseline);
        let Some(Baseline::Ramp { mut from_ns, mut to_ns, mut start_ns, mut end_ns }) = ramp else {
            bail!("the preset of the ramp has none");
        };
        set(&mut from_ns, args.baseline);
        set(&mut to_ns, args.ramp_to);
        set(&mut start_ns, args.ramp_start);
        set(&mut end_ns, args.ramp_end);
        scenario.baseline = Baseline::Ramp { from_ns, to_ns, start_ns, end_ns };
    }
    if args.stall_at.or(args.stall_for).is_some() {
        let mut stall = gate(&mut scenario, preset("stall"))?;
        set(&mut stall.first_at_ns, args.stall_at);
        set(&mut stall.duration_ns, args.stall_for);
        scenario.gates.push(stall);
    }
    if args.pause_first.or(args.pause_every).or(args.pause_for).is_some() || args.pause_count.is_some() {
        let mut pauses = gate(&mut scenario, preset("pauses"))?;
        set(&mut pauses.first_at_ns, args.pause_first);
        set(&mut pauses.period_ns, args.pause_every);
        set(&mut pauses.duration_ns, args.pause_for);
        pauses.count = args.pause_count.unwrap_or(pauses.count);
        scenario.gates.push(pauses);
    }
    scenario.max_concurrency = args.max_concurrency.or(scenario.max_concurrency);
    Ok(scenario)
}

fn set(place: &mut u64, value: Option<Nanos>) {
    if let Some(value) = value {
        *place = value.0;
    }
}

/// The preset's gate, taken out of the scenario if it is there, so that its numbers can be changed.
fn gate(scenario: &mut Scenario, preset: Option<Scenario>) -> Result<Gate> {
    let gate = preset.and_then(|s| s.gates.first().copied()).context("no such gate")?;
    scenario.gates.retain(|g| g != &gate);
    Ok(gate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_scenario_says_for_how_long_to_run() {
        let made_for = |name: &str, ms: u64| {
            let scenario = Scenario::preset(name).expect("known").for_length(ms * 1_000_000);
            hint(&scenario, Clock::First, Nanos::from_millis(ms))
        };
        let said = |name: &str| made_for(name, 60_000);
        let stall = "the stall begins 30 s after the first request: run for at least 60 s";
        assert_eq!(said("stall").as_deref(), Some(stall));
        let ramp = "the ramp begins 20 s after the first request: run for at least 50 s";
        assert_eq!(said("ramp").as_deref(), Some(ramp));
        let pauses = "the first pause begins 9.5 s after the first request: run for at least 60 s";
        assert_eq!(said("pauses").as_deref(), Some(pauses));
        assert_eq!((said("healthy"), said("saturation"), said("one-server")), (None, None, None));
        // Never longer than the run that it was asked to fit.
        let stall = "the stall begins 6 s after the first request: run for at least 12 s";
        assert_eq!(made_for("stall", 12_000).as_deref(), Some(stall));
        let pauses = "the first pause begins 396 ms after the first request: run for at least 2.5 s";
        assert_eq!(made_for("pauses", 2_500).as_deref(), Some(pauses));
        for ms in (1_000..120_000).step_by(1_500) {
            for name in ["stall", "pauses", "early"] {
                let said = made_for(name, ms).expect("an event");
                let (_, least) = said.rsplit_once("at least ").expect("a length");
                let least = crate::value::duration(&least.replace(' ', "")).expect("a time");
                assert!(least <= Nanos::from_millis(ms), "{name} for {ms} ms: {said}");
            }
        }
    }
}
