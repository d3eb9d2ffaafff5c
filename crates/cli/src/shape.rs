//! Named shapes: what rate is offered when, from a lowest and a highest rate and a few times.

use crate::args::load::{LoadArgs, ShapeName};
use crate::errors::{refuse, refused};
use crate::value::Shape;
use anyhow::Result;
use unblink_artifact::document::LoadShape;
use unblink_core::plan::{PHASES_MAX, PlanError};
use unblink_core::schedule::{self, PIECES, Phase, Rate};
use unblink_core::time::{Nanos, SECOND_NS};
use unblink_report::format;

/// Of a spike's whole length, without the spike, this share comes before it.
const BEFORE_SHARE: f64 = 1.0 / 3.0;
/// Stress stays at its highest rate for this share of the whole, unless told otherwise.
const TOP_SHARE: f64 = 1.0 / 8.0;
/// Of the rest this share comes before it, and each way takes twice as long; what is left comes after it.
const BASE_SHARE: f64 = 1.0 / 7.0;
/// A spike lasts for this share of the whole, unless told otherwise.
const SPIKE_SHARE: f64 = 1.0 / 6.0;
/// A shorter stretch holds too little to know the level before, or to see a recovery.
const STRETCH_MIN: Nanos = Nanos::from_secs(4);

/// A shorter soak has too few intervals to show a drift.
const SOAK_MIN: Nanos = Nanos::from_secs(30);

/// For the run document.
pub(crate) fn document(name: ShapeName) -> LoadShape {
    match name {
        ShapeName::Load => LoadShape::Load,
        ShapeName::Spike => LoadShape::Spike,
        ShapeName::Stress => LoadShape::Stress,
        ShapeName::Soak => LoadShape::Soak,
        ShapeName::Sine => LoadShape::Sine,
    }
}

/// The stretches of the load; nothing where the rate alone says what they are. Refuses what does not fit the name.
pub(crate) fn phases(args: &LoadArgs, duration: Nanos) -> Result<Option<Vec<Phase>>> {
    if args.period.is_some() && args.shape != Some(ShapeName::Sine) {
        refuse!(["period"], "--period belongs to a rate that swings: add --shape sine, or leave it out");
    }
    let Some(name) = args.shape else {
        if args.peak_for.is_some() {
            refuse!(
                ["peak-for"],
                "--peak-for belongs to a shape with a peak: add --shape spike or stress, or leave it out"
            );
        }
        return Ok(None);
    };
    let word = document_name(name);
    if args.trace.trace.is_some() {
        refuse!(
            ["shape", "trace"],
            "--shape {word} and --trace both say how the rate changes: leave one of them out"
        );
    }
    let is_peaked = matches!(name, ShapeName::Spike | ShapeName::Stress);
    let is_held = matches!(name, ShapeName::Load | ShapeName::Soak);
    if args.peak_for.is_some() && !is_peaked {
        refuse!(
            ["peak-for", "shape"],
            "--peak-for is for --shape spike and stress; {word} has no peak: leave it out"
        );
    }
    if name == ShapeName::Soak && args.duration.is_none_or(|duration| duration < SOAK_MIN) {
        refuse!(
            ["shape", "duration"],
            "--shape soak takes its time: give it hours with -d, and not less than {} (a drift shows over many intervals)",
            text(SOAK_MIN)
        );
    }
    if is_held {
        if matches!(args.rate, Some(Shape::Ramp(..) | Shape::Steps(_))) {
            refuse!(
                ["shape", "rate"],
                "--shape {word} holds one rate: give -R one, such as -R 500, or leave --shape out"
            );
        }
        return Ok(None);
    }
    let Some(Shape::Ramp(low, high)) = args.rate else {
        refuse!(
            ["shape", "rate"],
            "--shape {word} goes from one rate to another and back: give -R both, such as -R 100..800"
        );
    };
    if (low.is_zero() && is_peaked) || high <= low {
        refuse!(
            ["shape", "rate"],
            "--shape {word} needs a rate above 0 and then a higher one, such as -R 100..800"
        );
    }
    if args.requests.is_some() {
        refuse!(
            ["shape", "requests"],
            "--shape {word} has a length of its own: give it with -d instead of -n"
        );
    }
    match name {
        ShapeName::Stress => stress(low, high, args.peak_for, duration).map(Some),
        ShapeName::Sine => sine(low, high, args.period.unwrap_or(duration), duration).map(Some),
        _ => spike(low, high, args.peak_for, duration).map(Some),
    }
}

/// From the lower rate to the higher one and back, again and again.
fn sine(low: Rate, high: Rate, period: Nanos, whole: Nanos) -> Result<Vec<Phase>> {
    let swings_max = PHASES_MAX as u64 / PIECES;
    if u128::from(whole.0) > u128::from(period.0) * u128::from(swings_max) {
        refuse!(
            ["period", "duration"],
            "with a --period of {} the rate would swing more than {swings_max} times in {}, which is the most: make the \
             period longer, or -d shorter",
            text(period),
            text(whole)
        );
    }
    match schedule::sine(low, high, period, whole) {
        Some(phases) => Ok(phases),
        None => Err(refused(&["rate"], PlanError::RatesTooFine.to_string())),
    }
}

