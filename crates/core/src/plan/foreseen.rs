//! Which arrival of a run has a number, found without those before it.

use super::{LoadSpec, Plan};
use crate::arrival::{Arrival, Key};
use crate::load::LoadNumber;
use crate::time::{Instant, Nanos};

/// Numbers that are looked through at the most for the first arrival of each request.
const LOOKED_AT_MAX: u64 = 1 << 20;

impl Plan {
    /// The arrival with the number `index`, as the schedule knows it: a request that stands alone, or the first of a journey.
    /// Its intended time counts from a schedule that begins at 0. The later requests of a closed user have none that is known
    /// beforehand, and are given the time at which the user begins. `None` where the run has no such arrival.
    pub fn arrival(&self, index: u64) -> Option<Arrival> {
        if let LoadSpec::Closed { users, ramp_up, .. } = self.spec.load {
            let (user, step) = (index % u64::from(users), index / u64::from(users));
            let key = Key { load: 0, unit: user, step: u32::try_from(step).ok()? };
            let begins = u128::from(ramp_up.0) * u128::from(user) / u128::from(users);
            return Some(Arrival {
                index,
                key,
                operation: self.asked.at(self.place_of(key)),
                intended: Instant(0) + Nanos(begins as u64),
                begins: step == 0,
                ..Arrival::default()
            });
        }
        if let LoadSpec::RecordedUsers(users) = &self.spec.load {
            let key = Key::single(index);
            return Some(Arrival {
                index,
                key,
                intended: Instant(0) + users.recorded().at(index)?,
                operation: self.asked.at(self.place_of(key)),
                begins: users.begins_with(index),
                ..Arrival::default()
            });
        }
        let (load, unit) = self.numbered().of_run(index);
        let offset = self.open.get(load as usize)?.schedule.intended(unit)?;
        let (operation, journey) = self.starts().of(self.entry_at(load, unit));
        Some(Arrival {
            index,
            key: Key { load, unit, step: 0 },
            operation,
            intended: Instant(0) + offset,
            journey,
            ..Arrival::default()
        })
    }

    /// For each entry of the mix the arrival with the lowest number that asks for it, as far as there is one among the first
    /// million numbers.
    pub fn first_arrivals(&self) -> Vec<Option<Arrival>> {
        let entries = self.journeys.as_ref().map_or(self.spec.idempotent.len(), |paths| paths.entries());
        let mut found: Vec<Option<Arrival>> = vec![None; entries];
        let mut missing = entries;
        let end = match self.recorded() {
            Some(recorded) => recorded.count(),
            None if self.is_open() => {
                self.schedules().map(|schedule| schedule.numbers_end()).max().unwrap_or(0)
            }
            None => u64::MAX,
        };
        for index in 0..LOOKED_AT_MAX.min(end.saturating_mul(self.open.len().max(1) as u64)) {
            if missing == 0 {
                break;
            }
            let entry = match self.spec.load {
                LoadSpec::Closed { .. } | LoadSpec::RecordedUsers(_) => {
                    self.arrival(index).map(|arrival| arrival.operation)
                }
                _ => Some(self.numbered().of_run(index)).map(|(load, unit)| self.entry_at(load, unit)),
            };
            let Some(first) = entry.and_then(|entry| found.get_mut(entry as usize)) else { continue };
            if first.is_none() {
                *first = self.arrival(index);
                missing -= usize::from(first.is_some());
            }
        }
        found
    }

    /// What the arrival of a load asks for: a request, or a journey.
    fn entry_at(&self, load: u32, unit: u64) -> u32 {
        self.asked_by(load).at(self.place_of(Key { load, unit, step: 0 }))
    }

