//! The last word of a run is lost, and another run of the same command follows.

use super::*;
use crate::agent::{self, Agent, Left};
use crate::message::FromAgent;

/// An agent and its coordinator, between whom nothing is lost but what a test leaves out.
struct Pair {
    stand: Stand,
    agent: Agent,
    left: Option<Left>,
    /// The coordinator's words to it in the name of another run than the coordinator's own.
    of_others: u32,
}

impl Pair {
    /// Its load is under way.
    fn running(then: Then) -> Pair {
        let mut stand = Stand::new(1);
        let task = Task { then, ..stand.coordinator.task.clone() };
        stand.coordinator = Coordinator::new(task, NOW);
        let agent = Agent::new("a".into(), machine("1", 1), NOW);
        let mut pair = Pair { stand, agent, left: None, of_others: 0 };
        pair.pass(SECOND / 2);
        pair.happens(agent::Event::Prepared(Ok(())));
        pair.pass(START_AHEAD + 2 * SECOND);
        assert!(pair.agent.offers_load(), "{:?}", pair.agent);
        pair
    }

    /// It has ended, and the coordinator has all of its record or not. Of what the coordinator says then the agent hears nothing.
    fn ended_unheard(then: Then, is_fetched: bool) -> (Pair, Option<FleetOutcome>) {
        let mut pair = Pair::running(then);
        let file = FileEnd { name: "run.json".into(), bytes: 1, sha256: String::new() };
        let ended = Ended { code: 0, stopped_by: None, error: None, notes: Vec::new(), files: vec![file] };
        let mut out = Vec::new();
        pair.agent.handle(pair.stand.now, agent::Event::Ended(ended), &mut out);
        for said in said(&out) {
            pair.stand.after(0, Event::Status("a".into(), said));
        }
        let mut actions = Vec::new();
        if is_fetched {
            actions = pair.stand.after(0, Event::Received("a".into()));
            assert!(matches!(orders(&actions)[..], [("a", Order::Done { .. }), ..]), "{actions:?}");
        }
        (pair, done(&actions).cloned())
    }

    /// Another coordinator, of a run of this name.
    fn is_led_by(&mut self, run: &str, change: impl FnOnce(&mut Task)) {
        let mut task = Task { run: run.into(), is_first: false, ..self.stand.coordinator.task.clone() };
        change(&mut task);
        self.stand.coordinator = Coordinator::new(task, self.stand.now);
    }

    fn happens(&mut self, event: agent::Event) {
        let mut out = Vec::new();
        self.agent.handle(self.stand.now, event, &mut out);
        let mut asks = Vec::new();
        for action in out {
            match action {
                agent::Action::Say(FromAgent::Status(status)) => {
                    let out = self.stand.after(0, Event::Status("a".into(), status));
                    self.hears(out);
                }
                agent::Action::Say(FromAgent::TimeAsk { asked_at, .. }) => asks.push(asked_at),
                agent::Action::Leave(left) => self.left = Some(left),
                _ => {}
            }
        }
        for asked_at in asks {
            let at = self.stand.now;
            self.stand.after(0, Event::TimeTold("a".into(), ToldTime { asked_at, at }));
            self.happens(agent::Event::TimeAnswer { run: "r".into(), asked_at, at });
        }
    }

    fn hears(&mut self, said: Vec<Action>) {
        for action in said {
            let Action::Reply(_, reply) = action else { continue };
            self.of_others += u32::from(reply.run != self.stand.coordinator.task.run);
            self.happens(agent::Event::Reply(reply));
        }
    }

    fn pass(&mut self, time: Time) {
        let until = self.stand.now + time;
        while self.stand.now < until && self.left.is_none() {
            let out = self.stand.after(20 * MS, Event::Tick);
            self.hears(out);
            self.happens(agent::Event::Tick);
        }
    }
}

fn said(actions: &[agent::Action]) -> Vec<Status> {
    let of = |action: &agent::Action| match action {
        agent::Action::Say(FromAgent::Status(status)) => Some(status.clone()),
        _ => None,
    };
    actions.iter().filter_map(of).collect()
}

