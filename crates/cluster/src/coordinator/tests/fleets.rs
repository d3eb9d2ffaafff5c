//! What agents have, and what is told of their clocks.

use super::*;

/// Why agents with these machines don't get the task, of which `change` makes what it is.
fn reasons(machines: &[Machine], change: impl FnOnce(&mut Task)) -> Vec<String> {
    let mut stand = Stand::new(machines.len() as u32);
    change(&mut stand.coordinator.task);
    for (number, machine) in machines.iter().enumerate() {
        stand.says(&format!("agent {number}"), Stage::Waiting(machine.clone()));
    }
    match &stand.coordinator.phase {
        Phase::Failed { why, .. } => why.reasons.clone(),
        _ => Vec::new(),
    }
}

/// Streams stay whole: of eight in three shares, the first two have three and the last has two.
#[test]
fn nobody_is_asked_for_more_than_was_measured_there() {
    let reasons = |per_s_max: u64, carries: [Option<u64>; 2]| {
        let machines = [2, 1].into_iter().zip(carries);
        let machines: Vec<Machine> = machines
            .map(|(shares, carries_per_s)| Machine { carries_per_s, ..machine("1", shares) })
            .collect();
        reasons(&machines, |task| task.per_s_max = per_s_max)
    };
    assert_eq!(reasons(8_000, [Some(6_000), Some(2_000)]), Vec::<String>::new());
    assert_eq!(reasons(8_000, [None, None]), Vec::<String>::new());
    assert_eq!(reasons(0, [Some(1), Some(1)]), Vec::<String>::new());
    let one = reasons(8_001, [Some(6_000), None]);
    assert!(one.len() == 1 && one[0].contains("shares 1–2 would offer 6001/s"), "{one:?}");
    assert_eq!(reasons(9_000, [Some(6_000), Some(2_000)]).len(), 2);
}

/// Before anything is offered, who lacks what is named, with the remedy; who says nothing is asked.
#[test]
fn nobody_is_asked_for_more_connections_than_it_has() {
    let has = |descriptors: u64, ports: u32, shares: u32| Machine {
        descriptors: Some(descriptors),
        connections: Some(descriptors - 64),
        ports: Some(ports),
        ..machine("1", shares)
    };
    let asks = |each, origins, to_one_address| Connections { each, origins, to_one_address };
    let of = |machines: &[Machine], asked| reasons(machines, |task| task.connections = asked);
    let two = [has(1_064, 500, 1), has(20_064, 500, 3)];
    assert!(of(&two, asks(4_000, 1, false)).is_empty() && of(&two, asks(0, 1, true)).is_empty());
    let found = of(&two, asks(4_001, 1, false));
    assert_eq!(found.len(), 1, "{found:?}");
    for part in
        ["share 1 would open 1001 connections,", "(1064 in all) suffice for 1000", "ulimit -Hn", "lower -c"]
    {
        assert!(found[0].contains(part), "{found:?}");
    }
    let found = of(&two, asks(4_000, 2, false));
    assert!(
        found.len() == 1 && found[0].contains("to each of 2 origins") && found[0].contains("for 500"),
        "{found:?}"
    );
    let found = of(&two, asks(1_000, 1, true));
    assert!(found.len() == 1 && found[0].contains("shares 2–4 would open 750"), "{found:?}");
    assert!(found[0].contains("500 local ports") && found[0].contains("ip_local_port_range"), "{found:?}");
    assert!(of(&[machine("1", 1)], asks(2_000_000, 1, true)).is_empty(), "it does not say");
}

#[test]
fn each_share_needs_a_user_and_a_connection() {
    let few = reasons(&[machine("1", 2), machine("1", 2)], |task| task.users = Some(3));
    assert!(few.len() == 1 && few[0].contains("4 shares together, and there are 3 users"), "{few:?}");
    let few = reasons(&[machine("1", 4)], |task| task.connections.each = 3);
    assert!(few.len() == 1 && few[0].contains("3 connections") && few[0].contains("raise -c"), "{few:?}");
    assert!(reasons(&[machine("1", 4)], |task| task.users = Some(4)).is_empty());
}

/// A machine that says less than today's is heard, so that it can be told which build it is.
#[test]
fn what_older_agents_say_is_read() {
    let old = r#"{"protocol": 1, "version": "0.1", "host": "h", "shares": 2, "something": 7}"#;
    let machine: Machine = serde_json::from_str(old).expect("it is read");
    assert_eq!((machine.cores, machine.descriptors, machine.ports), (0, None, None));
}

/// A script of one asks for the end: all stop at one instant, and nobody has broken off.
#[test]
fn a_script_of_one_stops_all_at_one_instant() {
    let mut stand = Stand::running();
    stand.after(START_AHEAD + SECOND, Event::Tick);
    let goes = |asks_to_stop| Stage::Running(Progress { asks_to_stop, ..Progress::default() });
    stand.says("b", goes(false));
    let mut out = stand.says("a", goes(true));
    let at = stand.now + STOP_AHEAD;
    out.extend(stand.after(SAY_AGAIN, Event::Tick));
    for agent in ["a", "b"] {
        let is_stop = |(to, order): &(&str, &Order)| match order {
            Order::Stop { at: told, cause: Cause::Enough, why } => {
                *to == agent && *told == at && why.contains("thread:stop")
            }
            _ => false,
        };
        assert!(orders(&out).iter().any(is_stop), "{agent}: {out:?}");
    }
}

