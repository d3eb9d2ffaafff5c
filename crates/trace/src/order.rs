//! Puts requests in the order in which they started: logs have them in the order in which they ended.

use crate::entry::SECOND;
use crate::format::Request;
use std::collections::BTreeMap;

/// Requests of whole seconds wait until the log is so many seconds further, since several processes may write to it.
const LAG: i64 = 5;

/// Holds up to twice `limit` requests while they are sorted; a request that started before `limit` others are written
/// comes too late.
pub(crate) struct Order<S> {
    limit: usize,
    /// Requests by the second that the log stamps, each with what is to be taken off to get to its start.
    seconds: BTreeMap<i64, Vec<(Request, u64)>>,
    waiting: usize,
    /// A second of which a part was spread before it was over, and where that part ends.
    begun: Option<(i64, i64)>,
    sorted: Vec<Request>,
    last: Option<i64>,
    /// Requests that came too late.
    pub(crate) too_late: u64,
    sink: S,
}

impl<E, S: FnMut(Request) -> Result<(), E>> Order<S> {
    pub(crate) fn new(limit: usize, sink: S) -> Self {
        let limit = limit.max(1);
        Order {
            limit,
            seconds: BTreeMap::new(),
            waiting: 0,
            begun: None,
            sorted: Vec::new(),
            last: None,
            too_late: 0,
            sink,
        }
    }

    /// Takes a request that started `earlier` ns before `stamp`.
    pub(crate) fn push(
        &mut self,
        mut request: Request,
        stamp: i64,
        earlier: u64,
        whole_second: bool,
    ) -> Result<(), E> {
        if !whole_second {
            request.at = start(stamp, earlier);
            return self.sort(request);
        }
        let second = stamp.div_euclid(SECOND);
        // Compared with this line and not with the newest one, which may have been stamped by a wrong clock.
        while let Some((&oldest, _)) = self.seconds.first_key_value()
            && oldest < second.saturating_sub(LAG)
        {
            self.spread(SECOND)?;
        }
        self.seconds.entry(second).or_default().push((request, earlier));
        self.waiting += 1;
        if self.waiting >= self.limit {
            // Of a second that goes on, the part that is known takes the half of what is left of it.
            let goes_on = self.seconds.len() == 1;
            let from = self.begun(second);
            self.spread(if goes_on { from + (SECOND - from) / 2 } else { SECOND })?;
        }
        Ok(())
    }

    /// Where in `second` the requests end that were spread already because there were too many.
    fn begun(&self, second: i64) -> i64 {
        self.begun.filter(|(begun, _)| *begun == second).map_or(0, |(_, to)| to)
    }

    /// Takes what still waits.
    pub(crate) fn finish(mut self) -> Result<u64, E> {
        while !self.seconds.is_empty() {
            self.spread(SECOND)?;
        }
        let all = self.sorted.len();
        self.write(all)?;
        Ok(self.too_late)
    }

    /// Spreads the requests of the oldest second evenly, in the order of their lines, up to `to` ns of it.
    fn spread(&mut self, to: i64) -> Result<(), E> {
        let Some((second, requests)) = self.seconds.pop_first() else { return Ok(()) };
        let from = self.begun(second);
        if to < SECOND {
            self.begun = Some((second, to));
        }
        let n = requests.len() as i64;
        self.waiting -= requests.len();
        for (i, (mut request, earlier)) in (0..).zip(requests) {
            // The middle of its part.
            let within = from + (i128::from(2 * i + 1) * i128::from(to - from) / i128::from(2 * n)) as i64;
            request.at = start(second.saturating_mul(SECOND).saturating_add(within), earlier);
            self.sort(request)?;
        }
        Ok(())
    }

    fn sort(&mut self, request: Request) -> Result<(), E> {
        self.sorted.push(request);
        if self.sorted.len() < 2 * self.limit {
            return Ok(());
        }
        self.write(self.limit)
    }

