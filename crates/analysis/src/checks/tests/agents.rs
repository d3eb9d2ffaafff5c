//! Several machines.

use super::*;
use crate::evidence::{Agents, BehindAgent, UnlikeAgent, WorstAgent};

fn agents() -> Agents {
    Agents {
        is_merged: true,
        name: "share 1 of 4".into(),
        heard: 4,
        shares_missing: 0,
        shares: 4,
        killed: 0,
        tolerate_lost: 0,
        lost: Some(0),
        is_more_lost: false,
        due_lost: 0,
        stopped: 0,
        early: 0,
        early_by: Nanos::ZERO,
        worst: None,
        unlike: None,
        clock_error: None,
        behind: None,
    }
}

fn found(code: Code, change: impl FnOnce(&mut Agents)) -> Option<Finding> {
    let mut agents = agents();
    change(&mut agents);
    let agents: &'static Agents = Box::leak(Box::new(agents));
    World::with(|w| w.evidence.agents = Some(agents)).finding(code)
}

#[test]
fn machines_without_a_record() {
    assert_eq!(found(Code::AgentsLost, |_| ()), None);
    let one = found(Code::AgentsLost, |agents| (agents.shares_missing, agents.lost) = (1, Some(N))).unwrap();
    assert_eq!(one.severity, Severity::Invalidates);
    assert!(one.message.starts_with("1 of 4 shares has no record here: what came of"), "{}", one.message);
    assert!(one.evidence.contains(&("lost", N as f64)));
    let both = found(Code::AgentsLost, |agents| {
        (agents.shares_missing, agents.killed, agents.lost) = (2, 1, Some(5));
    });
    let message = both.unwrap().message;
    assert!(
        message.contains("2 of 4 shares have no record here, and one machine's record breaks off"),
        "{message}"
    );
    let closed = found(Code::AgentsLost, |agents| (agents.killed, agents.lost) = (2, None)).unwrap();
    assert!(
        closed.message.starts_with("2 machines' records break off: what came of their users'"),
        "{}",
        closed.message
    );
    // As many as may be lost, of which it is known how many arrivals they had.
    let severity = |missing, killed, lost| {
        let change = |agents: &mut Agents| {
            (agents.shares_missing, agents.killed, agents.lost, agents.tolerate_lost) =
                (missing, killed, lost, 2);
        };
        found(Code::AgentsLost, change).unwrap().severity
    };
    assert_eq!([(1, 1), (2, 0), (0, 2)].map(|(m, k)| severity(m, k, Some(5))), [Severity::Degrades; 3]);
    assert_eq!([(2, 1), (0, 3)].map(|(m, k)| severity(m, k, Some(5))), [Severity::Invalidates; 2]);
    assert_eq!(severity(0, 1, None), Severity::Invalidates);
    // A machine by itself is not lost because the others are elsewhere.
    let alone = |agents: &mut Agents| (agents.is_merged, agents.shares_missing) = (false, 3);
    assert_eq!(found(Code::AgentsLost, alone), None);
    assert_eq!(found(Code::OneShare, alone).map(|found| found.severity), Some(Severity::Note));
    assert_eq!(found(Code::OneShare, |_| ()), None);
}

#[test]
fn a_machine_that_was_stopped_alone() {
    let stopped = found(Code::AgentsLost, |agents| agents.stopped = 3).unwrap();
    assert_eq!(stopped.severity, Severity::Degrades);
    assert!(stopped.message.contains("3 arrivals were not offered"), "{}", stopped.message);
    let early = |machines, arrivals| {
        let by = Nanos::from_millis(12_400);
        let change = |agents: &mut Agents| {
            (agents.early, agents.early_by, agents.stopped) = (machines, by, arrivals);
        };
        found(Code::AgentsLost, change).unwrap()
    };
    let one = early(1, 622);
    assert_eq!(one.severity, Severity::Degrades);
    assert!(one.message.starts_with("The load of one machine ended 12.4\u{a0}s before"), "{}", one.message);
    assert!(one.message.ends_with("622 arrivals were not offered."), "{}", one.message);
    // Nobody knows how often users would have asked.
    let users = early(2, 0).message;
    assert!(users.starts_with("The loads of 2 machines") && users.ends_with("of the others."), "{users}");
}

