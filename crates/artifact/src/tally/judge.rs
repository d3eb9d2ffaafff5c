//! The account of arrivals and what follows from it for the run's validity.

use super::OriginEnding;
use super::early::stopped_alone;
use super::loss::with_under_way;
use super::{Ending, Tally, arrivals, share};
use crate::causes;
use crate::document::{
    Arrivals, ConnectionMode, Direction, FailedAttempts, Finding, LoadModel, MayHaveMoved, RunStatus, SCRIPT,
    Validity,
};
use unblink_analysis::cross_check::CrossChecked;
use unblink_analysis::evidence::{Address, BrokenConnections, End, Evidence, Model, Pool, Replayed, Users};
use unblink_analysis::moves::{Moved, Moves};
use unblink_analysis::validity::Assessment;
use unblink_analysis::{finding, validity};
use unblink_core::failure::FailureKind;
use unblink_core::record::Counters;
use unblink_core::time::Nanos;

/// Where arrivals ended, and how many of them have no ending of their own.
pub(super) struct Account {
    pub(super) arrivals: Arrivals,
    pub(super) without_ending: u64,
}

impl Tally {
    /// In a whole run, what was scheduled is known from the schedule. In a part, the arrivals are those
    /// that ended in it. In a run without an end, those that fell due; what was under way at the last
    /// interval's end counts as `unfinished` or `unsent`, by how many were in flight.
    pub(super) fn account(&self, ending: &Ending) -> Account {
        let measured = &self.totals.counters.measured;
        if self.has_open_borders() {
            return Account { arrivals: arrivals(measured, measured.ended()), without_ending: 0 };
        }
        let mut account = arrivals(measured, ending.scheduled.unwrap_or(measured.due));
        let mut without_ending = 0;
        if ending.status == RunStatus::Running {
            account.scheduled = measured.due;
            without_ending = measured.due.saturating_sub(measured.ended());
            let in_flight = without_ending.min(self.in_flight);
            account.unfinished += in_flight;
            account.unsent += without_ending - in_flight;
        }
        Account { arrivals: account, without_ending }
    }

    /// What a guard withheld, and what was lost with a machine, stand in the account of a whole run, and nothing else is told
    /// of them.
    pub(super) fn with_left_out(&self, arrivals: Arrivals, ending: &Ending) -> Arrivals {
        match self.part {
            Some(_) => arrivals,
            None => {
                let withheld = ending.withheld + stopped_alone(&ending.agents);
                let lost = ending.lost();
                Arrivals { scheduled: arrivals.scheduled + withheld + lost, withheld, lost, ..arrivals }
            }
        }
    }

    pub(super) fn warmup_arrivals(&self, ending: &Ending) -> Option<Arrivals> {
        let warmup = &self.totals.counters.warmup;
        if self.part.is_some() {
            return (warmup.ended() > 0).then(|| arrivals(warmup, warmup.ended()));
        }
        let scheduled = ending.scheduled_warmup.unwrap_or(warmup.due);
        (self.header.plan.warmup_ns > 0 || warmup.due > 0).then(|| arrivals(warmup, scheduled))
    }

