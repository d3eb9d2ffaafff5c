//! What was drawn for the requests that were sent, beside the laws that it was to follow.

use crate::output;
use std::path::Path;
use unblink_artifact::document::{PopularitySent, SizeFigures, SizeSent, ValuePlan, ValueSent};
use unblink_artifact::folder::ValuesWriter;
use unblink_core::arrival::Key;
use unblink_workload::{Drawing, Sent, Source, Values};

/// Draws from the law of a size.
const DRAWS: u64 = 100_000;
/// So many in a million of the keys are looked at as the most popular ones.
const PARTS: [u64; 2] = [10_000, 100_000];
/// Keys of a law that has no number of them.
const NEWEST: [u64; 2] = [100, 1_000];

/// What requests are filled in with, as far as any of them is.
pub(crate) fn plans(values: &Values) -> impl Iterator<Item = ValuePlan> {
    let all = (0..).zip(values.lets().iter()).filter(|(number, _)| values.uses(*number));
    all.map(|(_, (name, source))| ValuePlan { name: name.to_string(), law: source.describe() })
}

/// What is to be expected of each value that requests use, by its number.
pub(crate) struct Laws(Vec<(usize, String, Law)>);

enum Law {
    /// So many keys, and what they should get.
    Popularity(Vec<(u64, f64)>),
    Size(SizeFigures),
    /// Nothing can be held against it but the number of draws.
    Other,
}

impl Laws {
    /// Those of a plan.
    pub(crate) fn of(values: &Values) -> Laws {
        let used = (0..).zip(values.lets().iter()).filter(|(number, _)| values.uses(*number));
        let law = |(number, (name, source)): (u32, (&str, &Source))| {
            (number as usize, name.to_string(), Law::of(source, values.seed_of(number)))
        };
        Laws(used.map(law).collect())
    }

    /// The same with what was drawn, by number of the value.
    pub(crate) fn beside(&self, sent: &[Sent]) -> Vec<ValueSent> {
        let of_one = |(number, name, law): &(usize, String, Law)| {
            let sent = sent.get(*number)?;
            let mut of =
                ValueSent { name: name.clone(), draws: sent.draws(), popularity: Vec::new(), size: None };
            match law {
                Law::Popularity(law) => {
                    let one = |&(keys, by_law): &(u64, f64)| {
                        Some(PopularitySent { keys, by_law, sent: sent.share_below(keys)? })
                    };
                    of.popularity = law.iter().filter_map(one).collect();
                }
                Law::Size(by_law) => of.size = figures(sent).map(|sent| SizeSent { by_law: *by_law, sent }),
                Law::Other => {}
            }
            Some(of)
        };
        self.0.iter().filter_map(of_one).collect()
    }
}

/// What a run's folder says of the values while the run goes on, so that one that is killed says it, too.
pub(crate) struct SoFar {
    laws: Laws,
    writer: ValuesWriter,
}

impl SoFar {
    /// In the folder `dir`.
    pub(crate) fn new(values: &Values, dir: &Path) -> SoFar {
        SoFar { laws: Laws::of(values), writer: ValuesWriter::new(dir) }
    }

    /// So much was drawn by now.
    pub(crate) fn note(&mut self, sent: &[Sent]) {
        if let Err(error) = self.writer.write(&self.laws.beside(sent)) {
            output::note(format_args!("warning: {error}"));
        }
    }

    /// What was drawn in all.
    pub(crate) fn end(self, sent: &[Sent]) -> Vec<ValueSent> {
        self.laws.beside(sent)
    }
}

impl Law {
    fn of(source: &Source, seed: u64) -> Law {
        if source.is_key() {
            return popularity(source).map_or(Law::Other, Law::Popularity);
        }
        if !source.is_number() {
            return Law::Other;
        }
        let drawing = |n| Drawing { key: Key::single(n), ordinal: n, inserted: 0 };
        let mut drawn = Sent::default();
        (0..DRAWS).filter_map(|n| source.draw(seed, &drawing(n))).for_each(|size| drawn.count(size));
        figures(&drawn).map_or(Law::Other, Law::Size)
    }
}

/// The hottest key, and the hottest ones up to about 1 % and 10 % of all. None where they are alike, or where nobody knows.
fn popularity(source: &Source) -> Option<Vec<(u64, f64)>> {
    let hottest = source.share_of_top(1).filter(|share| *share < 1.0)?;
    let more = match source.distinct() {
        Some(keys) if hottest * keys as f64 <= 1.000_001 => return None,
        Some(keys) => PARTS.map(|part| (u128::from(keys) * u128::from(part) / 1_000_000) as u64),
        None => NEWEST,
    };
    let cuts = more.into_iter().map(Sent::end_near).filter(|keys| *keys > 1);
    let cuts = std::iter::once(1).chain(cuts);
    cuts.map(|keys| Some((keys, source.share_of_top(keys)?))).collect()
}

fn figures(sizes: &Sent) -> Option<SizeFigures> {
    Some(SizeFigures { mean: sizes.mean()?, p50: sizes.quantile(0.5)?, p99: sizes.quantile(0.99)? })
}
