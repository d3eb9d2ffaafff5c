//! Journeys: requests that follow each other. Each step starts when the answer before it has come and the user has thought.
//!
//! Their arrivals are open, and what follows is not (a partly open load: Schroeder, Wierman, Harchol-Balter, NSDI 2006). All
//! that is drawn for a journey is a function of the seed and its key, for any number of workers.

mod error;
mod foreseen;
mod inserts;
mod legs;
mod own;
mod starts;
mod think;

pub use error::JourneyError;
pub use legs::Leg;
pub use own::OwnJourneys;
pub(crate) use starts::Starts;
pub use think::{Think, Times};

use crate::arrival::Key;
use crate::random::{below, mixed};
use crate::time::Nanos;
use std::sync::Arc;

/// Journeys of a run at the most.
pub const JOURNEYS_MAX: usize = 64;
/// Steps of a journey at the most.
pub const STEPS_MAX: usize = 64;
/// Requests of one step at the most.
pub const REPEAT_MAX: u16 = 1_000;
/// Requests of one step that asks again and again, at the most.
pub const POLLS_MAX: u64 = 1_000;
/// Journeys under way in one worker at the most.
pub const UNDER_WAY_MAX: u16 = u16::MAX - 1;
/// Journeys under way in one worker at the most, unless told otherwise.
pub const UNDER_WAY_DEFAULT: u16 = 10_000;
/// The whole of a chance.
pub const CERTAIN: u16 = 10_000;

/// Keeps these draws apart from others that are seeded by the same number.
const DRAWS: u64 = 0x6a6f_7572_6e65_7973;

/// The journeys of a run, before they are checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Journeys {
    /// Each with its steps. Their operations come behind those of the requests that stand alone, in this order.
    pub each: Vec<JourneySpec>,
    /// Think times that were measured, by the number that [`Think::OneOf`] has.
    pub times: Vec<Arc<Times>>,
    /// Of what is drawn for them.
    pub seed: u64,
    /// So many of them are under way in one worker at the most; the others wait until one of these has ended.
    pub under_way_max: u16,
}

impl Default for Journeys {
    fn default() -> Journeys {
        Journeys { each: Vec::new(), times: Vec::new(), seed: 0, under_way_max: UNDER_WAY_DEFAULT }
    }
}

/// One journey.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct JourneySpec {
    /// One after the other; one at least.
    pub steps: Vec<StepSpec>,
    /// Each of them opens a connection to each origin that it asks, over which nobody else's requests go.
    pub own_connection: bool,
    /// Each of them holds the connection that its first request takes until it ends; meanwhile nobody else's requests go
    /// over it. Nothing is sent elsewhere when it is lost. All of its requests go to one origin.
    pub hold_connection: bool,
}

/// One step of a journey.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StepSpec {
    /// From the end of the request before to the intended time of each of its own. Nobody thinks before the first request of
    /// a journey.
    pub think: Think,
    /// Its requests: drawn from these two on and between them, each as likely.
    pub repeat: (u16, u16),
    /// So often in [`CERTAIN`] it is taken; otherwise it is skipped, and no time passes.
    pub chance: u16,
    /// So often in [`CERTAIN`] the journey ends behind it, if it was taken.
    pub exit: u16,
    /// It is asked again and again, until the answer is what is waited for.
    pub until: Option<Until>,
    /// Where an answer may send it on.
    pub redirects: Redirects,
    /// Each of its requests inserts a key.
    pub inserts: bool,
}

/// Redirects that are followed: each is one more request, intended when the answer before it has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Redirects {
    /// One after the other, at the most; none are followed when this is 0.
    pub max: u8,
    /// Operations that such a request may ask for: it may go to several origins, and with the method or as a GET.
    pub operations: u16,
}

/// How often is asked again, and for how long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Until {
    /// From the end of an answer to the intended time of the next request.
    pub every: Nanos,
    /// From the intended time of the first request: who has no answer as it is waited for by then has waited in vain. The last
    /// request is intended at that moment.
    pub within: Nanos,
}

impl Until {
    /// Requests at the most: the first, one after each `every`, and the last.
    pub fn requests_max(self) -> u64 {
        self.within.0.checked_div(self.every.0).map_or(u64::MAX, |times| times + 2)
    }
}

impl StepSpec {
    /// A request that is always made, at once.
    pub const ONCE: StepSpec = StepSpec {
        think: Think::NONE,
        repeat: (1, 1),
        chance: CERTAIN,
        exit: 0,
        until: None,
        redirects: Redirects { max: 0, operations: 0 },
        inserts: false,
    };
}

/// What is drawn for a journey, apart from each other.
#[derive(Clone, Copy)]
enum Drawn {
    Think,
    ThinkToo,
    Repeat,
    Chance,
    Exit,
}

/// The journeys of a run and where their operations are, checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Paths {
    /// Operations of requests that stand alone; those of steps come after them.
    plain: u32,
    each: Vec<Path>,
    /// Operations of redirected requests come last: for each the operation of its step.
    redirected: Vec<u32>,
    times: Vec<Arc<Times>>,
    seed: u64,
    under_way_max: u16,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Path {
    /// The operation of its first step.
    first: u32,
    steps: Vec<StepSpec>,
    own_connection: bool,
    hold_connection: bool,
}

