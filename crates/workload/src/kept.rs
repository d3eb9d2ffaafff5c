//! What journeys have taken from their answers, each for itself, while they are under way.

use crate::answer::{Captured, KEPT_BYTES_MAX, Missed};
use std::num::NonZeroU16;
use unblink_core::arrival::{Arrival, Key};

/// Values of all journeys of a plan, by name, at the most: which of them a request may use is kept in the bits of a word.
pub const KEPT_MAX: usize = 64;

/// Bytes of room that a value has from the start: most need no more, so that a place's first journey allocates nothing.
const ROOM_BYTES: usize = 128;

/// The values of a worker's journeys: for each place of a journey under way, one by each name.
///
/// A place is used again by the next journey. Of a request that was given up the answer may still come then, so that a place
/// belongs to the last request that was sent for it, and takes values from no other.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    /// Names.
    width: usize,
    /// By place and name. The first place is for requests of no journey: what they bring is looked at and never used.
    values: Vec<Vec<u8>>,
    /// By place.
    owners: Vec<u64>,
    /// By place, the load and unit of the journey whose values these are.
    journeys: Vec<Option<(u32, u64)>>,
}

impl Kept {
    /// `width` values of each of so many journeys.
    pub fn new(journeys: usize, width: usize) -> Kept {
        let places = if width > 0 { journeys + 1 } else { 0 };
        Kept {
            width,
            values: (0..places * width).map(|_| Vec::with_capacity(ROOM_BYTES)).collect(),
            owners: vec![0; places],
            journeys: vec![None; places],
        }
    }

    /// One journey, at the first place, that has `value` for each of `width` values.
    pub fn filled(width: usize, value: &[u8]) -> Kept {
        let kept = Kept::new(1, width);
        Kept { values: vec![value.to_vec(); kept.values.len()], ..kept }
    }

    /// Nothing is ever kept.
    #[inline]
    pub fn is_nothing(&self) -> bool {
        self.width == 0
    }

    /// A request is sent for the journey at `place`, which `of` says; `owner` is unlike that of any other request under way. A
    /// journey that begins has nothing. One whose first request is tried again has what the attempt before brought.
    #[inline]
    pub fn begin(&mut self, place: Option<NonZeroU16>, owner: u64, of: Key) {
        let at = index(place);
        if let (Some(known), Some(journey)) = (self.owners.get_mut(at), self.journeys.get_mut(at)) {
            *known = owner;
            let begins = Some((of.load, of.unit));
            if *journey != begins {
                *journey = begins;
                self.values[at * self.width..][..self.width].iter_mut().for_each(Vec::clear);
            }
        }
    }

    /// Takes a value from the answer to the request `owner` of the journey at `place`.
    ///
    /// # Errors
    /// Why there is none.
    pub fn take(
        &mut self,
        (place, owner): (Option<NonZeroU16>, u64),
        captured: &Captured,
        head: &[u8],
        body: &[u8],
    ) -> Result<(), Missed> {
        let at = index(place);
        // The answer is nobody's any more, and what is said of it has no effect.
        if self.owners.get(at).is_none_or(|known| place.is_some() && *known != owner) {
            return Ok(());
        }
        let Captured { number, capture, .. } = captured;
        let value = &mut self.values[at * self.width + *number as usize];
        if !capture.adds() {
            value.clear();
        }
        let is_there = capture.take(head, body, value);
        if value.len() > KEPT_BYTES_MAX {
            // Nothing that large is held on to.
            *value = Vec::new();
            return Err(Missed::TooLong);
        }
        if is_there { Ok(()) } else { Err(Missed::Absent) }
    }

    /// Takes a value that the answer to the request `owner` of the journey at `place` tells by itself.
    ///
    /// # Errors
    /// It is too long.
    pub fn put(
        &mut self,
        (place, owner): (Option<NonZeroU16>, u64),
        number: u32,
        text: &[u8],
    ) -> Result<(), Missed> {
        let at = index(place);
        // As above.
        if self.owners.get(at).is_none_or(|known| place.is_some() && *known != owner) {
            return Ok(());
        }
        let value = &mut self.values[at * self.width + number as usize];
        value.clear();
        if text.len() > KEPT_BYTES_MAX {
            return Err(Missed::TooLong);
        }
        value.extend_from_slice(text);
        Ok(())
    }

