//! What recording one arrival costs: two calls of the recorder, at the send and at the answer, with lateness and
//! service times as a run has them.
//!
//! cargo run --release -p unblink-core --example recording
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant as WallClock;
use unblink_core::arrival::Arrival;
use unblink_core::code::Code;
use unblink_core::record::{Answer, Bank, Flight, Recorder, Then};
use unblink_core::time::{Instant, Nanos, SECOND_NS};

const ROUNDS: u64 = 9;
const ARRIVALS: u64 = 2_000_000;
/// Between two arrivals: 100,000 in a second.
const GAP_NS: u64 = 10_000;

/// Deviates without a pattern that a branch predictor could learn; a table, so that they cost little.
fn deviates(top: u64) -> Vec<u64> {
    (0..4096u64).map(|i| ((i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) * top) >> 24).collect()
}

/// Time for each arrival, in ns. `record` false leaves out the recorder: what the loop itself costs.
fn round(recorder: &mut Recorder, record: bool, late: &[u64], service: &[u64]) -> f64 {
    let began = WallClock::now();
    for index in 0..ARRIVALS {
        let place = index as usize % late.len();
        let intended = Instant(index * GAP_NS % SECOND_NS);
        let sent = intended + Nanos(late[place]);
        let now = sent + Nanos(service[place]);
        let arrival = Arrival::single(index, 0, intended);
        let flight = black_box(Flight { arrival, noticed: intended, sent: Some(sent), ..Flight::default() });
        let answer = black_box(Answer {
            failure: None,
            code: Code::of_status(200),
            body_bytes: 0,
            first_byte: now,
            then: Then::Done,
            reusable: true,
            leaves_open: false,
        });
        if record {
            recorder.due(&flight.arrival);
            recorder.sent(&flight);
            recorder.answered(&flight, 0, &answer, now);
        }
    }
    began.elapsed().as_nanos() as f64 / ARRIVALS as f64
}

fn main() {
    let mut recorder = Recorder::new(Box::new(Bank::new(1)), Nanos::from_secs(30));
    recorder.begin(Instant(0), Nanos::ZERO, Nanos::from_secs(10));
    // A fifth of a decade around 40 µs of service, and a few µs of lateness.
    let (late, service) =
        (deviates(4_000), deviates(30_000).iter().map(|ns| 30_000 + ns).collect::<Vec<_>>());
    let mut costs: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let bare = round(&mut recorder, false, &late, &service);
            round(&mut recorder, true, &late, &service) - bare
        })
        .collect();
    costs.sort_by(f64::total_cmp);
    let (least, median) = (costs[0], costs[costs.len() / 2]);
    println!("recording an arrival: {median:.1} ns (median of {ROUNDS} rounds; the least {least:.1} ns)");
}
