//! The test of the process of arrivals, over simulated runs: how often it accuses a good one, and that it
//! finds a bad one.

use std::sync::Arc;
use unblink_analysis::arrivals::{ArrivalProcess, ClaimedProcess, Shape, ShapePhase};
use unblink_core::record::{ArrivalSample, SampleBlocks, SampledArrival};
use unblink_core::schedule::{Bursts, Cursor, Phase, Process, Rate, Schedule};
use unblink_core::sim::Random;
use unblink_core::time::{Instant, Nanos, SECOND_NS};

/// A run of `phases` whose arrivals are sent `late` after they were due.
fn run(phases: &[Phase], process: Process, mut late: impl FnMut(Nanos) -> Nanos) -> ArrivalSample {
    let schedule = Arc::new(Schedule::new(phases, process, u64::MAX));
    let mut blocks = SampleBlocks::new(schedule.clone(), Nanos::ZERO, schedule.end());
    let (mut cursor, mut recorded) = (Cursor::new(&schedule, 0, 1), ArrivalSample::default());
    while let Some((index, intended)) = cursor.next(&schedule) {
        if let Some(block) = blocks.block_of(intended) {
            let sent = Some(Instant((intended + late(intended)).0));
            recorded.push(SampledArrival { block, index, intended: Instant(intended.0), sent });
        }
    }
    let mut sample = ArrivalSample::default();
    sample.add(&recorded);
    sample
}

fn hold(per_s: u64, seconds: u64) -> Vec<Phase> {
    vec![Phase::hold(Rate::per_second(per_s), Nanos::from_secs(seconds))]
}

fn judge(sample: &ArrivalSample, claimed: ClaimedProcess, phases: &[Phase]) -> ArrivalProcess {
    let shape = Shape::new(phases.iter().map(|phase| ShapePhase {
        from_per_s: phase.from.as_per_s(),
        to_per_s: phase.to.as_per_s(),
        duration: phase.duration,
    }));
    ArrivalProcess::of(sample, claimed, &shape).expect("arrivals")
}

fn poisson(seed: u64) -> Process {
    Process::Poisson { seed }
}

/// Good runs of 10 s to 1 h, sent 1 to 50 µs late: at a level of 0.1 % more than 5 of 1,000 would be a broken
/// test (the chance of that is 0.06 %). As it stands it is 2 for
/// its planned times and 1 for its sent ones.
#[test]
fn good_runs_are_not_accused() {
    let lengths_s = [10, 30, 60, 300, 1_800, 3_600];
    let (mut planned, mut sent) = (0, 0);
    for seed in 0..1_000_u64 {
        let mut random = Random::new(seed, 1);
        let seconds = lengths_s[(seed % 6) as usize];
        // As fast as a quick test allows.
        let per_s = [5, 50, 500, 5_000, 50_000][(seed / 6 % 5) as usize].min(200_000 / seconds).max(5);
        let phases = hold(per_s, seconds);
        let sample = run(&phases, poisson(seed), |_| Nanos(1_000 + random.below(49_000)));
        let process = judge(&sample, ClaimedProcess::Poisson, &phases);
        planned += u64::from(process.is_planned_otherwise());
        sent += u64::from(process.is_sent_otherwise());
    }
    assert!(planned <= 5 && sent <= 5, "{planned} and {sent} of 1,000 good runs are accused");
}

/// Bursts that are known are no fault, whatever the shape; those that are not are found.
#[test]
fn bursty_arrivals_are_poisson_in_their_bursts() {
    let bursts = Bursts { peak_milli: 5_000, on: Nanos::from_millis(200), off: Nanos::from_secs(1) };
    let ramp =
        Phase { from: Rate::per_second(50), to: Rate::per_second(900), duration: Nanos::from_secs(60) };
    let (mut accused, mut found) = (0, 0);
    for seed in 0..400 {
        let phases = if seed % 2 == 0 { hold(400, 60) } else { vec![ramp] };
        let sample = run(&phases, Process::Bursty { seed, bursts }, |_| Nanos(5_000));
        let known = phases.iter().map(|phase| ShapePhase {
            from_per_s: phase.from.as_per_s(),
            to_per_s: phase.to.as_per_s(),
            duration: phase.duration,
        });
        let shape = Shape::in_bursts(known, bursts.stretches(seed, 0));
        let process = ArrivalProcess::of(&sample, ClaimedProcess::Bursty, &shape).expect("arrivals");
        accused += u32::from(process.is_planned_otherwise() || process.is_sent_otherwise());
        found += u32::from(judge(&sample, ClaimedProcess::Poisson, &phases).is_planned_otherwise());
    }
    assert!(accused <= 4 && found >= 380, "{accused} accused, {found} found of 400");
}

