//! What an agent takes, and what it takes for an answer.

use super::*;
use crate::message::ToldTime;

mod replayed;

const NOW: Time = 1_000_000 * SECOND;

/// What the coordinator says to this agent.
fn to_me(answers: u64, order: Order) -> Reply {
    Reply { run: "r".into(), agent: "me".into(), answers, order, time: None, lost_by_bus: 0 }
}

fn machine() -> Machine {
    Machine::new("1", "h".into(), 1)
}

fn offer(agent: &str, made_at: Time, version: &str) -> Event {
    let offer = Offer {
        protocol: PROTOCOL,
        version: version.into(),
        made_at,
        agent: agent.into(),
        first: 1,
        last: 1,
        of: 1,
        arguments: Vec::new(),
        part: None,
        files: Vec::new(),
        run_seed: 1,
    };
    Event::Reply(to_me(0, Order::Offer(Box::new(offer))))
}

/// What an agent says after an offer.
fn said(event: Event) -> Vec<Action> {
    let (mut agent, mut out) = (Agent::new("me".into(), machine(), NOW), Vec::new());
    agent.handle(NOW, event, &mut out);
    out.retain(|action| {
        !matches!(action, Action::Say(FromAgent::Status(Status { stage: Stage::Waiting(_), .. })))
    });
    out
}

#[test]
fn an_offer_is_for_one_process_and_one_time() {
    assert!(said(offer("another", NOW, "1")).is_empty(), "it is not heard");
    assert!(matches!(&said(offer("me", NOW, "1"))[..], [Action::Prepare(..), ..]));
    assert!(matches!(&said(offer("me", NOW + 60 * SECOND, "1"))[..], [Action::Prepare(..), ..]));
    for (event, why) in [
        (offer("me", NOW - 601 * SECOND, "1"), "10 minutes"),
        (offer("me", NOW + 601 * SECOND, "1"), "10 minutes"),
        (offer("me", NOW, "2"), "is unblink 2"),
    ] {
        let out = said(event);
        let [Action::Say(FromAgent::Status(Status { stage: Stage::Refused(refusal), .. }))] = &out[..] else {
            panic!("{out:?}");
        };
        assert!(refusal.reasons[0].contains(why), "{refusal:?}");
    }
}

#[test]
fn only_what_answers_a_word_lengthens_the_lease() {
    let (mut agent, mut out) = (Agent::new("me".into(), machine(), NOW), Vec::new());
    agent.handle(NOW, offer("me", NOW, "1"), &mut out);
    let reply = |answers| Event::Reply(to_me(answers, Order::GoOn));
    agent.handle(NOW, reply(77), &mut out);
    assert_eq!(agent.lease_until, NOW, "it has said no such thing");
    let number = agent.number;
    agent.handle(NOW + SECOND, reply(number), &mut out);
    assert_eq!(agent.lease_until, NOW + LEASE, "from when it was said, not from when it was answered");
    let other = Event::Reply(Reply { run: "other".into(), ..to_me(number + 1, Order::GoOn) });
    agent.handle(NOW + SECOND, other, &mut out);
    assert_eq!(agent.lease_until, NOW + LEASE);
}

/// How much of its own limit an agent may use follows from them.
#[test]
fn an_offer_has_shares_that_make_sense() {
    for (first, last, of) in [(0, 0, 1), (0, u32::MAX, u32::MAX), (2, 1, 2), (1, 2, 1)] {
        let mut event = offer("me", NOW, "1");
        if let Event::Reply(Reply { order: Order::Offer(offer), .. }) = &mut event {
            (offer.first, offer.last, offer.of) = (first, last, of);
        }
        let out = said(event);
        let [Action::Say(FromAgent::Status(Status { stage: Stage::Refused(refusal), .. }))] = &out[..] else {
            panic!("{out:?}");
        };
        assert!(refusal.reasons[0].contains("shares make no sense"), "{refusal:?}");
    }
}