/// One that has confirmed the start and can't go on has nothing to show: the others don't go on alone.
#[test]
fn an_error_of_one_stops_all() {
    let mut stand = Stand::running();
    stand.after(START_AHEAD + SECOND, Event::Tick);
    stand.says("b", Stage::Running(Progress::default()));
    let error = Some("no descriptors are left".to_string());
    let ended = Ended { code: 3, stopped_by: None, error, notes: Vec::new(), files: Vec::new() };
    let mut out = stand.says("a", Stage::Ended(ended));
    let at = stand.now + STOP_AHEAD;
    out.extend(stand.after(SAY_AGAIN, Event::Tick));
    let is_stop = |(to, order): &(&str, &Order)| match order {
        Order::Stop { at: told, cause: Cause::Coordinator, why } => {
            *to == "b" && *told == at && why == "no descriptors are left"
        }
        _ => false,
    };
    assert!(orders(&out).iter().any(is_stop), "{out:?}");
}

/// A bus that keeps nothing won't keep the end of a record either, however long the load was to be.
#[test]
fn a_record_that_can_not_be_kept_is_not_waited_for_until_the_planned_end() {
    let mut stand = Stand::running();
    stand.coordinator.task.length = 3_600 * SECOND;
    stand.after(START_AHEAD + SECOND, Event::Tick);
    let files = vec![FileEnd { name: "run.json".into(), bytes: 1, sha256: String::new() }];
    let stopped_by = Some((Cause::Guard("record".into()), "the bus keeps nothing".to_string()));
    let ended = Ended { code: 3, stopped_by, error: None, notes: Vec::new(), files };
    let mut out = Vec::new();
    for _ in 0..2 * (END_WITHIN + RETURN_WITHIN) / SECOND {
        for agent in ["a", "b"] {
            out.extend(stand.says(agent, Stage::Ended(ended.clone())));
        }
        out.extend(stand.after(SECOND, Event::Tick));
    }
    let Some(FleetOutcome::Run { parts, stopped, .. }) = done(&out) else { panic!("{out:?}") };
    assert_eq!(stopped.as_deref(), Some("the bus keeps nothing"));
    assert!(parts.iter().all(|part| part.is_lost));
    assert!(is_noted(&out, "has ended, and its record does not come"), "{out:?}");
}

/// Comparisons of clocks after the first are kept, each once, and told in the end.
#[test]
fn later_readings_of_clocks_are_kept() {
    let mut stand = Stand::running();
    let reads = |offset_ns, error_ns| {
        Stage::Running(Progress { reading: Reading { offset_ns, error_ns }, ..Progress::default() })
    };
    stand.after(START_AHEAD, Event::Tick);
    for (offset_ns, error_ns) in [(0, 0), (0, 0), (7, 40), (7, 40), (9, 30)] {
        stand.after(SECOND, Event::Tick);
        stand.says("a", reads(offset_ns, error_ns));
        stand.says("b", reads(0, 0));
    }
    for agent in ["a", "b"] {
        stand.ended(agent, None);
        let out = stand.after(0, Event::Received(agent.into()));
        let Some(FleetOutcome::Run { start_at, parts, .. }) = done(&out) else { continue };
        let clocks = |part: &AgentPart| {
            let all = part
                .clocks
                .iter()
                .map(|(at, reading)| ((at - start_at) / SECOND, reading.offset_ns, reading.error_ns));
            all.collect::<Vec<_>>()
        };
        assert_eq!(clocks(&parts[0]), [(3, 7, 40), (5, 9, 30)]);
        return assert_eq!(clocks(&parts[1]), []);
    }
    panic!("it does not end");
}

/// What an agent says it was told of the time is signed if the coordinator told it that, and told nobody else.
#[test]
fn a_time_is_vouched_for_that_the_coordinator_told_that_agent() {
    let mut stand = Stand::new(2);
    for agent in ["a", "b"] {
        stand.says(agent, Stage::Waiting(machine("1", 1)));
    }
    let vouched = |stand: &mut Stand, agent: &str, time: Option<ToldTime>| {
        stand.number += 1;
        let number = stand.number;
        let status = Status { number, run: Some("r".into()), stage: Stage::Preparing, time };
        let out = stand.after(0, Event::Status(agent.into(), status));
        let of = |action: &Action| match action {
            Action::Reply(to, reply) if to == agent && reply.answers == number => Some(reply.time),
            _ => None,
        };
        out.iter().find_map(of).expect("an answer")
    };
    assert!(stand.coordinator.leads("r") && !stand.coordinator.leads("other"), "whom it tells the time");
    let told = ToldTime { asked_at: 5, at: 7 };
    assert!(stand.after(0, Event::TimeTold("a".into(), told)).is_empty());
    stand.after(0, Event::TimeTold("nobody".into(), told));
    assert_eq!(vouched(&mut stand, "a", Some(told)), Some(told));
    assert_eq!(vouched(&mut stand, "a", None), None);
    assert_eq!(vouched(&mut stand, "b", Some(told)), None, "somebody else was told so");
    for other in [ToldTime { at: 8, ..told }, ToldTime { asked_at: 4, ..told }] {
        assert_eq!(vouched(&mut stand, "a", Some(other)), None);
    }
    // The last ones are remembered: an agent goes by one of its last 32.
    let later = |at| ToldTime { asked_at: 100, at };
    for at in 0..256 {
        stand.after(0, Event::TimeTold("a".into(), later(at)));
    }
    assert_eq!(vouched(&mut stand, "a", Some(told)), None);
    assert_eq!(vouched(&mut stand, "a", Some(later(0))), Some(later(0)));
}