/// Before, up, at the top, down, after.
fn stress(low: Rate, high: Rate, peak_for: Option<Nanos>, whole: Nanos) -> Result<Vec<Phase>> {
    let top = peak_for.unwrap_or_else(|| part(whole, TOP_SHARE));
    let before = part(whole - top, BASE_SHARE);
    let way = part(whole - top, 2.0 * BASE_SHARE);
    if top == Nanos::ZERO || before < STRETCH_MIN {
        refuse!(
            ["peak-for", "duration", "shape"],
            "{} at the highest rate leave {} of {} before it: at least {} are needed to know the level that it is to \
             come back to (a longer -d, or a shorter --peak-for)",
            text(top),
            text(before),
            text(whole),
            text(STRETCH_MIN)
        );
    }
    let after = whole - top - before - way - way;
    Ok(vec![
        Phase::hold(low, before),
        Phase { from: low, to: high, duration: way },
        Phase::hold(high, top),
        Phase { from: high, to: low, duration: way },
        Phase::hold(low, after),
    ])
}

/// Before, spike, after.
fn spike(low: Rate, high: Rate, peak_for: Option<Nanos>, whole: Nanos) -> Result<Vec<Phase>> {
    let peak = peak_for.unwrap_or_else(|| part(whole, SPIKE_SHARE));
    let before = part(whole - peak, BEFORE_SHARE);
    let after = whole - peak - before;
    if peak == Nanos::ZERO || before < STRETCH_MIN {
        refuse!(
            ["peak-for", "duration", "shape"],
            "a spike of {} leaves {} of {} before it: at least {} are needed to know the level that it is to come back \
             to (a longer -d, or a shorter --peak-for)",
            text(peak),
            text(before),
            text(whole),
            text(STRETCH_MIN)
        );
    }
    Ok(vec![Phase::hold(low, before), Phase::hold(high, peak), Phase::hold(low, after)])
}

/// A share of `whole`, in whole seconds where there are any: figures are recorded by the second.
fn part(whole: Nanos, share: f64) -> Nanos {
    let ns = (whole.0 as f64 * share) as u64;
    Nanos(if ns >= SECOND_NS { ns / SECOND_NS * SECOND_NS } else { ns })
}

/// What the load is, in a few words: `spike from 50/s to 400/s for 5 s`.
pub(crate) fn summary(name: ShapeName, phases: &[Phase]) -> Option<String> {
    let rate = |rate: Rate| format::rate_asked(rate.as_per_s());
    match (name, phases) {
        (ShapeName::Spike, [base, spike, _]) => Some(format!(
            "spike from {} to {} for {}",
            rate(base.to),
            rate(spike.to),
            format::moment(spike.duration.0)
        )),
        (ShapeName::Stress, [base, _, top, ..]) => Some(format!(
            "stress from {} up to {} for {} and down again",
            rate(base.to),
            rate(top.to),
            format::moment(top.duration.0)
        )),
        (ShapeName::Sine, [first, .., _]) => {
            let highest = phases.iter().map(|phase| phase.to).max().unwrap_or_default();
            let period = Nanos(first.duration.0 * PIECES);
            Some(format!(
                "sine from {} to {} and back in {}",
                rate(first.from),
                rate(highest),
                format::moment(period.0)
            ))
        }
        _ => None,
    }
}

fn document_name(name: ShapeName) -> &'static str {
    match name {
        ShapeName::Load => "load",
        ShapeName::Spike => "spike",
        ShapeName::Stress => "stress",
        ShapeName::Soak => "soak",
        ShapeName::Sine => "sine",
    }
}

fn text(time: Nanos) -> String {
    format::plain(&format::moment(time.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stress_stands_at_whole_seconds_and_fills_the_duration() {
        let phases = stress(Rate::per_second(50), Rate::per_second(1_000), None, Nanos::from_secs(42))
            .expect("stress");
        let seconds: Vec<f64> = phases.iter().map(|phase| phase.duration.as_secs_f64()).collect();
        assert_eq!(seconds, [5.0, 10.0, 5.0, 10.0, 12.0]);
        assert!(stress(Rate::per_second(50), Rate::per_second(1_000), None, Nanos::from_secs(20)).is_err());
    }

    #[test]
    fn a_spike_stands_at_whole_seconds_and_fills_the_duration() {
        let (low, high) = (Rate::per_second(100), Rate::per_second(800));
        let seconds = |peak_for: Option<Nanos>, whole| {
            let phases = spike(low, high, peak_for, Nanos::from_secs(whole)).expect("a spike");
            assert_eq!((phases[0].to, phases[1].from, phases[2].to), (low, high, low));
            phases.iter().map(|phase| phase.duration.as_secs_f64()).collect::<Vec<_>>()
        };
        assert_eq!(seconds(None, 30), [8.0, 5.0, 17.0]);
        assert_eq!(seconds(None, 60), [16.0, 10.0, 34.0]);
        assert_eq!(seconds(Some(Nanos::from_millis(1_500)), 31), [9.0, 1.5, 20.5]);
        for (peak_for, whole) in [(20, 30), (30, 30), (40, 30), (0, 30), (1, 12)] {
            assert!(spike(low, high, Some(Nanos::from_secs(peak_for)), Nanos::from_secs(whole)).is_err());
        }
    }
}
