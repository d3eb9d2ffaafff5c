//! From packets to requests with their answers: which client asked when, and when the answer reached it.

use std::collections::{HashMap, VecDeque};

use super::dialect::{Dialect, End};
use super::packet::Segment;
use super::stream::Stream;
use crate::TruthRow;
use crate::database::Database;
use crate::fault::Ending;

/// Requests that one connection may have open. No client has more, and what is read wrongly must not grow for ever.
const OPEN_MAX: usize = 1 << 16;

/// What an onlooker knows of all connections to one port.
#[derive(Debug)]
pub(super) struct Watcher {
    database: Database,
    port: u16,
    connections: HashMap<u16, Connection>,
    opened: u32,
    requests: u64,
    /// The first request that counts: the zero of the clock, in the kernel's time.
    zero_ns: Option<u64>,
    last_ns: u64,
    pub(super) trouble: Trouble,
}

/// Why what was seen is not everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Trouble {
    /// Connections in which a byte was never seen.
    pub(super) torn: u64,
    /// Connections that could not be read.
    pub(super) unreadable: u64,
}

#[derive(Debug)]
struct Connection {
    number: u32,
    dialect: Dialect,
    client: Stream,
    /// From the server's SYN on.
    server: Option<Stream>,
    /// In the order of asking.
    open: VecDeque<Open>,
}

/// A request without an answer.
#[derive(Clone, Copy, Debug)]
struct Open {
    asked_ns: u64,
    stream: i16,
    /// Its number among those that count.
    number: Option<u64>,
}

/// How a connection can't be followed further.
enum Lost {
    Torn,
    Unreadable,
}

impl Watcher {
    pub(super) fn new(database: Database, port: u16) -> Watcher {
        Watcher {
            database,
            port,
            connections: HashMap::new(),
            opened: 0,
            requests: 0,
            zero_ns: None,
            last_ns: 0,
            trouble: Trouble::default(),
        }
    }

    /// When the first request that counts was seen.
    pub(super) fn zero_ns(&self) -> Option<u64> {
        self.zero_ns
    }

    /// A packet as it was seen at `stamp_ns`. `row` gets each request that counts when its answer is there.
    pub(super) fn see(&mut self, stamp_ns: u64, packet: &[u8], mut row: impl FnMut(TruthRow)) {
        let Some(segment) = Segment::parse(packet) else { return };
        self.last_ns = self.last_ns.max(stamp_ns);
        let is_client = segment.to_port == self.port;
        let at = if is_client { segment.from_port } else { segment.to_port };
        if segment.is_syn && is_client && !segment.is_ack {
            self.begins(at, segment.sequence, &mut row);
            return;
        }
        let Some(connection) = self.connections.get_mut(&at) else { return };
        let seen = match segment {
            Segment { is_reset: true, .. } => {
                self.ends(at, &mut row);
                return;
            }
            Segment { is_syn: true, sequence, .. } => {
                connection.server = Some(Stream::after_syn(sequence));
                Ok(())
            }
            _ if is_client => connection.asks(stamp_ns, &segment, &mut self.requests, &mut self.zero_ns),
            _ => connection.is_answered(stamp_ns, &segment, self.zero_ns, &mut row),
        };
        match seen {
            Ok(()) => return,
            Err(Lost::Torn) => self.trouble.torn += 1,
            Err(Lost::Unreadable) => self.trouble.unreadable += 1,
        }
        self.ends(at, &mut row);
    }

    /// Those that were never answered.
    pub(super) fn finish(&mut self, mut row: impl FnMut(TruthRow)) {
        let ports: Vec<u16> = self.connections.keys().copied().collect();
        ports.into_iter().for_each(|at| self.ends(at, &mut row));
    }

    fn begins(&mut self, at: u16, sequence: u32, row: &mut impl FnMut(TruthRow)) {
        // The same SYN again, while a frozen server's queue is full, finds nothing open. A port that is used again begins anew.
        self.ends(at, row);
        let connection = Connection {
            number: self.opened,
            dialect: Dialect::new(self.database),
            client: Stream::after_syn(sequence),
            server: None,
            open: VecDeque::new(),
        };
        self.connections.insert(at, connection);
        self.opened = self.opened.wrapping_add(1);
    }

    fn ends(&mut self, at: u16, row: &mut impl FnMut(TruthRow)) {
        let Some(connection) = self.connections.remove(&at) else { return };
        let answered_ns = self.last_ns;
        for open in &connection.open {
            if let Some(abandoned) = open.row(connection.number, answered_ns, self.zero_ns, Ending::Ok) {
                row(TruthRow { abandoned: true, ..abandoned });
            }
        }
    }
}