/// It was told that "what came of 0 of 50,000 arrivals is not known".
#[test]
fn a_record_that_breaks_off_where_nothing_was_under_way_lacks_no_arrival() {
    let said = |is_more_lost| {
        let one = |agents: &mut Agents| (agents.killed, agents.is_more_lost) = (1, is_more_lost);
        found(Code::AgentsLost, one).unwrap().message
    };
    assert_eq!(
        said(false),
        "One machine's record breaks off: no arrival is missing, but how it ended is not known."
    );
    assert_eq!(
        said(true),
        "One machine's record breaks off: what would have followed the requests that it tells of is not known."
    );
}

/// Nobody has interrupted them, and the target may have answered all of it.
#[test]
fn records_that_all_break_off_say_nothing_of_the_target() {
    let codes = |killed| {
        let lost = Agents { killed, lost: Some(80), ..agents() };
        let lost: &'static Agents = Box::leak(Box::new(lost));
        let world = World::with(|w| {
            w.bank = Bank::new(1);
            w.bank.counters.measured.due = 80;
            (w.evidence.scheduled, w.evidence.end) = (0, End::Interrupted);
            w.evidence.agents = Some(lost);
        });
        let (_, findings) = world.findings();
        findings.into_iter().map(|found| found.code).collect::<Vec<_>>()
    };
    let of_the_target = [Code::NoAnswers, Code::Saturated, Code::Interrupted];
    let (all, some) = (codes(4), codes(3));
    assert!(
        all.contains(&Code::AgentsLost) && !all.iter().any(|code| of_the_target.contains(code)),
        "{all:?}"
    );
    assert!(some.contains(&Code::NoAnswers) && some.contains(&Code::Interrupted), "{some:?}");
}

#[test]
fn trouble_of_one_machine_is_named() {
    let worst = |is_invalid, of| {
        found(Code::AgentNotValid, |agents| {
            let (name, message) = ("share 3 of 4".into(), "It was late.".into());
            agents.worst = Some(WorstAgent { name, message, is_invalid, of });
        })
    };
    let many = worst(false, 2).unwrap().message;
    assert_eq!(
        many,
        "2 machines had trouble of their own, the machine with share 3 of 4 the most: It was late."
    );
    assert_eq!(worst(true, 1).map(|found| found.severity), Some(Severity::Degrades));
    let note = worst(false, 1).unwrap();
    assert_eq!(
        (note.severity, note.message.as_str()),
        (Severity::Note, "The machine with share 3 of 4 had trouble of its own: It was late.")
    );
    assert_eq!(found(Code::AgentNotValid, |_| ()), None);
}

/// What fell due on a machine that was lost has no end, and that is no defect.
#[test]
fn the_account_adds_up_without_what_was_lost() {
    let mut world = World::healthy();
    world.measured().due += 7;
    assert_eq!(world.severity(Code::Accounting), Some(Severity::Invalidates));
    let mut agents = agents();
    (agents.killed, agents.due_lost) = (1, 7);
    world.evidence.agents = Some(Box::leak(Box::new(agents)));
    assert_eq!(world.severity(Code::Accounting), None);
}

#[test]
fn clocks_that_can_not_be_told_apart() {
    let of = |ms| found(Code::ClockUncertain, |agents| agents.clock_error = Some(Nanos::from_millis(ms)));
    assert_eq!(of(9), None);
    assert_eq!(of(10).map(|found| found.severity), Some(Severity::Note));
    let worse = of(100).unwrap();
    assert_eq!(worse.severity, Severity::Degrades);
    assert!(worse.message.starts_with("Machines may have been 100"), "{}", worse.message);
}

#[test]
fn a_record_that_comes_late_onto_the_bus_is_told() {
    let of = |ms| {
        found(Code::BusBehind, |agents| {
            let name = "share 3 of 4".into();
            agents.behind = Some(BehindAgent { name, most: Nanos::from_millis(ms) });
        })
    };
    assert_eq!(found(Code::BusBehind, |_| ()), None);
    assert_eq!(of(2_999), None);
    let late = of(12_300).unwrap();
    assert_eq!(late.severity, Severity::Note);
    assert!(
        late.message.starts_with("What the machine with share 3 of 4 recorded reached the bus up to 12.3"),
        "{}",
        late.message
    );
    assert!(late.evidence.contains(&("bus_behind_ns_max", 12.3e9)));
}

