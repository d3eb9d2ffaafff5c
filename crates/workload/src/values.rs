//! What each arrival writes into the places of its request.

use crate::composition::Composition;
use crate::date;
use crate::decimal::decimal;
use crate::draws::Drawn;
use crate::draws::{Drawing, Draws};
use crate::encode::encode;
use crate::error::ValuesError;
use crate::frozen::Frozen;
use crate::globals::{Globals, Seen};
use crate::hole::{Clock, Hole, Length, TEXT_BYTES_MAX, What};
use crate::identity;
use crate::in_order::{self, ExpectedInserts};
use crate::inserted::Inserted;
use crate::inserting::Inserting;
use crate::kept::Kept;
use crate::lets::Lets;
use crate::sent::Sent;
use std::sync::Arc;
use unblink_core::arrival::{Arrival, Key};
use unblink_core::journey::Paths;
use unblink_core::mix::{Among, Counted};
use unblink_core::plan::Plan;
use unblink_core::recorded::Recorded;
use unblink_core::schedule::Schedule;
use unblink_core::time::{Instant, Nanos};
use unblink_core::trace_context::trace_id;

/// Texts are cut from so many letters and digits, so that writing one is copying.
const LETTERS: usize = 1 << 16;

/// All that is drawn for the arrivals of a run, apart from when they are and what they ask.
#[derive(Debug)]
pub struct Values {
    lets: Lets,
    /// For each named value, what its draws are seeded by.
    seeds: Box<[u64]>,
    /// For each named value that numbers its arrivals, how those of each load are numbered.
    among: Box<[Option<Vec<Option<Among>>>]>,
    /// By operation.
    compositions: Box<[Option<Composition>]>,
    /// For each load, which part of its arrivals inserts a key.
    inserting: Box<[ExpectedInserts]>,
    /// Where a value counts only the inserts that have ended.
    inserted: Option<Inserted>,
    /// What is drawn for a place is seeded by this, and by the place.
    places_seed: u64,
    uuid_seed: u64,
    trace_seed: u64,
    letters: Box<[u8]>,
    globals: Arc<Globals>,
    recorded: Option<Recorded>,
}

impl Values {
    /// For the operations of `plan`, some of which have places, and some of which insert a key (`inserts`).
    ///
    /// # Errors
    /// [`ValuesError`] for values that this plan can't draw.
    pub fn new(
        lets: Lets,
        compositions: Vec<Option<Composition>>,
        inserts: &[u32],
        plan: &Plan,
        seed: u64,
    ) -> Result<Values, ValuesError> {
        let captured = lets.captured_count();
        let is_ended = lets.iter().any(|(_, source)| source.needs().ended);
        let loads = plan.schedules().count().max(1) as u32;
        if let Some((name, _)) = lets.iter().find(|(_, source)| source.needs().inserted && !plan.is_open()) {
            return Err(ValuesError::NoSchedule { name: name.to_string() });
        }
        in_order::check(&lets, &compositions, inserts, plan)?;
        let inserting = Inserting::new(inserts, plan);
        inserting.check(&lets, &compositions)?;
        let inserting = (0..loads).map(|load| ExpectedInserts::of(plan, load, &inserting)).collect();
        let among = lets.iter().enumerate().map(|(number, (name, source))| {
            if !source.needs().ordinal {
                return Ok(None);
            }
            let uses = |one: &Option<Composition>| {
                one.as_ref().is_some_and(|composition| composition.uses.contains(&(number as u32)))
            };
            let users = (0..).zip(&compositions).filter(|(_, one)| uses(one));
            let mut entries: Vec<u32> = users.map(|(operation, _)| plan.entry_of(operation)).collect();
            entries.dedup();
            let by_load = (0..loads).map(|load| match plan.asked_by(load).among(&entries) {
                None if !entries.is_empty() => Err(ValuesError::RandomOrder { name: name.to_string() }),
                among => Ok(among),
            });
            by_load.collect::<Result<Vec<_>, _>>().map(Some)
        });
        let among = among.collect::<Result<Box<[_]>, _>>()?;
        let seeds = lets.iter().map(|(name, _)| Draws::seed_of(seed, name)).collect();
        let mut draws = Draws::new(Draws::seed_of(seed, "letters"), Key::default());
        let letters =
            (0..LETTERS).map(|_| b"abcdefghijklmnopqrstuvwxyz0123456789"[draws.below(36) as usize]).collect();
        let uuid_seed = Draws::seed_of(seed ^ lets.run_id(), "uuid");
        Ok(Values {
            lets,
            seeds,
            among,
            compositions: compositions.into(),
            inserting,
            inserted: is_ended.then(|| Inserted::new(inserts, plan.threads())),
            places_seed: Draws::seed_of(seed, "places"),
            uuid_seed,
            trace_seed: uuid_seed,
            letters,
            globals: Arc::new(Globals::new(captured)),
            recorded: plan.recorded().cloned(),
        })
    }

