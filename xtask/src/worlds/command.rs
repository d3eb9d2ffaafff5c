//! `cargo xtask worlds`: arguments, threads, and what is said about a failure.

use super::{Failure, Sum, run};
use std::sync::atomic::{AtomicBool, Ordering};

/// How the command is called.
pub const USAGE: &str = "usage: cargo xtask worlds [--seeds N] [--from SEED] | --seed SEED";

/// Worlds that are run unless a number is given.
const SEEDS: u64 = 300;

/// Runs what `args` ask for. An error is one of usage.
pub fn worlds(args: &[String]) -> Result<Result<Sum, Box<Failure>>, String> {
    let (mut seeds, mut from) = (SEEDS, 0);
    let mut args = args.iter();
    while let Some(name) = args.next() {
        let value = args.next().ok_or_else(|| format!("{name} takes a number"))?;
        let number = value.parse().map_err(|_| format!("{name} {value}: not a whole number"))?;
        match name.as_str() {
            "--seeds" => seeds = number,
            "--from" => from = number,
            "--seed" => (from, seeds) = (number, 1),
            _ => return Err(format!("{name} is not known")),
        }
    }
    let end =
        from.checked_add(seeds).ok_or_else(|| format!("--from {from}: no {seeds} seeds lie above it"))?;
    // What panics in a world is told with the world.
    std::panic::set_hook(Box::new(|_| {}));
    Ok(run_all(from, end))
}

/// The worlds of the seeds from `from` up to `end`, on every processor; stops at a failure.
fn run_all(from: u64, end: u64) -> Result<Sum, Box<Failure>> {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let failed = AtomicBool::new(false);
    let failed = &failed;
    let share = |first: u64| -> Result<Sum, Box<Failure>> {
        let mut sum = Sum::default();
        for seed in (first..end).step_by(threads as usize) {
            if failed.load(Ordering::Relaxed) {
                break;
            }
            sum.add(run(seed).inspect_err(|_| failed.store(true, Ordering::Relaxed))?);
        }
        Ok(sum)
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|i| scope.spawn(move || share(from + i))).collect();
        let mut all = Sum::default();
        for worker in workers {
            all.add(worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
        Ok(all)
    })
}

/// Everything needed to look into a failure.
pub fn describe(failure: &Failure) -> String {
    let Failure { seed, violation, smallest, smallest_violation } = failure;
    format!(
        "world {seed} fails: {violation}\n\nThe smallest world that was found to fail:\n{smallest}\n\
         There: {smallest_violation}\n\nReplay: cargo xtask worlds --seed {seed}"
    )
}
