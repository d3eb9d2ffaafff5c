//! The histograms of an interval: which there are, how each is called, and the exact figures beside it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use unblink_core::record::{Apart, Bank, Series, Sums, Track};

/// What a histogram does not hold exactly.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct TrackLine {
    /// Values in it.
    pub(super) count: u64,
    /// Of all, those that have spilled included.
    sum_ns: u128,
    max_ns: u64,
    /// Values of an operation for which no page was left: they are in one of the histograms called `spilled`.
    #[serde(default, skip_serializing_if = "is_zero")]
    spilled: u64,
}

/// By tag; those that count something.
pub(super) type TrackLines = BTreeMap<String, TrackLine>;

/// Where a histogram belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    All(Series),
    One(Apart, usize, Series),
    /// Of all operations, loads, journeys or origins together.
    Spilled(Apart, Series),
}

impl Place {
    /// Everywhere in `bank`.
    fn of(bank: &Bank<u64>) -> impl Iterator<Item = Place> {
        let apart = Apart::ALL.into_iter().flat_map(|by| {
            let n = bank.apart(by).len();
            let each = (0..n).flat_map(move |i| Series::BY_OPERATION.map(|s| Place::One(by, i, s)));
            let spilled = Series::BY_OPERATION.map(|s| Place::Spilled(by, s)).into_iter();
            each.chain(spilled.filter(move |_| n > 0))
        });
        Series::ALL.map(Place::All).into_iter().chain(apart)
    }

    fn tag(self) -> String {
        match self {
            Place::All(series) => series.name().to_string(),
            Place::One(by, i, series) => format!("{}{i}{}", prefix(by), suffix(series)),
            Place::Spilled(by, series) => format!("{}{}", spilled(by), suffix(series)),
        }
    }

    /// `None` for a tag that this version does not know.
    fn from_tag(tag: &str) -> Option<Place> {
        if let Some(series) = Series::ALL.into_iter().find(|series| series.name() == tag) {
            return Some(Place::All(series));
        }
        let by_suffix = |rest: &str| Series::BY_OPERATION.into_iter().find(|&series| suffix(series) == rest);
        Apart::ALL.into_iter().find_map(|by| {
            if let Some(rest) = tag.strip_prefix(spilled(by)) {
                return Some(Place::Spilled(by, by_suffix(rest)?));
            }
            let rest = tag.strip_prefix(prefix(by))?;
            let (number, rest) = rest.split_at(rest.find('_').unwrap_or(rest.len()));
            Some(Place::One(by, number.parse().ok()?, by_suffix(rest)?))
        })
    }

    fn sums(self, bank: &Bank<u64>) -> Sums {
        let of = |track: &Track<u64>| Sums {
            count: track.count(),
            spilled: 0,
            sum_ns: track.sum_ns,
            max_ns: track.max_ns,
        };
        match self {
            Place::All(series) => of(bank.track(series)),
            Place::One(by, i, series) => {
                bank.apart(by).get(i).map(|one| one.sums(series)).unwrap_or_default()
            }
            Place::Spilled(by, series) => bank.apart(by).spilled(series).map(of).unwrap_or_default(),
        }
    }
}

fn prefix(by: Apart) -> &'static str {
    match by {
        Apart::Operation => "op_",
        Apart::Load => "load_",
        Apart::Journey => "journey_",
        Apart::Origin => "origin_",
    }
}

fn spilled(by: Apart) -> &'static str {
    match by {
        Apart::Operation => "spilled",
        Apart::Load => "loads_spilled",
        Apart::Journey => "journeys_spilled",
        Apart::Origin => "origins_spilled",
    }
}

fn suffix(series: Series) -> &'static str {
    match series {
        Series::Service => "_service",
        Series::ResponseCensored => "_censored",
        Series::ServiceCensored => "_service_censored",
        Series::FirstEvent => "_first_event",
        Series::FirstEventCensored => "_first_event_censored",
        Series::EventGap => "_event_gap",
        Series::EventGapCensored => "_event_gap_censored",
        _ => "",
    }
}

