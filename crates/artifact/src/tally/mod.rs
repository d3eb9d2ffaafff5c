//! What a run has added up to so far, in memory that does not grow with its length.
//!
//! Intervals come in one by one, from the engine or from a run folder; at any time the run document can
//! be made from what came in. Totals are one bank; figures over time are at most 600 rows,
//! whose neighbours are joined when a run is longer; of the slowest arrivals [`SLOWEST_TOTAL`] are kept
//! (each interval hands over five at most).

mod agents;
mod arrivals;
mod compare;
mod distribution;
mod early;
mod ending;
mod ending_joined;
mod event;
mod events;
mod heat;
mod intervals;
mod journeys;
mod judge;
mod loads;
mod loss;
mod objectives;
mod operations;
mod origins;
mod precision;
mod retries;
mod rows;
mod shape;
mod simulated;
mod slow;
mod snapshot;
mod soak;
mod timeline;
mod transient;

pub use ending::{Ending, OriginEnding};
pub use snapshot::{Figures, Snapshot};

use crate::document::{
    Arrivals, Generator, LagCauses, LoadModel, Part, Phases, Rate, RunDocument, SCHEMA,
    Series as SeriesDocument, Spectra,
};
use crate::exchange::KeptFailure;
use crate::header::RunHeader;
use distribution::{distribution, known, spectrum};
use events::EventHistories;
use heat::heatmap;
use intervals::{Histories, Measured};
use judge::Account;
use objectives::Objectives;
use operations::HistoriesApart;
use rows::Rows;
use shape::BeforeGrowth;
use soak::Watches;
use std::collections::BTreeMap;
use timeline::Moments;
use transient::Settled;
use unblink_core::code::Code;
use unblink_core::origins::ORIGINS_MAX;
use unblink_core::record::{Apart, Bank, Interval, Outcomes, Series, SlowArrival as Slow};
use unblink_core::time::{MILLISECOND_NS, Nanos, SECOND_NS};

/// How many of the slowest arrivals a document lists.
pub const SLOWEST_TOTAL: usize = 20;

/// Shorter intervals (the end of a run) say nothing about how busy the generator was.
const BUSY_INTERVAL_MIN: Nanos = Nanos(500 * MILLISECOND_NS);

/// A run, or a part of one, added up.
#[derive(Clone, Debug)]
pub struct Tally {
    header: RunHeader,
    part: Option<Part>,
    settled: Option<Settled>,
    totals: Bank<u64>,
    rows: Rows,
    moments: Moments,
    histories: Histories,
    event_histories: EventHistories,
    operation_histories: HistoriesApart,
    load_histories: HistoriesApart,
    journey_histories: HistoriesApart,
    origin_histories: HistoriesApart,
    objectives: Objectives,
    before_growth: Option<Box<BeforeGrowth>>,
    watches: Watches,
    kept_failures: Vec<KeptFailure>,
    slowest: Vec<Slow>,
    /// By origin.
    connections_peak: [u64; ORIGINS_MAX],
    in_flight: u64,
    busy_share_max: f64,
    double_intervals: u64,
    intervals: u64,
    end: Nanos,
    last_ok_before: Option<Nanos>,
}

impl Tally {
    /// Nothing yet, for the run that `header` describes.
    pub fn new(header: RunHeader) -> Tally {
        let layout = header.layout();
        let objectives = Objectives::new(&header, Nanos(header.plan.warmup_ns));
        Tally {
            before_growth: BeforeGrowth::of(&header.plan),
            watches: Watches::default(),
            kept_failures: Vec::new(),
            header,
            objectives,
            part: None,
            settled: None,
            totals: Bank::new(layout),
            rows: Rows::default(),
            moments: Moments::default(),
            histories: Histories::default(),
            event_histories: EventHistories::default(),
            operation_histories: HistoriesApart::default(),
            load_histories: HistoriesApart::default(),
            journey_histories: HistoriesApart::default(),
            origin_histories: HistoriesApart::default(),
            slowest: Vec::with_capacity(SLOWEST_TOTAL + 1),
            connections_peak: [0; ORIGINS_MAX],
            in_flight: 0,
            busy_share_max: 0.0,
            double_intervals: 0,
            intervals: 0,
            end: Nanos::ZERO,
            last_ok_before: None,
        }
    }

