//! How connections end: after the answers, and for good.

use super::EventLoop;
use crate::connection::Connection;

/// Connections finished in one turn: some 0.2 ms of work.
const MOST_FINISHED: usize = 32;
/// Connections that wait to be finished while answers are due, and for how long, in ns: some clients wait for the end.
const MOST_ANSWERED: usize = 4_096;
const LONGEST_ANSWERED_NS: u64 = 20_000_000;
/// A connection that the client does not close after the last answer is closed after so long, in ns.
const LINGER_NS: u64 = 1_000_000_000;

impl EventLoop {
    /// The connection's last answer has left. After a stall the answers come first.
    pub(super) fn finish_later(&mut self, token: u64) {
        if let Some(connection) = self.connection(token)
            && !std::mem::replace(&mut connection.is_queued, true)
        {
            self.answered.push_back((self.clock.now_ns(), token));
        }
    }

    /// Finishes some of the connections that are answered, where no answer is due.
    pub(super) fn finish_answered(&mut self) {
        for _ in 0..MOST_FINISHED {
            let Some(&(since_ns, token)) = self.answered.front() else { return };
            let now_ns = self.clock.now_ns();
            let can_wait = self.answered.len() <= MOST_ANSWERED && now_ns < since_ns + LONGEST_ANSWERED_NS;
            if can_wait && self.model.next_wake_ns().is_some_and(|at_ns| at_ns <= now_ns) {
                return;
            }
            self.answered.pop_front();
            if self.connection(token).is_some_and(Connection::shut_and_linger) {
                self.lingering.push_back((self.clock.now_ns() + LINGER_NS, token));
                self.advance(token);
            } else {
                self.close(token);
            }
        }
    }

    pub(super) fn close(&mut self, token: u64) {
        let index = token as u32;
        let Some(slot) = self.slots.get_mut(index as usize) else { return };
        if slot.number != (token >> 32) as u32 {
            return;
        }
        // Dropping the socket closes it, which also takes it out of the epoll instance.
        let Some(connection) = slot.connection.take() else { return };
        connection.in_flight().for_each(|id| self.model.abandon(id));
        self.free_slots.push(index);
        self.open -= 1;
    }
}
