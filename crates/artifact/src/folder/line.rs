//! A line of `intervals.jsonl`: everything about an interval that is not a histogram.

use super::LINES_SCHEMA;
use super::by_name::ByName;
use super::heat::HeatLine;
use super::kinds::Kinds;
use super::moments::MomentsLine;
use super::operation_line::{OperationLine, Statuses, fill_earlier, fill_statuses, statuses};
use super::origin_line::{self, OriginLine};
use super::outcomes::OutcomesLine;
use super::sample_line::SampleLine;
use super::tracks::{TrackLines, announced};
use crate::causes;
use crate::header::RunHeader;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use unblink_core::code::Code;
use unblink_core::outcome::Outcome;
use unblink_core::record::{
    Apart, ConnectionCounts, ConnectionLevels, EventCounts, Gauges, Interval, LagCauses, LaneLevels,
    LoopCounts, Outcomes, SlowArrival, Slowest, StepCounts,
};
use unblink_core::time::{Instant, Nanos};

/// The first line.
#[derive(Serialize, Deserialize)]
pub(super) struct HeaderLine {
    pub(super) schema: String,
    pub(super) header: RunHeader,
}

impl HeaderLine {
    pub(super) fn new(header: &RunHeader) -> HeaderLine {
        HeaderLine { schema: LINES_SCHEMA.to_string(), header: header.clone() }
    }
}

/// Every other line.
#[derive(Serialize, Deserialize)]
pub(super) struct IntervalLine {
    pub(super) start_ns: u64,
    pub(super) length_ns: u64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    double: bool,
    /// Length of `intervals.hlog` up to the end of this interval.
    pub(super) hlog_bytes: u64,
    /// By tag; those that hold something.
    pub(super) tracks: TrackLines,
    measured: OutcomesLine,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    warmup: Option<OutcomesLine>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    statuses: Statuses,
    /// Of the bodies of these answers.
    #[serde(default, skip_serializing_if = "is_zero")]
    body_bytes: u64,
    /// By origin.
    #[serde(default)]
    origins: Vec<OriginLine>,
    /// Counts of the only origin, in folders of earlier versions.
    #[serde(default, skip_serializing)]
    connections: Option<ByName<ConnectionCounts>>,
    lag: ByName<LagCauses>,
    bytes_received: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    users_begun: u64,
    /// Answers that come event by event.
    #[serde(default, skip_serializing_if = "ByName::is_empty")]
    events: ByName<EventCounts>,
    /// The same of the warm-up.
    #[serde(default, skip_serializing_if = "ByName::is_empty")]
    warmup_events: ByName<EventCounts>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    retry_causes: BTreeMap<String, u64>,
    own: OwnLine,
    /// Operations of which something was recorded, by place; none when there is only one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    operations: BTreeMap<usize, OperationLine>,
    /// The same of loads.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    loads: BTreeMap<usize, OperationLine>,
    /// The same of journeys.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    journeys: BTreeMap<usize, OperationLine>,
    /// Their steps, one journey after the other.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    steps: BTreeMap<usize, ByName<StepCounts>>,
    /// The same of origins.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    by_origin: BTreeMap<usize, OperationLine>,
    /// Failed arrivals by operation, in folders of earlier versions: these had no `operations`.
    #[serde(default, skip_serializing)]
    operations_failed: Vec<u64>,
    gauges: GaugesLine,
    /// How long those have waited at the end of the interval who have no answer: (ns at least, how many).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    waiting: Vec<(u64, u64)>,
    heat: HeatLine,
    /// Missing in folders of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeline: Option<MomentsLine>,
    slowest: Vec<SlowLine>,
    /// Sampled arrivals of the first load.
    #[serde(flatten)]
    sample: SampleLine,
    /// Of the loads after it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    samples_beyond: Vec<SampleLine>,
}

#[derive(Serialize, Deserialize)]
struct OwnLine {
    busy_ns: u64,
    total_ns: u64,
    pause_max_ns: u64,
    paused_ns: u64,
    run_delay_ns: u64,
    run_slices: u64,
    #[serde(default)]
    handover_max_ns: u64,
}

#[derive(Serialize, Deserialize)]
struct GaugesLine {
    #[serde(flatten)]
    levels: ByName<LaneLevels>,
    /// Levels of the only origin, in folders of earlier versions.
    #[serde(flatten, skip_serializing)]
    earlier: ByName<ConnectionLevels>,
}

