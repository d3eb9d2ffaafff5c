//! What a coordinator does and when, step by step; hostile worlds are played in `tests/worlds.rs`.

use super::*;
use crate::message::{Ended, FileEnd, Machine, Next, Order, Progress, Reading, Refusal};

mod again;
mod bus_gone;
mod coming;
mod cutting;
mod ends;
mod fleets;
mod forgotten;

const NOW: Time = 1_000_000 * SECOND;

struct Stand {
    coordinator: Coordinator,
    now: Time,
    number: u64,
}

fn machine(version: &str, shares: u32) -> Machine {
    Machine::new(version, "h".into(), shares)
}

/// One that has taken part in a run of that command.
fn again(command: &str) -> Machine {
    Machine { after: Some(command.into()), ..machine("1", 1) }
}

pub(crate) fn task(agents: u32) -> Task {
    Task {
        run: "r".into(),
        signed_by: "UOWN".into(),
        version: "1".into(),
        agents,
        gather_for: GATHER_FOR,
        length: 10 * SECOND,
        drain: SECOND,
        arguments: Vec::new(),
        files: Vec::new(),
        run_seed: 1,
        shares_max: 8,
        per_s_max: 0,
        users: None,
        connections: Connections::default(),
        part: None,
        command: "c".into(),
        is_first: true,
        is_local: false,
        then: Then::Leave,
        fetched: BTreeMap::new(),
    }
}

/// What one agent is told that takes part in `task`.
pub(crate) fn offered(task: Task) -> Vec<Reply> {
    let mut stand = Stand { coordinator: Coordinator::new(task, NOW), now: NOW, number: 0 };
    let out = stand.says("a", Stage::Waiting(machine("1", 1)));
    let of = |action: Action| match action {
        Action::Reply(_, reply) if matches!(reply.order, Order::Offer(_)) => Some(reply),
        _ => None,
    };
    out.into_iter().filter_map(of).collect()
}

impl Stand {
    fn new(agents: u32) -> Stand {
        Stand { coordinator: Coordinator::new(task(agents), NOW), now: NOW, number: 0 }
    }

    fn after(&mut self, time: Time, event: Event) -> Vec<Action> {
        self.now += time;
        let mut out = Vec::new();
        self.coordinator.handle(self.now, event, &mut out);
        out
    }

    /// Says where an agent stands, at once.
    fn says(&mut self, agent: &str, stage: Stage) -> Vec<Action> {
        self.number += 1;
        let run = (!matches!(stage, Stage::Waiting(_))).then(|| "r".to_string());
        self.after(0, Event::Status(agent.into(), Status { number: self.number, run, stage, time: None }))
    }

    /// Both run, and have been heard now.
    fn running() -> Stand {
        let mut stand = Stand::new(2);
        for agent in ["a", "b"] {
            stand.says(agent, Stage::Waiting(machine("1", 2)));
        }
        for agent in ["a", "b"] {
            stand.says(agent, Stage::Armed(Reading::default()));
        }
        for agent in ["a", "b"] {
            stand.says(agent, Stage::Going);
        }
        assert_eq!(stand.coordinator.start_at(), Some(NOW + START_AHEAD));
        stand
    }

    fn ended(&mut self, agent: &str, stopped_by: Option<&str>) -> Vec<Action> {
        let file = FileEnd { name: "run.json".into(), bytes: 1, sha256: String::new() };
        let stopped_by = stopped_by.map(|why| (Cause::Guard("budget_errors".into()), why.to_string()));
        self.says(
            agent,
            Stage::Ended(Ended { code: 0, stopped_by, error: None, notes: Vec::new(), files: vec![file] }),
        )
    }
}

fn orders(actions: &[Action]) -> Vec<(&str, &Order)> {
    let replies = actions.iter().filter_map(|action| match action {
        Action::Reply(to, reply) => Some((to, reply)),
        _ => None,
    });
    replies.map(|(to, reply)| (to.as_str(), &reply.order)).collect()
}