    /// Some keys follow which inserts have ended: they depend on answers. Each worker says so by [`Values::inserts_ended`].
    pub fn follows_inserts(&self) -> bool {
        self.inserted.is_some()
    }

    /// The same with another place for what is taken from answers.
    pub fn sharing(self, globals: Arc<Globals>) -> Values {
        Values { globals, ..self }
    }

    /// The same with traces that are told from those of other runs by `seed`.
    pub fn tracing(self, seed: u64) -> Values {
        Values { trace_seed: seed, ..self }
    }

    /// This operation inserts a key, and draws depend on when its arrivals end.
    pub fn is_insert(&self, operation: u32) -> bool {
        self.inserted.as_ref().is_some_and(|inserted| inserted.is_by(operation))
    }

    /// All inserts of `worker` have ended that were intended before `until`, a time of the schedule.
    pub fn inserts_ended(&self, worker: usize, until: Nanos) {
        if let Some(inserted) = &self.inserted {
            inserted.ended(worker, until);
        }
    }

    /// What is taken from answers beside the load.
    pub fn globals(&self) -> &Arc<Globals> {
        &self.globals
    }

    /// The named values.
    pub fn lets(&self) -> &Lets {
        &self.lets
    }

    /// What the draws of the named value with this number are seeded by.
    pub fn seed_of(&self, number: u32) -> u64 {
        self.seeds[number as usize]
    }

    /// Does any operation need the named value with this number?
    pub fn uses(&self, number: u32) -> bool {
        self.compositions.iter().flatten().any(|composition| composition.uses.contains(&number))
    }

    /// The places of an operation, if it has any.
    #[inline]
    pub fn composition(&self, operation: u32) -> Option<&Composition> {
        self.compositions.get(operation as usize)?.as_ref()
    }

    /// What a request of this operation sends depends on when it is intended itself, not only on when its journey began.
    pub fn goes_by_time(&self, operation: u32) -> bool {
        self.composition(operation).is_some_and(|composition| {
            let is_clock = |hole: &Hole| matches!(hole.what, What::Now(_));
            composition.holes.iter().any(is_clock)
        })
    }

    /// Requests of this operation name a trace.
    pub fn traces(&self, operation: u32) -> bool {
        let is_trace = |hole: &Hole| matches!(hole.what, What::Traceparent);
        self.composition(operation).is_some_and(|composition| composition.holes.iter().any(is_trace))
    }

    /// What a request of this operation sends depends on the inserts that have ended before.
    pub fn goes_by_inserts(&self, operation: u32) -> bool {
        self.composition(operation)
            .is_some_and(|composition| composition.uses.iter().any(|&of| self.lets.source(of).needs().ended))
    }

    /// What a request of this operation sends is another in each run of the same seed.
    pub fn draws_anew(&self, operation: u32) -> bool {
        let is_uuid = |hole: &Hole| matches!(hole.what, What::Uuid);
        let draws = |composition: &Composition| composition.holes.iter().any(is_uuid);
        self.lets.run_id() != 0 && self.composition(operation).is_some_and(draws)
    }

    /// What the arrival with this key is recorded with.
    fn recorded_text(&self, key: Key, operation: u32) -> &[u8] {
        let Some(recorded) = &self.recorded else { return &[] };
        // One that is none of the run asks as the first of its operation.
        let first = || (0..recorded.count()).find(|&k| recorded.operation(k) == operation);
        let number = if key.load == 0 { Some(key.unit) } else { first() };
        number.map_or(&[], |number| recorded.text(number))
    }

    /// What a named value is drawn for. The requests of a journey have it in common, and the inserts that are counted for it: those
    /// before it `began`, in the time of the schedule, or before `ended` where only those count that have ended.
    fn drawing(
        &self,
        of: u32,
        arrival: &Arrival,
        (began, ended): (Nanos, Nanos),
        plan: &Plan,
        counted: &mut [Box<[Counted]>],
    ) -> Drawing {
        let step = if arrival.journey.is_some() { 0 } else { arrival.key.step };
        let key = Key { step, ..arrival.key };
        let ordinal = self.among[of as usize].as_ref().and_then(|by_load| {
            let among = by_load.get(key.load as usize)?.as_ref()?;
            let place = plan.place_of(key);
            let counted = counted.get_mut(key.load as usize)?.get_mut(place.sequence as usize)?;
            let ordinal = plan.asked_by(key.load).ordinal(among, counted, place);
            let of_load = ordinal.checked_mul(place.sequences)?.checked_add(place.sequence)?;
            of_load.checked_mul(by_load.len() as u64)?.checked_add(u64::from(key.load))
        });
        let needs = self.lets.source(of).needs();
        let inserted = match (needs.inserted, needs.ended) {
            (true, is_ended) => {
                let until = if is_ended { began.min(ended) } else { began };
                self.inserted_before(until, is_ended, plan)
            }
            (false, _) => 0,
        };
        Drawing { key, ordinal: ordinal.unwrap_or(u64::MAX), inserted }
    }