#[test]
fn a_machine_that_sees_something_else() {
    let among = |p99s: &[u64]| {
        let names: Vec<String> = (1..=p99s.len()).map(|share| format!("share {share}")).collect();
        let all = names.iter().zip(p99s).map(|(name, ms)| (name.as_str(), 1_000, Nanos::from_millis(*ms)));
        UnlikeAgent::among(all).map(|unlike| (unlike.name, unlike.p99, unlike.median))
    };
    let ms = Nanos::from_millis;
    assert_eq!(among(&[12, 14, 13, 410]), Some(("share 4".into(), ms(410), ms(14))));
    assert_eq!(among(&[12, 3, 13, 14]), Some(("share 2".into(), ms(3), ms(13))));
    assert_eq!(among(&[12, 24, 13, 14]), None, "not twice as much");
    assert_eq!(among(&[12, 410]), None, "which of the two?");
    // Microseconds apart.
    let near = [300, 310, 900].map(|us| ("a", 1_000, Nanos::from_micros(us)));
    assert_eq!(UnlikeAgent::among(near.into_iter()), None);
    let few = [12, 13, 410].map(|ms| ("a", 999, Nanos::from_millis(ms)));
    assert_eq!(UnlikeAgent::among(few.into_iter()), None);
    let told = found(Code::AgentsDiffer, |agents| {
        agents.unlike = Some(UnlikeAgent { name: "share 4 of 4".into(), p99: ms(410), median: ms(14) });
    });
    let told = told.unwrap();
    assert_eq!(told.severity, Severity::Note);
    assert_eq!(
        told.message,
        "The p99 of share 4 of 4 is 410\u{a0}ms, and that of all machines 14\u{a0}ms in the median."
    );
    assert_eq!(found(Code::AgentsDiffer, |_| ()), None);
}

/// The end of the load is not that of the machines that were stopped before.
#[test]
fn what_stopped_some_machines_did_not_stop_all() {
    let message = |stopped, end, code| {
        let agents: &'static Agents = Box::leak(Box::new(Agents { stopped, ..agents() }));
        let world = World::with(|w| (w.evidence.agents, w.evidence.end) = (Some(agents), end));
        world.finding(code).expect("a finding").message
    };
    let guard = End::Aborted { guard: Some("the coordinator has gone silent for 5 s"), withheld: 185 };
    for (end, code) in [(guard, Code::Withheld), (End::Interrupted, Code::Interrupted)] {
        let (some, all) = (message(185, end, code), message(0, end, code));
        assert!(
            some.contains("of the machines of the run") || some.contains("on some of its machines"),
            "{some}"
        );
        assert!(!some.contains("by then") && some.contains("had fallen due in all"), "{some}");
        assert!(all.contains("had fallen due by then"), "{all}");
    }
}

/// Where none was set, none can be missed.
#[test]
fn objectives_are_spoken_of_where_there_are_some() {
    let agents: &'static Agents = Box::leak(Box::new(Agents { stopped: 185, ..agents() }));
    for agents in [None, Some(agents)] {
        let message = |has_objectives| {
            let end = End::Aborted { guard: Some("--kill-file stop exists"), withheld: 185 };
            let world = World::with(|w| {
                (w.evidence.end, w.evidence.agents) = (end, agents);
                w.evidence.has_objectives = has_objectives;
            });
            world.finding(Code::Withheld).expect("a finding").message
        };
        let (with, without) = (message(true), message(false));
        assert!(with.ends_with("withheld. No objective is met by a run that was not finished."), "{with}");
        assert!(without.ends_with("withheld."), "{without}");
    }
}

/// Each share has a thread: whoever wants more of them says so by shares, and `-t` is refused there.
#[test]
fn more_threads_are_more_shares() {
    let busy = |agents: Option<&'static Agents>| {
        let world = World::with(|w| {
            (w.evidence.busy_share, w.evidence.busy_share_max, w.evidence.agents) = (0.99, 1.0, agents);
        });
        world.finding(Code::GeneratorBusy).expect("it is busy").remedy
    };
    assert!(busy(None).contains("(-t)"));
    let of_shares = busy(Some(Box::leak(Box::new(agents()))));
    assert!(of_shares.contains("more shares or agents") && !of_shares.contains("-t"), "{of_shares}");
}