    /// Writes the first `n`.
    fn write(&mut self, n: usize) -> Result<(), E> {
        // Mostly in order already, which a stable sort makes use of; and requests of the same time keep their order.
        self.sorted.sort_by_key(|request| request.at);
        for request in self.sorted.drain(..n) {
            if self.last.is_some_and(|last| request.at < last) {
                self.too_late += 1;
                continue;
            }
            self.last = Some(request.at);
            (self.sink)(request)?;
        }
        Ok(())
    }
}

fn start(stamp: i64, earlier: u64) -> i64 {
    stamp.saturating_sub(i64::try_from(earlier).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::convert::Infallible;

    /// Starts in the order in which they are written, and how many came too late.
    fn ordered(limit: usize, entries: &[(i64, u64, bool)]) -> (Vec<(i64, String)>, u64) {
        let mut out = Vec::new();
        let mut order = Order::new(limit, |request: Request| {
            out.push((request.at, request.path.to_string()));
            Ok::<(), Infallible>(())
        });
        for (line, &(stamp, earlier, whole)) in entries.iter().enumerate() {
            let request = Request { path: line.to_string().into(), ..Request::default() };
            order.push(request, stamp, earlier, whole).unwrap();
        }
        let too_late = order.finish().unwrap();
        (out, too_late)
    }

    #[test]
    fn a_second_is_shared_evenly_in_the_order_of_lines() {
        let (out, too_late) =
            ordered(100, &[(0, 0, true), (0, 0, true), (SECOND, 0, true), (0, 0, true), (0, 0, true)]);
        let want = [(125, "0"), (375, "1"), (625, "3"), (875, "4"), (1500, "2")];
        assert_eq!(out, want.map(|(ms, line)| (ms * 1_000_000, line.to_string())));
        assert_eq!(too_late, 0);
    }

    #[test]
    fn a_duration_is_taken_off_the_end_that_was_spread() {
        let (out, _) = ordered(100, &[(SECOND, 0, true), (SECOND, 750_000_000, true)]);
        assert_eq!(out, [(SECOND, "1".into()), (SECOND + 250_000_000, "0".into())]);
    }

    #[test]
    fn what_lies_further_back_than_the_window_is_counted() {
        let entries: Vec<_> =
            (1..=10).map(|ns| (ns, 0, false)).chain([(0, 0, false), (11, 0, false)]).collect();
        assert_eq!(ordered(2, &entries).1, 1);
        assert_eq!(ordered(11, &entries).1, 0);
    }

    #[test]
    fn a_line_of_a_wrong_clock_does_not_disturb_the_others() {
        let wrong = (4_000_000_000 * SECOND, 0, true);
        let entries =
            [(0, 0, true), wrong, (SECOND, 0, true), (SECOND, 0, true), (SECOND, 0, true), (SECOND, 0, true)];
        let (out, _) = ordered(100, &entries);
        let ms: Vec<i64> = out.iter().map(|(at, _)| at / 1_000_000).collect();
        assert_eq!(ms[..5], [500, 1125, 1375, 1625, 1875]);
    }

    #[test]
    fn a_second_with_more_requests_than_the_window_takes_no_more_memory() {
        let (out, too_late) = ordered(10, &[(5 * SECOND, 0, true); 1000]);
        assert_eq!((out.len(), too_late), (1000, 0));
        assert!(out.iter().all(|(at, _)| (5 * SECOND..6 * SECOND).contains(at)));
    }

    proptest! {
        #[test]
        fn all_are_in_order_and_none_gets_lost(
            entries in prop::collection::vec((0..20 * SECOND, 0..3_000_000_000_u64, any::<bool>()), 0..200),
            limit in 1..300_usize,
        ) {
            let (out, too_late) = ordered(limit, &entries);
            prop_assert_eq!(out.len() as u64 + too_late, entries.len() as u64);
            prop_assert!(out.is_sorted_by_key(|(at, _)| *at));
            prop_assert!(limit <= entries.len() || too_late == 0);
        }
    }
}
