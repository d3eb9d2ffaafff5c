//! What a load was to offer, in words.

use crate::format;
use unblink_artifact::document::{LoadKind, LoadPhase, LoadPlan};

/// One of the open loads of a run that lasts for `length_ns`: `400/s, even arrivals, from 20 s on for 10 s, only cart`.
pub fn load_in_words(plan: &LoadPlan, length_ns: u64) -> String {
    let LoadKind::Open { process, phases, start_ns, only } = &plan.kind else {
        return "users who wait".into();
    };
    let mut words = format!("{}, {} arrivals", rate(phases), process.name());
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

/// A rate that holds, a ramp, steps, or some of these one after the other.
fn rate(phases: &[LoadPhase]) -> String {
    let ends: Vec<f64> = phases.iter().flat_map(|phase| [phase.from_per_s, phase.to_per_s]).collect();
    let said = if ends.is_empty() { Vec::new() } else { format::rates_asked(&ends) };
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
    }
}
