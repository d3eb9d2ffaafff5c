//! The lab's scenarios in the words of `--server`.

use anyhow::{Result, bail};

/// A server with the load that it was made for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scenario {
    pub name: &'static str,
    pub server: &'static str,
    pub rate_per_s: u64,
    pub seconds: u64,
    /// Of a closed loop that tries to do the same.
    pub users: u32,
    /// A closed loop ends when it has sent as many requests as the open one, not after the same time.
    pub by_count: bool,
}

const fn of_lab(name: &'static str, server: &'static str) -> Scenario {
    Scenario { name, server, rate_per_s: 1000, seconds: 60, users: 10, by_count: false }
}

const ALL: [Scenario; 6] = [
    of_lab("healthy", "service=10ms"),
    of_lab("stall", "service=10ms pause=1s@30s"),
    of_lab("ramp", "service=ramp(10ms,100ms,20s,50s)"),
    of_lab("pauses", "service=10ms pause=200ms@9.5s/10s*6"),
    of_lab("saturation", "slots=5 service=10ms"),
    Scenario {
        name: "one-server",
        server: "slots=1 service=1ms pause=200ms/500",
        rate_per_s: 450,
        seconds: 30,
        users: 1,
        by_count: true,
    },
];

/// Every name.
pub(crate) const NAMES: [&str; 6] = ["healthy", "stall", "ramp", "pauses", "saturation", "one-server"];

/// The scenario called `name`.
pub(crate) fn by_name(name: &str) -> Result<Scenario> {
    match ALL.into_iter().find(|scenario| scenario.name == name) {
        Some(scenario) => Ok(scenario),
        None => bail!("there is no scenario {name:?}; there are {}", NAMES.join(", ")),
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
        assert_eq!(ALL.map(|scenario| scenario.name), NAMES);
        for name in unblink_lab::Scenario::NAMES {
            let lab = unblink_lab::Scenario::preset(name).unwrap();
            let here = server::parse(by_name(name).unwrap().server).unwrap();
            assert_eq!(here.slots, lab.max_concurrency, "{name}");
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
}
