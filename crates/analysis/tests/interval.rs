//! Intervals against what is known: theory, tables, and runs that have none.

use unblink_analysis::interval::{Answer, EndedBy, History, Method, answers};
use unblink_analysis::quantile::Survival;
use unblink_core::record::Track;
use unblink_core::sim::Random;
use unblink_core::time::Nanos;

const QUANTILES: [f64; 3] = [0.5, 0.9, 0.99];
const RATE: u64 = 1_000;

/// A run of `seconds` in which the arrivals recorded in second i took `of(i)`: (ns, censored).
fn run(seconds: u64, of: impl FnMut(u64) -> Vec<(u64, bool)>) -> Vec<Answer> {
    ended(EndedBy::Plan, seconds, of)
}

fn ended(ended: EndedBy, seconds: u64, mut of: impl FnMut(u64) -> Vec<(u64, bool)>) -> Vec<Answer> {
    let (mut history, mut completed, mut censored) = (History::default(), Track::default(), Track::default());
    for second in 0..seconds {
        let (mut known, mut open) = (Track::default(), Track::default());
        for (ns, is_censored) in of(second) {
            if is_censored { &mut open } else { &mut known }.record(Nanos(ns));
        }
        history.add(Nanos::from_secs(second), Nanos::from_secs(1), 5, &known, &open);
        completed.add(&known);
        censored.add(&open);
    }
    let whole = Survival::new(&completed, &censored);
    answers(&history, Nanos::ZERO, Nanos::from_secs(seconds), &whole, &QUANTILES, ended)
}

fn exponential(random: &mut Random) -> u64 {
    random.exponential(Nanos::from_millis(10)).0
}

/// How often each quantile of an exponential distribution of 10 ms lies in its interval.
fn held(runs: u64, mut answers: impl FnMut(u64) -> Vec<Answer>) -> ([u64; 3], [u64; 3]) {
    let (mut held, mut given) = ([0; 3], [0; 3]);
    for seed in 0..runs {
        for (i, answer) in answers(seed).into_iter().enumerate() {
            let Answer::Between { low_ns, high_ns, .. } = answer else { continue };
            let exact = -(1.0 - QUANTILES[i]).ln() * 1e7;
            given[i] += 1;
            held[i] += u64::from(low_ns as f64 <= exact && exact <= high_ns as f64);
        }
    }
    (held, given)
}

#[test]
fn independent_samples_are_held_as_often_as_promised() {
    let (held, given) = held(100, |seed| {
        let mut random = Random::new(seed, 1);
        run(30, |_| (0..RATE / 10).map(|_| (exponential(&mut random), false)).collect())
    });
    for i in 0..3 {
        assert!(given[i] >= 95, "{given:?}");
        // 95 %, less three and a half standard errors of so few runs.
        assert!(held[i] as f64 >= 0.87 * given[i] as f64, "{held:?}");
    }
}

#[test]
fn a_queue_with_memory_is_held_as_often_as_promised() {
    // M/M/1 at 100/s and half of its capacity (D. V. Lindley 1952): the response time is exponential with 20 ms.
    let mut width = 0.0;
    let (held, given) = held(100, |seed| {
        let mut random = Random::new(seed, 2);
        let (mut backlog_ns, mut at_ns) = (0u64, 0u64);
        let found = run(120, |second| {
            let mut of_second = Vec::new();
            while at_ns < (second + 1) * 1_000_000_000 {
                let response_ns = backlog_ns + random.exponential(Nanos::from_millis(5)).0;
                of_second.push((response_ns, false));
                let gap_ns = random.exponential(Nanos::from_millis(10)).0;
                backlog_ns = response_ns.saturating_sub(gap_ns);
                at_ns += gap_ns;
            }
            of_second
        });
        if let Answer::Between { low_ns, high_ns, .. } = found[0] {
            width += (high_ns - low_ns) as f64;
        }
        found
    });
    for i in 0..3 {
        assert!(given[i] >= 85, "{given:?}");
        assert!(held[i] as f64 >= 0.87 * given[i] as f64, "{held:?}");
    }
    // With independent samples the interval of p50 would be 2·1.96·10 ms/√12,000 = 0.36 ms wide.
    assert!(width / 100.0 > 450_000.0, "{width}");
}

#[test]
fn one_stall_decides_the_tail_and_says_so() {
    let found = run(60, |second| {
        (0..RATE)
            .map(|k| if second == 31 { (10_000_000 + k * 1_000_000, false) } else { (10_000_000, false) })
            .collect()
    });
    assert!(
        matches!(found[0], Answer::Between { low_ns, high_ns, .. } if low_ns <= 10_000_000 && high_ns < 10_020_000)
    );
    let expected = Answer::OneEvent { from: Nanos::from_secs(31), to: Nanos::from_secs(32) };
    assert_eq!(found[2], expected);
}