impl Connection {
    fn asks(
        &mut self,
        stamp_ns: u64,
        segment: &Segment<'_>,
        requests: &mut u64,
        zero_ns: &mut Option<u64>,
    ) -> Result<(), Lost> {
        let (dialect, open) = (&mut self.dialect, &mut self.open);
        let mut is_readable = Ok(());
        let taken = self.client.take(segment.sequence, segment.payload, |bytes| {
            let read = dialect.client(bytes, |End { stream, is_so: counts }| {
                let number = counts.then_some(*requests);
                if counts {
                    zero_ns.get_or_insert(stamp_ns);
                    *requests += 1;
                }
                open.push_back(Open { asked_ns: stamp_ns, stream, number });
            });
            is_readable = is_readable.and(read);
        });
        taken.map_err(|_| Lost::Torn)?;
        is_readable.map_err(|_| Lost::Unreadable)?;
        if self.open.len() > OPEN_MAX { Err(Lost::Unreadable) } else { Ok(()) }
    }

    fn is_answered(
        &mut self,
        stamp_ns: u64,
        segment: &Segment<'_>,
        zero_ns: Option<u64>,
        row: &mut impl FnMut(TruthRow),
    ) -> Result<(), Lost> {
        let Some(server) = &mut self.server else { return Err(Lost::Torn) };
        let (dialect, open, number) = (&mut self.dialect, &mut self.open, self.number);
        let (mut is_readable, mut is_asked) = (Ok(()), true);
        let taken = server.take(segment.sequence, segment.payload, |bytes| {
            let read = dialect.server(bytes, |End { stream, is_so: failed }| {
                let at = open.iter().position(|open| open.stream == stream);
                match at.and_then(|at| open.remove(at)) {
                    Some(asked) => {
                        let ending = if failed { Ending::Error } else { Ending::Ok };
                        asked.row(number, stamp_ns, zero_ns, ending).into_iter().for_each(&mut *row);
                    }
                    None => is_asked = false,
                }
            });
            is_readable = is_readable.and(read);
        });
        taken.map_err(|_| Lost::Torn)?;
        is_readable.map_err(|_| Lost::Unreadable)?;
        // An answer to nothing: one side is read wrongly.
        if is_asked { Ok(()) } else { Err(Lost::Unreadable) }
    }
}