    /// Takes in a request that failed and was to be kept.
    pub fn keep_failure(&mut self, failure: KeptFailure) {
        self.kept_failures.push(failure);
    }

    /// What the run was to do.
    pub fn header(&self) -> &RunHeader {
        &self.header
    }

    /// Everything recorded so far.
    pub fn totals(&self) -> &Bank<u64> {
        &self.totals
    }

    /// How many intervals came in.
    pub fn intervals(&self) -> u64 {
        self.intervals
    }

    /// End of the last interval, after t = 0.
    pub fn end(&self) -> Nanos {
        self.end
    }

    /// Takes in the next interval. The times of its slowest arrivals count from t = 0, as its own do.
    pub fn add(&mut self, interval: &Interval) {
        let bank = &interval.bank;
        self.rows.add(interval, self.measured_from());
        self.moments.add(interval);
        let is_left_out = self.leave_out(interval);
        if !is_left_out {
            self.totals.add(bank);
            self.keep_slowest(bank);
            self.histories.add(interval);
            self.event_histories.add(interval);
            self.operation_histories.add(interval, Apart::Operation);
            self.load_histories.add(interval, Apart::Load);
            self.journey_histories.add(interval, Apart::Journey);
            self.origin_histories.add(interval, Apart::Origin);
            self.objectives.add(interval, &self.header);
            if let Some(before) = &mut self.before_growth {
                before.add(interval);
            }
        } else {
            self.objectives.pass_over(interval);
        }
        let own = bank.counters.own;
        if interval.length >= BUSY_INTERVAL_MIN {
            self.busy_share_max = self.busy_share_max.max(share(own.busy, own.total));
        }
        for (peak, levels) in self.connections_peak.iter_mut().zip(&interval.gauges.origins) {
            *peak = levels.connections_peak.max(*peak);
        }
        self.in_flight = interval.gauges.in_flight;
        self.double_intervals += u64::from(interval.double);
        self.intervals += 1;
        self.end = self.end.max(interval.start + interval.length);
        if bank.counters.measured.ok > bank.counters.measured.ok_after_load && !is_left_out {
            self.last_ok_before = Some(interval.start + interval.length);
        }
    }

    /// Documents say what pages of this many requests feel.
    pub fn set_fanout(&mut self, requests: u32) {
        self.header.fanout = Some(requests);
    }

    /// Only intervals from `part` will come in.
    pub(crate) fn set_part(&mut self, part: Part) {
        self.part = Some(part);
    }

