//! The scenarios of the lab, in the words of `--server`.

use anyhow::{Context, Result, bail};
use unblink_lab::{Baseline, Gate};

/// A server with the load that it was made for.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub name: &'static str,
    pub server: String,
    pub rate_per_s: u64,
    pub seconds: u64,
    /// Of a closed loop that tries to do the same.
    pub users: u32,
    /// A closed loop ends when it has sent as many requests as the open one, not after the same time.
    pub by_count: bool,
}

/// Every name.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    unblink_lab::Scenario::NAMES.iter().copied().chain([unblink_lab::Scenario::ONE_SERVER])
}

/// The scenario called `name`.
pub(crate) fn by_name(name: &str) -> Result<Scenario> {
    let Some(name) = names().find(|known| *known == name) else {
        bail!("there is no scenario {name:?}; there are {}", names().collect::<Vec<_>>().join(", "));
    };
    let lab = unblink_lab::Scenario::preset(name).with_context(|| format!("the lab has no {name:?}"))?;
    let server = words(&lab);
    Ok(match name {
        unblink_lab::Scenario::ONE_SERVER => {
            Scenario { name, server, rate_per_s: 450, seconds: 30, users: 1, by_count: true }
        }
        _ => Scenario { name, server, rate_per_s: 1000, seconds: 60, users: 10, by_count: false },
    })
}

/// What the lab's server does.
fn words(scenario: &unblink_lab::Scenario) -> String {
    let slots = scenario.max_concurrency.map(|slots| format!("slots={slots}"));
    let service = match scenario.baseline {
        Baseline::Constant { delay_ns } => format!("service={}", time(delay_ns)),
        Baseline::Ramp { from_ns, to_ns, start_ns, end_ns } => {
            let [from, to, start, end] = [from_ns, to_ns, start_ns, end_ns].map(time);
            format!("service=ramp({from},{to},{start},{end})")
        }
    };
    let pause = |gate: &Gate| {
        let (length, first) = (time(gate.duration_ns), time(gate.first_at_ns));
        match gate.count {
            1 => format!("pause={length}@{first}"),
            count => format!("pause={length}@{first}/{}*{count}", time(gate.period_ns)),
        }
    };
    let nth = scenario.slow.map(|slow| format!("pause={}/{}", time(slow.delay_ns), slow.every));
    let pauses = scenario.gates.iter().map(pause);
    slots.into_iter().chain([service]).chain(pauses).chain(nth).collect::<Vec<_>>().join(" ")
}

/// `10ms`, `9.5s`: whole microseconds.
fn time(ns: u64) -> String {
    match ns {
        1_000_000_000.. => format!("{}s", ns as f64 / 1e9),
        1_000_000.. => format!("{}ms", ns as f64 / 1e6),
        _ => format!("{}us", ns as f64 / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::server;
    use unblink_core::sim::Service;
    use unblink_core::time::Nanos;
    use unblink_lab::Baseline;

    #[test]
    fn they_are_those_of_the_lab() {
        for name in names() {
            let lab = unblink_lab::Scenario::preset(name).unwrap();
            let here = server::parse("server", &by_name(name).unwrap().server).unwrap();
            assert_eq!(here.slots, lab.max_concurrency, "{name}");
            let nth = lab.slow.map(|slow| (Nanos(slow.delay_ns), u64::from(slow.every)));
            assert_eq!(here.every_nth, nth, "{name}");
            let service = match lab.baseline {
                Baseline::Constant { delay_ns } => Service::Constant(Nanos(delay_ns)),
                Baseline::Ramp { from_ns, to_ns, start_ns, end_ns } => Service::Ramp {
                    from: Nanos(from_ns),
                    to: Nanos(to_ns),
                    start: Nanos(start_ns),
                    end: Nanos(end_ns),
                },
            };
            assert_eq!(here.service, service, "{name}");
            let shut = |ms: u64| {
                let at = Nanos::from_millis(ms);
                here.shut.iter().find_map(|windows| windows.end_of(at)).map_or(at.0, |end| end.0)
            };
            for ms in 0..70_000 {
                let ns = ms * 1_000_000;
                let lab_end = lab.gate_end_ns(ns).unwrap_or(ns);
                assert_eq!(shut(ms), lab_end, "{name} at {ms} ms");
            }
        }
    }

    #[test]
    fn the_help_says_the_same_words() {
        let help = crate::args::sim::HELP;
        for name in names() {
            let line = format!("  {name:<12} {}", by_name(name).unwrap().server);
            assert!(help.lines().any(|known| known.starts_with(&line)), "{line}");
        }
    }
}
