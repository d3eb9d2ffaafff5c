//! What a judgement is worth where machines were lost, and nobody knows what came of their arrivals: an objective is met or
//! missed only if it is so however these ended, all of them at once or none of them ever.

use super::evidence::errors_of_this_run;
use super::{Figure, Judgement, Objective, Population, Reason, Run, VerdictStatus};

/// Where a figure would lie if all that was lost had been answered at once, and if nothing of it ever had been.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum If {
    AtOnce,
    Never,
}

/// `judge` judges an objective by what is known.
pub(super) fn in_spite_of_lost(
    judgement: Judgement,
    objective: &Objective,
    population: &Population<'_>,
    run: &Run,
    judge: impl Fn(&Objective) -> Judgement,
) -> Judgement {
    if !run.has_lost() || judgement.verdict == VerdictStatus::Inconclusive {
        return judgement;
    }
    if run.loss_is_unbounded {
        return judgement.decided(VerdictStatus::Inconclusive, Reason::Lost);
    }
    // An answer that never comes makes everything worse. What is met must be so at its worst, what is missed at its best.
    let asks_for_good = objective.is_upper_limit() == objective.figure.is_better_small();
    let then =
        if asks_for_good == (judgement.verdict == VerdictStatus::Pass) { If::Never } else { If::AtOnce };
    match stands(&judgement, objective, population, run, then, judge) {
        true => judgement,
        false => judgement.decided(VerdictStatus::Inconclusive, Reason::Lost),
    }
}

/// Is the verdict the same then?
fn stands(
    judgement: &Judgement,
    objective: &Objective,
    population: &Population<'_>,
    run: &Run,
    then: If,
    judge: impl Fn(&Objective) -> Judgement,
) -> bool {
    let (lost, known) = (run.lost as f64, population.samples(objective.figure) as f64);
    let of_all = known / (known + lost);
    let is_met = judgement.verdict == VerdictStatus::Pass;
    let holds_as_judged = |value: f64| objective.holds(value) == is_met;
    // The end of the interval that is nearest to the limit.
    let (low, high) = match objective.figure {
        // What has no ending may be errors, too.
        Figure::Errors if judgement.high.is_none() => errors_of_this_run(population).unzip(),
        _ => (judgement.low, judgement.high),
    };
    let end = if is_met == objective.is_upper_limit() { high } else { low };
    let end = end.or(judgement.value).unwrap_or(0.0);
    match objective.figure {
        // The same rank among those that are known.
        Figure::Quantile(q) => {
            let among_known = match then {
                If::Never => q / of_all,
                If::AtOnce => (q * (known + lost) - lost) / known,
            };
            among_known > 0.0
                && among_known < 1.0
                && judge(&Objective { figure: Figure::Quantile(among_known), ..*objective }).verdict
                    == judgement.verdict
        }
        Figure::Mean | Figure::Max if then == If::Never => false,
        Figure::Mean => holds_as_judged(end * of_all),
        Figure::Max => holds_as_judged(end),
        // A share of all of them.
        Figure::Errors | Figure::AchievedShare => {
            let all_are_bad = (then == If::Never) == (objective.figure == Figure::Errors);
            holds_as_judged(end * of_all + if all_are_bad { 1.0 - of_all } else { 0.0 })
        }
        Figure::AchievedRate if then == If::Never => holds_as_judged(end),
        Figure::AchievedRate => {
            let length_s = (run.to - run.from).as_secs_f64();
            length_s > 0.0 && holds_as_judged(end + lost / length_s)
        }
    }
}