    /// How many inserts are expected before this time of the schedule; no more than are `sure` where it must be.
    fn inserted_before(&self, elapsed: Nanos, sure: bool, plan: &Plan) -> u64 {
        let of_load = |(schedule, inserting): (&Arc<Schedule>, &ExpectedInserts)| {
            inserting.among(schedule.expected_before(elapsed), sure)
        };
        plan.schedules().zip(&self.inserting).map(of_load).sum()
    }
}

/// What one arrival has drawn.
#[derive(Debug)]
pub struct Composer {
    /// By named value.
    drawn: Box<[u64]>,
    key: Key,
    index: u64,
    /// The intended time, from the zero of the schedule on.
    elapsed: Nanos,
    operation: u32,
    scratch: Vec<u8>,
    globals: Seen,
    /// What its journey took from answers, by number.
    kept: Box<[Vec<u8>]>,
    /// By named value that numbers its arrivals, load and sequence.
    counted: Box<[Vec<Box<[Counted]>>]>,
    places: Box<[u64]>,
    /// By named value: what was drawn of it for requests that had all they need.
    sent: Box<[Sent]>,
    /// Where values count inserts that have ended.
    frozen: Frozen,
}

impl Composer {
    /// For the values of a run.
    pub fn new(values: &Values, plan: &Plan) -> Composer {
        let of_load = |load| {
            let sequences = plan.place_of(Key { load, ..Key::default() }).sequences;
            vec![Counted::default(); sequences as usize].into()
        };
        let of_value = |among: &Option<Vec<_>>| {
            let loads = among.as_ref().map_or(0, Vec::len) as u32;
            (0..loads).map(of_load).collect()
        };
        Composer {
            drawn: vec![0; values.lets.iter().len()].into(),
            key: Key::default(),
            index: 0,
            elapsed: Nanos::ZERO,
            operation: 0,
            scratch: Vec::new(),
            globals: Seen::default(),
            kept: vec![Vec::new(); values.lets.kept_count()].into(),
            counted: values.among.iter().map(of_value).collect(),
            places: vec![0; values.lets.iter().len()].into(),
            sent: vec![Sent::default(); values.lets.iter().len()].into(),
            frozen: Frozen::new(plan.journeys().map_or(0, Paths::under_way_max)),
        }
    }

    /// Draws all that `arrival` needs, which stands alone or is the first request of its journey; `start` is the zero of the schedule.
    /// False if rows have run out.
    #[inline]
    pub fn draw(&mut self, values: &Values, plan: &Plan, arrival: &Arrival, start: Instant) -> bool {
        self.draw_begun(values, plan, arrival, (start, arrival.intended))
    }

    /// The same of any arrival: its journey was to start at `began`, or it was itself.
    #[inline]
    pub fn draw_begun(
        &mut self,
        values: &Values,
        plan: &Plan,
        arrival: &Arrival,
        (start, began): (Instant, Instant),
    ) -> bool {
        let Some(composition) = values.composition(arrival.operation) else { return true };
        self.globals.refresh(&values.globals);
        self.key = arrival.key;
        self.index = arrival.index;
        self.operation = arrival.operation;
        self.elapsed = arrival.intended.since(start);
        let ended = values.inserted.as_ref().map(|inserted| self.frozen.until(inserted, arrival));
        let until = (began.since(start), ended.unwrap_or_default());
        let all = composition.uses.iter().all(|&of| {
            let drawing = values.drawing(of, arrival, until, plan, &mut self.counted[of as usize]);
            let source = values.lets.source(of);
            let seed = values.seeds[of as usize];
            let drawn = match (drawing.ordinal, source.draw_placed(seed, &drawing)) {
                // It is no arrival of the load, and takes the first of what is had again and again.
                (u64::MAX, Some(_)) => source.draw_placed(seed, &Drawing { ordinal: 0, ..drawing }),
                (_, drawn) => drawn,
            };
            let Some(Drawn { value, place }) = drawn else { return false };
            (self.drawn[of as usize], self.places[of as usize]) = (value, place);
            true
        });
        if all {
            composition.uses.iter().for_each(|&of| self.sent[of as usize].count(self.places[of as usize]));
        }
        all
    }

