//! Reading what sockets have, and telling the dispatcher what was heard.

use super::Worker;
use crate::conn::{News, Reading};
use rustix::event::epoll::EventFlags;
use unblink_core::code::Code;
use unblink_core::dispatch::{CloseKind, ConnId, Event, FlightId, Loss, SENDS_PER_CALL_MAX};
use unblink_core::failure::FailureKind;
use unblink_core::load::Load;
use unblink_core::record::Answer;
use unblink_core::time::{Instant, Nanos};
use unblink_wire::protocol::Protocol;

/// Handshake messages worked on in one turn: each costs up to 0.3 ms, and arrivals are due meanwhile.
const HANDSHAKES_PER_TURN: u32 = 4;

/// Connections that are read on in one turn: each may bring half a megabyte, and arrivals are due meanwhile.
const UNREAD_PER_TURN: usize = 4;

/// While so many requests wait for the rest of what a read has brought, no more join them.
pub(super) const UNWRITTEN_MAX: usize = 4 * SENDS_PER_CALL_MAX;

impl<L: Load, P: Protocol> Worker<L, P> {
    /// Goes on with connections that had more to read than their turn allowed; a few in each turn.
    pub(super) fn read_on(&mut self) {
        let mut handshakes = 0;
        for _ in 0..self.unread.len().min(UNREAD_PER_TURN) {
            let Some(id) = self.unread.pop_front() else { return };
            if let Some(conn) = self.conn(id) {
                conn.is_unread = false;
                self.on_socket(id, EventFlags::empty(), &mut handshakes);
            }
        }
    }