fn fetched(outcome: &FleetOutcome) -> BTreeMap<AgentId, String> {
    outcome.fetched().map(|agent| (agent.clone(), "r".to_string())).collect()
}

/// It hears of it from whoever leads the next run, and is there for that one within a second.
#[test]
fn who_has_not_heard_the_last_word_of_a_run_hears_it_from_the_next() {
    let (mut pair, outcome) = Pair::ended_unheard(Then::Again, true);
    let fetched = fetched(&outcome.expect("it is over"));
    assert_eq!(fetched.len(), 1);
    pair.is_led_by("next", |task| task.fetched = fetched);
    pair.pass(SECOND);
    assert_eq!(pair.left, Some(Left::Done(Next::Run("c".into()))));
    let began_at = pair.stand.now;
    let mut pair = Pair { agent: Agent::new("a2".into(), again("c"), began_at), left: None, ..pair };
    let mut out = Vec::new();
    pair.agent.handle(began_at, agent::Event::Tick, &mut out);
    let said = said(&out);
    let out = pair.stand.after(0, Event::Status("a2".into(), said[0].clone()));
    let is_offer = |(to, order): &(&str, &Order)| {
        *to == "a2" && matches!(order, Order::Offer(offer) if offer.first == 1)
    };
    assert!(orders(&out).iter().any(is_offer), "{out:?}");
}

/// A command that ends without another run lets it go, too.
#[test]
fn who_has_not_heard_the_last_word_is_let_go_with_the_others() {
    let (mut pair, outcome) = Pair::ended_unheard(Then::Again, true);
    let fetched = fetched(&outcome.expect("it is over"));
    pair.is_led_by("none", |task| (task.then, task.fetched) = (Then::Dismiss, fetched));
    pair.pass(SECOND);
    assert_eq!(pair.left, Some(Left::Done(Next::Leave)));
}

/// Only of a record that is known to be here it is said, only to whom it belongs, and only in the name of its run.
#[test]
fn a_record_is_let_go_of_on_no_other_word() {
    let (mut pair, outcome) = Pair::ended_unheard(Then::Again, false);
    assert!(outcome.is_none());
    let out = pair.stand.after(LOST_AFTER + 1, Event::Tick);
    assert!(is_noted(&out, "is lost"));
    let out = pair.stand.after(RETURN_WITHIN, Event::Tick);
    let all = fetched(done(&out).expect("it is given up"));
    assert!(all.is_empty(), "what has not come is waited for where it is: {all:?}");
    let of = |agent: &str, run: &str| BTreeMap::from([(agent.to_string(), run.to_string())]);
    for fetched in [all, of("b", "r"), of("a", "before")] {
        pair.is_led_by("next", |task| task.fetched = fetched);
        pair.pass(10 * SECOND);
        assert_eq!((&pair.left, pair.of_others), (&None, 0));
    }
    // What was said in an earlier run is played again, and what belongs to this one comes while there is load.
    let last_word = |run: &str| {
        let order = Order::Done { next: Next::Run("c".into()) };
        agent::Event::Reply(Reply {
            run: run.into(),
            agent: "a".into(),
            answers: 0,
            order,
            time: None,
            lost_by_bus: 0,
        })
    };
    pair.happens(last_word("before"));
    assert_eq!(pair.left, None);
    let mut pair = Pair::running(Then::Again);
    pair.happens(last_word("before"));
    pair.happens(last_word("r"));
    assert_eq!(pair.left, None);
    assert!(pair.agent.offers_load());
}

/// Whoever offers load is not told so, whatever is known of its record.
#[test]
fn who_is_not_at_its_end_is_not_told_of_it() {
    let mut pair = Pair::running(Then::Again);
    pair.is_led_by("next", |task| task.fetched = BTreeMap::from([("a".to_string(), "r".to_string())]));
    pair.pass(SECOND);
    assert_eq!((&pair.left, pair.of_others), (&None, 0));
    assert!(pair.agent.offers_load());
}