    /// Looks up what the journey of `arrival` has taken from answers, as far as its request needs it.
    #[inline]
    pub fn look_up(&mut self, values: &Values, kept: &Kept, arrival: &Arrival) {
        let Some(composition) = values.composition(arrival.operation) else { return };
        for &number in &composition.kept {
            let value = &mut self.kept[number as usize];
            value.clear();
            value.extend_from_slice(kept.value(arrival.slot, number));
        }
    }

    /// By named value: all that was drawn of it so far, of requests that had all they need.
    pub fn sent(&self) -> &[Sent] {
        &self.sent
    }

    /// The same at the end.
    pub fn into_sent(self) -> Box<[Sent]> {
        self.sent
    }

    /// Appends what stands in the place `number` of the request of the arrival that was drawn for.
    pub fn write(&mut self, values: &Values, number: u32, out: &mut Vec<u8>) {
        let Some(hole) = values.composition(self.operation).and_then(|all| all.holes.get(number as usize))
        else {
            return;
        };
        let from = out.len();
        match &hole.what {
            What::Literal(text) => out.extend_from_slice(text.as_bytes()),
            What::Value { of, column } => {
                values.lets.source(*of).write(self.drawn[*of as usize], *column, out);
            }
            What::Record { of, names, is_score } => {
                let number = self.drawn[*of as usize];
                return if *is_score { names.write_score(number, out) } else { names.write(number, out) };
            }
            What::Captured(number) => out.extend_from_slice(self.globals.value(*number)),
            What::Kept(number) => {
                out.extend_from_slice(self.kept.get(*number as usize).map_or(&[], Vec::as_slice));
            }
            What::Recorded => {
                return out.extend_from_slice(values.recorded_text(self.key, self.operation));
            }
            What::Index => return decimal(self.index, out),
            What::Uuid => return identity::uuid(&mut self.draws(values.uuid_seed, number), out),
            What::Traceparent => {
                let span = self.draws(values.trace_seed, number).next_u64();
                return identity::traceparent(trace_id(values.trace_seed, self.index), span, out);
            }
            What::Int { from, span } => {
                let mut draws = self.draws(values.places_seed, number);
                let above = match span.checked_add(1) {
                    Some(end) => draws.below(end),
                    None => draws.next_u64(),
                };
                let drawn = from.wrapping_add_unsigned(above);
                if drawn < 0 {
                    out.push(b'-');
                }
                return decimal(drawn.unsigned_abs(), out);
            }
            What::Now(Clock::Units(unit)) => return decimal((date::ZERO_NS + self.elapsed.0) / unit, out),
            What::Now(Clock::Date) => date::write(date::ZERO_NS + self.elapsed.0, out),
            What::Bytes(length) => {
                let length = match length {
                    Length::Fixed(length) => *length,
                    Length::Drawn(of) => self.drawn[*of as usize].min(TEXT_BYTES_MAX),
                };
                let at = self.draws(values.places_seed, number).below(LETTERS as u64) as usize;
                return text(&values.letters, at, length as usize, out);
            }
        }
        encode(hole.context, from, out, &mut self.scratch);
    }

    /// The named values of the arrival that was drawn for: of each its name, of a row with columns also that of each column,
    /// what it is, and whether that is a number that a law gave: nobody's secret, whatever it is called.
    pub fn drawn<'a>(&'a self, values: &'a Values) -> impl Iterator<Item = (String, Vec<u8>, bool)> + 'a {
        let uses = values.composition(self.operation).map_or(&[][..], |composition| composition.uses());
        uses.iter().flat_map(move |&of| {
            let (source, drawn) = (values.lets.source(of), self.drawn[of as usize]);
            let name = values.lets.iter().nth(of as usize).map_or("", |(name, _)| name);
            let written = move |column| {
                let mut out = Vec::new();
                source.write(drawn, column, &mut out);
                out
            };
            let columns = source.columns().iter().zip(0..);
            let columns = columns.map(move |(column, at)| (format!("{name}.{column}"), written(Some(at))));
            let alone = source.columns().is_empty().then(|| (name.to_string(), written(None)));
            alone.into_iter().chain(columns).map(|(name, drawn)| (name, drawn, source.is_number()))
        })
    }

    /// The random numbers of a place.
    fn draws(&self, seed: u64, place: u32) -> Draws {
        let of_place = u64::from(self.operation) << 32 | u64::from(place);
        Draws::new(unblink_core::random::mixed(seed ^ of_place), self.key)
    }
}

/// `length` of the letters from the one `at` on, over and over.
fn text(letters: &[u8], at: usize, length: usize, out: &mut Vec<u8>) {
    let first = length.min(letters.len() - at);
    out.extend_from_slice(&letters[at..at + first]);
    let mut left = length - first;
    while left > 0 {
        let piece = left.min(letters.len());
        out.extend_from_slice(&letters[..piece]);
        left -= piece;
    }
}