fn done(actions: &[Action]) -> Option<&FleetOutcome> {
    actions.iter().find_map(|action| match action {
        Action::Done(outcome) => Some(outcome),
        _ => None,
    })
}

fn is_noted(actions: &[Action], part: &str) -> bool {
    actions.iter().any(|action| matches!(action, Action::Note(note) if note.contains(part)))
}

#[test]
fn shares_are_dealt_in_the_order_in_which_agents_came() {
    let mut stand = Stand::new(2);
    stand.says("b", Stage::Waiting(machine("1", 3)));
    let out = stand.says("a", Stage::Waiting(machine("1", 2)));
    let offers: Vec<(&str, u32, u32, u32)> = orders(&out)
        .into_iter()
        .filter_map(|(to, order)| match order {
            Order::Offer(offer) => Some((to, offer.first, offer.last, offer.of)),
            _ => None,
        })
        .collect();
    assert!(offers.contains(&("b", 1, 3, 5)) && offers.contains(&("a", 4, 5, 5)), "{offers:?}");
}

#[test]
fn who_comes_too_late_or_is_another_build_has_no_place_and_goes_on_waiting() {
    let mut stand = Stand::new(1);
    let is_told = |out: &[Action]| {
        assert!(orders(out).is_empty(), "{out:?}");
        out.iter().any(|action| matches!(action, Action::Note(note) if note.contains("use the same build")))
    };
    assert!(is_told(&stand.says("old", Stage::Waiting(machine("0.9", 1)))));
    assert!(!is_told(&stand.says("old", Stage::Waiting(machine("0.9", 1)))), "once");
    stand.says("a", Stage::Waiting(machine("1", 1)));
    let out = stand.says("late", Stage::Waiting(machine("1", 1)));
    assert!(!orders(&out).iter().any(|(to, _)| *to == "late"), "{out:?}");
}

/// Who is there for another run is let go; who was never in one goes on waiting, and so does who waits for somebody else.
#[test]
fn who_is_not_needed_any_more_may_leave() {
    let mut stand = Stand::new(2);
    let task = Task { then: Then::Dismiss, ..stand.coordinator.task.clone() };
    stand.coordinator = Coordinator::new(task, NOW);
    let named = |agent: &str| Order::NotNeeded { agent: agent.to_string() };
    let out = stand.says("a", Stage::Waiting(again("c")));
    assert_eq!(orders(&out), [("a", &named("a"))]);
    assert!(stand.says("b", Stage::Waiting(again("other"))).is_empty());
    assert!(stand.says("fresh", Stage::Waiting(machine("1", 1))).is_empty());
    assert!(matches!(done(&stand.after(DISMISS_FOR, Event::Tick)), Some(FleetOutcome::NotBegun(_))));

    let leaves = |machine: Machine, agent: &str| {
        let (mut one, mut out) = (crate::agent::Agent::new("a".into(), machine, NOW), Vec::new());
        let reply = Reply {
            run: "r".into(),
            agent: "a".into(),
            answers: 0,
            order: named(agent),
            time: None,
            lost_by_bus: 0,
        };
        one.handle(NOW, crate::agent::Event::Reply(reply), &mut out);
        out.iter().any(|action| matches!(action, crate::agent::Action::Leave(_)))
    };
    assert!(leaves(again("c"), "a"));
    assert!(!leaves(again("c"), "b") && !leaves(machine("1", 1), "a"));
}

/// The runs of a command are offered by the same agents, and by no others.
#[test]
fn a_command_goes_on_with_those_who_began_it() {
    let mut stand = Stand::new(1);
    let task = Task { is_first: false, then: Then::Again, ..stand.coordinator.task.clone() };
    stand.coordinator = Coordinator::new(task, NOW);
    let is_member = |out: &[Action], who: &str| orders(out).iter().any(|(to, _)| *to == who);
    assert!(!is_member(&stand.says("fresh", Stage::Waiting(machine("1", 1))), "fresh"));
    assert!(!is_member(&stand.says("other", Stage::Waiting(again("other"))), "other"));
    assert!(is_member(&stand.says("a", Stage::Waiting(again("c"))), "a"));
    stand.says("a", Stage::Armed(Reading::default()));
    stand.says("a", Stage::Going);
    stand.ended("a", None);
    let out = stand.after(0, Event::Received("a".into()));
    let next = Order::Done { next: Next::Run("c".into()) };
    assert!(orders(&out).iter().any(|(_, order)| **order == next), "{out:?}");
}

