//! Recorded arrivals by user: each request of a user follows the answer to the one before it, after the pause that was recorded.
//!
//! The arrivals are those of a [`Recorded`], in order of time. Beside them stand, for each arrival, a link to the next one of the same
//! user, and the numbers of those with which a user begins. Both are bytes that somebody else holds, so a record of any length
//! takes no memory but for the users who are between two requests.

use crate::recorded::{Bytes, RecordError, Recorded};
use crate::time::Nanos;
use std::fmt;
use std::sync::Arc;

/// Of each arrival, in little-endian order: how long its user pauses after it in ns (8), and the number of the user's next
/// arrival (8), or 0 where it was the last.
pub const LINK_BYTES: usize = 16;
/// Of each user: the number of the arrival with which it begins.
pub const BEGIN_BYTES: usize = 8;

/// What a user does after an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// From the end of the answer to the next request.
    pub pause: Nanos,
    /// The number of that one; 0 where none follows.
    pub next: u64,
}

impl Link {
    /// As it stands in the record.
    pub fn to_bytes(self) -> [u8; LINK_BYTES] {
        let mut bytes = [0; LINK_BYTES];
        bytes[..8].copy_from_slice(&self.pause.0.to_le_bytes());
        bytes[8..].copy_from_slice(&self.next.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8; LINK_BYTES]) -> Link {
        let (pause, next) = bytes.split_at(8);
        let word = |half: &[u8]| half.try_into().map_or(0, u64::from_le_bytes);
        Link { pause: Nanos(word(pause)), next: word(next) }
    }
}

/// Recorded arrivals of users who wait for their answers.
#[derive(Clone)]
pub struct RecordedUsers {
    recorded: Recorded,
    links: Bytes,
    begins: Bytes,
    returning: u32,
}

impl RecordedUsers {
    /// `recorded` with a [`Link`] for each of its arrivals, and the numbers of those with which a user begins, ascending.
    ///
    /// # Errors
    /// [`RecordError`]
    pub fn new(recorded: Recorded, links: Bytes, begins: Bytes) -> Result<RecordedUsers, RecordError> {
        let mut all = RecordedUsers { recorded, links, begins, returning: 0 };
        let count = all.recorded.count();
        if all.begins().is_empty() {
            return Err(RecordError::Empty);
        }
        let (mut followers, mut returning) = (0, 0);
        for k in 0..count {
            let next = all.link(k).next;
            if next > 0 {
                // It goes on in time, so that no user turns in a circle.
                if next <= k || next >= count {
                    return Err(RecordError::Disorder);
                }
                followers += 1;
            }
        }
        let mut last = None;
        for user in 0..all.users() {
            let k = all.begin(user);
            if k >= count || last.is_some_and(|last| k <= last) {
                return Err(RecordError::Disorder);
            }
            returning += u32::from(all.link(k).next > 0);
            last = Some(k);
        }
        if all.users() + followers != count {
            return Err(RecordError::Disorder);
        }
        all.returning = returning;
        Ok(all)
    }

    /// The same, ended after so long.
    pub fn lasting(&self, length: Nanos) -> RecordedUsers {
        RecordedUsers { recorded: self.recorded.lasting(length), ..self.clone() }
    }

    /// The arrivals, when they were recorded.
    pub fn recorded(&self) -> &Recorded {
        &self.recorded
    }

    /// How many users there are.
    pub fn users(&self) -> u64 {
        self.begins().len() as u64
    }

    /// How many of them come again.
    pub fn returning(&self) -> u32 {
        self.returning
    }

    /// With which arrival a user begins.
    #[inline]
    pub fn begin(&self, user: u64) -> u64 {
        u64::from_le_bytes(self.begins()[user as usize])
    }

    /// What its user does after an arrival.
    #[inline]
    pub fn link(&self, k: u64) -> Link {
        let (all, _) = (*self.links).as_ref().as_chunks::<LINK_BYTES>();
        all.get(k as usize).map_or(Link { pause: Nanos::ZERO, next: 0 }, Link::from_bytes)
    }

    /// An arrival is the first of its user.
    pub fn begins_with(&self, k: u64) -> bool {
        self.begins().binary_search_by_key(&k, |bytes| u64::from_le_bytes(*bytes)).is_ok()
    }

    fn begins(&self) -> &[[u8; BEGIN_BYTES]] {
        (*self.begins).as_ref().as_chunks::<BEGIN_BYTES>().0
    }
}

impl fmt::Debug for RecordedUsers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecordedUsers({} users, {:?})", self.users(), self.recorded)
    }
}

/// The very same record for the same time.
impl PartialEq for RecordedUsers {
    fn eq(&self, other: &RecordedUsers) -> bool {
        Arc::ptr_eq(&self.links, &other.links) && self.recorded == other.recorded
    }
}

impl Eq for RecordedUsers {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorded::RecordedArrival;

    fn of(count: u64, links: &[(u64, u64)], begins: &[u64]) -> Result<RecordedUsers, RecordError> {
        let arrival = |k| RecordedArrival { at: Nanos(k), operation: 0, text: 0 };
        let arrivals: Vec<u8> = (0..count).flat_map(|k| arrival(k).to_bytes()).collect();
        let recorded = Recorded::new(Arc::new(arrivals), Arc::new(Vec::new()), Nanos(count)).unwrap();
        let link = |&(pause, next)| Link { pause: Nanos(pause), next }.to_bytes();
        let links: Vec<u8> = links.iter().flat_map(link).collect();
        let begins: Vec<u8> = begins.iter().flat_map(|k| k.to_le_bytes()).collect();
        RecordedUsers::new(recorded, Arc::new(links), Arc::new(begins))
    }

    #[test]
    fn users_are_who_they_were() {
        let users = of(4, &[(5, 2), (0, 0), (7, 3), (0, 0)], &[0, 1]).unwrap();
        assert_eq!((users.users(), users.returning(), users.begin(1)), (2, 1, 1));
        assert_eq!(users.link(2), Link { pause: Nanos(7), next: 3 });
        assert_eq!([0, 1, 2, 3].map(|k| users.begins_with(k)), [true, true, false, false]);
        assert_eq!(users.lasting(Nanos(2)).recorded().count(), 2);
    }

    #[test]
    fn links_that_can_not_be_are_refused() {
        let disorder = Err(RecordError::Disorder);
        let users = |links: &[(u64, u64)], begins: &[u64]| of(3, links, begins).map(|users| users.users());
        assert_eq!(users(&[(0, 1), (0, 0), (0, 0)], &[0, 2]), Ok(2));
        assert_eq!(users(&[(0, 1), (0, 1), (0, 0)], &[0, 2]), disorder, "a circle");
        assert_eq!(users(&[(0, 3), (0, 0), (0, 0)], &[0, 1]), disorder, "behind the end");
        assert_eq!(users(&[(0, 1), (0, 0), (0, 0)], &[0]), disorder, "nobody asks for the last");
        assert_eq!(users(&[(0, 0), (0, 0), (0, 0)], &[0, 2, 1]), disorder);
        assert_eq!(users(&[(0, 0), (0, 0), (0, 0)], &[]), Err(RecordError::Empty));
    }
}
