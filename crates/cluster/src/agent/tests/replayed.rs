//! What was said to somebody else, and is said again.

use super::*;

/// Whoever is on the bus can hear what the coordinator says to an agent whose words are ahead, and repeat it to another one.
#[test]
fn what_was_said_to_another_agent_keeps_nobody_under_load() {
    let (mut agent, start_at, mut out) = going();
    agent.handle(start_at + SECOND, Event::Tick, &mut out);
    let lease_until = agent.lease_until;
    let stop = || Order::Stop { at: start_at, cause: Cause::Rule, why: "p99".into() };
    let reply = |agent: &str, answers, order| {
        Event::Reply(Reply { agent: agent.into(), lost_by_bus: 1, ..to_me(answers, order) })
    };
    out.clear();
    for order in [Order::GoOn, stop(), Order::Leave { why: "no".into() }] {
        agent.handle(start_at + SECOND, reply("another", agent.number, order), &mut out);
    }
    assert!(out.is_empty() && agent.offers_load(), "{out:?}");
    assert_eq!(agent.lease_until, lease_until);
    agent.handle(lease_until, reply("another", agent.number, Order::GoOn), &mut out);
    let is_silent = |action: &Action| matches!(action, Action::StopLoad { cause: Cause::Lease, .. });
    assert!(out.iter().any(is_silent), "{out:?}");

    // The same words to this one are heeded.
    let (mut agent, _, mut out) = going();
    agent.handle(start_at + SECOND, Event::Tick, &mut out);
    agent.handle(start_at + SECOND, reply("me", agent.number, stop()), &mut out);
    assert!(out.contains(&Action::SendAgain) && !agent.offers_load(), "{out:?}");
    assert!(agent.lease_until > lease_until);
}