    /// How the open loads share the numbers.
    fn numbered(&self) -> LoadNumber {
        LoadNumber { load: 0, of: self.open.len() as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{OpenPart, PlanSpec};
    use super::*;
    use crate::dispatch::Pool;
    use crate::journey::{JourneySpec, Journeys, StepSpec};
    use crate::load::Load;
    use crate::mix::{Mix, Order};
    use crate::schedule::{Bursts, Phase, Process, Rate};
    use std::collections::BTreeMap;

    fn spec(load: LoadSpec, operations: usize, mix: Mix) -> PlanSpec {
        PlanSpec {
            warmup: Nanos::from_secs(1),
            idempotent: vec![true; operations],
            mix,
            ..PlanSpec::plain(load, Pool::Auto { max: 10 }, Nanos::from_secs(1))
        }
    }

    fn part(process: Process, only: Option<Vec<u32>>) -> OpenPart {
        let ramp =
            Phase { from: Rate::per_second(40), to: Rate::per_second(90), duration: Nanos::from_secs(4) };
        OpenPart { name: None, phases: vec![ramp], process, start: Nanos::ZERO, only }
    }

    fn shuffled() -> Mix {
        Mix { weights: Some(vec![70, 25, 5]), order: Order::Shuffled { seed: 3 }, ..Mix::default() }
    }

    /// What the run draws one after the other.
    fn drawn<L: Load>(mut load: L) -> BTreeMap<u64, Arrival> {
        let mut all = BTreeMap::new();
        load.advance(Instant(u64::MAX / 2), |arrival| {
            all.insert(arrival.index, arrival);
        });
        all
    }

    fn assert_found(plan: &Plan, all: &BTreeMap<u64, Arrival>) {
        assert!(all.len() > 100);
        for (index, arrival) in all {
            assert_eq!(plan.arrival(*index).as_ref(), Some(arrival));
        }
        let highest = all.keys().max().copied().unwrap_or(0);
        let absent = (0..highest + 3_000).filter(|index| !all.contains_key(index));
        assert!(absent.clone().count() > 0 && absent.clone().all(|index| plan.arrival(index).is_none()));
        for (entry, first) in plan.first_arrivals().into_iter().enumerate() {
            let asks = |arrival: &&Arrival| plan.entry_of(arrival.operation) == entry as u32;
            assert_eq!(first.as_ref(), all.values().find(asks), "{entry}");
        }
    }

    #[test]
    fn each_arrival_of_an_open_load_is_found_by_its_number() {
        let bursts = Bursts { peak_milli: 3_000, on: Nanos::from_millis(300), off: Nanos::from_secs(1) };
        let processes = [Process::Even, Process::Poisson { seed: 9 }, Process::Bursty { seed: 9, bursts }];
        for process in processes {
            let loads = [
                LoadSpec::Several(vec![part(process, None)]),
                LoadSpec::Several(vec![part(process, None), part(Process::Even, Some(vec![2, 1]))]),
            ];
            for load in loads {
                let plan = Plan::new(spec(load, 3, shuffled())).unwrap();
                assert_found(&plan, &drawn(plan.open_load(Instant(0), 0).unwrap()));
            }
        }
    }

    #[test]
    fn the_first_requests_of_journeys_are_found() {
        let steps = vec![StepSpec::ONCE; 2];
        let journeys =
            Journeys { each: vec![JourneySpec { steps, ..JourneySpec::default() }], ..Journeys::default() };
        let mix = Mix { journeys, weights: Some(vec![70, 30]), order: Order::Shuffled { seed: 3 } };
        let load = LoadSpec::Several(vec![part(Process::Poisson { seed: 1 }, None)]);
        let plan = Plan::new(spec(load, 3, mix)).unwrap();
        assert_found(&plan, &drawn(plan.journeys_load(Instant(0), 0).unwrap()));
    }

    #[test]
    fn closed_users_take_turns() {
        let load = LoadSpec::closed(4, Nanos::from_secs(1), Nanos::from_secs(9));
        let plan = Plan::new(spec(load, 3, shuffled())).unwrap();
        let all = drawn(plan.closed_load(Instant(0), 0).unwrap());
        assert_eq!(all.len(), 4, "nobody has an answer");
        for (index, arrival) in &all {
            assert_eq!(plan.arrival(*index).as_ref(), Some(arrival));
        }
        let later = plan.arrival(4 * 7 + 2).unwrap();
        assert_eq!((later.key, later.begins), (Key { load: 0, unit: 2, step: 7 }, false));
        assert_eq!(later.operation, plan.asked().at(plan.place_of(later.key)));
        assert!(plan.first_arrivals().iter().all(Option::is_some));
    }
}