/// Of two runs that gather in one fleet, the one that was first has the agent.
#[test]
fn an_agent_of_another_run_is_not_counted() {
    let mut stand = Stand::new(2);
    stand.says("a", Stage::Waiting(machine("1", 1)));
    stand.number += 1;
    let elsewhere =
        Status { number: stand.number, run: Some("other".into()), stage: Stage::Preparing, time: None };
    let out = stand.after(0, Event::Status("a".into(), elsewhere));
    assert!(
        out.iter().any(|action| matches!(action, Action::Note(note) if note.contains("--fleet"))),
        "{out:?}"
    );
    let out = stand.says("b", Stage::Waiting(machine("1", 1)));
    assert!(orders(&out).iter().all(|(_, order)| **order == Order::GoOn), "one of two: {out:?}");
}

#[test]
fn too_many_shares_are_no_load() {
    let mut stand = Stand::new(2);
    stand.says("a", Stage::Waiting(machine("1", 8)));
    stand.says("b", Stage::Waiting(machine("1", 1)));
    let out = stand.after(LEAVE_FOR, Event::Tick);
    let Some(FleetOutcome::NotBegun(why)) = done(&out) else { panic!("{out:?}") };
    assert!(why.reasons[0].contains("at most 8"), "{why:?}");
}

#[test]
fn all_begin_or_none_does() {
    let mut stand = Stand::new(2);
    for agent in ["a", "b"] {
        stand.says(agent, Stage::Waiting(machine("1", 1)));
    }
    stand.says("a", Stage::Armed(Reading::default()));
    let out = stand.says("b", Stage::Armed(Reading::default()));
    assert_eq!(orders(&out).iter().filter(|(_, order)| matches!(order, Order::Go { .. })).count(), 2);
    stand.says("a", Stage::Going);
    let out = stand.after(START_AHEAD - CONFIRMED_BEFORE - 1, Event::Tick);
    assert!(done(&out).is_none());
    let out = stand.after(1, Event::Tick);
    assert!(orders(&out).iter().all(|(_, order)| matches!(order, Order::Leave { .. })), "{out:?}");
    // One that had confirmed it has nothing to send until then, and leaves afterwards.
    assert!(done(&stand.after(LEAVE_FOR, Event::Tick)).is_none());
    let out = stand.after(CONFIRMED_BEFORE, Event::Tick);
    assert!(
        matches!(done(&out), Some(FleetOutcome::NotBegun(why)) if why.reasons[0].contains("did not confirm"))
    );
}

#[test]
fn a_refusal_of_one_is_one_of_all() {
    let mut stand = Stand::new(2);
    for agent in ["a", "b"] {
        stand.says(agent, Stage::Waiting(machine("1", 1)));
    }
    stand.says("a", Stage::Armed(Reading::default()));
    stand.says("b", Stage::Refused(Refusal { reasons: vec!["no".into()], by_target: true }));
    let out = stand.after(LEAVE_FOR, Event::Tick);
    let Some(FleetOutcome::NotBegun(why)) = done(&out) else { panic!("{out:?}") };
    assert!(why.by_target && why.reasons == ["the agent on h with share 2: no"], "{why:?}");
}

