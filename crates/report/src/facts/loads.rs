//! What a load was to offer, in words.

use crate::format;
use unblink_artifact::document::{LoadKind, LoadPhase, LoadPlan, Process};

/// More phases than these are told by their lowest and highest rate.
const PHASES_TOLD_MAX: usize = 10;

/// One of the open loads of a run that lasts for `length_ns`: `400/s, even arrivals, from 20 s on for 10 s, only cart`.
pub fn load_in_words(plan: &LoadPlan, length_ns: u64) -> String {
    let LoadKind::Open { process, phases, start_ns, only } = &plan.kind else {
        return "users who wait".into();
    };
    let mut words = format!("{}, {}", rates_in_words(phases), process_in_words(*process));
    let lasts_ns = phases.iter().fold(0u64, |sum, phase| sum.saturating_add(phase.duration_ns));
    let (begins, lasts) = (format::moment(*start_ns), format::moment(lasts_ns));
    words += &match (*start_ns, start_ns.saturating_add(lasts_ns) < length_ns) {
        (0, false) => String::new(),
        (0, true) => format!(", for {lasts}"),
        (_, false) => format!(", from {begins} on"),
        (_, true) => format!(", from {begins} on for {lasts}"),
    };
    if !only.is_empty() {
        words += &format!(", only {}", only.join(" and "));
    }
    words
}

/// How arrivals lie: `even arrivals`, `bursty arrivals (5 x for 200 ms, every 1.20 s)`.
pub fn process_in_words(process: Process) -> String {
    let arrivals = format!("{} arrivals", process.name());
    match process {
        Process::Even | Process::Recorded | Process::Poisson { .. } => arrivals,
        Process::Bursty { peak, on_ns, off_ns, .. } => {
            let [on, cycle] = [on_ns, on_ns.saturating_add(off_ns)].map(format::duration);
            format!("{arrivals} ({}\u{a0}× for {on}, every {cycle})", format::number(peak))
        }
    }
}

/// A rate that holds, a ramp, steps, or some of these one after the other; of very many the two farthest rates.
pub fn rates_in_words(phases: &[LoadPhase]) -> String {
    let ends: Vec<f64> = phases.iter().flat_map(|phase| [phase.from_per_s, phase.to_per_s]).collect();
    let said = if ends.is_empty() { Vec::new() } else { format::rates_asked(&ends) };
    if phases.len() > PHASES_TOLD_MAX {
        let (low, high) =
            ends.iter().fold((f64::INFINITY, 0.0f64), |(low, high), &rate| (low.min(rate), high.max(rate)));
        let said = format::rates_asked(&[low, high]);
        let count = format::plural(phases.len() as u64, "phase", "phases");
        return format!("{count} of {} to {}", said[0], said[1]);
    }
    let of_one = |pair: &[String]| match pair {
        [from, to] if from != to => format!("{from} to {to}"),
        pair => pair.first().cloned().unwrap_or_default(),
    };
    said.chunks(2).map(of_one).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use unblink_artifact::document::Process;

    #[test]
    fn a_load_in_words() {
        let phase = |from_per_s, to_per_s, seconds: u64| LoadPhase {
            from_per_s,
            to_per_s,
            duration_ns: seconds * 1_000_000_000,
        };
        let said = |phases: &[LoadPhase], start_s: u64, only: &[&str]| {
            let kind = LoadKind::Open {
                process: Process::Even,
                phases: phases.to_vec(),
                start_ns: start_s * 1_000_000_000,
                only: only.iter().map(ToString::to_string).collect(),
            };
            format::plain(&load_in_words(&LoadPlan { name: None, kind }, 60_000_000_000))
        };
        assert_eq!(said(&[phase(100.0, 100.0, 60)], 0, &[]), "100/s, even arrivals");
        assert_eq!(said(&[phase(100.0, 100.0, 20)], 0, &[]), "100/s, even arrivals, for 20 s");
        assert_eq!(
            said(&[phase(400.0, 400.0, 10)], 20, &["cart", "pay"]),
            "400/s, even arrivals, from 20 s on for 10 s, only cart and pay"
        );
        assert_eq!(
            said(&[phase(50.0, 50.0, 10), phase(50.0, 200.0, 30)], 20, &[]),
            "50/s, 50/s to 200/s, even arrivals, from 20 s on"
        );
        let many: Vec<LoadPhase> = (0..60).map(|i| phase(f64::from(i), f64::from(i + 1), 1)).collect();
        assert_eq!(said(&many, 0, &[]), "60 phases of 0/s to 60/s, even arrivals");
        let bursty = Process::Bursty { seed: 1, peak: 2.5, on_ns: 200_000_000, off_ns: 1_000_000_000 };
        assert_eq!(
            format::plain(&process_in_words(bursty)),
            "bursty arrivals (2.5 × for 200 ms, every 1.20 s)"
        );
    }
}