/// Who sends knows when the lease ends before it does, since the process may be stopped until then.
#[test]
fn who_sends_is_told_of_the_lease() {
    let (mut agent, mut out) = (Agent::new("me".into(), machine(), NOW), Vec::new());
    agent.handle(NOW, offer("me", NOW, "1"), &mut out);
    let leases = |out: &[Action]| -> Vec<Time> {
        let of = |action: &Action| if let Action::LeaseUntil(until) = action { Some(*until) } else { None };
        out.iter().filter_map(of).collect()
    };
    let reply = |answers, order| Event::Reply(to_me(answers, order));
    agent.state = State::Armed(Reading::default());
    agent.handle(NOW + SECOND, reply(agent.number, Order::GoOn), &mut out);
    assert!(leases(&out).is_empty(), "there is no load");
    let go = Order::Go { start_at: NOW + 3 * SECOND };
    agent.handle(NOW + SECOND, reply(agent.number, go), &mut out);
    let first = agent.lease_until;
    assert_eq!(leases(&out), [first], "with the start");
    agent.handle(NOW + 2 * SECOND, Event::Tick, &mut out);
    assert_eq!(leases(&out), [first], "nobody has said anything");
    agent.handle(NOW + 3 * SECOND, reply(agent.number, Order::GoOn), &mut out);
    assert_eq!(leases(&out), [first, NOW + 2 * SECOND + LEASE]);
}

/// All answers about the time until there are enough. The coordinator's clock is so much ahead, and each way takes 10 us. Gives what
/// was said meanwhile.
fn compare(agent: &mut Agent, from: Time, ahead: Time) -> Vec<Action> {
    let mut all = Vec::new();
    agent.handle(from, Event::Tick, &mut all);
    let mut done = 0;
    while done < all.len() {
        if let Action::Say(FromAgent::TimeAsk { asked_at, .. }) = all[done] {
            let answer = Event::TimeAnswer { run: "r".into(), asked_at, at: asked_at + 10_000 + ahead };
            // Whoever leads another run in the fleet is not asked, and faster.
            let other = Event::TimeAnswer { run: "other".into(), asked_at, at: asked_at + 77 };
            agent.handle(asked_at + 10_000, other, &mut all);
            agent.handle(asked_at + 20_000, answer, &mut all);
        }
        done += 1;
    }
    all
}

/// The word in which it says what it would go by, and that.
fn asked_to_vouch(said: &[Action]) -> (u64, ToldTime) {
    let of = |action: &Action| match action {
        Action::Say(FromAgent::Status(Status { number, time, .. })) => Some((*number, (*time)?)),
        _ => None,
    };
    said.iter().find_map(of).expect("it asks")
}

/// One that is ready and knows a time for which nobody has vouched yet, which it says in that word.
fn comparing() -> (Agent, (u64, ToldTime)) {
    let (mut agent, mut out) = (Agent::new("me".into(), machine(), NOW), Vec::new());
    agent.handle(NOW, offer("me", NOW, "1"), &mut out);
    agent.handle(NOW, Event::Prepared(Ok(())), &mut out);
    // It has asked once already.
    let said = compare(&mut agent, NOW + ASK_AGAIN, 500);
    (agent, asked_to_vouch(&said))
}

fn vouches(answers: u64, time: Option<ToldTime>) -> Event {
    Event::Reply(Reply { time, ..to_me(answers, Order::GoOn) })
}