#[test]
fn who_is_silent_for_six_seconds_is_lost_and_may_come_back_with_its_record() {
    let mut stand = Stand::running();
    let lost = |out: &[Action]| {
        out.iter().any(|action| matches!(action, Action::Note(note) if note.contains("is lost")))
    };
    assert!(!lost(&stand.after(LOST_AFTER, Event::Tick)));
    stand.says("a", Stage::Running(Progress::default()));
    assert!(lost(&stand.after(1, Event::Tick)), "b");
    // Its word lengthens no lease any more.
    let out = stand.says("b", Stage::Running(Progress::default()));
    let answer = out.iter().find_map(|action| match action {
        Action::Reply(to, reply) if to == "b" => Some(reply),
        _ => None,
    });
    assert!(matches!(answer, Some(Reply { answers: 0, order: Order::Stop { .. }, .. })), "{out:?}");
    for agent in ["a", "b"] {
        stand.ended(agent, None);
        let out = stand.after(0, Event::Received(agent.into()));
        let Some(FleetOutcome::Run { parts, .. }) = done(&out) else { continue };
        return assert!(parts.iter().all(|part| !part.is_lost), "{parts:?}");
    }
    panic!("it does not end");
}

#[test]
fn who_does_not_come_back_is_waited_for_a_while() {
    let mut stand = Stand::running();
    for _ in 0..8 {
        stand.after(SECOND, Event::Tick);
        stand.says("a", Stage::Running(Progress::default()));
    }
    stand.ended("a", None);
    stand.after(0, Event::Received("a".into()));
    assert!(done(&stand.after(RETURN_WITHIN - 1, Event::Tick)).is_none());
    // A bus that is gone is no agent that is.
    stand.after(0, Event::Bus(false));
    assert!(done(&stand.after(30 * SECOND, Event::Tick)).is_none());
    stand.after(0, Event::Bus(true));
    let out = stand.after(RETURN_WITHIN, Event::Tick);
    let Some(FleetOutcome::Run { parts, .. }) = done(&out) else { panic!("{out:?}") };
    assert_eq!(parts.iter().map(|part| part.is_lost).collect::<Vec<_>>(), [false, true]);
}

/// Who has ended has come as far as it said last.
#[test]
fn what_has_come_stays_when_an_agent_ends() {
    let mut stand = Stand::running();
    let far = |due| Stage::Running(Progress { due, ok: due - 1, ..Progress::default() });
    stand.says("a", far(10));
    stand.says("b", far(20));
    assert_eq!(stand.coordinator.progress(), (30, 28, 2));
    stand.ended("a", None);
    assert_eq!(stand.coordinator.progress(), (30, 28, 2));
}

/// What another one has kept, as it is read back.
fn resumed(stand: &Stand, now: Time) -> Coordinator {
    let saved = stand.coordinator.saved().expect("a start is settled");
    let text = serde_json::to_string(&saved).expect("a JSON");
    let saved: Saved = serde_json::from_str(&text).expect("the same");
    Coordinator::resume(stand.coordinator.task.clone(), &saved, now)
}

/// One that takes a run up answers the words of its agents, so that their leases go on, and tells nobody to leave.
#[test]
fn a_run_is_taken_up_where_it_was_left() {
    let mut stand = Stand::running();
    stand.after(START_AHEAD + SECOND, Event::Tick);
    stand.coordinator = resumed(&stand, stand.now);
    assert_eq!(stand.coordinator.start_at(), Some(NOW + START_AHEAD));
    assert!(orders(&stand.after(SAY_AGAIN, Event::Tick)).is_empty(), "nobody is told anything");
    for agent in ["b", "a"] {
        let out = stand.says(agent, Stage::Running(Progress::default()));
        let answers = out.iter().find_map(|action| match action {
            Action::Reply(to, Reply { answers, order: Order::GoOn, .. }) if to == agent => Some(*answers),
            _ => None,
        });
        assert_eq!(answers, Some(stand.number));
    }
    for agent in ["a", "b"] {
        stand.ended(agent, None);
    }
    stand.after(0, Event::Received("a".into()));
    let out = stand.after(0, Event::Received("b".into()));
    let Some(FleetOutcome::Run { parts, stopped: None, .. }) = done(&out) else { panic!("{out:?}") };
    let shares: Vec<(&str, u32, bool)> =
        parts.iter().map(|part| (part.agent.as_str(), part.first, part.is_lost)).collect();
    assert_eq!(shares, [("a", 1, false), ("b", 3, false)]);
    assert_eq!(stand.coordinator.saved(), None, "there is nothing left to take up");
}

