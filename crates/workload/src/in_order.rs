//! Are records numbered in the order in which they are inserted?
//!
//! Who draws among the records of a run counts how many inserts there have been, and takes it that these had the numbers from the
//! first on. That is so where all arrivals are one sequence in order of time. Where they are several, each sequence numbers its
//! own: the third insert may have the number 1,010.

use crate::composition::Composition;
use crate::error::ValuesError;
use crate::inserting::Inserting;
use crate::lets::Lets;
use unblink_core::arrival::Key;
use unblink_core::plan::Plan;

/// Refuses values that number inserts, where inserts of `plan` come in no order and somebody goes by these numbers.
pub(crate) fn check(
    lets: &Lets,
    compositions: &[Option<Composition>],
    inserts: &[u32],
    plan: &Plan,
) -> Result<(), ValuesError> {
    if is_one_sequence(plan) {
        return Ok(());
    }
    let entries: Vec<u32> = inserts.iter().map(|&operation| plan.entry_of(operation)).collect();
    let users = |number: u32| {
        let uses =
            move |one: &Option<Composition>| one.as_ref().is_some_and(|one| one.uses.contains(&number));
        (0..).zip(compositions).filter(move |(_, one)| uses(one)).map(|(operation, _)| operation)
    };
    let follows = (0..)
        .zip(lets.iter())
        .find(|(number, (_, source))| source.needs().inserted && users(*number).next().is_some());
    let follower = follows.map(|(_, (name, _))| name.to_string());
    for (number, (name, source)) in (0..).zip(lets.iter()) {
        // Rows, and numbers that others draw as well, are no numbers of records that are inserted. Steps of a journey have theirs in
        // common.
        let is_of_inserts = source.is_number() && source.needs().ordinal && users(number).next().is_some();
        let only_inserts = || users(number).all(|operation| entries.contains(&plan.entry_of(operation)));
        if is_of_inserts && (source.numbers_inserts() || (follower.is_some() && only_inserts())) {
            return Err(ValuesError::InsertsOutOfOrder { name: name.to_string(), follower });
        }
    }
    Ok(())
}

/// Which part of a load's arrivals inserts a key: so many of so many.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExpectedInserts {
    part: u64,
    whole: u64,
    /// Every so many arrivals in a row have this part, in whatever order.
    is_of_blocks: bool,
}

impl ExpectedInserts {
    pub(crate) fn of(plan: &Plan, load: u32, inserting: &Inserting<'_>) -> ExpectedInserts {
        let (part, whole) = inserting.part_of(load);
        // Steps insert some time after their journey starts.
        let is_of_blocks =
            is_one_sequence(plan) && inserting.has_no_steps() && plan.asked_by(load).block() == Some(whole);
        ExpectedInserts { part, whole, is_of_blocks }
    }

    /// How many of the first `n` arrivals are expected to be inserts, rounded down. If it is to be `sure`, as many as there are at the
    /// least: within a block the inserts may come last.
    pub(crate) fn among(self, n: u64, sure: bool) -> u64 {
        let ExpectedInserts { part, whole, is_of_blocks } = self;
        match sure && is_of_blocks {
            true => n / whole * part + (n % whole).saturating_sub(whole - part),
            false => (u128::from(n) * u128::from(part) / u128::from(whole)) as u64,
        }
    }
}

fn is_one_sequence(plan: &Plan) -> bool {
    plan.schedules().count() <= 1 && plan.place_of(Key::default()).sequences <= 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::Context;
    use crate::source::Source;
    use crate::template::Holes;
    use unblink_core::dispatch::Pool;
    use unblink_core::mix::{Mix, Order};
    use unblink_core::plan::{LoadSpec, OpenPart, PlanSpec};
    use unblink_core::schedule::{Phase, Process, Rate};
    use unblink_core::time::Nanos;

    fn plan(process: Process, loads: usize) -> Plan {
        let phases = vec![Phase::hold(Rate::per_second(100), Nanos::from_secs(1))];
        let part = OpenPart::whole(phases.clone(), process);
        let load = match loads {
            1 => LoadSpec::Open { phases, process },
            n => LoadSpec::Several(vec![part; n]),
        };
        Plan::new(PlanSpec {
            threads: 2,
            idempotent: vec![true; 2],
            mix: Mix { weights: Some(vec![1, 1]), order: Order::Shuffled { seed: 1 }, ..Mix::default() },
            ..PlanSpec::plain(load, Pool::Fixed { n: 2 }, Nanos::from_secs(1))
        })
        .unwrap()
    }

    /// The operation 0 reads by `read`, and the operation 1 inserts by `insert`.
    fn checked(plan: &Plan, read: &str, insert: &str, inserts: &[u32]) -> Result<(), ValuesError> {
        let mut lets = Lets::default();
        for (name, text) in [("read", read), ("new", insert)] {
            let source = Source::parse(text, &mut |_| Err(std::io::ErrorKind::NotFound.into())).unwrap();
            lets.add(name, source).unwrap();
        }
        let composed = |text: &str| {
            let mut holes = Holes::new(&lets, 0);
            holes.read(text, Context::Target, |_| String::new()).unwrap();
            Some(Composition::new(holes.into_holes()))
        };
        check(&lets, &["{{read}}", "{{new}}"].map(composed), inserts, plan)
    }

    #[test]
    fn numbers_of_inserts_are_refused_where_they_have_no_order() {
        let bursts = Process::Poisson { seed: 1 };
        for (plan, is_one) in
            [(plan(Process::Even, 1), true), (plan(bursts, 1), false), (plan(Process::Even, 2), false)]
        {
            for (read, insert, inserts, is_right) in [
                ("latest(10)", "sequential(from=10)", &[1][..], false),
                ("latest(10, inserts=acknowledged)", "sequential(from=10)", &[1], false),
                ("ycsb_latest(10)", "ycsb_inserted(10)", &[1], false),
                ("ycsb_scrambled(10, coming=5)", "ycsb_inserted(10)", &[1], false),
                // Nobody asks for them in this run, but the next one counts on it that they have no gaps.
                ("uniform(10)", "ycsb_inserted(10)", &[1], false),
                // Numbers with gaps are no harm where nobody counts on them.
                ("uniform(10)", "sequential(from=10)", &[1], true),
                // The server numbers what is inserted.
                ("latest(10)", "uniform(10)", &[1], true),
                ("latest(10)", r#"list(["a", "b"])"#, &[1], true),
                // No insert has these numbers.
                ("latest(10)", "sequential(10)", &[], true),
            ] {
                let checked = checked(&plan, read, insert, inserts);
                assert_eq!(checked.is_ok(), is_right || is_one, "{read} and {insert}: {checked:?}");
            }
        }
        let why = checked(&plan(bursts, 1), "latest(10)", "sequential", &[1]).unwrap_err().to_string();
        assert!(why.contains("which read counts on") && why.contains("--arrivals even"), "{why}");
    }
}
