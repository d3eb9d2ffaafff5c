//! Answers that come event by event: what each piece of them is news of.

use super::{Hearing, News};
use unblink_core::dispatch::FlightId;
use unblink_core::record::Events;
use unblink_workload::answer::Found;

impl Hearing {
    /// A part of the answer's body came, or (`None`) its end: what that means for its events.
    #[inline]
    pub(super) fn hear(&mut self, flight: FlightId, piece: Option<&[u8]>) {
        if self.flights[flight.slot as usize].events.is_some() {
            self.hear_events(flight, piece);
        }
    }

    fn hear_events(&mut self, flight: FlightId, piece: Option<&[u8]>) {
        let Some(heard) = &mut self.flights[flight.slot as usize].events else { return };
        let found = match piece {
            Some(piece) => heard.reader.read(heard.format, piece),
            None => heard.reader.end(heard.format),
        };
        self.tell_events(flight, found);
    }

    /// News of the events of an answer that comes event by event.
    pub(super) fn tell_events(&mut self, flight: FlightId, found: Found) {
        let Some(heard) = &mut self.flights[flight.slot as usize].events else { return };
        if found.is_nothing() {
            return;
        }
        heard.is_any |= found.events > 0;
        let Found { events, keep_alives } = found;
        // All that one read brings has one time.
        match self.news.last_mut() {
            Some(News::Heard(last, sum)) if *last == flight => {
                sum.events += events;
                sum.keep_alives += keep_alives;
            }
            _ => self.news.push(News::Heard(flight, Events { events, keep_alives })),
        }
    }
}
