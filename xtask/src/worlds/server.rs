//! The servers' side: every request that was sent arrives once, slots are never exceeded and given first come
//! first served, nothing is answered by a shut server, and no news is faster than the network.

use super::generate::Case;
use super::hold;
use super::recording::Entry;
use std::collections::HashMap;
use unblink_core::code::Code;
use unblink_core::dispatch::{Action, ConnId, Event, FlightId};
use unblink_core::sim::{ServerSpec, Sight, Taken, Windows, ZERO};
use unblink_core::time::{Instant, Nanos};

pub(super) fn check(case: &Case, log: &[Entry]) -> Result<(), String> {
    let mut servers: Vec<Server<'_>> = specs(case).map(|spec| Server::new(case, spec)).collect();
    // Which one each request goes to.
    let mut goes_to: HashMap<FlightId, usize> = HashMap::new();
    let mut now = Instant(0);
    for entry in log {
        let Entry::Seen(at, sight) = entry else { continue };
        let at = *at;
        let origin = match sight {
            Sight::Action(Action::Send { conn, flight, .. }) => {
                goes_to.insert(*flight, usize::from(conn.origin));
                Some(usize::from(conn.origin))
            }
            Sight::Request(Taken { flight, .. }) | Sight::Turn(Event::Answered(flight, _)) => {
                goes_to.get(flight).copied()
            }
            Sight::Turn(Event::Closed(conn, _)) => Some(usize::from(conn.origin)),
            _ => continue,
        };
        let server = origin.and_then(|origin| servers.get_mut(origin));
        let Some(server) = server else { return Err(format!("nobody is there for {sight:?}")) };
        if let Sight::Request(_) = sight {
            hold!(at >= now, "the clock goes back from {now:?} to {at:?}");
            now = at;
        }
        server.see(at, sight).map_err(|error| format!("of origin {}: {error}", origin.unwrap_or(0)))?;
    }
    Ok(())
}

/// The server of each origin, in order.
fn specs(case: &Case) -> impl Iterator<Item = &ServerSpec> {
    let others = (1..case.plan.origins.count()).map(|i| case.world.others.get(i - 1));
    std::iter::once(None).chain(others).map(|other| other.unwrap_or(&case.world.server))
}

struct Server<'a> {
    case: &'a Case,
    spec: &'a ServerSpec,
    on_the_way: HashMap<FlightId, Instant>,
    taken: HashMap<FlightId, Taken>,
    /// Which requests were sent on which connection.
    conns: HashMap<ConnId, Vec<FlightId>>,
    /// (begin, end) of what is in a slot or waits for one.
    inside: Vec<(Instant, Instant)>,
    /// When the latest work began.
    begun_last: Instant,
}

impl<'a> Server<'a> {
    fn new(case: &'a Case, spec: &'a ServerSpec) -> Server<'a> {
        Server {
            case,
            spec,
            on_the_way: HashMap::new(),
            taken: HashMap::new(),
            conns: HashMap::new(),
            inside: vec![],
            begun_last: Instant(0),
        }
    }

    fn see(&mut self, at: Instant, sight: &Sight) -> Result<(), String> {
        match sight {
            Sight::Action(Action::Send { conn, flight, .. }) => {
                self.on_the_way.insert(*flight, at);
                self.conns.entry(*conn).or_default().push(*flight);
                Ok(())
            }
            Sight::Request(taken) => {
                self.request(at, taken)?;
                let begin = taken.work.filter(|_| self.spec.slots.is_some()).map(|(begin, _)| begin);
                let last = self.begun_last;
                hold!(
                    begin.is_none_or(|begin| begin >= last),
                    "{taken:?} overtakes one that began at {last:?}"
                );
                self.begun_last = begin.unwrap_or(last);
                Ok(())
            }
            Sight::Turn(Event::Answered(flight, answer)) => {
                let taken = self.taken.remove(flight);
                self.news(at, taken, answer.code.map(Code::status))
            }
            Sight::Turn(Event::Closed(conn, _)) => {
                let taken = self.next_reset(*conn);
                self.news(at, taken, None)
            }
            _ => Ok(()),
        }
    }

    fn request(&mut self, now: Instant, taken: &Taken) -> Result<(), String> {
        let Some(sent) = self.on_the_way.remove(&taken.flight) else {
            return Err(format!("{taken:?} at {now:?} was never sent"));
        };
        self.way(sent, now, "a request")?;
        hold!(taken.ends >= now, "{taken:?} at {now:?} ends before it begins");
        self.taken.insert(taken.flight, *taken);

        let spec = self.spec;
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
