//! Exact quantiles of the time from arrival to answer.

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