/// At a few requests per second a stall is a handful of samples, too few to be told from chance by their number.
#[test]
fn one_stall_at_a_low_rate_is_one_event() {
    for (rate, seconds, stalled) in [(10, 60, 31), (7, 120, 3), (12, 60, 59)] {
        let found = run(seconds, |second| {
            let stall_ns = |k: u64| 10_000_000 + k * 1_000_000_000 / rate;
            let took = |k| if second == stalled { stall_ns(k) } else { 10_000_000 + 1_000 * k };
            (0..rate).map(|k| (took(k), false)).collect()
        });
        let expected =
            Answer::OneEvent { from: Nanos::from_secs(stalled), to: Nanos::from_secs(stalled + 1) };
        assert_eq!(found[2], expected, "{rate}/s for {seconds} s");
    }
}

#[test]
fn three_stalls_are_few() {
    let found = run(120, |second| {
        let stalled = [20, 50, 91].contains(&second);
        (0..RATE).map(|k| (if stalled { 10_000_000 + k * 1_000_000 } else { 10_000_000 }, false)).collect()
    });
    assert_eq!(found[2], Answer::FewEvents { events: 3 });
}

#[test]
fn a_run_that_is_too_short_or_has_too_few_samples_has_none() {
    let mut random = Random::new(1, 3);
    let short = run(19, |_| (0..RATE).map(|_| (exponential(&mut random), false)).collect());
    assert_eq!(short[0], Answer::TooShort { needed: Nanos::from_secs(20) });
    // 360 samples give p90 an upper bound, and p99 none: it needs 368.
    let few = run(36, |_| (0..10).map(|_| (exponential(&mut random), false)).collect());
    assert!(matches!(few[1], Answer::Between { .. }), "{few:?}");
    assert_eq!(few[2], Answer::NotEnoughData);
    let none = run(36, |_| Vec::new());
    assert_eq!(none[0], Answer::NotEnoughData);
}

#[test]
fn a_long_event_asks_for_longer_blocks() {
    // Eight seconds of a hundred are slow, and a block has five.
    let mut random = Random::new(1, 4);
    let found = run(100, |second| {
        let factor = if (40..48).contains(&second) { 20 } else { 1 };
        (0..RATE).map(|_| (factor * exponential(&mut random), false)).collect()
    });
    assert_eq!(found[0], Answer::TooShort { needed: Nanos::from_secs(200) });
    assert!(matches!(found[1], Answer::FewEvents { .. }), "{found:?}");
    assert!(matches!(found[2], Answer::OneEvent { .. }), "{found:?}");
}

#[test]
fn independent_samples_come_down_to_ranks() {
    // The same values in each second: less varies than by chance, and ranks alone remain.
    let found = run(40, |_| (1..=RATE).map(|k| (k * 100_000, false)).collect());
    for answer in &found {
        assert!(matches!(answer, Answer::Between { method: Method::Exact, .. }), "{found:?}");
    }
    let Answer::Between { low_ns, high_ns, .. } = found[0] else { panic!("{found:?}") };
    // Ranks 19,804 and 20,197 of 40,000.
    assert!((low_ns as f64 / 49.6e6 - 1.0).abs() < 0.002 && (high_ns as f64 / 50.5e6 - 1.0).abs() < 0.002);
}

#[test]
fn censoring_by_chance_widens_and_does_not_shift() {
    // Half are cut off at a random age that has nothing to do with them.
    let (held, given) = held(100, |seed| {
        let mut random = Random::new(seed, 5);
        run(40, |_| {
            (0..RATE / 10)
                .map(|_| {
                    let (took, age) = (exponential(&mut random), 3 * exponential(&mut random));
                    (took.min(age), age < took)
                })
                .collect()
        })
    });
    for i in 0..3 {
        assert!(given[i] >= 85, "{given:?}");
        assert!(held[i] as f64 >= 0.87 * given[i] as f64, "{held:?}");
    }
}

#[test]
fn an_upper_end_among_the_censored_is_not_made_up() {
    let mut random = Random::new(3, 6);
    let found = run(60, |_| {
        (0..RATE)
            .map(|_| match exponential(&mut random) {
                took if took > 45_000_000 => (45_000_000, true),
                took => (took, false),
            })
            .collect()
    });
    // 1.1 % took longer than 45 ms.
    assert!(matches!(found[1], Answer::Between { .. }), "{found:?}");
    assert!(
        matches!(found[2], Answer::Above { low_ns } if (43_000_000..45_100_000).contains(&low_ns)),
        "{found:?}"
    );
}

#[test]
fn a_run_that_stopped_itself_has_wider_intervals() {
    let found = |how: EndedBy| {
        let mut random = Random::new(4, 7);
        ended(how, 60, |_| (0..RATE).map(|_| (exponential(&mut random), false)).collect())
    };
    for (planned, stopped) in found(EndedBy::Plan).iter().zip(&found(EndedBy::Precision)) {
        let (
            &Answer::Between { low_ns, high_ns, .. },
            &Answer::Between { low_ns: lower_ns, high_ns: higher_ns, .. },
        ) = (planned, stopped)
        else {
            panic!("{planned:?} {stopped:?}");
        };
        // 2.24 standard errors instead of 1.96, in bins of a thousandth.
        let ratio = (higher_ns - lower_ns) as f64 / (high_ns - low_ns) as f64;
        assert!((1.05..1.25).contains(&ratio), "{planned:?} {stopped:?}");
        assert!(lower_ns <= low_ns && high_ns <= higher_ns, "{planned:?} {stopped:?}");
    }
}