    /// The run document of what came in.
    pub fn document(&self, ending: &Ending) -> RunDocument {
        let (header, ending) = (&self.header, &ending.tolerating());
        let account = self.account(ending);
        let (load_from, load_to) = self.load_window(ending);
        let last_completion = self.last_completion(ending);
        let counters = &self.totals.counters;
        let assessment = self.assess(ending, &account, load_from, load_to);
        let validity = judge::validity(&assessment);
        let measured = Measured::new(&validity, (load_from, load_to), account.without_ending, self.in_flight)
            .with_loss(self.loss(ending));
        let response_time = self.response_time(&measured);
        let service_time = self.service_time(&measured);
        let operations = self.operations(ending, &measured);
        let events = self.events(&measured);
        let journeys = self.journeys(ending, &measured);
        let (open_in_flight, has_lost) = (measured.open_in_flight, measured.has_lost);
        let precision = self.precision(ending.status, &response_time, &measured);
        let rate = self.rate(&account.arrivals, load_from, load_to, last_completion);
        let verdict = match ending.preflight() {
            Some(_) => self.verdict_unanswered(),
            None => self.verdict(ending, &account, &assessment, &rate, (load_from, load_to)),
        };
        RunDocument {
            schema: SCHEMA.to_string(),
            status: ending.status,
            tool: header.tool.clone(),
            started_at: header.started_at.clone(),
            command: header.command.clone(),
            environment: header.environment.clone(),
            agents: self.agents(ending),
            plan: header.plan.clone(),
            loads: self.loads(ending, &account.arrivals, &measured),
            origins: self.origins(ending, &measured),
            targets: header.targets.clone(),
            targets_beyond: header.targets_beyond.clone(),
            simulated: self.simulated(ending),
            part: self.part.clone(),
            validity,
            verdict,
            aborted: ending.aborted.clone(),
            arrivals: self.with_left_out(account.arrivals, ending),
            warmup: self.warmup_arrivals(ending),
            transient: self.transient(),
            shape: self.shape(ending),
            precision,
            rate,
            retries: self.retries(),
            values_sent: ending.values_sent.clone(),
            setup: ending.setup.clone(),
            // It is of the whole run.
            cross_check: ending.cross_check.clone().filter(|_| self.part.is_none()),
            watched: self.watched(),
            failures: self.failures(&counters.measured),
            kept_failures: self.kept_failures.clone(),
            codes: self.codes(&counters.codes),
            bytes_received: counters.bytes_received,
            fanout: self
                .header
                .fanout
                // One request of many decides how long a page takes, and it may be lost.
                .filter(|_| !has_lost)
                .and_then(|requests| self.fanout(requests, account.without_ending, &response_time.quantiles)),
            response_time,
            service_time,
            send_lag: self.known_distribution(Series::SendLag),
            generator_late: self.known_distribution(Series::GeneratorLate),
            failed_response_time: self.known_distribution(Series::Failed),
            lag_causes: LagCauses {
                no_connection: counters.lag.no_connection,
                no_connection_ns: counters.lag.no_connection_ns,
                connecting: counters.lag.connecting,
                connecting_ns: counters.lag.connecting_ns,
                generator_ns: counters.lag.generator_ns,
                held: counters.lag.held,
                held_ns: counters.lag.held_ns,
                no_room: counters.lag.no_room,
                no_room_ns: counters.lag.no_room_ns,
            },
            events,
            phases: Phases {
                connect: self.known_distribution(Series::Connect),
                tls: self.known_distribution(Series::Tls),
                first_byte: self.known_distribution(Series::FirstByte),
                transfer: self.known_distribution(Series::Transfer),
            },
            operations,
            journeys,
            spilled: self.spilled(),
            generator: Generator {
                busy_share: self.busy_share(),
                busy_share_max: self.busy_share_max,
                pause_max_ns: counters.own.pause_max.0,
                paused_ns: counters.own.paused.0,
                handover_max_ns: counters.own.handover_max.0,
                run_delay_ns: counters.own.run_delay.0,
                steal_share: ending.steal_share,
                involuntary_switches: ending.involuntary_switches,
                double_intervals: self.double_intervals,
                priority: ending.priority,
                kept_awake: ending.kept_awake,
            },
            spectrum: Spectra {
                response_time: spectrum(
                    self.totals.track(Series::Response),
                    self.totals.track(Series::ResponseCensored),
                    account.without_ending,
                ),
                service_time: spectrum(
                    self.totals.track(Series::Service),
                    self.totals.track(Series::ServiceCensored),
                    open_in_flight,
                ),
            },
            series: SeriesDocument {
                load_from_ns: load_from.0,
                load_to_ns: load_to.0,
                last_completion_ns: last_completion.map(|t| t.0),
                intervals_per_row: self.rows.intervals_per_row(),
                rows: self.rows.document(),
                timeline: self.moments.document(),
            },
            heatmap: heatmap(&self.totals.heat, self.totals.track(Series::Response).max_ns),
            slowest: self.slowest.iter().map(|slow| self.slow_arrival(slow)).collect(),
        }
    }

