//! A scenario in words.

use super::{Baseline, MS, S, Scenario};
use crate::fault::{Fault, Harm, Slow};
use crate::gate::Gate;

impl Scenario {
    /// One plain line, ready to be printed.
    pub fn describe(&self) -> String {
        if let Some(database) = self.database {
            let when: Vec<String> = self
                .events()
                .iter()
                .map(|(from_ns, to_ns)| format!("from {} to {}", show(*from_ns), show(*to_ns)))
                .collect();
            return format!("{} {}", database.describe(), when.join(", "));
        }
        let mut line = match self.baseline {
            Baseline::Constant { delay_ns: 0 } => "every answer comes at once".to_owned(),
            Baseline::Constant { delay_ns } => format!("every answer takes {}", show(delay_ns)),
            Baseline::Ramp { from_ns, to_ns, start_ns, end_ns } => format!(
                "an answer takes {} until {}, then linearly {} to {} at {}",
                show(from_ns),
                show(start_ns),
                if to_ns >= from_ns { "up" } else { "down" },
                show(to_ns),
                show(end_ns)
            ),
        };
        for gate in &self.gates {
            line += &if gate.count == 1 {
                let end_ns = gate.first_at_ns + gate.duration_ns;
                format!("; nothing is answered from {} to {}", show(gate.first_at_ns), show(end_ns))
            } else {
                format!(
                    "; nothing is answered for {} every {} from {} on, {} times in all",
                    show(gate.duration_ns),
                    show(gate.period_ns),
                    show(gate.first_at_ns),
                    gate.count
                )
            };
        }
        if let Some(Slow { every, delay_ns }) = self.slow {
            line += &format!("; one in {every} takes {}", show(delay_ns));
        }
        for fault in &self.faults {
            line += &format!("; {}", fault.describe());
        }
        if let Some(slots) = self.max_concurrency {
            line += &format!("; at most {slots} at once, the others wait in order");
        }
        line
    }
}

impl Fault {
    /// One plain part of a sentence.
    fn describe(&self) -> String {
        let Gate { first_at_ns, duration_ns, period_ns, count } = self.when;
        let when = match count {
            1 => format!("from {} to {}", show(first_at_ns), show(first_at_ns + duration_ns)),
            _ => format!(
                "for {} every {} from {} on, {count} times in all",
                show(duration_ns),
                show(period_ns),
                show(first_at_ns)
            ),
        };
        match self.harm {
            Harm::Freeze => format!("the process is frozen {when}"),
            Harm::NoAccept => {
                format!("each answer ends its connection, and none is accepted {when}")
            }
            Harm::Hang { delay_ns } => format!("what comes {when} takes {}", show(delay_ns)),
            Harm::Reset => format!("what comes {when} is reset"),
            Harm::Error { delay_ns } => {
                format!("what comes {when} fails after {} with status 500", show(delay_ns))
            }
        }
    }
}

/// A duration with the largest unit that keeps it at 1 or above, to a thousandth of it, without trailing zeros: what was made
/// for another length has no end of digits.
pub(super) fn show(ns: u64) -> String {
    let (unit_ns, unit) = match ns {
        S.. => (S, "s"),
        MS.. => (MS, "ms"),
        1_000.. => (1_000, "µs"),
        _ => (1, "ns"),
    };
    let thousandths = (ns * 1_000 + unit_ns / 2) / unit_ns;
    let fraction = format!("{:03}", thousandths % 1_000);
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{}{point}{fraction} {unit}", thousandths / 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(name: &str) -> String {
        Scenario::preset(name).expect("a preset").describe()
    }

    #[test]
    fn what_was_made_for_another_length_has_no_end_of_digits() {
        let stall = Scenario::preset("stall").expect("a preset").for_length(4 * S);
        assert_eq!(stall.describe(), "every answer takes 10 ms; nothing is answered from 2 s to 2.067 s");
        let shown = [1, 999, 1_500, 66_666_666, 1_999_999_999, 86_400 * S].map(show);
        assert_eq!(shown, ["1 ns", "999 ns", "1.5 µs", "66.667 ms", "2 s", "86400 s"]);
    }

    #[test]
    fn descriptions_are_plain() {
        assert_eq!(described("stall"), "every answer takes 10 ms; nothing is answered from 30 s to 31 s");
        assert_eq!(
            described("pauses"),
            "every answer takes 10 ms; nothing is answered for 200 ms every 10 s from 9.5 s on, 6 times in all"
        );
        assert_eq!(described("ramp"), "an answer takes 10 ms until 20 s, then linearly up to 100 ms at 50 s");
        assert_eq!(
            described("redis-stall"),
            "a Redis with data of its own; its process is stopped (SIGSTOP) from 10 s to 11 s"
        );
        assert_eq!(
            described("saturation"),
            "every answer takes 10 ms; at most 5 at once, the others wait in order"
        );
    }
}
