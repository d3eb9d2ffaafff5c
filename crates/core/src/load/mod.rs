//! Where arrivals come from: open schedules, the journeys that begin there, or a closed population of users.

mod closed;
mod journeys;
mod open;
mod population;
mod queue;
mod ring;
mod several;

pub use closed::{Closed, ClosedShare};
pub use journeys::Travelling;
pub use open::{LoadNumber, OpenLoad, OpenShare};
pub use population::Population;
pub use several::Open;

use crate::arrival::Arrival;
use crate::outcome::Outcome;
use crate::record::{Ages, Recorder};
use crate::time::{Instant, Nanos};
use std::collections::VecDeque;
use std::num::NonZeroU16;

/// A source of arrivals for one worker. `now` never goes back.
///
/// Arrivals that are due wait in a line of their own for each origin, so that an origin that stalls holds up no other. A line
/// has the number of its origin. Where journeys have connections of their own, there are as many more lines of what follows in
/// these, and as many more of such journeys that are to start.
pub trait Load {
    /// Takes note of what has fallen due up to and including `now`, in order of intended time; calls
    /// `due` for each.
    fn advance(&mut self, now: Instant, due: impl FnMut(Arrival));
    /// False if [`Load::advance`] would find nothing. Quick.
    #[inline]
    fn may_be_due(&self, _now: Instant) -> bool {
        true
    }
    /// Nothing is due for a moment: what the next arrival will need may be done now. Changes nothing that anybody sees.
    #[inline]
    fn draw_ahead(&mut self) {}
    /// The oldest arrival in `line` that is due, may be sent and is not yet taken.
    fn head(&self, line: usize) -> Option<Arrival>;
    /// Takes that one away: it is being sent, or it has ended unsent.
    fn pop(&mut self, line: usize);
    /// Takes the oldest arrival in `line` that is due and may be sent.
    #[inline(always)] // for each request
    fn take(&mut self, line: usize) -> Option<Arrival> {
        let arrival = self.head(line)?;
        self.pop(line);
        Some(arrival)
    }
    /// How many are due in `line`, may be sent and are not yet taken.
    fn waiting(&self, line: usize) -> u64;
    /// Adds the ages at `now` of those that are due and not yet taken; bounded work, however many they are.
    fn add_ages(&self, now: Instant, ages: &mut Ages);
    /// When the next one falls due, if it is known already.
    fn next_due(&self) -> Option<Instant>;
    /// An arrival that was popped has ended, and how. What that means for its journey is recorded.
    fn ended(&mut self, arrival: &Arrival, outcome: Outcome, now: Instant, rec: &mut Recorder);
    /// An arrival that was popped was answered as it must be, and not yet as the step of its journey waits for.
    fn not_yet(&mut self, arrival: &Arrival, now: Instant, rec: &mut Recorder) {
        self.ended(arrival, Outcome::Ok, now, rec);
    }
    /// When the journey of an arrival that was popped was to start; for one that stands alone, when it was itself.
    #[inline]
    fn began(&self, arrival: &Arrival) -> Instant {
        arrival.intended
    }
    /// When the first journey under way was to start that is yet to insert a key.
    fn inserting_from(&self) -> Option<Instant> {
        None
    }
    /// The arrival's answer may send it on once more.
    fn may_follow(&self, _arrival: &Arrival) -> bool {
        false
    }
    /// An arrival that was popped was sent on by its answer, as it may be: `operation` asks there.
    fn redirected(&mut self, arrival: &Arrival, _operation: u32, now: Instant, rec: &mut Recorder) {
        self.ended(arrival, Outcome::Ok, now, rec);
    }
    /// From here on each user takes the first of these pauses before its next request, in the place of the think time that all have;
    /// where none is left, the one before again. No pauses of a load without such users. Filled up to its capacity, it lasts
    /// until all of them have had an answer.
    fn pauses(&mut self) -> Option<&mut VecDeque<Nanos>> {
        None
    }
    /// Nothing falls due at `at` or later any more.
    fn stop(&mut self, at: Instant);
    /// The run is over at `now`: all that waits may be taken, and nothing follows any more.
    fn finish(&mut self, _now: Instant, _rec: &mut Recorder) {}
    /// The oldest arrival in `line` that is due, whether it may be sent or not.
    #[inline(always)] // nobody looks at all of it
    fn oldest(&self, line: usize) -> Option<Arrival> {
        self.head(line)
    }
    /// Takes that one away: it has ended unsent.
    fn pop_oldest(&mut self, line: usize) {
        self.pop(line);
    }
    /// The slot of a journey that has ended and may have connections of its own. They are to be closed now: another journey
    /// may have the slot from here on.
    fn take_left(&mut self, _now: Instant) -> Option<NonZeroU16> {
        None
    }
    /// Whether there is such a journey.
    fn has_left(&self) -> bool {
        false
    }
    /// How many are due and may not be sent yet, because as much is under way as the plan lets be.
    fn held_back(&self) -> u64 {
        0
    }
    /// Until when this arrival was one of those, if it was.
    fn held_until(&self, _arrival: &Arrival) -> Option<Instant> {
        None
    }
    /// Nothing falls due at this time or later.
    fn end(&self) -> Instant;
    /// Nothing will ever fall due again (some may still wait or be in flight).
    fn is_exhausted(&self, now: Instant) -> bool;
}