    pub(super) fn assess(&self, ending: &Ending, account: &Account, from: Nanos, to: Nanos) -> Assessment {
        let rows = with_under_way(self.rows.evidence(), ending);
        let measured = &self.totals.counters.measured;
        let several = if self.has_origin_accounts() { self.header.origins.len() } else { 0 };
        let rows_by_origin = self.rows.evidence_by_origin(several);
        let load = &self.header.plan;
        let (mode, limit) = (self.header.connections().mode, self.header.connections().limit);
        let origins: Vec<String> = self.header.origins.iter().map(|origin| origin.name.to_string()).collect();
        let accounts = self.accounts_apart(ending, &origins);
        let addresses = ending.origins.iter().enumerate().flat_map(|(number, origin)| {
            // Requests that go where their rows are owe no address an even share.
            let is_uneven = origin.ring.is_some();
            let resolves_again = self
                .header
                .origins
                .get(number)
                .is_none_or(|plan| plan.connections.resolve_every_ns.is_some());
            origin.by_address.iter().map(move |to| address(to, number, origin, is_uneven || resolves_again))
        });
        let addresses: Vec<Address<'_>> = addresses.collect();
        let agents = self.agents_judged(ending);
        let operations: Vec<&str> = self.header.operations.iter().map(|plan| plan.name.as_str()).collect();
        validity::assess(&Evidence {
            model: match self.header.model() {
                LoadModel::Open => Model::Open,
                LoadModel::Closed => Model::Closed,
            },
            // Some of the machines don't have all users.
            users: self.header.users_at_once().filter(|_| self.is_whole_load(ending)).map(|users| Users {
                all: users,
                begun: self.header.loads[0].ramp_up_ns().map(|_| self.totals.counters.users_begun),
            }),
            replayed: load.replay.as_ref().map(|replay| Replayed {
                by_user: replay.by_user.as_ref().map(|by_user| by_user.requests),
                made_up_ids: replay.made_up_ids.as_ref().map(|ids| (ids.requests, ids.is_certain)),
                recorded: replay.recorded,
            }),
            is_hold: self.is_hold(),
            by_phase: self.is_by_phase(),
            has_objectives: !self.header.objectives.slos.is_empty(),
            end: match ending.status {
                RunStatus::Complete => End::Complete,
                RunStatus::Interrupted => End::Interrupted,
                RunStatus::Aborted => End::Aborted {
                    guard: ending.aborted.as_ref().filter(|by| by.guard.is_some()).map(|by| by.rule.as_str()),
                    withheld: ending.withheld,
                },
                RunStatus::Running => End::Open,
            },
            script: self.script(),
            preflight: ending.preflight(),
            setup_failed: ending
                .setup
                .iter()
                .filter(|one| one.failed > 0)
                .max_by_key(|one| one.failed)
                .map(|one| (one.name.as_str(), one.failed, one.asked)),
            cross_check: ending.cross_check.as_ref().filter(|_| self.part.is_none()).map(|check| {
                CrossChecked {
                    requests: check.requests.as_ref(),
                    errors: check.errors.as_ref(),
                    resets: check.resets,
                    problems: &check.problems,
                }
            }),
            is_part: self.part.is_some(),
            transient_left_out: self.cut_at().is_some(),
            not_steady: self.not_steady(),
            scheduled: account.arrivals.scheduled,
            accounts: &accounts,
            operations: &operations,
            journeys: &self.journey_ends(),
            without_ending: account.without_ending,
            sent_in_load: measured.sent_in_load
                + measured.after_load.min(measured.sent - measured.sent_in_load),
            totals: &self.totals,
            rows: &rows,
            rows_by_origin: &rows_by_origin,
            load_from: from,
            load_to: to,
            timeout: Nanos(load.timeout_ns),
            pool: match (mode, self.header.connections().by_default) {
                (ConnectionMode::Auto, _) => Pool::Auto { max: limit },
                (ConnectionMode::Fixed, Some(database)) => Pool::Default { n: limit, of: database.name() },
                (ConnectionMode::Fixed, None) => Pool::Fixed { n: limit },
            },
            places: self.header.connections().places(),
            origins: &origins,
            addresses: &addresses,
            protocol_failures: &self.header.protocol_failures,
            broken: &self.broken_connections(),
            busy_share: self.busy_share(),
            busy_share_max: self.busy_share_max,
            steal_share: ending.steal_share,
            double_intervals: self.double_intervals,
            arrivals: &self.arrival_processes(ending),
            client: self.wrong_client(ending),
            agents: agents.as_ref(),
        })
    }
}

impl Tally {
    /// How busy the workers were. The moment in which those ended that had nothing to do says nothing of that.
    pub(super) fn busy_share(&self) -> f64 {
        let Counters { measured, warmup, own, .. } = &self.totals.counters;
        if measured.due + warmup.due == 0 { 0.0 } else { share(own.busy, own.total) }
    }

    /// An answer that is too large for us breaks nothing.
    fn broken_connections(&self) -> Vec<BrokenConnections> {
        let breaches = self.totals.counters.breaches.iter().take(self.header.origins.len()).enumerate();
        let each = breaches.flat_map(|(origin, of)| {
            let mut of = *of;
            of.0[FailureKind::TOO_LARGE.index()] = 0;
            let by_code = causes::breaches(&of, &self.header).into_iter();
            by_code.map(move |(code, connections)| BrokenConnections { origin, code, connections })
        });
        each.collect()
    }

    /// The script that makes all requests, as the report calls it.
    fn script(&self) -> Option<&str> {
        let scripted = self.header.targets.iter().find(|target| target.method == SCRIPT);
        scripted.map(|target| target.name.as_str())
    }
}

fn address<'a>(
    (name, &usable): (&'a String, &u64),
    number: usize,
    origin: &'a OriginEnding,
    owes_no_share: bool,
) -> Address<'a> {
    let failed = origin.failed_by_address.get(name).copied().unwrap_or_default();
    let FailedAttempts { refused, unanswered, unreachable } = failed;
    // Where they were recorded, an address that is not there had none.
    let all = Some(&origin.arrivals_by_address).filter(|all| !all.is_empty() && !owes_no_share);
    let arrivals =
        all.map(|all| all.get(name).map_or(0, |of| of.ok + of.failed + of.timed_out + of.unfinished));
    Address { name, origin: number, usable, refused, unanswered, unreachable, arrivals }
}

/// For the document.
pub(super) fn validity(assessment: &Assessment) -> Validity {
    Validity { status: assessment.status, findings: assessment.findings.iter().map(finding).collect() }
}

fn direction(moved: Moved) -> Option<Direction> {
    match moved {
        Moved::Not => None,
        Moved::Worse => Some(Direction::Worse),
        Moved::Better => Some(Direction::Better),
        Moved::Either => Some(Direction::Either),
    }
}

fn finding(found: &finding::Finding) -> Finding {
    let moves = Moves::of(found);
    Finding {
        code: found.code.code().to_string(),
        severity: found.severity,
        message: found.message.clone(),
        remedy: found.remedy.clone(),
        evidence: found.evidence.iter().map(|(name, value)| (name.to_string(), *value)).collect(),
        may_have_moved: (moves != Moves::default()).then(|| MayHaveMoved {
            response_time: direction(moves.times),
            errors: direction(moves.errors),
            achieved: direction(moves.achieved),
        }),
    }
}
