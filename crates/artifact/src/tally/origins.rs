//! What came of each origin: its connections, and its arrivals where there are several.

use super::intervals::Measured;
use super::{Ending, OriginEnding, Tally, distribution};
use crate::causes;
use crate::document::{AddressArrivals, AllowedAtOnce, Connections, Origin};
use crate::header::{ConnectionPlan, OriginPlan};
use std::collections::BTreeMap;
use unblink_core::record::{AddressRecord, Apart, ConnectionCounts, OperationRecord, Series};

impl Tally {
    /// Every origin.
    pub(super) fn origins(&self, ending: &Ending, measured: &Measured<'_>) -> Vec<Origin> {
        let counts = self.totals.counters.origins.iter().zip(self.connections_peak);
        let origins = self.header.origins.iter().enumerate().zip(counts);
        let of = |((number, plan), (counts, peak)): ((usize, &OriginPlan), _)| {
            let of_end = ending.origins.get(number).cloned().unwrap_or_default();
            let preflight = of_end.preflight.clone();
            let breaches = causes::breaches(&self.totals.counters.breaches[number], &self.header);
            let connections = connections(&plan.connections, (counts, breaches), peak, of_end);
            let origin = Origin::of_all(plan.name.clone(), connections, preflight);
            match self.totals.origins.get(number).filter(|_| self.has_origin_accounts()) {
                Some(record) => self.origin_with_account(origin, (number, record), ending, measured),
                None => origin,
            }
        };
        origins.map(of).collect()
    }

    /// Records of several origins once said nothing of their arrivals.
    pub(super) fn has_origin_accounts(&self) -> bool {
        let due: u64 = self.totals.origins.iter().map(|origin| origin.outcomes.due).sum();
        let ended: u64 = self.totals.origins.iter().map(|origin| origin.outcomes.ended()).sum();
        let all = &self.totals.counters.measured;
        !self.totals.origins.is_empty() && (due, ended) == (all.due, all.ended())
    }

    fn origin_with_account(
        &self,
        origin: Origin,
        (place, record): (usize, &OperationRecord),
        ending: &Ending,
        measured: &Measured<'_>,
    ) -> Origin {
        let outcomes = &record.outcomes;
        let times = |series, open| self.times((Apart::Origin, place), series, measured, open);
        let open = measured.open_of(outcomes);
        Origin {
            arrivals: Some(self.arrivals_apart(
                outcomes,
                ending.scheduled_by_origin.get(place).copied(),
                ending,
            )),
            failures: self.failures(outcomes),
            codes: self.codes(&record.codes),
            response_time: Some(times([Series::Response, Series::ResponseCensored], open)),
            service_time: (measured.open == 0).then(|| times([Series::Service, Series::ServiceCensored], 0)),
            ..origin
        }
    }
}

impl From<&AddressRecord> for AddressArrivals {
    fn from(record: &AddressRecord) -> AddressArrivals {
        AddressArrivals {
            ok: record.ok,
            failed: record.failed,
            timed_out: record.timed_out,
            unfinished: record.unfinished,
            tried_again: record.tried_again,
            response_time: distribution(&record.response, &record.censored),
        }
    }
}

fn connections(
    plan: &ConnectionPlan,
    (counts, broken_by_code): (&ConnectionCounts, BTreeMap<String, u64>),
    peak: u64,
    ending: OriginEnding,
) -> Connections {
    Connections {
        mode: plan.mode,
        limit: plan.limit,
        limited_by: plan.limited_by,
        by_default: plan.by_default,
        peak,
        attempted: counts.attempted,
        opened: counts.opened,
        failed: counts.failed,
        refused: counts.refused,
        reconnects: counts.own_again + (counts.opened - counts.own.min(counts.opened)).saturating_sub(peak),
        closed_by_target: counts.closed_by_target,
        closed_on_timeout: counts.closed_on_timeout,
        closed_unneeded: counts.closed_unneeded,
        closed_by_age: counts.closed_by_age,
        own: counts.own,
        own_again: counts.own_again,
        closed_with_journey: counts.closed_with_journey,
        streams: plan.streams,
        allowed: plan.streams.and(counts.allowed.range()).map(|(least, most)| AllowedAtOnce { least, most }),
        web_socket: plan.web_socket.clone(),
        redis: plan.redis.clone(),
        postgres: plan.postgres.clone(),
        cql: plan.cql.clone(),
        ring: ending.ring,
        routed: counts.routed,
        missed: counts.missed,
        without_key: counts.without_key,
        closed_to_spread: counts.closed_to_spread,
        age_ns: plan.age_ns,
        resolve_every_ns: plan.resolve_every_ns,
        resolving_failed: ending.resolving_failed,
        resent: counts.resent,
        unsolicited: counts.unsolicited,
        pinged: counts.pinged,
        asked_to_wait: counts.asked_to_wait,
        followed: counts.followed,
        prepared_again: counts.prepared_again,
        full: counts.full,
        allowed_none: counts.allowed_none,
        held: counts.held,
        closed_open: counts.closed_open,
        closed_broken: counts.closed_broken,
        closed_unasked: counts.closed_unasked,
        broken_by_code,
        local_limit: counts.local_limit,
        by_address: ending.by_address,
        failed_by_address: ending.failed_by_address,
        arrivals_by_address: ending.arrivals_by_address,
        spread: ending.spread,
    }
}
