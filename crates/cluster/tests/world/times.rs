//! What the merged record says of each second and of response times, beside what happened.

use super::books::Counts;
use super::merged::{Here, recorded};
use super::{Node, World};
use std::path::Path;
use unblink_artifact::folder::{read_folder, replay};
use unblink_core::record::{Series, Track};
use unblink_core::time::Nanos;

impl World {
    /// Holds the merged record in `dir`, of what is `here` of each agent, against the account.
    pub(super) fn check_times(&self, here: &[Option<Here>], dir: &Path) {
        let seed = self.seed;
        let all: Vec<(&Node, u64)> =
            self.nodes.iter().zip(here).filter_map(|(node, here)| Some((node, (*here)?.to))).collect();
        // Up to the end of each interval, so that what belongs to one is found in no other.
        let mut known = Counts::default();
        let run = read_folder(dir).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let read = run.for_each_interval(|interval| {
            known += recorded(&interval.bank.counters.measured);
            let end = (interval.start + interval.length).0;
            let mut happened = Counts::default();
            all.iter().for_each(|(node, to)| happened += node.until(end.min(*to)));
            assert_eq!(known, happened, "seed {seed}: what was recorded until {end}, and what happened");
        });
        read.unwrap_or_else(|error| panic!("seed {seed}: {error}"));

        let mut times = Track::<u64>::default();
        all.iter().for_each(|(node, to)| node.answers_until(*to, |ns| times.record(Nanos(ns))));
        let (tally, _) = replay(dir, None, None).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let known = tally.totals().track(Series::Response);
        let figures = [(known.sum_ns, known.max_ns), (times.sum_ns, times.max_ns)];
        assert_eq!(figures[0], figures[1], "seed {seed}: sum and maximum of response times");
        assert!(known.bins().eq(times.bins()), "seed {seed}: bins of response times");
    }
}

impl Node {
    /// How long each request of its workers took that is ok, of what they have told for the time up to then.
    fn answers_until(&self, to: u64, mut each: impl FnMut(u64)) {
        let workers = self.load.iter().flat_map(super::Load::happened);
        workers.for_each(|worker| worker.books.answers_until(to).iter().for_each(|ns| each(*ns)));
    }
}
