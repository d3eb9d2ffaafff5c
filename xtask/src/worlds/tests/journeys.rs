//! What is wrong with a journey is seen.

use super::*;
use unblink_core::dispatch::ConnId;
use unblink_core::origins::SocketUse;

/// Makes `change`, which says whether it found its place, in worlds with journeys; every changed one must fail.
#[track_caller]
fn must_be_seen(change: impl Fn(&mut Recording) -> bool) {
    let mut changed = 0;
    for seed in 0..400 {
        let case = generate::case(seed);
        let plan = generate::plan(&case).unwrap();
        if plan.journeys().is_none() || plan.measured_from() > Nanos::ZERO {
            continue;
        }
        let mut recording = record(&plan, &case, 0);
        if change(&mut recording) {
            changed += 1;
            assert!(check(&case, &plan, 0, &recording).is_err(), "seed {seed}: nobody has seen it");
        }
        if changed == 5 {
            return;
        }
    }
    assert!(changed >= 3, "only {changed} worlds had the place for it");
}

/// Requests that follow an answer.
fn is_follower(entry: &Entry) -> bool {
    matches!(entry, Entry::Seen(_, Sight::Action(Action::Send { arrival, .. })) if arrival >> 48 > 0)
}

#[test]
fn a_request_before_its_time_is_seen() {
    must_be_seen(|recording| {
        let place = middle(recording, is_follower);
        let Some(Entry::Seen(at, _)) = place.map(|place| &mut recording.log[place]) else { return false };
        at.0 = ZERO.0;
        true
    });
}

#[test]
fn a_request_that_jumps_a_step_or_belongs_to_another_is_seen() {
    for by in [1 << 48, 1] {
        must_be_seen(|recording| {
            let place = middle(recording, is_follower).map(|place| &mut recording.log[place]);
            let Some(Entry::Seen(_, Sight::Action(Action::Send { arrival, .. }))) = place else {
                return false;
            };
            *arrival += by;
            true
        });
    }
}

#[test]
fn a_count_that_does_not_add_up_is_seen() {
    must_be_seen(|recording| {
        let step = recording.total.steps.iter_mut().find(|step| step.passed > 0);
        step.map(|step| step.passed -= 1).is_some()
    });
    must_be_seen(|recording| {
        let step = recording.total.steps.iter_mut().find(|step| step.entered > 0);
        step.map(|step| step.requests += 1).is_some()
    });
    must_be_seen(|recording| {
        let journey = recording.total.journeys.get_mut(0).filter(|of| of.outcomes.ok > 0);
        journey.map(|of| (of.outcomes.ok, of.outcomes.unfinished) = (of.outcomes.ok - 1, 1)).is_some()
    });
}

#[test]
fn a_request_on_a_connection_of_another_journey_is_seen() {
    let owns = |entry: &Entry, own: &dyn Fn(u32) -> bool| match entry {
        Entry::Seen(_, Sight::Action(Action::Send { conn, operation, arrival, .. })) if own(*operation) => {
            Some((*conn, *arrival & ((1 << 48) - 1)))
        }
        _ => None,
    };
    let mut changed = 0;
    for seed in 0..400 {
        let case = generate::case(seed);
        let plan = generate::plan(&case).unwrap();
        let Some(paths) = plan.journeys().filter(|paths| paths.own().is_some()) else { continue };
        let own = |operation: u32| {
            let journey = (paths.entry_of(operation) as usize).checked_sub(paths.plain());
            journey.is_some_and(|journey| paths.has_own_connection(journey))
        };
        let mut recording = record(&plan, &case, 0);
        // The second of two journeys that follow one another to one origin.
        let sends: Vec<(usize, (ConnId, u64))> =
            recording.log.iter().enumerate().filter_map(|(at, e)| Some((at, owns(e, &own)?))).collect();
        let pair = sends.windows(2).find(|pair| {
            let [(_, (a, first)), (_, (b, second))] = pair else { return false };
            first != second && a.origin == b.origin && a != b
        });
        let Some(&[(_, (taken, _)), (place, _)]) = pair else { continue };
        if let Entry::Seen(_, Sight::Action(Action::Send { conn, .. })) = &mut recording.log[place] {
            *conn = taken;
            changed += 1;
        }
        let seen = super::super::journeys::check(&case, &plan, 0, &recording);
        assert!(
            seen.is_err_and(|why| why.contains("is sent on it") || why.contains("is not open")),
            "seed {seed}: nobody has seen it"
        );
    }
    assert!(changed >= 5, "only {changed} worlds had the place for it");
}

#[test]
fn a_message_over_the_socket_of_another_journey_is_seen() {
    let mut changed = 0;
    for seed in 0..2_000 {
        let case = generate::case(seed);
        let plan = generate::plan(&case).unwrap();
        if !plan.spec().origins.has_sockets() || changed == 5 {
            continue;
        }
        let mut recording = record(&plan, &case, 0);
        let used = |entry: &Entry| match entry {
            Entry::Seen(_, Sight::Action(Action::Send { conn, operation, .. }))
                if plan.spec().origins.socket_use(*operation) == SocketUse::Uses =>
            {
                Some(*conn)
            }
            _ => None,
        };
        // Each carries one journey, so the second of two that differ goes over the first one's.
        let sends: Vec<(usize, ConnId)> =
            recording.log.iter().enumerate().filter_map(|(at, entry)| Some((at, used(entry)?))).collect();
        let Some(&[(_, taken), (place, _)]) = sends.windows(2).find(|pair| pair[0].1 != pair[1].1) else {
            continue;
        };
        if let Entry::Seen(_, Sight::Action(Action::Send { conn, .. })) = &mut recording.log[place] {
            *conn = taken;
            changed += 1;
        }
        let seen = super::super::journeys::check(&case, &plan, 0, &recording);
        assert!(
            seen.is_err_and(|why| why.contains("is sent on it") || why.contains("is not open")),
            "seed {seed}: nobody has seen it"
        );
    }
    assert!(changed >= 5, "only {changed} worlds had the place for it");
}

#[test]
fn a_connection_that_outlives_its_journey_is_seen() {
    must_be_seen(|recording| {
        let before = recording.log.len();
        recording.log.retain(|entry| !matches!(entry, Entry::Seen(_, Sight::Action(Action::Close(..)))));
        before > recording.log.len() && recording.total.counters.connections().closed_with_journey > 0
    });
    must_be_seen(|recording| {
        let counts = &mut recording.total.counters.origins[0];
        counts.own += 1;
        counts.own > 1
    });
}
