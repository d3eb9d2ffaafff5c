//! A judgement in one sentence.

use super::{Figure, Judgement, Measure, Reason, Slo, Subject, Unit, WindowCounts};
use crate::text::{self, Round};
use unblink_core::time::Nanos;

impl Judgement {
    /// What was found of `slo`, which speaks of `subject`, with its numbers: one sentence.
    pub fn message(&self, slo: &Slo, subject: Subject) -> String {
        let found = self.found(slo, subject);
        match self.reason {
            Reason::Interval | Reason::Windows => format!("{found}."),
            Reason::ThisRun if self.low.is_some() => format!("{found}."),
            Reason::ThisRun => format!("{found} in this run alone: it has no 95\u{a0}% interval."),
            Reason::NotBelievable => {
                format!("{found}; not told, since what makes the run invalid may have moved it.")
            }
            Reason::Generator => format!(
                "{found}; not told, since it may lie on the other side of the limit without the generator's own \
                 lateness and pauses."
            ),
            Reason::Unanswered if self.value.is_none() => match subject {
                Subject::Arrivals => "Nothing was answered as expected.".to_string(),
                Subject::Journeys => "Not one was completed.".to_string(),
            },
            Reason::Unanswered if subject == Subject::Journeys => format!(
                "{found} of those that did not fail, but more failed than may lie above it (an objective on the errors of \
                 the same name says how many may fail)."
            ),
            Reason::Unanswered => format!(
                "{found} of what was answered, but more arrivals failed than may lie above it (an objective on \
                 errors says how many may fail)."
            ),
            Reason::Straddles if self.high.is_none() && self.is_lower_bound => {
                format!("{found}: the limit lies between these bounds.")
            }
            Reason::Straddles => format!("{found}: the limit lies between."),
            Reason::FewSamples if self.value.is_none() => format!("{found}."),
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
            Reason::Withheld => {
                format!("{found} up to the stop; not told, since the run was stopped before its planned end.")
            }
            Reason::Lost => {
                format!("{found} of what is known; what became of the lost arrivals may decide it.")
            }
            Reason::NotThere => "Closed users offer no rate: give a limit such as 500/s.".to_string(),
        }
    }

    fn found(&self, slo: &Slo, subject: Subject) -> String {
        if let Some(windows) = &self.windows {
            let noun = if windows.all() == 1 { "window" } else { "windows" };
            let held = text::of(windows.good, windows.all());
            return format!("It held in {held} {noun}{}", not_told(windows));
        }
        let figure = slo.objective.figure;
        let show = |value: f64, round: Round| match figure.unit() {
            Unit::Time => text::duration_to(round, Nanos(round.to(value, 0).round() as u64)),
            Unit::Share => text::percent_to(round, value),
            Unit::Rate => text::rate(round, value),
        };
        let Some(value) = self.value else {
            return match figure.unit() {
                Unit::Time if subject == Subject::Journeys => {
                    "No time was recorded: not one was completed".to_string()
                }
                Unit::Time if slo.measure != Measure::Response => "No event was recorded".to_string(),
                Unit::Time => "No response time was recorded: nothing was answered".to_string(),
                _ => "Nothing was recorded".to_string(),
            };
        };
        let (sign, round) = if self.is_lower_bound { ("> ", Round::Down) } else { ("", Round::Nearest) };
        let is = if figure == Figure::Errors { "are" } else { "is" };
        let value = format!("{}{figure} {is} {sign}{}", slo.measure, show(value, round));
        // What was achieved is counted: its bounds are no estimate.
        let percent = if figure.is_better_small() { ", with 95\u{a0}%" } else { ", in any case" };
        match (self.low, self.high) {
            (Some(low), Some(high)) => {
                let (low, high) = (show(low, Round::Down), show(high, Round::Up));
                format!("{value}{percent} between {low} and {high}")
            }
            (Some(low), None) => format!("{value}{percent} above {}", show(low, Round::Down)),
            _ => value,
        }
    }
}

/// How many windows can't be told, each cause with its number.
fn not_told(windows: &WindowCounts) -> String {
    if windows.unknown == 0 {
        return String::new();
    }
    let rest = windows.unknown - windows.unanswered - windows.cut_short;
    let causes = [
        (windows.unanswered, "without an answer"),
        (windows.cut_short, "cut short by the end of the run"),
        (rest, "with too few samples, or with some only known to take longer"),
    ];
    let causes: Vec<String> = causes
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, cause)| format!("{} {cause}", text::count(n)))
        .collect();
    format!(", {} could not be told ({})", text::count(windows.unknown), causes.join("; "))
}
