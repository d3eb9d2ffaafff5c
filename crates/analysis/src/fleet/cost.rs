//! What requests cost: processor time, bytes on the wire, bytes on the bus.

use super::constants::{Constants, Name};

/// Payload of a frame: an Ethernet MTU of 1,500 bytes without the heads of IP (20) and TCP with its timestamps (32).
const FRAME_PAYLOAD: f64 = 1_448.0;
/// What a frame takes besides: these heads, that of Ethernet with its checksum (18), and preamble and gap (20).
const FRAME_REST: f64 = 90.0;
/// The payload of a TLS record, and what a record takes besides (RFC 8446: 5 of its head, 1 of its type, 16 of its tag).
const RECORD: (f64, f64) = (16_384.0, 22.0);

/// A load's requests, all alike.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Requests {
    /// Over TLS.
    pub tls: bool,
    /// Body of a request.
    pub sent_bytes: u64,
    /// Body of an answer.
    pub answer_bytes: u64,
    /// A connection is closed after so many; kept without.
    pub per_connection: Option<u64>,
    /// Requests that are recorded apart.
    pub operations: u32,
}

impl Requests {
    /// Processor time of one, in µs, with its share of a connection.
    pub fn cpu_us(&self, constants: &Constants) -> f64 {
        self.cpu_us_with(self.per_connection.map_or(0.0, |requests| 1.0 / requests as f64), constants)
    }

    /// The same of one that opens a connection of its own, as each arrival of a stall does.
    pub fn cpu_us_opening(&self, constants: &Constants) -> f64 {
        self.cpu_us_with(1.0, constants)
    }

    fn cpu_us_with(&self, opened: f64, constants: &Constants) -> f64 {
        let (each, opening) = match self.tls {
            true => (Name::CpuPerRequestTls, Name::CpuPerConnectionTls),
            false => (Name::CpuPerRequest, Name::CpuPerConnection),
        };
        let mb = (self.sent_bytes + self.answer_bytes) as f64 / 1e6;
        constants.get(each) + mb * constants.get(Name::CpuPerMb) + opened * constants.get(opening)
    }

    /// Bytes on the wire of a request, and of its answer.
    pub fn wire_bytes(&self, constants: &Constants) -> [f64; 2] {
        let wire = |head: Name, body: u64| {
            let message = constants.get(head) + body as f64;
            let records = if self.tls { (message / RECORD.0).ceil() * RECORD.1 } else { 0.0 };
            let payload = message + records;
            payload + (payload / FRAME_PAYLOAD).ceil() * FRAME_REST
        };
        [wire(Name::RequestHead, self.sent_bytes), wire(Name::AnswerHead, self.answer_bytes)]
    }

    /// What an agent reports in a second at this rate: a line through what was measured, over the rate's logarithm, and never
    /// more than full series have.
    pub fn bus_bytes(&self, per_s: f64, constants: &Constants) -> f64 {
        let points = [(1e3, Name::BusAt1k), (1e4, Name::BusAt10k), (4e4, Name::BusAt40k)]
            .map(|(rate, of): (f64, Name)| (rate.log10(), constants.get(of)));
        let [low, middle, high] = points;
        let (from, to) = if per_s < 1e4 { (low, middle) } else { (middle, high) };
        let along = (per_s.max(1.0).log10() - from.0) / (to.0 - from.0);
        // What was measured at 1,000/s holds below, too: fewer arrivals fill no more cells.
        let line = if per_s < 1e3 { low.1 } else { from.1 + along * (to.1 - from.1) };
        line.min(constants.get(Name::BusMost)) + self.bus_bytes_of_operations(constants)
    }

    fn bus_bytes_of_operations(&self, constants: &Constants) -> f64 {
        f64::from(self.operations.saturating_sub(1)) * constants.get(Name::BusPerOperation)
    }

