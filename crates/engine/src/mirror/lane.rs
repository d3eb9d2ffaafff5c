//! One target: its connections, and the copies that wait for one.

use super::digested::Digested;
use super::open::PairId;
use super::place::Place;
use crate::addresses::Addresses;
use crate::conn::{Attempt, Conn, kind_of_connect_error};
use crate::job::Job;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::OwnedFd;
use std::collections::VecDeque;
use unblink_core::dispatch::CloseKind;
use unblink_core::failure::FailureKind;
use unblink_core::time::{Instant, Nanos};

/// Connections begun in one turn.
const OPENS_PER_TURN: usize = 16;
/// This machine lacked what a connection needs: it tries again after this time.
const PAUSE: Nanos = Nanos::from_millis(100);

/// What a connection is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Doing {
    Connecting,
    Idle,
    /// Of this pair. It had carried another request before.
    Asking(PairId, bool),
}

struct Slot {
    generation: u32,
    conn: Option<(Conn<Digested>, Doing)>,
}

pub(super) struct Lane {
    number: usize,
    addresses: Addresses,
    per_source: Option<u32>,
    slots: Vec<Slot>,
    free: Vec<usize>,
    /// The one used last at the end.
    idle: Vec<usize>,
    connecting: usize,
    paused_until: Instant,
    /// The oldest first, with whether it was sent before.
    pub(super) waiting: VecDeque<(PairId, bool)>,
    pub(super) opened: u64,
    pub(super) sent_again: u64,
}

impl Lane {
    pub(super) fn new(job: &Job<Digested>, number: usize, connections: u32) -> Lane {
        let target = &job.targets[number];
        Lane {
            number,
            addresses: Addresses::new(&target.addresses, 0),
            per_source: target.per_source,
            slots: (0..connections).map(|_| Slot { generation: 0, conn: None }).collect(),
            free: (0..connections as usize).rev().collect(),
            idle: Vec::new(),
            connecting: 0,
            paused_until: Instant(0),
            waiting: VecDeque::new(),
            opened: 0,
            sent_again: 0,
        }
    }

    pub(super) fn conn(&mut self, place: Place) -> Option<&mut (Conn<Digested>, Doing)> {
        let slot = self.slots.get_mut(place.slot).filter(|slot| slot.generation == place.generation)?;
        slot.conn.as_mut()
    }

    /// A connection that is free now.
    pub(super) fn take_idle(&mut self) -> Option<Place> {
        let slot = self.idle.pop()?;
        Some(Place { lane: self.number, slot, generation: self.slots[slot].generation })
    }

    /// The connection takes another request now.
    pub(super) fn make_idle(&mut self, place: Place) {
        if let Some((_, doing)) = self.conn(place) {
            if std::mem::replace(doing, Doing::Idle) == Doing::Connecting {
                self.connecting -= 1;
            }
            self.idle.push(place.slot);
        }
    }

    /// Begins as many connections as copies wait for, up to the bound. Returns why
    /// those failed that fail at once.
    pub(super) fn open(&mut self, job: &Job<Digested>, epoll: &OwnedFd, now: Instant) -> Vec<FailureKind> {
        let mut failed = Vec::new();
        let mut left = OPENS_PER_TURN;
        while left > 0 && self.waiting.len() > self.connecting + failed.len() && now >= self.paused_until {
            let Some(slot) = self.free.pop() else { break };
            let source = self.per_source.map_or(0, |per_source| slot as u32 / per_source.max(1));
            let address = self.addresses.next(now);
            if let Err(kind) =
                self.connect(job, epoll, slot, Attempt { address, source, tried: 0, began: now })
            {
                self.free.push(slot);
                failed.extend(self.failed(kind, now));
            }
            left -= 1;
        }
        failed
    }

    /// When it may open connections again, if it wants to and can't now.
    pub(super) fn resumes_at(&self, now: Instant) -> Option<Instant> {
        (self.paused_until > now && self.waiting.len() > self.connecting).then_some(self.paused_until)
    }

    fn connect(
        &mut self,
        job: &Job<Digested>,
        epoll: &OwnedFd,
        slot: usize,
        attempt: Attempt,
    ) -> Result<(), FailureKind> {
        let generation = self.slots[slot].generation;
        let address = self.addresses.at(attempt.address);
        let begun = Conn::begin(job, self.number, address, generation, attempt);
        let conn = begun.map_err(|error| kind_of_connect_error(&error)).and_then(|conn| {
            let token = Place { lane: self.number, slot, generation }.token();
            let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
            let added = epoll::add(epoll, conn.fd(), EventData::new_u64(token), flags);
            added.map(|()| conn).map_err(|_| FailureKind::NO_FILE_DESCRIPTOR)
        });
        match conn {
            Ok(conn) => {
                self.slots[slot].conn = Some((conn, Doing::Connecting));
                self.connecting += 1;
                self.opened += 1;
                Ok(())
            }
            Err(kind) => self.elsewhere(job, epoll, slot, attempt, kind),
        }
    }

    /// The next address, as a user's client would try it, until all have failed.
    fn elsewhere(
        &mut self,
        job: &Job<Digested>,
        epoll: &OwnedFd,
        slot: usize,
        failed: Attempt,
        kind: FailureKind,
    ) -> Result<(), FailureKind> {
        if kind.is_local() || failed.tried + 1 >= self.addresses.len() {
            return Err(kind);
        }
        self.addresses.avoid(failed.address, failed.began);
        let address = self.addresses.after(failed.address);
        self.connect(job, epoll, slot, Attempt { address, tried: failed.tried + 1, ..failed })
    }

    /// A connection never became usable. Says why if no other address is left.
    pub(super) fn unusable(
        &mut self,
        place: Place,
        kind: FailureKind,
        (job, epoll): (&Job<Digested>, &OwnedFd),
        now: Instant,
    ) -> Option<FailureKind> {
        let (conn, _) = self.conn(place)?;
        let (was_connecting, attempt) = (conn.is_connecting(), conn.attempt());
        self.close(place, CloseKind::Abort);
        let slot = self.free.pop()?;
        let tried = match was_connecting {
            true => self.elsewhere(job, epoll, slot, attempt, kind),
            false => Err(kind),
        };
        tried.err().and_then(|kind| {
            self.free.push(slot);
            self.failed(kind, now)
        })
    }

    /// What this machine lacks is no fault of the target's: it waits.
    fn failed(&mut self, kind: FailureKind, now: Instant) -> Option<FailureKind> {
        if kind.is_local() {
            self.paused_until = now + PAUSE;
            return None;
        }
        Some(kind)
    }

    pub(super) fn close(&mut self, place: Place, kind: CloseKind) {
        let slot = &mut self.slots[place.slot];
        if slot.generation != place.generation {
            return;
        }
        let Some((conn, doing)) = slot.conn.take() else { return };
        conn.close(kind);
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(place.slot);
        match doing {
            Doing::Connecting => self.connecting -= 1,
            Doing::Idle => self.idle.retain(|&other| other != place.slot),
            Doing::Asking(..) => {}
        }
    }

    /// Is this pair asked on that connection?
    pub(super) fn asks(&mut self, place: Place, id: PairId) -> bool {
        matches!(self.conn(place), Some((_, Doing::Asking(asked, _))) if *asked == id)
    }
}
