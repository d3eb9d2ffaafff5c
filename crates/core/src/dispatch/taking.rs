//! Which arrival of a lane comes next.

use super::Dispatch;
use super::again::Again;
use super::overslept::OVERSLEPT_FROM;
use crate::arrival::Arrival;
use crate::load::Load;
use crate::record::Flight;

impl<L: Load> Dispatch<L> {
    #[inline]
    pub(super) fn waiting(&self, origin: usize) -> u64 {
        let again = self.retrying.as_ref().map_or(0, |retrying| retrying.ready_of(origin));
        let resend = self.lanes[origin].resend.len() as u64;
        let sockets = self.lanes[origin].sockets.as_ref().map_or(0, |sockets| sockets.waiting());
        resend + again + sockets + self.load.as_ref().map_or(0, |load| load.waiting(origin))
    }

    /// The next flight to send: second sends first, then the one that could be sent first, a further attempt or an
    /// arrival.
    #[inline(always)] // into the loop that sends: a flight is large
    pub(super) fn take_waiting(&mut self, origin: usize) -> Option<Flight> {
        if (self.retrying.is_some() || !self.lanes[origin].resend.is_empty())
            && let Some(flight) = self.take_before_head(origin)
        {
            return Some(flight);
        }
        self.take_head(origin)
    }

    /// A second send or a further attempt that goes before the first waiting arrival.
    #[inline(never)]
    fn take_before_head(&mut self, origin: usize) -> Option<Flight> {
        if let Some(flight) = self.lanes[origin].resend.pop_front() {
            return Some(flight);
        }
        let again = self.first_ready(origin)?;
        let head = self.load.as_ref().and_then(|load| load.head(origin));
        if head.is_none_or(|arrival| again.at <= arrival.intended) { self.take_again(origin) } else { None }
    }

    /// The attempt after the first that may be sent to `origin` and has waited longest.
    pub(super) fn first_ready(&self, origin: usize) -> Option<&Again> {
        self.retrying.as_ref()?.first_ready(origin)
    }

    pub(super) fn take_again(&mut self, origin: usize) -> Option<Flight> {
        self.retrying.as_mut()?.pop_ready(origin)
    }

    #[inline(always)]
    pub(super) fn take_head(&mut self, origin: usize) -> Option<Flight> {
        let load = self.load.as_mut()?;
        let arrival = load.head(origin)?;
        load.pop(origin);
        if let Some(retrying) = &mut self.retrying {
            retrying.begins();
        }
        Some(self.flight_of(arrival, origin))
    }

    /// Takes the oldest arrival, which will not be sent.
    pub(super) fn take_oldest(&mut self, origin: usize) -> Option<Flight> {
        let load = self.load.as_mut()?;
        let arrival = load.oldest(origin)?;
        load.pop_oldest(origin);
        Some(self.flight_of(arrival, origin))
    }

    #[inline]
    fn flight_of(&mut self, arrival: Arrival, origin: usize) -> Flight {
        let held_until = self.load.as_ref().and_then(|load| load.held_until(&arrival));
        let lane = &mut self.lanes[origin];
        let noticed = lane.oversleep.noticed(&arrival);
        Flight {
            arrival,
            noticed,
            held_until,
            // Arrivals that are noticed in one turn may find the pool filled by the first of them.
            pool_full: lane.connections.fullness.was_full_at(noticed)
                || lane.connections.fullness.was_full_at(noticed + OVERSLEPT_FROM),
            ..Flight::default()
        }
    }
}