    /// The rate at which an agent reports so much: the other way round. 0 where it reports more at any rate, and infinite where it
    /// never does.
    pub fn bus_per_s(&self, bytes: f64, constants: &Constants) -> f64 {
        let line = bytes - self.bus_bytes_of_operations(constants);
        let [low, middle, high] = [Name::BusAt1k, Name::BusAt10k, Name::BusAt40k].map(|of| constants.get(of));
        if line < low.min(constants.get(Name::BusMost)) {
            return 0.0;
        }
        if line >= constants.get(Name::BusMost) {
            return f64::INFINITY;
        }
        let ((from, from_log), (to, to_log)) =
            if line < middle { ((low, 3.0), (middle, 4.0)) } else { ((middle, 4.0), (high, 4e4f64.log10())) };
        // Whoever sets them to fall has no rate at which they end.
        if to <= from {
            return f64::INFINITY;
        }
        10f64.powf(from_log + (line - from) / (to - from) * (to_log - from_log))
    }

    /// Processor time of merging what an agent reports in a second, in ms.
    pub fn merge_ms(&self, constants: &Constants) -> f64 {
        let more = f64::from(self.operations.saturating_sub(1)) * constants.get(Name::MergePerOperation);
        constants.get(Name::MergePerAgent) + more
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Requests =
        Requests { tls: false, sent_bytes: 0, answer_bytes: 0, per_connection: None, operations: 1 };

    #[test]
    fn costs_add_up() {
        let constants = Constants::default();
        assert_eq!(PLAIN.cpu_us(&constants), 4.96);
        let mb = Requests { tls: true, answer_bytes: 1_000_000, per_connection: Some(4), ..PLAIN };
        assert!((mb.cpu_us(&constants) - (7.53 + 74.6 + 158.0 / 4.0)).abs() < 1e-9);
        // An arrival opens one connection, however many requests a connection takes.
        assert!((mb.cpu_us_opening(&constants) - (7.53 + 74.6 + 158.0)).abs() < 1e-9);
        assert!((PLAIN.cpu_us_opening(&constants) - (4.96 + 43.0)).abs() < 1e-9);
    }

    #[test]
    fn frames_and_records_are_whole() {
        let constants = Constants::default();
        assert_eq!(PLAIN.wire_bytes(&constants), [150.0 + 90.0, 250.0 + 90.0]);
        let fits = Requests { answer_bytes: 1_448 - 250, ..PLAIN };
        assert_eq!(fits.wire_bytes(&constants)[1], 1_448.0 + 90.0);
        let one_more = Requests { answer_bytes: 1_449 - 250, ..PLAIN };
        assert_eq!(one_more.wire_bytes(&constants)[1], 1_449.0 + 2.0 * 90.0);
        let tls = Requests { tls: true, answer_bytes: 16_385 - 250, ..PLAIN };
        assert_eq!(tls.wire_bytes(&constants)[1], 16_385.0 + 44.0 + 12.0 * 90.0);
    }

    #[test]
    fn the_bus_has_what_was_measured() {
        let constants = Constants::default();
        for (rate, bytes) in
            [(1.0, 5_800.0), (1e3, 5_800.0), (1e4, 10_800.0), (4e4, 17_500.0), (1e12, 67_500.0)]
        {
            assert!((PLAIN.bus_bytes(rate, &constants) - bytes).abs() < 1e-6, "{rate}");
        }
        for rate in [1e3, 3e3, 1e4, 2e4, 4e4, 1e6] {
            let back = PLAIN.bus_per_s(PLAIN.bus_bytes(rate, &constants), &constants);
            assert!((back / rate - 1.0).abs() < 1e-9, "{rate}: {back}");
        }
        assert_eq!([5_799.0, 67_500.0].map(|bytes| PLAIN.bus_per_s(bytes, &constants)), [0.0, f64::INFINITY]);
        let four = Requests { operations: 4, ..PLAIN };
        assert_eq!(four.bus_per_s(9_399.0, &constants), 0.0);
        assert!((four.merge_ms(&constants) - 0.71).abs() < 1e-12);
        assert!((four.bus_bytes(1e3, &constants) - 9_400.0).abs() < 1e-9);
        let mut last = 0.0;
        for step in 0..80 {
            let bytes = PLAIN.bus_bytes(10f64.powf(f64::from(step) / 10.0), &constants);
            assert!(bytes >= last);
            last = bytes;
        }
    }
}
