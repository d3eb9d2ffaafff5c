//! Who asked what after what: recorded arrivals, linked by user.

use super::reading::Who;
use anyhow::{Context, Result};
use std::collections::HashMap;
use std::io::Write;
use unblink_core::recorded::{Bytes, Recorded};
use unblink_core::recorded_users::{LINK_BYTES, Link, RecordedUsers};
use unblink_core::time::Nanos;
use unblink_engine::spill::Spill;

/// Arrivals by user, and what of their pauses is not as it was.
#[derive(Debug)]
pub(crate) struct ByUser {
    pub(crate) users: RecordedUsers,
    /// Requests that a user sent before the answer to the one before: they follow that answer without a pause.
    pub(crate) overlapping: u64,
    /// Requests behind one of the same user whose duration was not recorded: the pause has it in it.
    pub(crate) after_unknown: u64,
}

impl ByUser {
    /// How many users were between their first and their last request until `end`, on average.
    pub(crate) fn users_mean(&self, end: Nanos) -> f64 {
        let recorded = self.users.recorded();
        let at = |k: u64| recorded.at(k).unwrap_or_default();
        let gap = |k: u64| match self.users.link(k).next {
            0 => 0,
            next => u128::from((at(next).min(end) - at(k)).0),
        };
        let all: u128 = (0..recorded.count_before(end)).map(gap).sum();
        all as f64 / end.0.max(1) as f64
    }
}

/// Links each of `recorded` to the next one of the same user. `who` has [`Who::BYTES`] for each.
///
/// Read from behind, whatever was seen last of a user is what follows: memory is needed for each user only.
pub(super) fn by_user(recorded: Recorded, who: &Bytes) -> Result<ByUser> {
    let all = (**who).as_ref().as_chunks::<{ Who::BYTES }>().0;
    let mut backwards = Spill::new().context("can't write a temporary file")?;
    let mut following: HashMap<u64, u32> = HashMap::new();
    let (mut overlapping, mut after_unknown) = (0, 0);
    let at = |k: u64| recorded.at(k).unwrap_or_default();
    for (k, bytes) in all.iter().enumerate().rev() {
        let k = k as u64;
        let who = Who::from_bytes(bytes);
        let link = match following.insert(who.user, k as u32).map(u64::from) {
            None => Link { pause: Nanos::ZERO, next: 0 },
            Some(next) => {
                let answered = at(k) + Nanos(who.took.unwrap_or(0));
                overlapping += u64::from(at(next) < answered);
                after_unknown += u64::from(who.took.is_none());
                Link { pause: Nanos(at(next).0.saturating_sub(answered.0)), next }
            }
        };
        backwards.write_all(&link.to_bytes()).context("can't write a temporary file")?;
    }
    let backwards = backwards.finish().context("can't write a temporary file")?;
    let mut links = Spill::new().context("can't write a temporary file")?;
    for link in (*backwards).as_ref().as_chunks::<LINK_BYTES>().0.iter().rev() {
        links.write_all(link).context("can't write a temporary file")?;
    }
    let links = links.finish().context("can't write a temporary file")?;
    let mut begins: Vec<u32> = following.into_values().collect();
    begins.sort_unstable();
    let mut out = Spill::new().context("can't write a temporary file")?;
    for k in begins {
        out.write_all(&u64::from(k).to_le_bytes()).context("can't write a temporary file")?;
    }
    let begins = out.finish().context("can't write a temporary file")?;
    let users = RecordedUsers::new(recorded, links, begins)?;
    Ok(ByUser { users, overlapping, after_unknown })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use unblink_core::recorded::RecordedArrival;

    #[test]
    fn pauses_lie_between_an_answer_and_what_follows() {
        // Who, when, and how long it took, in ms.
        let all = [(7, 0, Some(10)), (8, 5, None), (7, 30, Some(100)), (8, 45, Some(1)), (7, 60, None)];
        let ms = |ms: u64| Nanos::from_millis(ms);
        let arrival =
            |&(_, at, _): &(u64, u64, _)| RecordedArrival { at: ms(at), operation: 0, text: 0 }.to_bytes();
        let arrivals: Vec<u8> = all.iter().flat_map(arrival).collect();
        let recorded = Recorded::new(Arc::new(arrivals), Arc::new(Vec::new()), ms(100)).unwrap();
        let who = |&(user, _, took): &(u64, u64, Option<u64>)| {
            Who { user, took: took.map(|took| ms(took).0) }.to_bytes()
        };
        let who: Bytes = Arc::new(all.iter().flat_map(who).collect::<Vec<u8>>());
        let by_user = by_user(recorded, &who).unwrap();
        let ByUser { users, overlapping, after_unknown } = &by_user;
        let links: Vec<(u64, u64)> =
            (0..5).map(|k| users.link(k)).map(|link| (link.pause.0 / 1_000_000, link.next)).collect();
        assert_eq!(links, [(20, 2), (40, 3), (0, 4), (0, 0), (0, 0)]);
        assert_eq!((users.users(), users.begin(0), users.begin(1)), (2, 0, 1));
        assert_eq!((*overlapping, *after_unknown), (1, 1));
        // 7 is there for 60 ms, and 8 from 5 ms to 45 ms; until 50 ms, both as long as that.
        assert_eq!(by_user.users_mean(ms(100)), 1.0);
        assert_eq!(by_user.users_mean(ms(50)), 1.8);
    }
}
