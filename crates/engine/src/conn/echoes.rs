//! The beginnings of answers, kept until it is known whether they failed.

use unblink_core::record::FailedArrival;

/// Bytes of a body that are kept. That is more than is shown of it: a secret that begins in what is shown is whole.
const BODY_MAX: usize = 12 * 1024;

/// What came of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Echo {
    /// The number of its code; `None` while it is not whole. Codes that have names begin at 0.
    pub status: Option<u16>,
    /// Its head, as a protocol hands it on.
    pub head: Vec<u8>,
    /// The beginning of its body, codings such as gzip not undone.
    pub body: Vec<u8>,
    /// How many bytes of body came.
    pub body_bytes: u64,
}

/// Those of a worker, by the place of their flights. Their buffers are used again.
#[derive(Default)]
pub(super) struct Echoes {
    places: Vec<Place>,
    /// Requests that were sent.
    sent: u64,
}

#[derive(Default)]
struct Place {
    /// The number of the arrival, and of its request among all that were sent.
    arrival: u64,
    sent: u64,
    echo: Echo,
}

impl Echoes {
    /// A request for the arrival with this number is sent.
    pub(super) fn begin(&mut self, place: usize, arrival: u64) {
        if self.places.len() <= place {
            self.places.resize_with(place + 1, Place::default);
        }
        self.sent += 1;
        let Place { arrival: number, sent, echo } = &mut self.places[place];
        (*number, *sent) = (arrival, self.sent);
        (echo.status, echo.body_bytes) = (None, 0);
        echo.head.clear();
        echo.body.clear();
    }

    pub(super) fn head(&mut self, place: usize, head: &[u8]) {
        if let Some(Place { echo, .. }) = self.places.get_mut(place) {
            echo.head.extend_from_slice(head);
        }
    }

    pub(super) fn body(&mut self, place: usize, piece: &[u8]) {
        if let Some(Place { echo, .. }) = self.places.get_mut(place) {
            let room = BODY_MAX - echo.body.len();
            echo.body.extend_from_slice(&piece[..piece.len().min(room)]);
            echo.body_bytes += piece.len() as u64;
        }
    }

    pub(super) fn done(&mut self, place: usize, status: u16) {
        if let Some(Place { echo, .. }) = self.places.get_mut(place) {
            echo.status = Some(status);
        }
    }

    /// What came of the answer to the last attempt of an arrival, if anything did.
    pub(super) fn of(&self, failed: &FailedArrival) -> Option<&Echo> {
        let index = failed.arrival.index;
        let all = self.places.iter().filter(|place| place.sent > 0 && place.arrival == index);
        let last = all.max_by_key(|place| place.sent).filter(|_| failed.was_under_way)?;
        (!last.echo.head.is_empty() || last.echo.status.is_some()).then_some(&last.echo)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unblink_core::arrival::Arrival;
    use unblink_core::time::Instant;

    #[test]
    fn the_last_attempt_is_told_and_its_body_has_a_limit() {
        let mut echoes = Echoes::default();
        let failed = |was_under_way| FailedArrival {
            arrival: Arrival::single(7, 0, Instant(0)),
            kind: None,
            at: Instant(1),
            attempts: 2,
            was_under_way,
        };
        assert_eq!(echoes.of(&failed(true)), None);
        for (place, text) in [(3, "one"), (1, "two")] {
            echoes.begin(place, 7);
            assert_eq!(echoes.of(&failed(true)), None, "nothing of it has come yet");
            echoes.head(place, text.as_bytes());
            echoes.body(place, &[b'x'; BODY_MAX]);
            echoes.body(place, b"more");
            echoes.done(place, 500);
        }
        let echo = echoes.of(&failed(true)).expect("an answer");
        assert_eq!((echo.head.as_slice(), echo.status), (&b"two"[..], Some(500)));
        assert_eq!((echo.body.len(), echo.body_bytes), (BODY_MAX, BODY_MAX as u64 + 4));
        assert_eq!(echoes.of(&failed(false)), None);
        echoes.begin(1, 8);
        assert_eq!(echoes.of(&failed(true)).map(|echo| echo.head.as_slice()), Some(&b"one"[..]));
    }

    #[test]
    fn an_answer_without_a_head_is_whole_with_the_first_of_all_codes() {
        let mut echoes = Echoes::default();
        let arrival = Arrival::single(7, 0, Instant(0));
        let failed = FailedArrival { arrival, kind: None, at: Instant(1), attempts: 1, was_under_way: true };
        echoes.begin(0, 7);
        assert_eq!(echoes.of(&failed), None);
        echoes.done(0, 0);
        assert_eq!(echoes.of(&failed).map(|echo| echo.status), Some(Some(0)));
    }
}
