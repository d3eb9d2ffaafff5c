//! The server's side: every request that was sent arrives once, slots are never exceeded and given first come
//! first served, nothing is answered by a shut server, and no news is faster than the network.

use super::generate::Case;
use super::hold;
use super::recording::Entry;
use std::collections::HashMap;
use unblink_core::dispatch::{Action, ConnId, Event, FlightId};
use unblink_core::sim::{Sight, Taken, Windows, ZERO};
use unblink_core::time::{Instant, Nanos};

pub(super) fn check(case: &Case, log: &[Entry]) -> Result<(), String> {
    let mut server = Server {
        case,
        on_the_way: HashMap::new(),
        taken: HashMap::new(),
        conns: HashMap::new(),
        inside: vec![],
    };
    let (mut now, mut begun_last) = (Instant(0), Instant(0));
    for entry in log {
        let Entry::Seen(at, sight) = entry else { continue };
        let at = *at;
        match sight {
            Sight::Action(Action::Send { conn, flight, .. }) => {
                server.on_the_way.insert(*flight, at);
                server.conns.entry(*conn).or_default().push(*flight);
            }
            Sight::Request(taken) => {
                hold!(at >= now, "the server's clock goes back from {now:?} to {at:?}");
                now = at;
                server.request(at, taken)?;
                if let Some((begin, _)) = taken.work.filter(|_| case.world.server.slots.is_some()) {
                    hold!(begin >= begun_last, "{taken:?} overtakes one that began at {begun_last:?}");
                    begun_last = begin;
                }
            }
            Sight::Turn(Event::Answered(flight, answer)) => {
                let taken = server.taken.remove(flight);
                server.news(at, taken, Some(answer.status))?;
            }
            Sight::Turn(Event::Closed(conn, _)) => {
                let taken = server.next_reset(*conn);
                server.news(at, taken, None)?;
            }
            _ => {}
        }
    }
    Ok(())
}

struct Server<'a> {
    case: &'a Case,
    on_the_way: HashMap<FlightId, Instant>,
    taken: HashMap<FlightId, Taken>,
    /// Which requests were sent on which connection.
    conns: HashMap<ConnId, Vec<FlightId>>,
    /// (begin, end) of what is in a slot or waits for one.
    inside: Vec<(Instant, Instant)>,
}

impl Server<'_> {
    fn request(&mut self, now: Instant, taken: &Taken) -> Result<(), String> {
        let Some(sent) = self.on_the_way.remove(&taken.flight) else {
            return Err(format!("{taken:?} at {now:?} was never sent"));
        };
        self.way(sent, now, "a request")?;
        hold!(taken.ends >= now, "{taken:?} at {now:?} ends before it begins");
        self.taken.insert(taken.flight, *taken);

        let spec = &self.case.world.server;
        let is_in = |windows: &[Windows], at: Instant| windows.iter().any(|w| holds(w, at.since(ZERO)));
        let down = is_in(&spec.down, now);
        hold!(!down || (taken.work, taken.status) == (None, None), "{taken:?} while the server is down");
        self.inside.retain(|&(_, end)| end > now);
        let slots = spec.slots.map_or(usize::MAX, |slots| slots as usize);
        let full = self.inside.len() >= slots;
        let queue = self.inside.iter().filter(|(begin, _)| *begin > now).count() as u64;
        let queue_full = full && spec.queue_max.is_some_and(|max| queue >= max);
        hold!((taken.status == Some(503)) <= queue_full, "{taken:?} is turned away with {queue} waiting");
        let Some((begin, end)) = taken.work else { return Ok(()) };
        hold!(!queue_full, "{taken:?} waits as number {} of a queue", queue + 1);
        hold!(begin >= now && end >= begin && taken.ends <= end, "{taken:?} at {now:?} is out of order");
        hold!(!is_in(&spec.shut, end), "{taken:?} while the server is shut");
        // Its slot is the one of whoever leaves fewer than `slots` inside.
        let expected = if full {
            let mut ends: Vec<Instant> = self.inside.iter().map(|(_, end)| *end).collect();
            let place = self.inside.len() - slots;
            *ends.select_nth_unstable(place).1
        } else {
            now
        };
        hold!(begin == expected, "{taken:?} should begin at {expected:?}");
        self.inside.push((begin, end));
        Ok(())
    }

    /// The request whose reset the client hears of next on a connection. Way and jitter may let a later one come first.
    fn next_reset(&mut self, conn: ConnId) -> Option<Taken> {
        let flights = self.conns.get(&conn)?;
        let resets =
            flights.iter().filter_map(|flight| self.taken.get(flight)).filter(|t| t.status.is_none());
        let first = resets.min_by_key(|taken| taken.ends)?.flight;
        self.taken.remove(&first)
    }

    /// The client hears what has become of a request that the server took.
    fn news(&self, now: Instant, taken: Option<Taken>, status: Option<u16>) -> Result<(), String> {
        let Some(taken) = taken else { return Err(format!("news of nothing that was asked: {status:?}")) };
        hold!(taken.status == status, "{taken:?} has become {status:?}");
        self.way(taken.ends, now, "an answer")
    }

    fn way(&self, from: Instant, to: Instant, what: &str) -> Result<(), String> {
        let latency = self.case.world.network.latency;
        hold!(to >= from + latency, "{what} from {from:?} is there at {to:?}, in less than {latency:?}");
        Ok(())
    }
}

/// Is `at` within one of the stretches?
fn holds(windows: &Windows, at: Nanos) -> bool {
    let every = windows.every.map_or(u64::MAX, |every| every.0);
    let Some(since) = at.0.checked_sub(windows.first.0) else { return false };
    since % every < windows.length.0 && windows.count.is_none_or(|count| since / every < count)
}