impl Paths {
    /// Checks `journeys`, whose steps are the last of `operations` but for those of redirected requests. `operations_max` are
    /// recorded apart. `None` when there are none.
    pub fn new(
        journeys: &Journeys,
        operations: usize,
        operations_max: usize,
    ) -> Result<Option<Paths>, JourneyError> {
        let Journeys { each, times, seed, under_way_max } = journeys;
        if each.is_empty() {
            return Ok(None);
        }
        if each.len() > JOURNEYS_MAX {
            return Err(JourneyError::TooMany(each.len()));
        }
        if operations > operations_max {
            return Err(JourneyError::TooManyOperations(operations, operations_max));
        }
        if *under_way_max == 0 {
            return Err(JourneyError::NoneUnderWay);
        }
        each.iter().try_for_each(check)?;
        if each.iter().any(|journey| journey.own_connection)
            && each.iter().any(|journey| journey.hold_connection)
        {
            return Err(JourneyError::OwnAndHeld);
        }
        let thinks = each.iter().flat_map(|journey| journey.steps.iter().map(|step| step.think));
        let is_unknown =
            |think: Think| matches!(think, Think::OneOf(number) if usize::from(number) >= times.len());
        if thinks.into_iter().any(is_unknown) {
            return Err(JourneyError::UnknownTimes);
        }
        let steps = || each.iter().flat_map(|journey| &journey.steps);
        let redirected: usize = steps().map(|step| usize::from(step.redirects.operations)).sum();
        let plain = operations.checked_sub(steps().count() + redirected).ok_or(JourneyError::NoSteps)? as u32;
        let of_step = |(number, step): (u32, &StepSpec)| {
            std::iter::repeat_n(plain + number, usize::from(step.redirects.operations))
        };
        let redirected = (0..).zip(steps()).flat_map(of_step).collect();
        let path = |first: &mut u32, journey: &JourneySpec| {
            let JourneySpec { steps, own_connection, hold_connection } = journey.clone();
            let path = Path { first: *first, steps, own_connection, hold_connection };
            *first += journey.steps.len() as u32;
            Some(path)
        };
        let each = each.iter().scan(plain, path).collect();
        let under_way_max = (*under_way_max).min(UNDER_WAY_MAX);
        let (times, seed) = (times.clone(), *seed);
        Ok(Some(Paths { plain, each, redirected, times, seed, under_way_max }))
    }

    /// The operation of the step that an operation is of: its own, unless it is of redirected requests.
    pub fn step_of(&self, operation: u32) -> u32 {
        let behind = operation.checked_sub(self.plain + self.steps() as u32);
        behind.and_then(|behind| self.redirected.get(behind as usize)).copied().unwrap_or(operation)
    }

    /// Which of the entries of a mix an operation is a part of.
    pub fn entry_of(&self, operation: u32) -> u32 {
        let operation = self.step_of(operation);
        match operation.checked_sub(self.plain) {
            None => operation,
            Some(_) => {
                let before = self.each.iter().take_while(|path| path.first <= operation).count() as u32;
                self.plain + before - 1
            }
        }
    }

    /// What the arrivals of a mix may ask for: requests that stand alone, then journeys.
    pub fn entries(&self) -> usize {
        self.plain as usize + self.each.len()
    }

    /// How many journeys there are.
    pub fn len(&self) -> usize {
        self.each.len()
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.each.is_empty()
    }

    /// Operations of requests that stand alone.
    pub fn plain(&self) -> usize {
        self.plain as usize
    }

    /// Steps of all journeys.
    pub fn steps(&self) -> usize {
        self.each.iter().map(|path| path.steps.len()).sum()
    }

    /// Operations of redirected requests: the last of all.
    pub fn redirected(&self) -> usize {
        self.redirected.len()
    }

    /// Steps of all journeys that ask again and again.
    pub fn waits(&self) -> usize {
        self.each.iter().map(Path::waits).sum()
    }

    /// Where it is recorded how long the step with the number `step` of a journey waits, if it asks again and again: behind the
    /// journeys.
    pub fn wait(&self, journey: usize, step: usize) -> Option<usize> {
        let steps = &self.each[journey].steps;
        steps.get(step)?.until?;
        let before = self.each[..journey].iter().map(Path::waits).sum::<usize>();
        Some(self.each.len() + before + waits(&steps[..step]))
    }

    /// The operations of a journey's steps.
    pub fn operations_of(&self, journey: usize) -> std::ops::Range<usize> {
        let Path { first, steps, .. } = &self.each[journey];
        *first as usize..*first as usize + steps.len()
    }

    /// It can be asked for without anything before it: it stands alone, or begins a journey.
    pub fn can_come_first(&self, operation: usize) -> bool {
        operation < self.plain() || self.each.iter().any(|path| path.first as usize == operation)
    }

