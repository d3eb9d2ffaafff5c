//! Two M/M/1 queues, one behind the other, at two origins: journeys of two steps in virtual time, beside the closed form. What
//! leaves the first queue is Poisson again (P. J. Burke, "The Output of a Queuing System", 1956), so that the mean journey time is
//! 1/(μ₁ − λ) + 1/(μ₂ − λ).
//!
//! `cargo run --release -p unblink-core --example tandem -- 10000000` (journeys at each rate)
#![allow(clippy::print_stdout)]

use unblink_core::dispatch::Pool;
use unblink_core::journey::{JourneySpec, Journeys, StepSpec};
use unblink_core::mix::Mix;
use unblink_core::origins::Origins;
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::record::{Bank, Series};
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::sim::{ServerSpec, Service, SimPart, WorldSpec, simulate_part};
use unblink_core::time::Nanos;

/// Requests per second that each queue carries.
const MU: u64 = 1_000;

fn main() {
    let journeys: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    println!("rho  journeys    mean ms   exact ms   off");
    for lambda in [300, 500, 700] {
        let (count, mean_ms) = mean(lambda, journeys / lambda);
        let exact_ms = 2e3 / (MU - lambda) as f64;
        let (rho, off) = (lambda as f64 / MU as f64, 100.0 * (mean_ms / exact_ms - 1.0));
        println!("{rho:.1}  {count:>8}  {mean_ms:>9.4}  {exact_ms:>9.4}  {off:+.2} %");
    }
}

/// How many journeys there were in so many seconds, and their mean time in ms.
fn mean(per_s: u64, seconds: u64) -> (u64, f64) {
    let queue = ServerSpec {
        slots: Some(1),
        ..ServerSpec::new(Service::Exponential { mean: Nanos(1_000_000_000 / MU) })
    };
    let world = WorldSpec { others: vec![queue.clone()], ..WorldSpec::new(queue) };
    let journey = JourneySpec { steps: vec![StepSpec::ONCE; 2], ..JourneySpec::default() };
    let plan = Plan::new(PlanSpec {
        idempotent: vec![true; 2],
        mix: Mix { journeys: Journeys { each: vec![journey], ..Journeys::default() }, ..Mix::default() },
        origins: Origins::new(&[0, 1]).expect("two origins"),
        ..PlanSpec::plain(
            LoadSpec::Open {
                phases: vec![Phase::hold(Rate::per_second(per_s), Nanos::from_secs(seconds))],
                process: Process::Poisson { seed: 1 },
            },
            Pool::Auto { max: 60_000 },
            Nanos::from_secs(30),
        )
    });
    let plan = plan.expect("a load that can be simulated");
    let mut all = Bank::<u64>::new(plan.layout());
    simulate_part(&plan, &world, SimPart::default(), (), |interval| all.add(&interval.bank));
    let of = all.journeys.get(0).expect("a journey");
    assert_eq!(of.outcomes.ok, of.outcomes.due, "each has come to its end");
    let sums = of.sums(Series::Response);
    (sums.count, sums.sum_ns as f64 / sums.count as f64 / 1e6)
}