/// Whoever is on the bus can say what time it is: what the coordinator does not sign does not count.
#[test]
fn a_time_is_gone_by_that_the_coordinator_vouches_for() {
    let is_armed =
        |agent: &Agent| matches!(agent.state, State::Armed(Reading { offset_ns: 500, error_ns: 10_000 }));
    let later = NOW + SECOND;
    let (mut agent, (number, told)) = comparing();
    assert!(matches!(agent.state, State::Comparing), "{:?}", agent.state);
    let mut out = Vec::new();
    agent.handle(later, vouches(number - 1, None), &mut out);
    assert!(matches!(agent.state, State::Comparing), "that answers an earlier word");
    agent.handle(later, vouches(number, Some(told)), &mut out);
    assert!(is_armed(&agent), "{:?}", agent.state);

    let other = ToldTime { at: told.at + 1, ..told };
    for time in [None, Some(other)] {
        let (mut agent, (number, _)) = comparing();
        agent.handle(later, vouches(number, time), &mut out);
        let State::Refused(refusal) = &agent.state else { panic!("{time:?}: {:?}", agent.state) };
        assert!(refusal.reasons[0].contains("somebody else speaks on the bus"), "{refusal:?}");
    }
}

/// One that begins two seconds from now, and what it did until then.
fn going() -> (Agent, Time, Vec<Action>) {
    let (mut agent, (number, told)) = comparing();
    let mut out = Vec::new();
    agent.handle(NOW + SECOND / 2, vouches(number, Some(told)), &mut out);
    let start_at = NOW + 2 * SECOND;
    let go = Order::Go { start_at: start_at + 500 };
    let go = to_me(agent.number, go);
    agent.handle(NOW + SECOND, Event::Reply(go), &mut out);
    (agent, start_at, out)
}

/// What its script asks for is said at once, and again with each word.
#[test]
fn a_script_that_asks_for_the_end_is_heard() {
    let (mut agent, start_at, _) = going();
    let asks = |action: &Action| match action {
        Action::Say(FromAgent::Status(Status { stage: Stage::Running(progress), .. })) => {
            progress.asks_to_stop
        }
        _ => false,
    };
    let (under_way, mut said) = (start_at + SECOND, Vec::new());
    agent.handle(under_way, Event::Tick, &mut said);
    assert!(!said.iter().any(asks));
    agent.handle(under_way, Event::AsksToStop, &mut said);
    agent.handle(under_way, Event::AsksToStop, &mut said);
    assert_eq!(said.iter().filter(|action| asks(action)).count(), 1, "{said:?}");
    agent.handle(under_way, Event::Progress { due: 1, ok: 1 }, &mut said);
    agent.handle(under_way + SPEAK_EVERY, Event::Tick, &mut said);
    assert_eq!(said.iter().filter(|action| asks(action)).count(), 2, "{said:?}");
}

/// A minute after the start the clocks are compared again, and what came of it is kept; the schedule stays.
#[test]
fn a_minute_later_clocks_are_compared_again() {
    let (mut agent, start_at, mut out) = going();
    let later = start_at + COMPARE_EVERY;
    agent.handle(later - 1, Event::Tick, &mut out);
    let mut compared = Vec::new();
    // What somebody else has told does not count, and does not end the load either.
    for (from, is_true) in [(later, false), (later + COMPARE_EVERY + SECOND, true)] {
        let said = compare(&mut agent, from, 3_500);
        let (number, told) = asked_to_vouch(&said);
        agent.handle(from + SECOND, vouches(number, is_true.then_some(told)), &mut compared);
    }
    let readings: Vec<_> = compared
        .iter()
        .filter_map(|action| match action {
            Action::Compared { at, reading } => {
                Some((*at > later + COMPARE_EVERY, reading.offset_ns, reading.error_ns))
            }
            _ => None,
        })
        .collect();
    assert_eq!(readings, [(true, 3_500, 10_000)]);
    assert!(!out.iter().any(|action| matches!(action, Action::Compared { .. })), "not before the start");
}