/// What `bank` holds.
pub(super) fn announced(bank: &Bank<u64>) -> TrackLines {
    let lines = Place::of(bank).map(|place| (place, place.sums(bank)));
    lines
        .filter(|(_, sums)| sums.count > 0)
        .map(|(place, Sums { count, spilled, sum_ns, max_ns })| {
            (place.tag(), TrackLine { count: count - spilled, sum_ns, max_ns, spilled })
        })
        .collect()
}

/// Calls `each` with the tag of every histogram in `bank` that holds something, and of response time always.
pub(super) fn for_each<E>(
    bank: &Bank<u64>,
    mut each: impl FnMut(&str, &Track<u64>) -> Result<(), E>,
) -> Result<(), E> {
    for place in Place::of(bank) {
        let Sums { count, spilled, .. } = place.sums(bank);
        if count == spilled && place != Place::All(Series::Response) {
            continue;
        }
        match place {
            Place::All(series) => each(&place.tag(), bank.track(series))?,
            Place::One(by, i, series) => each(&place.tag(), &bank.apart(by).track(i, series))?,
            Place::Spilled(by, series) => {
                bank.apart(by).spilled(series).map_or(Ok(()), |track| each(&place.tag(), track))?;
            }
        }
    }
    Ok(())
}

/// Puts a histogram where it belongs. Those of later versions are passed over.
pub(super) fn take(
    tag: &str,
    histogram: hdrhistogram::Histogram<u64>,
    lines: &TrackLines,
    bank: &mut Bank<u64>,
) -> Result<(), String> {
    let Some(place) = Place::from_tag(tag) else { return Ok(()) };
    let Some(&line) = lines.get(tag) else {
        return if histogram.is_empty() { Ok(()) } else { Err(format!("{tag} is not announced")) };
    };
    let TrackLine { count, sum_ns, max_ns, spilled } = line;
    if histogram.len() != count {
        return Err(format!("{tag} holds {} values where {count} are announced", histogram.len()));
    }
    let whole = Track { histogram, sum_ns, max_ns };
    match place {
        Place::All(series) => *bank.track_mut(series) = whole,
        Place::Spilled(by, series) => {
            if let Some(track) = bank.apart_mut(by).spilled_mut(series) {
                *track = whole;
            }
        }
        Place::One(by, i, series) if i < bank.apart(by).len() => {
            let sums = Sums { count: count + spilled, spilled, sum_ns, max_ns };
            bank.apart_mut(by).put(i, series, whole.bins(), sums);
        }
        Place::One(..) => {}
    }
    Ok(())
}

/// Everything that was announced is there.
pub(super) fn complete(lines: &TrackLines, bank: &mut Bank<u64>) -> Result<(), String> {
    // An operation for which no page was left at all has no histogram.
    for (tag, line) in lines.iter().filter(|(_, line)| line.count == 0) {
        if let Some(Place::One(by, i, series)) = Place::from_tag(tag)
            && i < bank.apart(by).len()
        {
            let TrackLine { sum_ns, max_ns, spilled, .. } = *line;
            let sums = Sums { count: spilled, spilled, sum_ns, max_ns };
            bank.apart_mut(by).put(i, series, std::iter::empty(), sums);
        }
    }
    let there = announced(bank);
    let counts = |lines: &TrackLines, tag: &str| lines.get(tag).map_or(0, |line| line.count);
    let tags = Place::of(bank).map(Place::tag);
    for tag in tags {
        let (announced, found) = (counts(lines, &tag), counts(&there, &tag));
        if announced != found {
            return Err(format!("{announced} values of {tag} are announced, {found} are there"));
        }
    }
    Ok(())
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use unblink_core::record::Layout;

    #[test]
    fn tags_lead_back_to_their_places() {
        let bank =
            Bank::new(Layout { operations: 3, loads: 2, journeys: 2, steps: 2, redirected: 0, origins: 2 });
        assert_eq!(
            Place::of(&bank).count(),
            Series::ALL.len() + (4 + 3 + 3 + 3) * Series::BY_OPERATION.len()
        );
        for place in Place::of(&bank) {
            assert_eq!(Place::from_tag(&place.tag()), Some(place));
        }
        for unknown in [
            "op_",
            "op_x",
            "op_1_more",
            "spilled_",
            "load_",
            "loads_",
            "journeys_",
            "journey_x",
            "origin_",
            "response",
        ] {
            assert_eq!(Place::from_tag(unknown), None, "{unknown}");
        }
    }
}