/// Who was lost before has no lease afterwards either, and who is never heard again is lost.
#[test]
fn who_was_lost_stays_lost_when_a_run_is_taken_up() {
    let mut stand = Stand::running();
    for _ in 0..8 {
        stand.after(SECOND, Event::Tick);
        stand.says("a", Stage::Running(Progress::default()));
    }
    stand.coordinator = resumed(&stand, stand.now);
    let out = stand.says("b", Stage::Running(Progress::default()));
    let is_stopped = |action: &Action| matches!(action, Action::Reply(to, Reply { answers: 0, order: Order::Stop { .. }, .. }) if to == "b");
    assert!(out.iter().any(is_stopped), "{out:?}");
    let out = stand.after(LOST_AFTER + 1, Event::Tick);
    let lost =
        out.iter().filter(|action| matches!(action, Action::Note(note) if note.contains("is lost"))).count();
    assert_eq!(lost, 2, "{out:?}");
}

/// A stop that was settled holds, and a start that all have yet to confirm is waited for.
#[test]
fn what_was_settled_holds_when_a_run_is_taken_up() {
    let mut stand = Stand::running();
    stand.after(START_AHEAD + SECOND, Event::Stop(Cause::Rule, "p99".into()));
    let at = stand.now + STOP_AHEAD;
    stand.coordinator = resumed(&stand, stand.now);
    let out = stand.after(SAY_AGAIN, Event::Tick);
    assert_eq!(orders(&out).len(), 2);
    let is_stop =
        |order: &Order| matches!(order, Order::Stop { at: told, cause: Cause::Rule, .. } if *told == at);
    assert!(orders(&out).iter().all(|(_, order)| is_stop(order)), "{out:?}");

    let mut stand = Stand::new(1);
    stand.says("a", Stage::Waiting(machine("1", 1)));
    stand.says("a", Stage::Armed(Reading::default()));
    let mark = stand.coordinator.mark();
    assert_ne!(mark, Stand::new(1).coordinator.mark());
    stand.coordinator = resumed(&stand, stand.now + SECOND);
    stand.now += SECOND;
    assert_eq!(stand.coordinator.mark(), mark);
    let out = stand.says("a", Stage::Armed(Reading::default()));
    let go = Order::Go { start_at: NOW + START_AHEAD };
    assert!(!orders(&out).is_empty() && orders(&out).iter().all(|(_, order)| **order == go), "{out:?}");
    let out = stand.after(SECOND, Event::Tick);
    assert!(matches!(orders(&out)[..], [("a", Order::Leave { .. })]), "it did not confirm: {out:?}");
}

/// Who is heard after all should be over is waited for a while, and told of once.
#[test]
fn who_does_not_come_to_its_end_is_not_lost_again_and_again() {
    let mut stand = Stand::running();
    for _ in 0..12 {
        stand.after(SECOND, Event::Tick);
        for agent in ["a", "b"] {
            stand.says(agent, Stage::Running(Progress::default()));
        }
    }
    stand.ended("a", None);
    stand.after(0, Event::Received("a".into()));
    let (mut notes, mut outcome) = (Vec::new(), None);
    for _ in 0..100 {
        let mut out = stand.says("b", Stage::Running(Progress::default()));
        out.extend(stand.after(SECOND / 2, Event::Tick));
        notes.extend(out.iter().filter_map(|action| match action {
            Action::Note(note) => Some(note.clone()),
            _ => None,
        }));
        outcome = outcome.or(done(&out).cloned());
    }
    assert!(notes.len() == 1 && notes[0].contains("does not come to its end"), "{notes:?}");
    let Some(FleetOutcome::Run { parts, .. }) = outcome else { panic!("it goes on for ever") };
    assert_eq!(parts.iter().map(|part| part.is_lost).collect::<Vec<_>>(), [false, true]);
}
