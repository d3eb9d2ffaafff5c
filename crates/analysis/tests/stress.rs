//! Stress on simulated servers whose way to fail is known.

mod shapes_support;

use shapes_support::run;
use unblink_analysis::shapes::stress::{Mode, Stress, stress};
use unblink_core::schedule::Process;
use unblink_core::sim::{Crowding, ServerSpec, Service, Windows};
use unblink_core::time::Nanos;

/// 5 at a time, 10 ms each: 500 a second.
fn saturation() -> ServerSpec {
    ServerSpec { slots: Some(5), ..ServerSpec::new(Service::Constant(Nanos::from_millis(10))) }
}

/// 5 s at 50/s, up to 1,000/s in 10 s, 5 s there, down again, and `after_s` at 50/s.
fn under_stress(server: ServerSpec, timeout_s: u64, after_s: u64) -> Stress {
    let shape = [(50, 50, 5), (50, 1_000, 10), (1_000, 1_000, 5), (1_000, 50, 10), (50, 50, after_s)];
    let recorded = run(server, &shape, Process::Poisson { seed: 3 }, timeout_s);
    let stretches: [_; 5] = recorded.stretches.clone().try_into().expect("five stretches");
    stress(&recorded.seen(), &stretches, None).expect("judged")
}

fn recovery_s(found: &Stress) -> Option<f64> {
    let broken = found.broken.expect("broken");
    found.recovery.map(|recovery| (recovery.at - broken.relieved_at).as_secs_f64())
}

/// What piles up while λ(t) > μ is 950²/10·… in closed form: the ramp is above μ for (1000 − μ)/95 s on either side, by
/// half of 1000 − μ on average, and by all of it at the top. On the way down μ − λ(t) melts some, at 50/s the rest.
fn saturation_recovery_s(capacity: f64) -> f64 {
    let (above, below) = ((1_000.0 - capacity) / 95.0, (capacity - 50.0) / 95.0);
    let piled = (1_000.0 - capacity) * (above + 5.0);
    below + (piled - below * (capacity - 50.0) / 2.0) / (capacity - 50.0)
}

#[test]
fn a_queue_without_end_queues_and_recovers_when_theory_says() {
    let found = under_stress(saturation(), 60, 20);
    assert_eq!(found.mode, Mode::Queues, "{found:?}");
    let broken = found.broken.expect("broken");
    // With Poisson arrivals the queue begins somewhat below the capacity.
    assert!((400.0..=600.0).contains(&broken.per_s), "{broken:?}");
    assert!((480.0..=520.0).contains(&found.delivered_best_per_s), "{found:?}");
    let (found, exact) = (recovery_s(&found).expect("recovered"), saturation_recovery_s(500.0));
    // It counts from the rate that broke it, which is not just μ.
    let shift = (broken.per_s - 500.0) / 95.0;
    assert!(((found - shift) / exact - 1.0).abs() < 0.05, "{found} − {shift}, exact {exact}");
}

#[test]
fn what_is_not_watched_for_long_enough_is_not_recovered() {
    let found = under_stress(saturation(), 60, 5);
    assert_eq!((found.mode, found.recovery), (Mode::Queues, None));
}

#[test]
fn a_short_queue_sheds_cleanly_and_is_as_before_on_the_way_down() {
    // From 500/s down to 300/s in 2 s: until then arrivals wait for a slot now and then.
    let found = under_stress(ServerSpec { queue_max: Some(20), ..saturation() }, 60, 10);
    assert_eq!(found.mode, Mode::Sheds, "{found:?}");
    assert!(found.broken.expect("broken").delivered_least_share > 0.9, "{found:?}");
    assert!(recovery_s(&found).expect("recovered") < 3.0, "{found:?}");
}

#[test]
fn a_server_that_goes_down_errs() {
    let down = Windows {
        every: Some(Nanos::from_millis(400)),
        count: Some(40),
        ..Windows::once(Nanos::from_secs(10), Nanos::from_millis(200))
    };
    let found = under_stress(ServerSpec { down: vec![down], ..saturation() }, 60, 20);
    assert_eq!(found.mode, Mode::Errors, "{found:?}");
}