/// The level itself: of 2,000 samples the p-value is below 1 % in about 20.
#[test]
fn the_p_value_is_what_it_says() {
    let phases = hold(1_000, 10);
    let p_value = |seed| {
        let sample = run(&phases, poisson(seed), |_| Nanos::ZERO);
        judge(&sample, ClaimedProcess::Poisson, &phases).intended.gaps.expect("enough").p_value
    };
    let p_values: Vec<f64> = (0..2_000).map(p_value).collect();
    for (level, at_least, at_most) in [(0.01, 8, 36), (0.1, 160, 242), (0.5, 930, 1_070)] {
        let below = p_values.iter().filter(|&&p| p < level).count();
        assert!((at_least..=at_most).contains(&below), "{below} of 2,000 below {level}");
    }
}

#[test]
fn another_process_than_claimed_is_found() {
    let phases = hold(1_000, 60);
    for seed in 0..100 {
        let even = run(&phases, Process::Even, |_| Nanos(1_000));
        let process = judge(&even, ClaimedProcess::Poisson, &phases);
        assert!(process.is_planned_otherwise() && process.is_sent_otherwise(), "{process:?}");

        // Bursts: twice the rate in every other 100 ms, nothing between.
        let bursts = run(&hold(2_000, 60), poisson(seed), |_| Nanos::ZERO);
        let mut stretched = ArrivalSample::default();
        for arrival in bursts.as_slice() {
            let at = Instant(arrival.intended.0 + arrival.intended.0 / 100_000_000 * 100_000_000);
            stretched.push(SampledArrival { intended: at, sent: Some(at), ..*arrival });
        }
        let process = judge(&stretched, ClaimedProcess::Poisson, &hold(1_000, 120));
        assert!(process.is_planned_otherwise(), "seed {seed}: {process:?}");
    }
}

/// What a millisecond timer does: everything that has fallen due goes out together.
#[test]
fn a_client_that_sends_in_batches_of_a_millisecond_is_found() {
    let to_next_ms = |at: Nanos| Nanos(1_000_000 - at.0 % 1_000_000);
    for per_s in [500, 1_000, 5_000, 20_000, 50_000] {
        for seed in 0..20 {
            let phases = hold(per_s, 20);
            let process = judge(&run(&phases, poisson(seed), to_next_ms), ClaimedProcess::Poisson, &phases);
            assert!(!process.is_planned_otherwise(), "{per_s}/s, seed {seed}: {process:?}");
            assert!(process.is_sent_otherwise(), "{per_s}/s, seed {seed}: {process:?}");
        }
    }
}

#[test]
fn a_ramp_is_counted_in_expected_arrivals() {
    let ramp = [
        Phase::hold(Rate::per_second(100), Nanos::from_secs(5)),
        Phase { from: Rate::per_second(100), to: Rate::per_second(5_000), duration: Nanos::from_secs(20) },
    ];
    let accused = (0..100).filter(|&seed| {
        let process = judge(&run(&ramp, poisson(seed), |_| Nanos(5_000)), ClaimedProcess::Poisson, &ramp);
        process.is_planned_otherwise() || process.is_sent_otherwise()
    });
    assert!(accused.count() <= 2);
    let even = judge(&run(&ramp, Process::Even, |_| Nanos(5_000)), ClaimedProcess::Even, &ramp);
    assert!(even.intended.deviation_max.is_some_and(|off| off <= Nanos(2)), "{even:?}");
    assert_eq!(even.sent.deviation_max, Some(Nanos(5_000)));
    assert!(!even.is_planned_otherwise());
    // The same arrivals against another shape.
    let off = judge(&run(&ramp, Process::Even, |_| Nanos(5_000)), ClaimedProcess::Even, &hold(100, 25));
    assert!(off.is_planned_otherwise(), "{off:?}");
}

#[test]
fn too_few_gaps_are_not_tested() {
    // Anything but a Poisson process, and yet nobody is accused by so few.
    let few_and_more = [40, 400].map(|seconds| {
        let phases = hold(1, seconds);
        judge(&run(&phases, Process::Even, |_| Nanos(SECOND_NS)), ClaimedProcess::Poisson, &phases)
    });
    assert_eq!((few_and_more[0].intended.gaps, few_and_more[0].sent.gaps), (None, None));
    assert_eq!(few_and_more.map(|process| process.is_planned_otherwise()), [false, true]);
    assert_eq!(few_and_more.map(|process| process.is_sent_otherwise()), [false, true]);
}

/// A target that refuses every third connection takes arrivals away before they are sent; the rest lies as it should.
#[test]
fn arrivals_that_were_never_sent_accuse_nobody() {
    let phases = hold(300, 60);
    let accused = (0..200).filter(|&seed| {
        let mut random = Random::new(seed, 2);
        let mut sample = ArrivalSample::default();
        for arrival in run(&phases, poisson(seed), |_| Nanos(5_000)).as_slice() {
            let sent = arrival.sent.filter(|_| random.below(3) > 0);
            sample.push(SampledArrival { sent, ..*arrival });
        }
        let process = judge(&sample, ClaimedProcess::Poisson, &phases);
        process.is_planned_otherwise() || process.is_sent_otherwise()
    });
    assert!(accused.count() <= 3);
}