    /// Writes a value of the journey at `place` anew, for its request `owner`: `write` is given what it is. Nothing where the
    /// place is another's by now.
    pub fn rewrite<T>(
        &mut self,
        (place, owner): (Option<NonZeroU16>, u64),
        number: u32,
        write: impl FnOnce(&mut Vec<u8>) -> T,
    ) -> Option<T> {
        let at = index(place);
        let is_its = place.is_some() && self.owners.get(at) == Some(&owner);
        is_its.then(|| write(&mut self.values[at * self.width + number as usize]))
    }

    /// The value with the number `number` of the journey at `place`; empty where none was taken.
    #[inline]
    pub fn value(&self, place: Option<NonZeroU16>, number: u32) -> &[u8] {
        match place {
            Some(_) if (number as usize) < self.width => {
                &self.values[index(place) * self.width + number as usize]
            }
            _ => &[],
        }
    }

    /// All values that the journey of `arrival` has.
    pub fn all_of(&self, arrival: &Arrival) -> Vec<Vec<u8>> {
        let at = index(arrival.slot);
        let is_its = self.journeys.get(at) == Some(&Some((arrival.key.load, arrival.key.unit)));
        let of_it = (at > 0 && is_its).then(|| &self.values[at * self.width..][..self.width]);
        of_it.into_iter().flatten().filter(|value| !value.is_empty()).cloned().collect()
    }
}

