//! What a run is to do: a value that is checked once, when it is made, and never again.

mod check;
mod error;
mod foreseen;
mod load;
mod placed;
mod shares;
mod spec;

pub use error::{Length, PlanError};
pub use load::{LoadSpec, OpenPart, Stretch, highest_per_s, highest_together, together};
pub use shares::WorkerShares;
pub use spec::PlanSpec;

use crate::arrival::Key;
use crate::dispatch::{Policy, Room};
use crate::journey::{JourneyError, Paths, Starts};
use crate::load::{Closed, ClosedShare, LoadNumber, Open, OpenLoad, OpenShare, Population, Travelling};
use crate::mix::{Asked, Place};
use crate::record::{Layout, SampleBlocks};
use crate::recorded::Recorded;
use crate::schedule::Schedule;
use crate::time::{Instant, Nanos};
use check::{
    check_closed_lengths, check_common, check_journeys, check_open, check_recorded, check_recorded_users,
    check_users,
};
use placed::PlacedLoad;
use std::sync::Arc;

/// Users of a closed population who don't think begin spread over this time.
const RAMP_UP_WITHOUT_THINKING: Nanos = Nanos::from_millis(100);

/// Operations that are recorded apart; the rest of a long target list shares the last place.
pub const OPERATIONS_APART_MAX: usize = 256;

/// Requests of a limited Poisson load at the most: all are drawn once before the start, a hundred million in about a second.
pub const LIMIT_POISSON_MAX: u64 = 100_000_000;

/// Users of a closed population at the most.
pub const USERS_MAX: u32 = 1_000_000;

/// Arrivals of all loads together that are drawn one by one at the most to count them by operation, in a second or two.
const DRAWN_MAX: u64 = 1 << 28;

/// Users of a recorded load at the most.
pub const RECORDED_USERS_MAX: u64 = 1 << 24;

/// Open loads of a run at the most.
pub const LOADS_MAX: usize = 16;

/// Phases of an open load at the most: a trace of a day by the minute, or of a week by five, has half as many.
pub const PHASES_MAX: usize = 4_096;

/// Worker threads at the most; each holds some megabytes of histograms.
pub const THREADS_MAX: u32 = 256;

/// Shares of a load at the most: Poisson arrivals are so many streams, and no share can have less than one.
pub const SHARES_MAX: u32 = crate::schedule::STREAMS as u32;

/// Arrivals counted from the schedule alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scheduled {
    /// Before the measured part.
    pub warmup: u64,
    /// In it.
    pub measured: u64,
}

/// Measured arrivals, counted from the schedule alone, as they are recorded apart.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ScheduledApart {
    /// Those beyond the last place that is recorded apart are counted there.
    pub by_operation: Vec<u64>,
    /// Empty where there is one origin.
    pub by_origin: Vec<u64>,
}

/// A checked plan.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    spec: PlanSpec,
    /// Of an open load, one for each of its parts.
    open: Vec<PlacedLoad>,
    /// What a load asks for that has no `only`.
    asked: Asked,
    journeys: Option<Arc<Paths>>,
    load_length: Nanos,
    shares: WorkerShares,
}

