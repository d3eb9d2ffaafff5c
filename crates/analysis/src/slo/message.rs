//! A judgement in one sentence.

use super::{Figure, Judgement, Reason, Slo, Unit};
use crate::text;
use unblink_core::time::Nanos;

impl Judgement {
    /// What was found of `slo`, with its numbers: one sentence.
    pub fn message(&self, slo: &Slo) -> String {
        let found = self.found(slo);
        match self.reason {
            Reason::Interval | Reason::Windows => format!("{found}."),
            Reason::ThisRun if self.low.is_some() => format!("{found}."),
            Reason::ThisRun => format!("{found} in this run alone: it has no 95\u{a0}% interval."),
            Reason::NotBelievable => format!("{found}; no verdict, since the run is invalid."),
            Reason::Straddles => format!("{found}: the limit lies between."),
            Reason::FewSamples => {
                let samples = text::plural(self.samples, "sample", "samples");
                let needed = self.needed.map_or(String::new(), |needed| {
                    let clean = if slo.objective.figure == Figure::Errors { " without an error" } else { "" };
                    format!(": it takes {} at least{clean}", text::count(needed))
                });
                format!("{found}; {samples} are too few to tell{needed}.")
            }
            Reason::NoInterval => {
                format!("{found}; one or few events decide it, or the run is too short to know more.")
            }
            Reason::Censored => {
                format!("{found}; what is only known to take longer may lie on either side of the limit.")
            }
            Reason::NotThere => "Closed users offer no rate: give a limit such as 500/s.".to_string(),
        }
    }

    fn found(&self, slo: &Slo) -> String {
        if let Some(windows) = &self.windows {
            let all = windows.good + windows.bad + windows.unknown;
            let unknown = match windows.unknown {
                0 => String::new(),
                n => format!(", {} could not be told", text::count(n)),
            };
            return format!(
                "It held in {}{unknown}",
                format_args!(
                    "{} {}",
                    text::of(windows.good, all),
                    if all == 1 { "window" } else { "windows" }
                )
            );
        }
        let figure = slo.objective.figure;
        let show = |value: f64| match figure.unit() {
            Unit::Time => text::duration(Nanos(value.round() as u64)),
            Unit::Share => text::percent(value),
            Unit::Rate => text::rate(value),
        };
        let Some(value) = self.value else { return "Nothing was recorded".to_string() };
        let sign = if self.is_lower_bound { "> " } else { "" };
        let is = if figure == Figure::Errors { "are" } else { "is" };
        let value = format!("{figure} {is} {sign}{}", show(value));
        let percent = if figure.is_better_small() { ", with 95\u{a0}%" } else { "" };
        match (self.low, self.high) {
            (Some(low), Some(high)) => format!("{value}{percent} between {} and {}", show(low), show(high)),
            (Some(low), None) => format!("{value}{percent} above {}", show(low)),
            _ => value,
        }
    }
}
