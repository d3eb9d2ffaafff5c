//! Traces that were drawn from known laws.

use super::seeded::Seeded;
use super::*;
use crate::format::Writer;

const S: f64 = 1e9;

/// A trace of GET requests at these times (s), with the path of each.
fn trace(at_s: &[f64], mut path: impl FnMut(usize) -> String) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = Writer::to(&mut out).unwrap();
    writer.begin(&Header::new(0, vec![], vec![])).unwrap();
    for (k, at) in at_s.iter().enumerate() {
        let request = Request {
            at: (at * S) as i64,
            method: "GET".into(),
            path: path(k).into(),
            status: Some(200),
            ..Request::default()
        };
        writer.request(&request).unwrap();
    }
    writer.finish(&Counts { requests: at_s.len() as u64, ..Counts::default() }).unwrap();
    out
}

fn fitted(trace: &[u8]) -> Fit {
    fit(|| Reader::new(trace)).unwrap().unwrap()
}

fn poisson(seed: u64, length_s: f64, rate: impl Fn(f64) -> f64, most: f64) -> Vec<f64> {
    let mut random = Seeded::new(seed);
    let (mut at, mut all) = (0.0, Vec::new());
    loop {
        at += random.exponential() / most;
        if at > length_s {
            return all;
        }
        if random.uniform() * most <= rate(at) {
            all.push(at);
        }
    }
}

/// Times at which bursts begin and end, in turn, from the end of a lull on.
fn turns(seed: u64, length_s: f64, on_s: f64, off_s: f64) -> Vec<f64> {
    let mut random = Seeded::new(seed);
    let (mut at, mut all) = (0.0, Vec::new());
    while at < length_s {
        at += random.exponential() * if all.len() % 2 == 0 { off_s } else { on_s };
        all.push(at);
    }
    all
}

fn bursty(seed: u64, length_s: f64, mean: f64, (peak, on_s, off_s): (f64, f64, f64)) -> Vec<f64> {
    let turns = turns(seed ^ 0x5555, length_s, on_s, off_s);
    let share = on_s / (on_s + off_s);
    let low = (1.0 - peak * share) / (1.0 - share);
    let factor = |at: f64| if turns.partition_point(|turn| *turn <= at) % 2 == 1 { peak } else { low };
    poisson(seed, length_s, |at| mean * factor(at), mean * peak)
}

#[test]
fn even_and_independent_arrivals_are_told_apart() {
    let even: Vec<f64> = (0..20_000).map(|k| f64::from(k) / 100.0).collect();
    let fit = fitted(&trace(&even, |_| "/".into())).rate;
    assert_eq!((fit.law, fit.steps), (ArrivalLaw::Even, None));
    assert!((fit.mean_per_s - 100.0).abs() < 0.01 && fit.length_ns == 200_000_000_000, "{}", fit.mean_per_s);
    for seed in 1..4 {
        let fit = fitted(&trace(&poisson(seed, 300.0, |_| 80.0, 80.0), |_| "/".into())).rate;
        assert_eq!((fit.law, &fit.steps), (ArrivalLaw::Poisson, &None), "{fit:?}");
        assert!((fit.mean_per_s / 80.0 - 1.0).abs() < 0.03, "{}", fit.mean_per_s);
        assert!(fit.dispersion.iter().all(|one| (one.recorded - one.fitted).abs() < 0.6), "{fit:?}");
    }
}

#[test]
fn bursts_are_found_with_their_height_and_their_lengths() {
    for (seed, mean, length_s, law) in [
        (1, 400.0, 600.0, (5.0, 0.2, 1.0)),
        (2, 100.0, 1_200.0, (3.0, 1.0, 3.0)),
        (3, 50.0, 3_000.0, (4.0, 0.5, 4.5)),
    ] {
        let fit = fitted(&trace(&bursty(seed, length_s, mean, law), |_| "/".into())).rate;
        let ArrivalLaw::Bursty { peak, on_s, off_s } = fit.law else { panic!("{fit:?}") };
        assert_eq!(fit.steps, None, "{fit:?}");
        assert!((peak / law.0 - 1.0).abs() < 0.1, "{fit:?}");
        assert!((on_s / law.1 - 1.0).abs() < 0.2 && (off_s / law.2 - 1.0).abs() < 0.2, "{fit:?}");
        for one in &fit.dispersion {
            assert!((one.fitted / one.recorded - 1.0).abs() < 0.25, "{fit:?}");
        }
    }
}

#[test]
fn a_rate_that_changes_is_no_burst() {
    let rate = |at: f64| 50.0 + 40.0 * (at / 600.0 * std::f64::consts::PI).sin();
    let fit = fitted(&trace(&poisson(4, 600.0, rate, 100.0), |_| "/".into())).rate;
    assert_eq!(fit.law, ArrivalLaw::Poisson, "{fit:?}");
    let steps = fit.steps.expect("a rate that changes");
    for (k, step) in steps.iter().enumerate() {
        let middle = rate((k as f64 + 0.5) * 30.0);
        assert!((step / middle - 1.0).abs() < 0.12, "{k}: {step} for {middle}");
    }
}

/// A trace that is drawn from what was fitted gives the same laws back.
#[test]
fn the_fit_of_a_fit_is_the_same() {
    let (mut random, mut paths) = (Seeded::new(1), Seeded::new(2));
    let zipf = |random: &mut Seeded, keys: u64, s: f64| {
        // Rejection from the integral is not needed for a few keys.
        let ends: Vec<f64> = (1..=keys)
            .scan(0.0, |sum, k| {
                *sum += (k as f64).powf(-s);
                Some(*sum)
            })
            .collect();
        let at = random.uniform() * ends[ends.len() - 1];
        ends.partition_point(|end| *end < at)
    };
    let mut path = |share: f64, keys: u64, s: f64| match random.uniform() < share {
        true => format!("/items/{}", 1_000 + zipf(&mut paths, keys, s)),
        false => "/cart".into(),
    };
    let at = bursty(9, 400.0, 100.0, (4.0, 0.5, 2.0));
    let once = fitted(&trace(&at, |_| path(0.8, 300, 0.9)));
    let ArrivalLaw::Bursty { peak, on_s, off_s } = once.rate.law else { panic!("{:?}", once.rate) };
    let Some(KeyLaw::Zipf(s)) = once.keys[0].fit.law else { panic!("{:?}", once.keys) };
    assert!((s - 0.9).abs() < 0.05 && once.keys[0].fit.keys.abs_diff(300) < 20, "{:?}", once.keys);
    let share = once.operations[0].count as f64 / once.requests as f64;
    assert!((share - 0.8).abs() < 0.01 && once.operations[0].path == "/items/{id}");
    let at = bursty(10, 400.0, once.rate.mean_per_s, (peak, on_s, off_s));
    let again = fitted(&trace(&at, |_| path(share, once.keys[0].fit.keys, s)));
    let ArrivalLaw::Bursty { peak: peak2, on_s: on2, off_s: off2 } = again.rate.law else {
        panic!("{:?}", again.rate)
    };
    for (one, other) in [(peak, peak2), (on_s, on2), (off_s, off2)] {
        assert!((one / other - 1.0).abs() < 0.25, "{:?} {:?}", once.rate, again.rate);
    }
    let Some(KeyLaw::Zipf(s2)) = again.keys[0].fit.law else { panic!("{:?}", again.keys) };
    assert!((s - s2).abs() < 0.06, "{s} {s2}");
    assert_eq!(once.operations.len(), again.operations.len());
}