impl Plan {
    /// Checks `spec`.
    pub fn new(spec: PlanSpec) -> Result<Plan, PlanError> {
        check_common(&spec)?;
        let parts = spec.load.open_parts();
        match &spec.load {
            LoadSpec::Open { .. } | LoadSpec::Several(_) => check_open(&parts, &spec)?,
            LoadSpec::Recorded(recorded) => check_recorded(recorded, &spec)?,
            LoadSpec::RecordedUsers(users) => check_recorded_users(users, &spec)?,
            LoadSpec::Closed { users, think, ramp_up, duration } => {
                check_users(*users, *think, &spec)?;
                check_closed_lengths(*ramp_up, *duration)?;
            }
        }
        let journeys =
            Paths::new(&spec.mix.journeys, spec.idempotent.len(), OPERATIONS_APART_MAX)?.map(Arc::new);
        if journeys.is_some() && parts.is_empty() {
            return Err(JourneyError::Closed.into());
        }
        let entries = journeys.as_ref().map_or(spec.idempotent.len(), |paths| paths.entries());
        let asked = match &spec.load {
            LoadSpec::RecordedUsers(users) => Asked::recorded(users.recorded(), entries),
            _ => Asked::new(&spec.mix, entries, None, 0)?,
        };
        if let Some(paths) = &journeys {
            check_journeys(&parts, paths, &spec)?;
        }
        let place = |(load, part)| PlacedLoad::new(load, part, &spec, entries);
        let open: Vec<PlacedLoad> = (0..).zip(&parts).map(place).collect::<Result<_, PlanError>>()?;
        let load_length = match spec.load {
            LoadSpec::Closed { ramp_up, duration, .. } => ramp_up + spec.warmup + duration,
            LoadSpec::RecordedUsers(ref users) => users.recorded().length(),
            _ => open.iter().map(|load| load.schedule.span()).max().unwrap_or_default(),
        };
        let shares = WorkerShares { first: 0, of: spec.threads };
        Ok(Plan { spec, open, asked, journeys, load_length, shares })
    }

    /// What was asked for.
    pub fn spec(&self) -> &PlanSpec {
        &self.spec
    }

    /// The schedule of the only open load, warm-up first.
    pub fn schedule(&self) -> Option<&Arc<Schedule>> {
        match &self.open[..] {
            [only] => Some(&only.schedule),
            _ => None,
        }
    }

    /// The schedules of all open loads, each from the zero of the run on, warm-up first. None for a closed load.
    pub fn schedules(&self) -> impl Iterator<Item = &Arc<Schedule>> {
        self.open.iter().map(|load| &load.schedule)
    }

    /// What offers the load are schedules.
    pub fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// The arrivals that it replays, if it does.
    pub fn recorded(&self) -> Option<&Recorded> {
        match &self.spec.load {
            LoadSpec::Recorded(recorded) => Some(recorded),
            LoadSpec::RecordedUsers(users) => Some(users.recorded()),
            _ => None,
        }
    }

    /// What is kept apart in its banks.
    pub fn layout(&self) -> Layout {
        let (journeys, steps, redirected) = self
            .journeys
            .as_ref()
            .map_or((0, 0, 0), |paths| (paths.len() + paths.waits(), paths.steps(), paths.redirected()));
        let (loads, origins) = (self.open.len().max(1), self.spec.origins.count());
        Layout { operations: self.operations_apart(), loads, journeys, steps, redirected, origins }
    }

    /// What is left out at the beginning: the ramp-up of closed users, and the warm-up.
    pub fn measured_from(&self) -> Nanos {
        match self.spec.load {
            LoadSpec::Closed { ramp_up, .. } => ramp_up + self.spec.warmup,
            LoadSpec::Open { .. }
            | LoadSpec::Several(_)
            | LoadSpec::Recorded(_)
            | LoadSpec::RecordedUsers(_) => self.spec.warmup,
        }
    }

    /// What is asked for by closed users, or by the first open load.
    pub fn asked(&self) -> &Asked {
        self.open.first().map_or(&self.asked, |load| &load.asked)
    }

    /// What the load with the number `load` asks for.
    pub fn asked_by(&self, load: u32) -> &Asked {
        self.open.get(load as usize).map_or(&self.asked, |load| &load.asked)
    }

    /// Which entry of the mix an operation is a part of: itself, or its journey.
    pub fn entry_of(&self, operation: u32) -> u32 {
        self.journeys().map_or(operation, |paths| paths.entry_of(operation))
    }

    /// Where the arrival with this key stands in its load.
    #[inline]
    pub fn place_of(&self, key: Key) -> Place {
        match (self.open.get(key.load as usize), &self.spec.load) {
            (Some(load), _) => load.schedule.place(key.unit),
            (None, LoadSpec::Closed { users, .. }) => {
                Place { sequence: key.unit, sequences: u64::from(*users), ordinal: u64::from(key.step) }
            }
            // A request of recorded users stands in the record by its number; another load there is not.
            (None, _) => Place { sequence: 0, sequences: 1, ordinal: key.unit },
        }
    }

