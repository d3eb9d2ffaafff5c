//! What a search makes of recorded traffic: a rate is so many times what was recorded.

use crate::args::arrivals::Arrivals;
use crate::args::knee::{KneeArgs, Level};
use crate::args::replay::{Again, By, Factor, ReplayArgs};
use crate::errors::refuse;
use anyhow::Result;
use unblink_artifact::knee::{KneeReplay, ReplayBy};
use unblink_core::recorded::Recorded;
use unblink_core::schedule::{RATE_MAX_PER_S, Rate};
use unblink_core::time::{Nanos, SECOND_NS};
use unblink_report::format;

/// The traffic as it was recorded; nothing where none is replayed. Says what a search can't do with it.
pub(super) fn traffic(args: &KneeArgs) -> Result<Option<Recorded>> {
    let alone = ReplayArgs { recorded: args.recorded.clone(), ..ReplayArgs::default() };
    let Some(replay) = alone.read(args.seed)? else {
        if args.by.is_some() {
            refuse!(["by"], "--by is about a replay: add --replay TRACE, or leave it out");
        }
        return Ok(None);
    };
    if super::is_simulated(args) {
        refuse!(
            ["replay", "server", "scenario"],
            "a search in virtual time has arrivals of its own: leave --replay out, or give a URL"
        );
    }
    if args.arrivals != Arrivals::Poisson {
        refuse!(
            ["arrivals", "replay"],
            "--replay and --arrivals exclude each other: the trace says when each request starts"
        );
    }
    Ok(Some(replay.recorded.clone()))
}

/// How many there are in a second on average.
pub(super) fn mean(traffic: &Recorded) -> Rate {
    let milli = u128::from(traffic.count()) * 1_000 * u128::from(SECOND_NS) / u128::from(traffic.length().0);
    Rate::from_milli((milli as u64).max(1))
}

/// `level` as a rate.
pub(super) fn rate(traffic: Option<&Recorded>, level: Level) -> Result<Rate> {
    match (level, traffic) {
        (Level::Rate(rate), _) => Ok(rate),
        (Level::Times(factor), Some(traffic)) => {
            Ok(Rate::from_milli(((mean(traffic).as_per_s() * factor.as_f64() * 1e3).round() as u64).max(1)))
        }
        (Level::Times(_), None) => refuse!(
            ["start", "max", "at-least"],
            "a multiple (2x) is about recorded traffic: add --replay TRACE, or give a rate such as 500/s"
        ),
    }
}

/// How many times what was recorded.
fn times(traffic: &Recorded, rate: Rate) -> Factor {
    let micro = (rate.as_per_s() / mean(traffic).as_per_s() * 1e6).round();
    Factor { micro: (micro as u64).max(1) }
}

/// The highest mean whose busiest second is not above `cap`: so many copies, or so many times as fast, have at the most so many
/// times as much in any second.
pub(super) fn highest(traffic: &Recorded, cap: Option<Rate>) -> Result<Rate> {
    // Where it ends it begins anew.
    let busiest = traffic.lasting(traffic.length() + traffic.length()).most_in_a_second();
    let cap = cap.unwrap_or(Rate::per_second(RATE_MAX_PER_S));
    let factor = (cap.as_per_s() / busiest as f64).floor();
    if factor < 1.0 {
        refuse!(
            ["replay", "max-rate"],
            "the busiest second of the trace has {}, and no more than {} may be sent: take another part of it (--from, \
             --to), or unblink trace sample",
            format::plural(busiest, "request", "requests"),
            format::plain(&format::rate(cap.as_per_s()))
        );
    }
    Ok(Rate::from_milli((mean(traffic).as_per_s() * factor * 1e3).floor() as u64))
}

/// Each trial measures all of it: what comes late in the trace must count, too.
pub(super) fn check(args: &KneeArgs, traffic: &Recorded, start: Rate) -> Result<()> {
    let length = match by(args) {
        By::Scale => traffic.length(),
        By::Speed => {
            Nanos((traffic.length().0 as f64 / times(traffic, start).as_f64().max(1e-6)).ceil() as u64)
        }
    };
    if args.measure < length {
        refuse!(
            ["measure", "replay"],
            "the replay takes {}, and --measure {} would try its beginning only: give --measure {}s, or a part of the \
             trace (--from, --to)",
            format::plain(&format::moment(length.0)),
            format::plain(&format::duration(args.measure.0)),
            length.0.div_ceil(SECOND_NS)
        );
    }
    Ok(())
}

fn by(args: &KneeArgs) -> By {
    args.by.unwrap_or(By::Scale)
}

/// What is sent at this rate: the end of the traffic while the target settles, then all of it, again and again.
pub(super) fn replayed(
    args: &KneeArgs,
    traffic: &Recorded,
    rate: Rate,
    settle: Nanos,
    measure: Nanos,
) -> ReplayArgs {
    let factor = Some(times(traffic, rate));
    let (scale, speed) = match by(args) {
        By::Scale => (factor, None),
        By::Speed => (None, factor),
    };
    ReplayArgs {
        recorded: args.recorded.clone(),
        speed,
        scale,
        again: Some(Again::For(settle + measure)),
        lead: settle,
        ..ReplayArgs::default()
    }
}

/// What the document says of it.
pub(super) fn document(args: &KneeArgs, traffic: &Recorded) -> KneeReplay {
    KneeReplay {
        by: match by(args) {
            By::Scale => ReplayBy::Scale,
            By::Speed => ReplayBy::Speed,
        },
        requests: traffic.count(),
        length_ns: traffic.length().0,
        mean_per_s: mean(traffic).as_per_s(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use unblink_core::recorded::RecordedArrival;

    /// Ten in a second, and forty in the third.
    fn traffic() -> Recorded {
        let second = |s: u64| (0..if s == 2 { 40 } else { 10 }).map(move |k| s * 1_000 + k * 20);
        let at = (0..10).flat_map(second);
        let bytes = at
            .flat_map(|ms| RecordedArrival { at: Nanos::from_millis(ms), operation: 0, text: 0 }.to_bytes());
        let bytes: Vec<u8> = bytes.collect();
        Recorded::new(Arc::new(bytes), Arc::new(Vec::new()), Nanos::from_secs(10)).unwrap()
    }

    #[test]
    fn a_rate_is_so_many_times_what_was_recorded() {
        let traffic = traffic();
        assert_eq!(mean(&traffic), Rate::per_second(13));
        for micro in [1, 500_000, 1_000_000, 3_400_000] {
            let rate = rate(Some(&traffic), Level::Times(Factor { micro })).unwrap();
            let found = times(&traffic, rate).micro;
            // A rate has three decimals.
            assert!(found.abs_diff(micro) <= 77, "{found} {micro}");
        }
        assert!(rate(None, Level::Times(Factor::ONE)).is_err());
    }

    #[test]
    fn the_busiest_second_stays_below_the_cap() {
        let traffic = traffic();
        let at = |per_s| highest(&traffic, Some(Rate::per_second(per_s)));
        assert_eq!(at(40).unwrap(), Rate::per_second(13));
        assert_eq!(at(119).unwrap(), Rate::per_second(26));
        assert!(at(39).is_err());
    }
}