impl Open {
    fn row(
        &self,
        connection: u32,
        answered_ns: u64,
        zero_ns: Option<u64>,
        ending: Ending,
    ) -> Option<TruthRow> {
        Some(TruthRow {
            request: self.number?,
            connection,
            arrived_ns: self.asked_ns,
            slot_ns: self.asked_ns,
            baseline_ns: 0,
            answered_ns: answered_ns.max(self.asked_ns),
            clock_ns: zero_ns,
            abandoned: false,
            ending,
            events_ns: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::cql::{Frame, frame};
    use super::super::packet::tests::packet;
    use super::*;
    use proptest::prelude::*;

    const PORT: u16 = 6379;
    const ASK: &[u8] = b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n";
    const OTHER: &[u8] = b"*1\r\n$4\r\nPING\r\n";
    const ANSWER: &[u8] = b"$5\r\nvalue\r\n";

    fn segment(is_client: bool, sequence: u32, payload: &[u8]) -> Segment<'_> {
        let (from_port, to_port) = if is_client { (50_000, PORT) } else { (PORT, 50_000) };
        Segment { from_port, to_port, sequence, is_syn: false, is_ack: true, is_reset: false, payload }
    }

    /// (request, asked, answered, abandoned) of each row that comes of these segments, seen a nanosecond after one another.
    fn see(segments: &[Segment<'_>]) -> (Vec<(u64, u64, u64, bool)>, Trouble) {
        see_of(Database::Redis, segments)
    }

    fn see_of(database: Database, segments: &[Segment<'_>]) -> (Vec<(u64, u64, u64, bool)>, Trouble) {
        let mut watcher = Watcher::new(database, PORT);
        let mut rows = Vec::new();
        let mut row = |r: TruthRow| rows.push((r.request, r.arrived_ns, r.answered_ns, r.abandoned));
        for (at, segment) in segments.iter().enumerate() {
            watcher.see(at as u64, &packet(segment), &mut row);
        }
        watcher.finish(&mut row);
        (rows, watcher.trouble)
    }

    fn begun() -> Vec<Segment<'static>> {
        let syn = |is_client, is_ack| Segment { is_syn: true, is_ack, ..segment(is_client, 99, b"") };
        vec![syn(true, false), syn(false, true)]
    }

    #[test]
    fn requests_meet_their_answers_and_others_do_not_count() {
        let two = [OTHER, ASK].concat();
        let both = [b"+PONG\r\n", ANSWER].concat();
        let mut all = begun();
        all.push(segment(true, 100, ASK));
        all.push(segment(false, 100, ANSWER));
        all.push(segment(true, 100 + ASK.len() as u32, &two));
        all.push(segment(false, 100 + ANSWER.len() as u32, &both));
        assert_eq!(see(&all), (vec![(0, 2, 3, false), (1, 4, 5, false)], Trouble::default()));
        // The last answer never comes.
        all.pop();
        assert_eq!(see(&all).0, [(0, 2, 3, false), (1, 4, 4, true)]);
        // A reset ends it, and what comes then has no connection.
        all.push(Segment { is_reset: true, ..segment(false, 0, b"") });
        all.push(segment(false, 100 + ANSWER.len() as u32, &both));
        assert_eq!(see(&all), (vec![(0, 2, 3, false), (1, 4, 5, true)], Trouble::default()));
    }

    #[test]
    fn answers_that_overtake_others_are_told_by_their_stream() {
        let asks = [7, 8, 9].map(|stream| frame(stream, Frame::EXECUTE, b"key")).concat();
        let answer = |stream: i16, opcode| {
            let mut bytes = frame(stream, opcode, b"");
            bytes[0] |= 0x80;
            bytes
        };
        let event = answer(-1, 0x0c);
        let (second, first, unasked) =
            (answer(8, Frame::RESULT), answer(7, Frame::RESULT), answer(3, Frame::RESULT));
        let mut all = begun();
        all.push(segment(true, 100, &asks));
        let mut sequence = 100;
        for bytes in [&event, &second, &first] {
            all.push(segment(false, sequence, bytes));
            sequence += bytes.len() as u32;
        }
        let rows = vec![(1, 2, 4, false), (0, 2, 5, false), (2, 2, 5, true)];
        assert_eq!(see_of(Database::Cassandra, &all), (rows, Trouble::default()));
        all.push(segment(false, sequence, &unasked));
        assert_eq!(see_of(Database::Cassandra, &all).1, Trouble { torn: 0, unreadable: 1 });
    }

    #[test]
    fn what_can_not_be_followed_is_confessed() {
        let mut all = begun();
        all.push(segment(false, 100, ANSWER));
        assert_eq!(see(&all).1, Trouble { torn: 0, unreadable: 1 }, "an answer to nothing");
        let mut all = begun();
        all.push(segment(true, 100, b"\x16\x03\x01\r\n"));
        assert_eq!(see(&all).1, Trouble { torn: 0, unreadable: 1 }, "TLS");
        assert_eq!(see(&[segment(true, 100, ASK)]), (Vec::new(), Trouble::default()), "begun before");
    }

    proptest! {
        /// However requests and answers are cut, sent again and put together: each is timed by the segment that first had its
        /// last byte.
        #[test]
        fn each_request_is_timed_by_its_last_byte(
            count in 1_usize..12,
            cuts in prop::collection::vec(1_usize..40, 1..20),
            again in prop::collection::vec(any::<bool>(), 1..20),
        ) {
            let (asks, answers) = (ASK.repeat(count), ANSWER.repeat(count));
            let mut all = begun();
            let (mut expected, mut cuts, mut again) = (vec![(0, 0); count], cuts.iter().cycle(), again.iter().cycle());
            for (is_client, bytes, one) in [(true, &asks, ASK.len()), (false, &answers, ANSWER.len())] {
                let mut at = 0;
                while at < bytes.len() {
                    let to = (at + cuts.next().expect("a cycle")).min(bytes.len());
                    // Those that end in it.
                    for (nth, times) in expected.iter_mut().enumerate() {
                        let end = (nth + 1) * one;
                        if at < end && end <= to {
                            *(if is_client { &mut times.0 } else { &mut times.1 }) = all.len() as u64;
                        }
                    }
                    let sent = segment(is_client, 100 + at as u32, &bytes[at..to]);
                    all.push(sent);
                    if *again.next().expect("a cycle") {
                        all.push(sent);
                    }
                    at = to;
                }
            }
            let expected: Vec<_> =
                expected.iter().enumerate().map(|(nth, (asked, answered))| (nth as u64, *asked, *answered, false)).collect();
            prop_assert_eq!(see(&all), (expected, Trouble::default()));
        }
    }
}