/// One in ten fails at any load: under stress it queues, and fails as ever.
#[test]
fn errors_that_were_there_before_are_not_how_it_fails() {
    let errors = ServerSpec { error_one_in: 10, ..saturation() };
    let found = under_stress(errors, 60, 20);
    let broken = found.broken.expect("broken");
    assert!(broken.failed as f64 > 0.05 * broken.ended as f64, "{broken:?}");
    assert_eq!(found.mode, Mode::Queues, "{found:?}");
}

/// Abandoned requests keep their slots: with a timeout shorter than the queue nobody is answered in time.
#[test]
fn a_queue_of_the_abandoned_stalls() {
    let found = under_stress(saturation(), 3, 20);
    assert_eq!(found.mode, Mode::Stalls, "{found:?}");
    assert!(found.recovery.is_some());
}

/// With more than 40 under way each takes thirty times as long, 1.5 s on average (exponential): half of the arrivals
/// are answered within the timeout of 1 s, and the other half is not.
#[test]
fn a_server_that_slows_down_beyond_patience_times_out() {
    let crowding = Crowding { times: 30.0, above: 40, until_idle: None };
    let service = Service::Exponential { mean: Nanos::from_millis(50) };
    let found = under_stress(ServerSpec { crowding: Some(crowding), ..ServerSpec::new(service) }, 1, 20);
    assert_eq!(found.mode, Mode::TimesOut, "{found:?}");
    let broken = found.broken.expect("broken");
    assert_eq!(broken.failed, 0);
    let share = broken.timed_out as f64 / broken.ended as f64;
    assert!((0.4..0.6).contains(&share), "exp(−1/1.5) = 51 %: {share}");
}

/// A rate of 4/s: there are few arrivals, and still it is judged.
#[test]
fn a_low_rate_is_judged_too() {
    let shape = [(4, 4, 10), (4, 60, 10), (60, 60, 5), (60, 4, 10), (4, 4, 60)];
    let slow = ServerSpec { slots: Some(1), ..ServerSpec::new(Service::Constant(Nanos::from_millis(50))) };
    let recorded = run(slow, &shape, Process::Even, 60);
    let stretches: [_; 5] = recorded.stretches.clone().try_into().expect("five stretches");
    let found = stress(&recorded.seen(), &stretches, None).expect("judged");
    assert_eq!(found.mode, Mode::Queues);
    assert!(found.recovery.is_some(), "{found:?}");
}

/// Errors in bursts: the level before is what failed of all, not of the worst step.
#[test]
fn what_failed_before_is_a_share_of_all() {
    let down = Windows {
        every: Some(Nanos::from_secs(2)),
        count: Some(2),
        ..Windows::once(Nanos::from_millis(2_000), Nanos::from_millis(400))
    };
    let found = under_stress(ServerSpec { down: vec![down], ..saturation() }, 60, 20);
    // 0.8 s of the 3.75 s that count.
    assert!((0.1..0.3).contains(&found.before.failed_share), "{:?}", found.before);
}

/// Twice as slow while crowded until it is empty: it collapses, and stays so at a rate that it carried before.
#[test]
fn collapse_is_seen_in_what_is_delivered() {
    let crowding = Crowding { times: 4.0, above: 100, until_idle: Some(Nanos::from_secs(5)) };
    let found = under_stress(ServerSpec { crowding: Some(crowding), ..saturation() }, 60, 10);
    let broken = found.broken.expect("broken");
    assert!((0.2..=0.35).contains(&broken.delivered_least_share), "{broken:?}");
    assert_eq!(found.recovery, None);
}

#[test]
fn what_carries_everything_has_held() {
    let found = under_stress(ServerSpec::new(Service::Constant(Nanos::from_millis(10))), 60, 10);
    assert_eq!((found.mode, found.broken), (Mode::Held, None));
    assert!((900.0..=1_100.0).contains(&found.delivered_best_per_s), "{found:?}");
}