fn index(place: Option<NonZeroU16>) -> usize {
    place.map_or(0, |place| usize::from(place.get()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Capture;

    fn captured(number: u32, text: &str) -> Captured {
        Captured { name: "x".into(), number, capture: Capture::parse(text).unwrap() }
    }

    fn of(unit: u64) -> Key {
        Key { unit, ..Key::default() }
    }

    const ONE: Option<NonZeroU16> = NonZeroU16::new(1);
    const TWO: Option<NonZeroU16> = NonZeroU16::new(2);

    #[test]
    fn each_journey_has_its_own_and_the_next_one_begins_with_nothing() {
        let mut kept = Kept::new(2, 2);
        let (id, tag) = (captured(0, "json $.id"), captured(1, "header ETag"));
        kept.begin(ONE, 10, of(1));
        kept.begin(TWO, 20, of(2));
        assert_eq!(kept.take((ONE, 10), &id, b"", br#"{"id":7}"#), Ok(()));
        assert_eq!(kept.take((TWO, 20), &id, b"", br#"{"id":8}"#), Ok(()));
        assert_eq!(kept.take((TWO, 20), &tag, b"ETag: a\r\n", b""), Ok(()));
        assert_eq!((kept.value(ONE, 0), kept.value(TWO, 0)), (&b"7"[..], &b"8"[..]));
        let arrival = |unit| Arrival { key: of(unit), slot: TWO, ..Arrival::default() };
        assert_eq!(kept.all_of(&arrival(2)), [b"8", b"a"]);
        assert!(kept.all_of(&arrival(9)).is_empty(), "the place is another's by now");
        kept.begin(ONE, 11, of(1));
        assert_eq!(kept.value(ONE, 0), b"7");
        assert_eq!(kept.take((ONE, 11), &id, b"", b"{}"), Err(Missed::Absent));
        kept.begin(TWO, 21, of(3));
        assert_eq!((kept.value(TWO, 0), kept.value(TWO, 1)), (&b""[..], &b""[..]));
        assert_eq!(kept.value(None, 0), b"");
    }

    #[test]
    fn a_first_request_that_is_tried_again_keeps_what_it_brought() {
        let mut kept = Kept::new(1, 1);
        let id = captured(0, "json $.id");
        kept.begin(ONE, 10, of(1));
        assert_eq!(kept.take((ONE, 10), &id, b"", br#"{"id":2}"#), Ok(()));
        kept.begin(ONE, 11, of(1));
        assert_eq!(kept.value(ONE, 0), b"2");
        kept.begin(ONE, 12, of(2));
        assert_eq!(kept.value(ONE, 0), b"");
    }

    #[test]
    fn a_late_answer_changes_nothing() {
        let mut kept = Kept::new(1, 1);
        let id = captured(0, "json $.id");
        kept.begin(ONE, 10, of(1));
        kept.begin(ONE, 11, of(2));
        assert_eq!(kept.take((ONE, 11), &id, b"", br#"{"id":2}"#), Ok(()));
        assert_eq!(kept.take((ONE, 10), &id, b"", br#"{"id":1}"#), Ok(()));
        assert_eq!(kept.value(ONE, 0), b"2");
    }

    #[test]
    fn a_value_is_written_anew_by_its_owner_alone() {
        let mut kept = Kept::new(1, 1);
        kept.begin(ONE, 10, of(1));
        assert_eq!(kept.rewrite((ONE, 10), 0, |value| value.extend_from_slice(b"a")), Some(()));
        assert_eq!(kept.rewrite((ONE, 9), 0, |value| value.clear()), None);
        assert_eq!(kept.rewrite((None, 10), 0, |value| value.clear()), None);
        assert_eq!(kept.value(ONE, 0), b"a");
    }

    #[test]
    fn a_value_has_a_limit() {
        let mut kept = Kept::new(1, 1);
        let all = captured(0, "regex (?s)(.*)");
        kept.begin(ONE, 1, of(1));
        assert_eq!(kept.take((ONE, 1), &all, b"", &vec![b'x'; KEPT_BYTES_MAX]), Ok(()));
        assert_eq!(kept.value(ONE, 0).len(), KEPT_BYTES_MAX);
        let larger = vec![b'x'; KEPT_BYTES_MAX + 1];
        assert_eq!(kept.take((ONE, 1), &all, b"", &larger), Err(Missed::TooLong));
        // Of no journey: it is told all the same.
        assert_eq!(kept.take((None, 1), &all, b"", &larger), Err(Missed::TooLong));
        assert_eq!(Kept::new(5, 0).value(ONE, 0), b"");
        assert_eq!(Kept::filled(2, b"x").value(ONE, 1), b"x");
    }

    #[test]
    fn a_value_that_is_told_is_taken_as_any_other() {
        let mut kept = Kept::new(1, 1);
        kept.begin(ONE, 1, of(1));
        assert_eq!(kept.put((ONE, 1), 0, b"a"), Ok(()));
        assert_eq!(kept.put((ONE, 9), 0, b"late"), Ok(()));
        assert_eq!(kept.value(ONE, 0), b"a");
        for place in [ONE, None] {
            assert_eq!(kept.put((place, 1), 0, &vec![b'x'; KEPT_BYTES_MAX + 1]), Err(Missed::TooLong));
        }
        assert_eq!(kept.value(ONE, 0), b"");
    }

    #[test]
    fn cookies_are_gathered_from_answer_to_answer() {
        let mut kept = Kept::new(1, 1);
        let jar = Captured { name: "jar".into(), number: 0, capture: Capture::Cookies };
        kept.begin(ONE, 1, of(1));
        let mut heard = |head: &str| {
            assert_eq!(kept.take((ONE, 1), &jar, head.as_bytes(), b""), Ok(()));
            String::from_utf8(kept.value(ONE, 0).to_vec()).unwrap()
        };
        assert_eq!(heard("A: b\r\n"), "");
        assert_eq!(heard("Set-Cookie: sid=1; Path=/; HttpOnly\r\n"), "sid=1");
        assert_eq!(heard("Set-Cookie: b=2\r\nset-cookie: sid=3=4\r\n"), "sid=3=4; b=2");
        assert_eq!(heard("Set-Cookie: b=\r\nSet-Cookie: nothing\r\n"), "sid=3=4; b=");
    }
}