    /// The measured ones of these by operation, of journeys by that of their first step, and by origin; `None` where there is
    /// one operation, or no schedule, or where they are too many to be drawn one by one, as those in random order must be.
    pub fn scheduled_apart(&self, from: Nanos, to: Nanos) -> Option<ScheduledApart> {
        let operations = self.spec.idempotent.len();
        if operations == 1 || self.open.is_empty() {
            return None;
        }
        let (places, origins) = (self.operations_apart(), self.spec.origins.count());
        let mut apart = ScheduledApart { by_operation: vec![0; places], by_origin: Vec::new() };
        let Some(paths) = &self.journeys else {
            apart.by_origin.resize(if origins > 1 { origins } else { 0 }, 0);
            for (operation, n) in self.scheduled_by_entry(from, to, operations)?.into_iter().enumerate() {
                apart.by_operation[operation.min(places - 1)] += n;
                if let Some(of_origin) = apart.by_origin.get_mut(self.spec.origins.of(operation as u32)) {
                    *of_origin += n;
                }
            }
            return Some(apart);
        };
        // Where the steps of a journey go beyond the first is not known beforehand.
        let by_entry = self.scheduled_by_entry(from, to, paths.entries())?;
        let (plain, journeys) = by_entry.split_at(paths.plain());
        apart.by_operation[..plain.len()].copy_from_slice(plain);
        for (journey, &scheduled) in journeys.iter().enumerate() {
            apart.by_operation[paths.operations_of(journey).start] = scheduled;
        }
        Some(apart)
    }

    /// The measured arrivals of each journey; `None` where there is none, or where they can't be counted beforehand.
    pub fn scheduled_by_journey(&self, from: Nanos, to: Nanos) -> Option<Vec<u64>> {
        let paths = self.journeys.as_ref()?;
        let mut all = self.scheduled_by_entry(from, to, paths.entries())?;
        Some(all.split_off(paths.plain()))
    }

    fn scheduled_by_entry(&self, from: Nanos, to: Nanos, entries: usize) -> Option<Vec<u64>> {
        let to_draw = |load: &PlacedLoad| {
            let of_share = |share| load.schedule.to_draw(share, to, &load.asked);
            self.shares_here().map(of_share).fold(0, u64::saturating_add)
        };
        if self.open.iter().map(to_draw).fold(0, u64::saturating_add) > DRAWN_MAX {
            return None;
        }
        let mut all = vec![0; entries];
        for PlacedLoad { schedule, asked } in &self.open {
            for share in self.shares_here() {
                schedule.count_by_operation(share, [from.min(to), to], asked, &mut all);
            }
        }
        Some(all)
    }

    /// Some load asks for this operation.
    pub fn asks_for(&self, operation: u32) -> bool {
        // A load names a journey, not its steps.
        let entry = self.entry_of(operation);
        let asks = |part: &OpenPart| part.only.as_ref().is_none_or(|only| only.contains(&entry));
        !self.is_open() || self.spec.load.open_parts().iter().any(asks)
    }

    /// The journeys that some of its arrivals are.
    pub fn journeys(&self) -> Option<&Paths> {
        self.journeys.as_deref()
    }

    /// Requests of an arrival on average: a journey makes several.
    pub fn requests_per_arrival(&self) -> f64 {
        let weights = self.spec.mix.weights.as_deref();
        self.journeys().map_or(1.0, |paths| paths.requests_per_arrival(weights))
    }

    /// Users of a closed load, on all machines together.
    pub fn users(&self) -> Option<u64> {
        match &self.spec.load {
            LoadSpec::Closed { users, .. } => Some(u64::from(*users)),
            LoadSpec::RecordedUsers(users) => Some(users.users()),
            LoadSpec::Open { .. } | LoadSpec::Several(_) | LoadSpec::Recorded(_) => None,
        }
    }

    /// Worker threads here.
    pub fn threads(&self) -> u32 {
        self.spec.threads
    }

