//! Exact quantiles of the time from arrival to answer.

use unblink_core::schedule::Bursts;

/// M/M/1: exponential with the rate μ − λ.
pub(super) fn mm1_ns(arrivals_per_s: f64, served_per_s: f64, q: f64) -> f64 {
    -(1.0 - q).ln() / (served_per_s - arrivals_per_s) * 1e9
}

/// M/M/c: exponential service after a wait that is 0, or (with Erlang's C) exponential with the rate cμ − λ.
pub(super) fn mmc_ns(arrivals_per_s: f64, served_per_s: f64, servers: u32, q: f64) -> f64 {
    let offered = arrivals_per_s / served_per_s;
    let busy = (1..=servers).fold(1.0, |b, k| offered * b / (f64::from(k) + offered * b));
    let utilisation = offered / f64::from(servers);
    let waits = busy / (1.0 - utilisation * (1.0 - busy));
    let drain = f64::from(servers) * served_per_s - arrivals_per_s;
    let above = |t: f64| {
        let (service, wait) = ((-served_per_s * t).exp(), (-drain * t).exp());
        (1.0 - waits) * service + waits * (drain * service - served_per_s * wait) / (drain - served_per_s)
    };
    inverse(above, q)
}

/// MMPP/M/1 with two states (M. F. Neuts, "Matrix-Geometric Solutions", 1981): an arrival that finds n others takes n + 1
/// exponential services. The vector of states with n present is π₀·Rⁿ, where R solves A₀ + R·A₁ + R²·A₂ = 0.
pub(super) fn bursty_ns(arrivals_per_s: f64, bursts: &Bursts, served_per_s: f64, q: f64) -> f64 {
    let rates = [bursts.peak(), bursts.lull()].map(|factor| factor * arrivals_per_s);
    let [leave_on, leave_off] = [bursts.on, bursts.off].map(|time| 1.0 / time.as_secs_f64());
    // −A₁ is invertible, so R ← (A₀ + R²·A₂)·(−A₁)⁻¹ converges from 0.
    let out = [leave_on + rates[0] + served_per_s, leave_off + rates[1] + served_per_s];
    let determinant = out[0] * out[1] - leave_on * leave_off;
    let inverted =
        [[out[1] / determinant, leave_on / determinant], [leave_off / determinant, out[0] / determinant]];
    let product = |a: &[[f64; 2]; 2], b: &[[f64; 2]; 2]| {
        let cell = |i: usize, j: usize| a[i][0] * b[0][j] + a[i][1] * b[1][j];
        [[cell(0, 0), cell(0, 1)], [cell(1, 0), cell(1, 1)]]
    };
    let mut r = [[0.0; 2]; 2];
    for _ in 0..100_000 {
        let mut next = product(&r, &r).map(|row| row.map(|x| x * served_per_s));
        next[0][0] += rates[0];
        next[1][1] += rates[1];
        r = product(&next, &inverted);
    }
    let share_on = leave_off / (leave_on + leave_off);
    let times = |v: [f64; 2], m: &[[f64; 2]; 2]| [0, 1].map(|j| v[0] * m[0][j] + v[1] * m[1][j]);
    let stationary = [share_on, 1.0 - share_on];
    let moved = times(stationary, &r);
    let mut present = [stationary[0] - moved[0], stationary[1] - moved[1]];
    // What an arrival finds: states count as often as arrivals come in them.
    let mut found = Vec::new();
    let mut left = 1.0;
    while left > 1e-13 && found.len() < 100_000 {
        let share = (present[0] * rates[0] + present[1] * rates[1]) / arrivals_per_s;
        found.push(share);
        left -= share;
        present = times(present, &r);
    }
    let above = |t: f64| {
        // Fewer than n + 1 services have ended by t: Poisson probabilities, in logarithms against underflow.
        let (mean, mut at_most, mut ln_factorial, mut sum) = (served_per_s * t, 0.0, 0.0, 0.0);
        for (n, share) in found.iter().enumerate() {
            if n > 0 {
                ln_factorial += (n as f64).ln();
            }
            at_most += (n as f64 * mean.max(1e-300).ln() - mean - ln_factorial).exp();
            sum += share * at_most;
        }
        sum
    };
    inverse(above, q)
}

/// M/D/1 (A. Crommelin 1932), in the form of G. J. Franx, "A Simple Solution for the M/D/c Waiting Time
/// Distribution", 2001, which adds positive terms only.
pub(super) fn md1_ns(arrivals_per_s: f64, served_per_s: f64, q: f64) -> f64 {
    const STATES: usize = 400;
    let (service_s, utilisation) = (1.0 / served_per_s, arrivals_per_s / served_per_s);
    // Arrivals within one service: more than k of them.
    let mut probability = (-utilisation).exp();
    let (none, mut more, mut left) = (probability, Vec::with_capacity(STATES), 1.0);
    for k in 1..=STATES {
        left -= probability;
        more.push(f64::max(left, 0.0));
        probability *= utilisation / k as f64;
    }
    // In the system when a request leaves: what goes up through a level comes down through it.
    let mut present = vec![1.0 - utilisation];
    for j in 1..STATES {
        let up = present[0] * more[j - 1] + (1..j).map(|i| present[i] * more[j - i]).sum::<f64>();
        present.push(up / none);
    }
    let waiting_at_most: Vec<f64> = present
        .iter()
        .scan(0.0, |sum, p| {
            *sum += p;
            Some(*sum)
        })
        .skip(1)
        .collect();
    let above = |t: f64| {
        let wait = t - service_s;
        if wait < 0.0 {
            return 1.0;
        }
        let services = (wait / service_s).floor() as usize + 1;
        if services > waiting_at_most.len() {
            return 0.0;
        }
        let mean = arrivals_per_s * (services as f64 * service_s - wait);
        let mut term = (-mean).exp();
        let mut at_most = 0.0;
        for i in 0..services {
            at_most += waiting_at_most[services - 1 - i] * term;
            term *= mean / (i + 1) as f64;
        }
        1.0 - at_most
    };
    inverse(above, q)
}

/// Even arrivals with constant service, and a stall in each cycle that is drained before the next: the first arrival
/// of a stall waits for all of it, each later one by 1/λ − S less. By renewal and reward, the share that waits more
/// than y is (D − y)/(1 − ρ) of the cycle.
pub(super) fn stalls_ns(arrivals_per_s: f64, service_s: f64, stall_s: f64, cycle_s: f64, q: f64) -> f64 {
    let wait_s = stall_s - (1.0 - q) * cycle_s * (1.0 - arrivals_per_s * service_s);
    (service_s + wait_s.max(0.0)) * 1e9
}

/// The time that the share 1 − q exceeds.
fn inverse(above: impl Fn(f64) -> f64, q: f64) -> f64 {
    let (mut low_s, mut high_s) = (0.0, 100.0);
    for _ in 0..100 {
        let middle_s = (low_s + high_s) / 2.0;
        match above(middle_s) > 1.0 - q {
            true => low_s = middle_s,
            false => high_s = middle_s,
        }
    }
    high_s * 1e9
}