    pub(super) fn on_socket(&mut self, id: ConnId, flags: EventFlags, handshakes: &mut u32) {
        let Some(conn) = self.conns.get_mut(id).filter(|c| c.generation == id.generation) else { return };
        if flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR) {
            conn.note_peer_closed();
        }
        if conn.is_handshaking() {
            *handshakes += 1;
            if *handshakes > HANDSHAKES_PER_TURN {
                return self.read_later(id);
            }
        }
        let (reading, now) = conn.ready(&self.job, &mut self.common, self.pacer.watch());
        if let Some(recorder) = &mut self.recorder {
            recorder.counters().bytes_received += conn.take_bytes_read();
            let beside = &mut self.common.hearing.beside;
            let told = beside.unsolicited + beside.pinged + beside.asked_to_wait;
            if told + beside.followed + beside.prepared_again > 0 {
                recorder.connections(usize::from(id.origin)).add(&std::mem::take(beside));
            }
        }
        // How much room it has, too, before it is used for the first time.
        self.tell(id, now);
        if !matches!(reading, Reading::Quiet) {
            self.go_on(id, reading, now);
        }
    }

    /// There is more to read, or the connection has begun or ended.
    #[inline(never)]
    fn go_on(&mut self, id: ConnId, reading: Reading, now: Instant) {
        match reading {
            Reading::Quiet => {}
            Reading::More => self.read_later(id),
            Reading::Usable(times) => {
                if let Some(address) = self.conn(id).map(|conn| conn.attempt().address) {
                    let origin = usize::from(id.origin);
                    self.ways[origin].opened(id, address);
                    if let Some(recorder) = &mut self.recorder {
                        recorder.goes_to(origin, id.slot, address);
                    }
                }
                self.handle(now, Event::Connected(id, times));
            }
            Reading::Unusable(kind) => {
                let Some(conn) = self.conn(id) else { return };
                let (connecting, attempt) = (conn.is_connecting(), conn.attempt());
                if P::FULL.is_some_and(|number| kind == FailureKind::protocol(usize::from(number)))
                    && let Some(recorder) = &mut self.recorder
                {
                    recorder.connections(usize::from(id.origin)).full += 1;
                }
                if !connecting {
                    self.ways[usize::from(id.origin)].fails(attempt.address, kind);
                }
                self.close(id, CloseKind::Graceful);
                let elsewhere = match connecting {
                    true => self.connect_elsewhere(id, attempt, kind),
                    false => Err(kind),
                };
                if let Err(kind) = elsewhere {
                    self.handle(now, Event::ConnectFailed(id, kind));
                }
            }
            Reading::Ended(closing) => {
                self.close(id, CloseKind::Graceful);
                self.handle(now, Event::Closed(id, closing));
            }
        }
    }

    /// The dispatcher learns what a connection has heard. What it then asks for is written, and nothing is read. Many answers
    /// may have come in one read: what follows them leaves in one write.
    #[inline]
    pub(super) fn tell(&mut self, id: ConnId, now: Instant) {
        if P::DEADLINE.is_some() {
            self.leave_deadlines(now);
        }
        let mut i = 0;
        while let Some(news) = self.common.hearing.news.get(i) {
            i += 1;
            match *news {
                News::Answered(..) if self.script.is_none() => self.take_answer(i - 1, now),
                news => self.take_other_news(id, news, now),
            }
            if self.unwritten_requests > UNWRITTEN_MAX {
                self.write_together();
            }
        }
        self.write_together();
        self.common.hearing.news.clear();
    }

    /// The same as [`Worker::take_note`] of an answer, which is not copied.
    #[inline(always)]
    fn take_answer(&mut self, place: usize, now: Instant) {
        self.heed_stop(now);
        self.note_absence();
        let Worker { dispatch, actions, recorder: Some(recorder), common, .. } = &mut *self else { return };
        let News::Answered(flight, answer) = &common.hearing.news[place] else { return };
        dispatch.handle_answer(now, *flight, answer, actions, recorder);
        if recorder.has_failed() {
            self.hand_over_failed();
        }
        self.carry_out();
    }

    /// News that only some connections bring.
    #[inline(never)]
    fn take_other_news(&mut self, id: ConnId, news: News, now: Instant) {
        let event = match news {
            News::Answered(flight, answer) => Event::Answered(flight, self.told_script(flight, answer)),
            News::Heard(flight, events) => Event::Heard(flight, events),
            News::Lost(flight, loss) => Event::Lost(flight, loss),
            News::Room(places) => Event::Room(id, places),
            News::Retired => Event::Retired(id),
            News::Broken(breach) => Event::Broken(id, breach),
        };
        self.take_note(now, event);
    }

    /// Forgets answers by which the target says that the time has passed which it was told, and those that it breaks off then. Their own timeout ends these arrivals
    /// a moment later: as failures they would leave the tail, and take nearly as long.
    fn leave_deadlines(&mut self, now: Instant) {
        let says_so =
            |answer: &Answer| answer.failure.is_some() && answer.code == P::DEADLINE.and_then(Code::at);
        let broken_off = P::BROKEN_OFF.map(|number| FailureKind::protocol(usize::from(number)));
        let is_broken_off = |loss: &Loss| Some(loss.kind) == broken_off;
        let mut news = std::mem::take(&mut self.common.hearing.news);
        news.retain(|one| match one {
            News::Answered(flight, answer) => !(says_so(answer) && self.is_at_end(*flight, now)),
            News::Lost(flight, loss) => !(is_broken_off(loss) && self.is_at_end(*flight, now)),
            _ => true,
        });
        self.common.hearing.news = news;
    }

    /// The flight is about to time out. What comes sooner tells of somebody else's time.
    fn is_at_end(&self, flight: FlightId, now: Instant) -> bool {
        let moment = Nanos(self.job.plan.spec().timeout.0 / 100).max(Nanos::from_millis(1));
        self.left(flight, now) <= moment && self.dispatch.awaited(flight).is_some()
    }

    pub(super) fn read_later(&mut self, id: ConnId) {
        if let Some(conn) = self.conn(id)
            && !std::mem::replace(&mut conn.is_unread, true)
        {
            self.unread.push_back(id);
        }
    }
}