#[derive(Serialize, Deserialize)]
struct SlowLine {
    index: u64,
    operation: u32,
    #[serde(default, skip_serializing_if = "is_first")]
    origin: u8,
    /// The first one of the machine that offered it, where records of several are merged. Missing in folders of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    share: Option<u32>,
    intended_ns: u64,
    sent_ns: Option<u64>,
    ended_ns: u64,
    connection: u32,
    /// The code of the answer, where that is a status of HTTP; 0 without one.
    #[serde(default)]
    status: u16,
    /// Its name, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    outcome: String,
}

impl IntervalLine {
    /// The line of `interval`, whose histograms end at `hlog_bytes`.
    pub(super) fn of(interval: &Interval, header: &RunHeader, hlog_bytes: u64) -> IntervalLine {
        let bank = &interval.bank;
        let counters = &bank.counters;
        let (own, gauges) = (counters.own, interval.gauges);
        IntervalLine {
            start_ns: interval.start.0,
            length_ns: interval.length.0,
            double: interval.double,
            hlog_bytes,
            tracks: announced(bank),
            measured: OutcomesLine::of(&counters.measured, header),
            warmup: (counters.warmup != Outcomes::default())
                .then(|| OutcomesLine::of(&counters.warmup, header)),
            statuses: statuses(&counters.codes, header),
            body_bytes: counters.body_bytes,
            origins: OriginLine::all(counters, &gauges, header),
            connections: None,
            lag: ByName(counters.lag),
            bytes_received: counters.bytes_received,
            users_begun: counters.users_begun,
            events: ByName(counters.events),
            warmup_events: ByName(counters.warmup_events),
            retry_causes: causes::causes(&counters.retry_causes, header),
            own: OwnLine {
                busy_ns: own.busy.0,
                total_ns: own.total.0,
                pause_max_ns: own.pause_max.0,
                paused_ns: own.paused.0,
                run_delay_ns: own.run_delay.0,
                run_slices: own.run_slices,
                handover_max_ns: own.handover_max.0,
            },
            operations: OperationLine::all(&bank.operations, header),
            loads: OperationLine::all(&bank.loads, header),
            journeys: OperationLine::all(&bank.journeys, header),
            steps: steps(&bank.steps),
            by_origin: OperationLine::all(&bank.origins, header),
            operations_failed: Vec::new(),
            gauges: GaugesLine {
                levels: ByName(LaneLevels { in_flight: gauges.in_flight, backlog: gauges.backlog }),
                earlier: ByName::default(),
            },
            waiting: interval.ages.bins().map(|(age, n)| (age.0, n)).collect(),
            heat: HeatLine::of(&bank.heat),
            timeline: MomentsLine::of(&bank.timeline),
            slowest: bank.slowest.as_slice().iter().map(|slow| SlowLine::of(slow, header)).collect(),
            sample: bank.samples.first().map(SampleLine::of).unwrap_or_default(),
            samples_beyond: bank.samples.iter().skip(1).map(SampleLine::of).collect(),
        }
    }

    /// After the histograms: what earlier versions left out of their lines follows from these.
    pub(super) fn fill_in(&self, interval: &mut Interval, header: &RunHeader) {
        if !header.operations_are_whole {
            let timeout = Nanos(header.plan.timeout_ns);
            fill_earlier(&mut interval.bank.operations, &self.operations_failed, timeout);
        }
    }