/// However often it is said, and however late an older answer comes.
#[test]
fn what_the_bus_has_lost_is_sent_again_once() {
    let (mut agent, mut out) = (Agent::new("me".into(), machine(), NOW), Vec::new());
    agent.handle(NOW, offer("me", NOW, "1"), &mut out);
    let mut again = |run: &str, lost_by_bus| {
        let mut out = Vec::new();
        let reply = Reply { run: run.into(), lost_by_bus, ..to_me(0, Order::GoOn) };
        agent.handle(NOW, Event::Reply(reply), &mut out);
        out.iter().filter(|action| matches!(action, Action::SendAgain)).count()
    };
    let heard = [("r", 0), ("r", 1), ("r", 1), ("r", 0), ("another", 7), ("r", 3), ("r", 2)];
    assert_eq!(heard.map(|(run, number)| again(run, number)), [0, 1, 0, 0, 0, 1, 0]);
}

/// Who signs with a key that does not count here is told so, and nothing else comes of it: the agent waits for others, and takes an
/// offer of the same run from who does count.
#[test]
fn a_stranger_is_told_so_and_keeps_it_from_nothing() {
    let (mut agent, mut out) = (Agent::new("me".into(), machine(), NOW), Vec::new());
    let (by, accepts) = ("UOTHER".to_string(), vec!["UOWN".to_string()]);
    let offered = |to: &str| {
        let (agent, by, accepts) = (to.to_string(), by.clone(), accepts.clone());
        Event::Stranger { run: "r".into(), agent, by, accepts }
    };
    agent.handle(NOW, Event::Tick, &mut out);
    out.clear();
    agent.handle(NOW, offered("another"), &mut out);
    assert!(out.is_empty(), "{out:?}");
    agent.handle(NOW, offered("me"), &mut out);
    let told = FromAgent::Stranger { run: "r".into(), by: by.clone(), accepts: accepts.clone() };
    assert_eq!(out, [Action::Say(told)]);
    out.clear();
    agent.handle(NOW + SPEAK_EVERY, Event::Tick, &mut out);
    let waits = |action: &Action| {
        matches!(action, Action::Say(FromAgent::Status(Status { run: None, stage: Stage::Waiting(_), .. })))
    };
    assert!(out.len() == 1 && waits(&out[0]), "{out:?}");
    let leave = to_me(0, Order::Leave { why: "no".into() });
    agent.handle(NOW + SECOND, Event::Reply(leave), &mut out);
    agent.handle(NOW + SECOND, offer("me", NOW, "1"), &mut out);
    assert!(out.iter().any(|action| matches!(action, Action::Prepare(..))), "{out:?}");
    out.clear();
    agent.handle(NOW + SECOND, offered("me"), &mut out);
    assert!(out.is_empty(), "it takes part in a run: {out:?}");
}

/// Who is told to end before its load says so once, whatever it is doing, and says nothing any more.
#[test]
fn who_leaves_in_order_has_a_last_word() {
    let waiting = Agent::new("me".into(), machine(), NOW);
    for mut agent in [waiting, comparing().0, going().0] {
        let mut out = Vec::new();
        agent.handle(NOW + SECOND, Event::Leaving("SIGTERM".into()), &mut out);
        assert_eq!(out, [Action::Say(FromAgent::Leaves { why: "SIGTERM".into() })]);
        agent.handle(NOW + SECOND, Event::Leaving("SIGTERM".into()), &mut out);
        agent.handle(NOW + SECOND, offer("me", NOW, "1"), &mut out);
        agent.handle(NOW + 60 * SECOND, Event::Tick, &mut out);
        assert_eq!(out.len(), 1, "{out:?}");
    }
}

/// What an agent that has `known` does about files with these contents at first.
fn offered(contents: &[&str], known: Known) -> (Agent, Vec<Action>) {
    let file = |content: &&str| OfferedFile {
        name: format!("{content}.csv"),
        bytes: content.len() as u64,
        sha256: crate::record::sha256(content.as_bytes()),
    };
    let mut event = offer("me", NOW, "1");
    if let Event::Reply(Reply { order: Order::Offer(offer), .. }) = &mut event {
        offer.files = contents.iter().map(file).collect();
    }
    let (mut agent, mut out) = (Agent::new("me".into(), machine(), NOW).knowing(known), Vec::new());
    agent.handle(NOW, event, &mut out);
    (agent, out)
}

