//! Figures of tools over rounds: of one, and of two that are paired round by round.

use crate::figures::Spread;
use crate::part::Part;
use crate::results::{Results, Run};

/// A figure of one run, if it has it.
pub(crate) type Figure = fn(&Run) -> Option<f64>;

/// The runs of `part` at a rate, or in a closed loop.
pub(crate) fn runs(all: &[Results], part: Part, rate_per_s: Option<u64>) -> Vec<&Run> {
    let of_part = all.iter().filter(|results| results.part == part).flat_map(|results| &results.runs);
    of_part.filter(|run| run.rate_per_s == rate_per_s).collect()
}

/// Tools in the order in which they first played.
pub(crate) fn tools<'a>(runs: &[&'a Run]) -> Vec<&'a str> {
    let mut tools = Vec::new();
    for run in runs {
        if !tools.contains(&run.tool.as_str()) {
            tools.push(run.tool.as_str());
        }
    }
    tools
}

/// The figure of `tool` in each round that has it.
pub(crate) fn by_round(runs: &[&Run], tool: &str, figure: Figure) -> Vec<(u32, f64)> {
    let of_tool = runs.iter().filter(|run| run.tool == tool && run.failure.is_none());
    of_tool.filter_map(|run| Some((run.round, figure(run)?))).collect()
}

/// The figure of `tool` over its rounds.
pub(crate) fn spread(runs: &[&Run], tool: &str, figure: Figure) -> Option<Spread> {
    Spread::of(by_round(runs, tool, figure).into_iter().map(|(_, value)| value))
}

/// The figure of `tool` divided by that of `other`, in the rounds that have both.
pub(crate) fn ratio(runs: &[&Run], tool: &str, other: &str, figure: Figure) -> Option<Spread> {
    let divisors = by_round(runs, other, figure);
    let pairs = by_round(runs, tool, figure).into_iter().filter_map(|(round, value)| {
        let (_, divisor) = divisors.iter().find(|(of, _)| *of == round)?;
        (*divisor > 0.0).then(|| value / divisor)
    });
    Spread::of(pairs)
}