    /// Writes what the line says into `interval`, whose bank is empty. The histograms come from elsewhere.
    pub(super) fn fill(&self, interval: &mut Interval, header: &RunHeader) -> Result<(), String> {
        interval.start = Nanos(self.start_ns);
        interval.length = Nanos(self.length_ns);
        interval.double = self.double;
        let kinds = Kinds::new(header);
        let counters = &mut interval.bank.counters;
        counters.measured = self.measured.outcomes(&kinds)?;
        if let Some(warmup) = &self.warmup {
            counters.warmup = warmup.outcomes(&kinds)?;
        }
        fill_statuses(&self.statuses, &mut counters.codes, &kinds)?;
        counters.body_bytes = self.body_bytes;
        let LaneLevels { in_flight, backlog } = self.gauges.levels.0;
        interval.gauges = Gauges { in_flight, backlog, ..Gauges::default() };
        let earlier = (&self.connections, self.gauges.earlier.0);
        origin_line::fill(&self.origins, earlier, (counters, &mut interval.gauges), &kinds)?;
        interval.ages.clear();
        self.waiting.iter().for_each(|(age_ns, n)| interval.ages.add(Nanos(*age_ns), *n));
        counters.lag = self.lag.0;
        counters.bytes_received = self.bytes_received;
        counters.users_begun = self.users_begun;
        counters.events = self.events.0;
        counters.warmup_events = self.warmup_events.0;
        counters.retry_causes = causes::read(&self.retry_causes, |code| kinds.kind(code))?;
        counters.own = LoopCounts {
            busy: Nanos(self.own.busy_ns),
            total: Nanos(self.own.total_ns),
            pause_max: Nanos(self.own.pause_max_ns),
            paused: Nanos(self.own.paused_ns),
            run_delay: Nanos(self.own.run_delay_ns),
            run_slices: self.own.run_slices,
            handover_max: Nanos(self.own.handover_max_ns),
        };
        let apart = [
            ("operation", &self.operations, Apart::Operation),
            ("load", &self.loads, Apart::Load),
            ("origin", &self.by_origin, Apart::Origin),
        ];
        for (name, lines, by) in apart {
            for (&place, line) in lines {
                let record = interval.bank.apart_mut(by).get_mut(place);
                line.fill(record.ok_or_else(|| format!("there is no {name} {place}"))?, &kinds)?;
            }
        }
        for (&place, line) in &self.journeys {
            let journey = interval.bank.journeys.get_mut(place);
            line.fill(journey.ok_or_else(|| format!("there is no journey {place}"))?, &kinds)?;
        }
        for (&place, line) in &self.steps {
            let step = interval.bank.steps.get_mut(place);
            *step.ok_or_else(|| format!("there is no step {place}"))? = line.0;
        }
        self.heat.fill(&mut interval.bank.heat)?;
        interval.bank.timeline.begin(interval.start);
        if let Some(moments) = &self.timeline {
            moments.fill(&mut interval.bank.timeline)?;
        }
        let mut slowest = Slowest::default();
        for slow in &self.slowest {
            slowest.offer(slow.arrival(header, &kinds)?);
        }
        interval.bank.slowest = slowest;
        let samples = [&self.sample].into_iter().chain(&self.samples_beyond);
        samples.zip(&mut interval.bank.samples).for_each(|(line, sample)| line.fill(sample));
        Ok(())
    }
}

/// By place; those of which something was recorded.
fn steps(steps: &[StepCounts]) -> BTreeMap<usize, ByName<StepCounts>> {
    let lines = steps.iter().map(|step| ByName(*step)).enumerate();
    lines.filter(|(_, line)| !line.is_empty()).collect()
}

/// Most runs have no other origin.
fn is_first(origin: &u8) -> bool {
    *origin == 0
}

/// Most runs have none: what is not there is not written.
fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl SlowLine {
    fn of(slow: &SlowArrival, header: &RunHeader) -> SlowLine {
        SlowLine {
            index: slow.index,
            operation: slow.operation,
            origin: slow.origin,
            share: slow.share.filter(|_| header.agents.len() > 1),
            intended_ns: slow.intended.0,
            sent_ns: slow.sent.map(|sent| sent.0),
            ended_ns: slow.ended.0,
            connection: slow.connection,
            status: slow.code.filter(|_| header.codes.is_none()).map_or(0, Code::status),
            code: slow.code.filter(|_| header.codes.is_some()).map(|code| header.code_name(code)),
            outcome: header.outcome_name(slow.outcome),
        }
    }

    fn arrival(&self, header: &RunHeader, kinds: &Kinds<'_>) -> Result<SlowArrival, String> {
        Ok(SlowArrival {
            index: self.index,
            operation: self.operation,
            origin: self.origin,
            // All in the record of one machine are its own.
            share: match &header.agents[..] {
                [machine] => Some(machine.first),
                _ => self.share,
            },
            intended: Instant(self.intended_ns),
            sent: self.sent_ns.map(Instant),
            ended: Instant(self.ended_ns),
            connection: self.connection,
            code: match &self.code {
                Some(name) => Some(kinds.code(name)?),
                None => Code::of_status(self.status),
            },
            outcome: match self.outcome.as_str() {
                "ok" => Outcome::Ok,
                "timed_out" => Outcome::TimedOut,
                "unfinished" => Outcome::Unfinished,
                "unsent" => Outcome::Unsent,
                code => Outcome::Failed(kinds.kind(code)?),
            },
        })
    }
}