fn known(contents: &[&str]) -> Known {
    let entry =
        |content: &&str| (crate::record::sha256(content.as_bytes()), Arc::new(content.as_bytes().to_vec()));
    contents.iter().map(entry).collect()
}

/// The contents with which it makes ready, and what it asks for.
fn files_of(out: &[Action]) -> (Option<Vec<String>>, Vec<&str>) {
    let text = |bytes: &Arc<Vec<u8>>| String::from_utf8(bytes.to_vec()).expect("a text");
    let with = out.iter().find_map(|action| match action {
        Action::Prepare(_, files) => Some(files.iter().map(text).collect()),
        _ => None,
    });
    let asked = out.iter().filter_map(|action| match action {
        Action::Say(FromAgent::Fetch { sha256, .. }) => Some(sha256.as_str()),
        _ => None,
    });
    (with, asked.collect())
}

/// Runs of a command read the same files, which travel once.
#[test]
fn what_is_known_of_a_run_before_is_not_fetched() {
    let (_, out) = offered(&["one", "two", "one"], known(&["one", "two", "of no use"]));
    let all = ["one", "two", "one"].map(String::from).to_vec();
    assert_eq!(files_of(&out), (Some(all), Vec::new()));

    // Of the same name and length, and another file.
    let (mut agent, out) = offered(&["one", "two"], known(&["one", "new"]));
    let of_two = crate::record::sha256(b"two");
    assert_eq!(files_of(&out), (None, vec![of_two.as_str()]));
    let mut out = Vec::new();
    for (offset, data) in [(0, b"t".to_vec()), (1, b"wo".to_vec())] {
        agent.handle(NOW + 1, Event::Piece { sha256: of_two.clone(), offset, data }, &mut out);
    }
    assert_eq!(files_of(&out).0, Some(["one", "two"].map(String::from).to_vec()));
    assert!(agent.known.is_empty(), "the next run has what this one gives back");

    // What breaks off is fetched from its beginning.
    let cut = BTreeMap::from([(of_two.clone(), Arc::new(b"tw".to_vec()))]);
    let (_, out) = offered(&["two"], cut);
    assert!(out.contains(&Action::Say(FromAgent::Fetch { run: "r".into(), sha256: of_two, offset: 0 })));
}

/// What a load goes on with by itself after a rule is cut off by whoever wants it to end; the load has ended where it had.
#[test]
fn a_stop_that_waits_is_followed_by_one_that_does_not() {
    let (mut agent, mut out) = (Agent::new("me".into(), machine(), NOW), Vec::new());
    agent.handle(NOW, offer("me", NOW, "1"), &mut out);
    agent.state = State::Running(Progress::default());
    agent.lease_until = NOW + LEASE;
    let stop = |agent: &mut Agent, at, cause: Cause| {
        let order = Order::Stop { at, cause, why: "so".into() };
        let reply = to_me(0, order);
        let mut out = Vec::new();
        agent.handle(NOW, Event::Reply(reply), &mut out);
        let told = |action: Action| match action {
            Action::StopLoad { at, cause, .. } => Some((at, cause)),
            _ => None,
        };
        out.into_iter().find_map(told)
    };
    assert_eq!(stop(&mut agent, NOW + SECOND, Cause::Rule), Some((NOW + SECOND, Cause::Rule)));
    assert_eq!(stop(&mut agent, NOW + 2 * SECOND, Cause::Enough), None);
    let cut = (NOW + 2 * SECOND, Cause::Coordinator);
    assert_eq!(stop(&mut agent, cut.0, cut.1.clone()), Some(cut));
    assert_eq!(stop(&mut agent, NOW + 3 * SECOND, Cause::Coordinator), None, "it is cut off already");
    assert_eq!(agent.stop_at, Some(NOW + SECOND));
}