    /// The journey has connections of its own.
    pub fn has_own_connection(&self, journey: usize) -> bool {
        self.each[journey].own_connection
    }

    /// Those with connections of their own, if there are any.
    pub fn own(&self) -> Option<OwnJourneys> {
        self.those(|path| path.own_connection)
    }

    /// The journey holds its connection.
    pub fn holds_connection(&self, journey: usize) -> bool {
        self.each[journey].hold_connection
    }

    /// Those that hold their connection, if there are any.
    pub fn held(&self) -> Option<OwnJourneys> {
        self.those(|path| path.hold_connection)
    }

    /// Those of either kind; a run has one of them. What follows in them waits in lines of its own.
    pub(crate) fn bound(&self) -> Option<OwnJourneys> {
        self.own().or_else(|| self.held())
    }

    fn those(&self, is_one: impl Fn(&Path) -> bool) -> Option<OwnJourneys> {
        let bits = self.each.iter().enumerate().map(|(number, path)| u64::from(is_one(path)) << number);
        let which = bits.fold(0, |which, bit| which | bit);
        (which != 0).then_some(OwnJourneys { which, under_way_max: self.under_way_max })
    }

    /// So many are under way in one worker at the most.
    pub fn under_way_max(&self) -> usize {
        usize::from(self.under_way_max)
    }

    /// What an entry of the mix begins with.
    pub(crate) fn starts(&self) -> Starts {
        let firsts = self.each.iter().map(|path| path.first).collect();
        Starts::new(self.plain, firsts, self.own())
    }

    /// The step with the number `step` of a journey; none behind the last.
    pub(crate) fn step(&self, journey: usize, step: usize) -> Option<StepSpec> {
        self.each[journey].steps.get(step).copied()
    }

    /// Its operation.
    pub(crate) fn operation(&self, journey: usize, step: usize) -> u32 {
        self.each[journey].first + step as u32
    }

    /// How long is thought before the request with this key.
    pub(crate) fn think(&self, step: &StepSpec, key: Key) -> Nanos {
        match step.think {
            Think::Constant(time) => time,
            think => {
                let bits = [Drawn::Think, Drawn::ThinkToo].map(|what| self.bits(key, key.step, what));
                think.draw(&self.times, bits)
            }
        }
    }

    /// How many requests the step with the number `number` has, of the journey that `key` is of.
    pub(crate) fn repeats(&self, step: &StepSpec, number: usize, key: Key) -> u16 {
        let (least, most) = step.repeat;
        if least == most {
            return least;
        }
        let more = below(self.bits(key, number as u32, Drawn::Repeat), u64::from(most - least) + 1);
        least + more as u16
    }

    /// The step with the number `number` is taken, not skipped.
    pub(crate) fn is_taken(&self, step: &StepSpec, number: usize, key: Key) -> bool {
        step.chance >= CERTAIN
            || below(self.bits(key, number as u32, Drawn::Chance), u64::from(CERTAIN))
                < u64::from(step.chance)
    }

    /// The journey ends behind the step with the number `number`, which was taken.
    pub(crate) fn exits(&self, step: &StepSpec, number: usize, key: Key) -> bool {
        step.exit > 0
            && below(self.bits(key, number as u32, Drawn::Exit), u64::from(CERTAIN)) < u64::from(step.exit)
    }

    fn bits(&self, Key { load, unit, .. }: Key, ordinal: u32, what: Drawn) -> u64 {
        let of_journey = mixed(mixed(mixed(self.seed ^ DRAWS) ^ u64::from(load)) ^ unit);
        mixed(of_journey ^ ((what as u64) << 32 | u64::from(ordinal)))
    }
}

impl Path {
    fn waits(&self) -> usize {
        waits(&self.steps)
    }
}

/// Those that ask again and again.
fn waits(steps: &[StepSpec]) -> usize {
    steps.iter().filter(|step| step.until.is_some()).count()
}

fn check(journey: &JourneySpec) -> Result<(), JourneyError> {
    let Some(first) = journey.steps.first() else { return Err(JourneyError::NoSteps) };
    if journey.steps.len() > STEPS_MAX {
        return Err(JourneyError::TooManySteps(journey.steps.len()));
    }
    if first.chance < CERTAIN {
        return Err(JourneyError::FirstMayBeSkipped);
    }
    if journey.steps.last().is_some_and(|last| last.exit > 0) {
        return Err(JourneyError::ExitAtTheEnd);
    }
    for StepSpec { repeat: (least, most), chance, until, redirects, .. } in &journey.steps {
        if until.is_some() && redirects.max > 0 {
            return Err(JourneyError::RedirectsOfUntil);
        }
        if until.is_some() && (*least, *most) != (1, 1) {
            return Err(JourneyError::RepeatOfUntil);
        }
        if until.is_some_and(|until| until.requests_max() > POLLS_MAX) {
            return Err(JourneyError::Polls);
        }
        if *least == 0 || least > most || *most > REPEAT_MAX {
            return Err(JourneyError::Repeat(*least, *most));
        }
        if *chance == 0 {
            return Err(JourneyError::NoChance);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