    /// How long arrivals may come, warm-up included.
    pub fn load_length(&self) -> Nanos {
        self.load_length
    }

    /// How long dispatch goes on after the last arrival due.
    pub fn drain(&self) -> Nanos {
        let journeys = self.journeys.as_ref().map_or(Nanos::ZERO, |paths| paths.drain(self.spec.timeout));
        self.spec.drain.unwrap_or(self.spec.timeout.max(journeys))
    }

    /// What worker `shard`'s dispatcher must know. A connection takes one request at a time, for ever, and
    /// arrivals have no grain: how the requests are carried is not the plan's affair.
    pub fn policy(&self, shard: u32) -> Policy {
        Policy {
            pool: self.pool_of(shard),
            own: self.journeys().and_then(Paths::own),
            held: self.journeys().and_then(Paths::held),
            origins: self.spec.origins.clone(),
            room: Room::SINGLE,
            connection_age: None,
            share: self.share_of(shard),
            timeout: self.spec.timeout,
            drain: self.drain(),
            idempotent: self.spec.idempotent.clone(),
            retry: self.spec.retry.clone(),
            grain: None,
        }
    }

    /// Which arrivals are kept to test the process of each open load by.
    pub fn sample_blocks(&self) -> Vec<SampleBlocks> {
        let blocks = |load: &PlacedLoad| {
            let to = load.schedule.span();
            SampleBlocks::new(load.schedule.clone(), self.measured_from().min(to), to)
        };
        self.open.iter().map(blocks).collect()
    }

    /// Worker `shard`'s part of the open loads, if the load is open and has no journeys.
    pub fn open_load(&self, start: Instant, shard: u32) -> Option<Open> {
        if self.journeys.is_some() { None } else { self.schedules_of(start, shard) }
    }

    /// The same of a load that has journeys.
    pub fn journeys_load(&self, start: Instant, shard: u32) -> Option<Travelling> {
        let paths = self.journeys.as_ref()?.clone();
        let open = self.schedules_of(start, shard)?;
        Some(Travelling::new(open, paths, self.spec.origins.clone()))
    }

    fn schedules_of(&self, start: Instant, shard: u32) -> Option<Open> {
        let starts = self.starts();
        let of = self.open.len() as u32;
        let load = |(load, placed): (u32, &PlacedLoad)| {
            OpenLoad::new(OpenShare {
                number: LoadNumber { load, of },
                schedule: placed.schedule.clone(),
                start,
                share: self.share_of(shard),
                asked: placed.asked.clone(),
                origins: self.spec.origins.clone(),
                starts: starts.clone(),
            })
        };
        self.is_open().then(|| Open::new((0..).zip(&self.open).map(load).collect()))
    }

    /// With which operation each entry of the mix begins.
    fn starts(&self) -> Starts {
        self.journeys.as_ref().map(|paths| paths.starts()).unwrap_or_default()
    }

    /// Worker `shard`'s users, if the load is closed.
    pub fn closed_load(&self, start: Instant, shard: u32) -> Option<Closed> {
        let population = match &self.spec.load {
            LoadSpec::Closed { users, think, ramp_up, .. } => {
                Population::Alike { users: *users, think: *think, ramp_up: *ramp_up }
            }
            LoadSpec::RecordedUsers(users) => Population::Recorded(users.clone()),
            LoadSpec::Open { .. } | LoadSpec::Several(_) | LoadSpec::Recorded(_) => return None,
        };
        Some(Closed::new(ClosedShare {
            number: LoadNumber::ONLY,
            population,
            start,
            end: start + self.load_length,
            measured_from: start + self.measured_from(),
            limit: self.spec.limit.unwrap_or(u64::MAX),
            share: self.share_of(shard),
            asked: self.asked.clone(),
            origins: self.spec.origins.clone(),
        }))
    }

    /// Operations that are recorded apart.
    pub fn operations_apart(&self) -> usize {
        self.spec.idempotent.len().min(OPERATIONS_APART_MAX)
    }
}