    /// Where the measured part begins: after the warm-up, or where the transient ends.
    fn measured_from(&self) -> Nanos {
        Nanos(self.header.plan.warmup_ns).max(self.cut_at().unwrap_or_default())
    }

    /// Arrivals cross the borders of what is looked at, so that they are counted where they ended.
    fn has_open_borders(&self) -> bool {
        self.part.is_some() || self.cut_at().is_some()
    }

    /// From where to where the measured load was offered, as far as it is looked at.
    fn load_window(&self, ending: &Ending) -> (Nanos, Nanos) {
        let from = self.measured_from();
        let to = ending.ended_after.max(from);
        match &self.part {
            None => (from, to),
            Some(part) => {
                let from = from.max(Nanos(part.from_ns));
                (from, to.min(Nanos(part.to_ns)).max(from))
            }
        }
    }

    /// Exact when the engine told it; to the end of its interval otherwise.
    fn last_completion(&self, ending: &Ending) -> Option<Nanos> {
        let last = self.last_ok_before?;
        match (ending.last_completion, &self.part) {
            (Some(exact), None) => Some(exact),
            (Some(exact), Some(_)) => Some(exact.min(last)),
            (None, _) => Some(last),
        }
    }

    fn rate(&self, arrivals: &Arrivals, from: Nanos, to: Nanos, last: Option<Nanos>) -> Rate {
        let Outcomes { due, after_load, ok_after_load, .. } = self.totals.counters.measured;
        let offered = match (self.header.model(), self.has_open_borders()) {
            (LoadModel::Closed, _) => None,
            (LoadModel::Open, false) => {
                Some(per_second(arrivals.due().saturating_sub(after_load), to - from))
            }
            // In a part, `scheduled` counts what ended in it; what fell due in it was offered.
            (LoadModel::Open, true) => Some(per_second(due.saturating_sub(after_load), to - from)),
        };
        Rate {
            offered,
            sent: per_second(self.totals.counters.measured.sent_in_load, to - from),
            // Not less than the load's own length: three answers at its very beginning are no high rate.
            achieved: last.map_or(0.0, |last| per_second(arrivals.ok - ok_after_load, last.max(to) - from)),
        }
    }

    fn failures(&self, outcomes: &Outcomes) -> BTreeMap<String, u64> {
        let mut failures = BTreeMap::new();
        for (index, &n) in outcomes.failed.iter().enumerate().filter(|(_, n)| **n > 0) {
            *failures.entry(self.header.failure_code(index)).or_insert(0) += n;
        }
        failures
    }

    fn known_distribution(&self, series: Series) -> crate::document::Distribution {
        known(self.totals.track(series))
    }

    /// Answers by what they say of themselves.
    fn codes(&self, counts: &[u64; Code::COUNT]) -> BTreeMap<String, u64> {
        let all = (0..).map_while(Code::at).zip(counts).filter(|(_, n)| **n > 0);
        all.map(|(code, &n)| (self.header.code_name(code), n)).collect()
    }
}

/// Where arrivals ended, as the counters say.
pub(crate) fn arrivals(outcomes: &Outcomes, scheduled: u64) -> Arrivals {
    Arrivals {
        scheduled,
        ok: outcomes.ok,
        failed: outcomes.failed_total(),
        timed_out: outcomes.timed_out,
        timed_out_never_sent: outcomes.timed_out_never_sent,
        unfinished: outcomes.unfinished,
        unsent: outcomes.unsent,
        withheld: 0,
        lost: 0,
    }
}

fn per_second(n: u64, over: Nanos) -> f64 {
    if over == Nanos::ZERO { 0.0 } else { n as f64 * SECOND_NS as f64 / over.0 as f64 }
}

fn share(part: Nanos, whole: Nanos) -> f64 {
    if whole == Nanos::ZERO { 0.0 } else { part.0 as f64 / whole.0 as f64 }
}
