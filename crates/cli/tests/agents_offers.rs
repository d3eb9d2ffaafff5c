//! What an agent's process makes of offers that are signed by whom it trusts and are not for it: spoken by hand, over a real bus.

use crate::support::bus::Bus;
use crate::support::hostile::{Hostile, healthy};
use crate::support::somebody::Somebody;
use crate::support::{Place, Started};
use std::process::Command;
use std::time::{Duration, SystemTime};
use unblink_cluster::PROTOCOL;
use unblink_cluster::message::{
    FromAgent, FromCoordinator, Machine, Offer, Order, Refusal, Reply, Stage, Status, Time,
};
use unblink_cluster::signed::sign;

const RUN: &str = "by hand";

/// An agent that waits, and somebody with the operator's key.
struct Talk {
    bus: Bus,
    target: Hostile,
    agent: Started,
    somebody: Somebody,
    /// Where the agent hears what it is told, and who it says it is.
    to: String,
    machine: Machine,
    _place: Place,
}

impl Talk {
    fn begin() -> Talk {
        Talk::begin_with(&[])
    }

    /// With these arguments of the agent's own user.
    fn begin_with(own: &[&str]) -> Talk {
        let (target, place) = (healthy(), Place::new());
        let bus = Bus::start(&place);
        let mut somebody = Somebody::join(&bus.url, None).expect("it lets everybody in");
        somebody.listens_to("ub.*.up.*");
        let agent = bus.agent(&place, "own", own);
        let (subject, FromAgent::Status(Status { stage: Stage::Waiting(machine), .. })) = somebody.hears()
        else {
            panic!("it says first that it waits");
        };
        let to = subject.replace(".up.", ".to.");
        Talk { bus, target, agent, somebody, to, machine, _place: place }
    }

    fn id(&self) -> &str {
        self.to.rsplit('.').next().expect("a name")
    }

    /// As its coordinator would make it at that time.
    fn offer(&self, made_at: Time) -> Offer {
        let load = ["run", &self.target.url(), "-R", "10", "-d", "1s", "--no-preflight"];
        Offer {
            protocol: PROTOCOL,
            version: self.machine.version.clone(),
            made_at,
            agent: self.id().to_string(),
            first: 1,
            last: 1,
            of: 1,
            arguments: load.map(str::to_string).to_vec(),
            part: None,
            files: Vec::new(),
            run_seed: 1,
        }
    }

    fn orders(&mut self, order: Order) {
        let reply = Reply {
            run: RUN.into(),
            agent: self.id().to_string(),
            answers: 0,
            order,
            time: None,
            lost_by_bus: 0,
        };
        let signed = sign(&reply, &self.bus.operator).expect("a private key");
        self.somebody.tells(&self.to, &FromCoordinator::Reply(signed));
    }

    /// What it says next of where it stands, and of which run.
    fn stands(&mut self) -> (Option<String>, Stage) {
        loop {
            if let (_, FromAgent::Status(status)) = self.somebody.hears() {
                return (status.run, status.stage);
            }
        }
    }

    /// The first that it says of the run that it was offered.
    fn answers(&mut self) -> Stage {
        loop {
            if let (Some(run), stage) = self.stands() {
                assert_eq!(run, RUN);
                return stage;
            }
        }
    }

    /// Lets it go. Nothing was sent.
    fn dismiss(mut self) {
        self.orders(Order::Leave { why: "that was all".into() });
        let said = self.agent.wait();
        assert_eq!(said.code(), Some(3), "{said:?}");
        assert!(said.stderr.contains(": that was all"), "{said:?}");
        assert!(self.target.seen().is_empty(), "it offers no load");
    }
}

/// So far from now.
fn at(seconds: i64) -> Time {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
    let apart = Duration::from_secs(seconds.unsigned_abs());
    let at = if seconds < 0 { now - apart } else { now + apart };
    u64::try_from(at.as_nanos()).expect("before 2554")
}

/// Why an agent with such arguments refuses an offer that was changed.
#[track_caller]
fn reasons(own: &[&str], change: impl Fn(&mut Offer)) -> String {
    let mut talk = Talk::begin_with(own);
    let mut offer = talk.offer(at(0));
    change(&mut offer);
    talk.orders(Order::Offer(Box::new(offer)));
    loop {
        match talk.answers() {
            Stage::Refused(refusal) => {
                talk.dismiss();
                return refusal.reasons.join("; ");
            }
            stage => assert!(matches!(stage, Stage::Preparing), "{stage:?}"),
        }
    }
}

/// It says why, again and again for as long as nobody has let it go, and is there until then.
#[track_caller]
fn refused(change: impl Fn(&mut Offer), why: &str) {
    let mut talk = Talk::begin();
    let mut offer = talk.offer(at(0));
    change(&mut offer);
    talk.orders(Order::Offer(Box::new(offer)));
    for _ in 0..2 {
        let Stage::Refused(Refusal { reasons, by_target }) = talk.answers() else {
            panic!("it takes part: {why}");
        };
        assert!(reasons.len() == 1 && reasons[0].contains(why) && !by_target, "{reasons:?}");
    }
    assert!(talk.agent.is_running());
    talk.dismiss();
}

#[test]
fn an_offer_of_another_time_is_refused() {
    refused(|offer| offer.made_at = at(-601), "more than 10 minutes ago");
    // Time passes until it is heard.
    refused(|offer| offer.made_at = at(660), "set the clocks");
}

#[test]
fn an_offer_of_another_version_is_refused() {
    refused(|offer| offer.version = "0.0.1".into(), "the coordinator is unblink 0.0.1, and this is unblink ");
    refused(|offer| offer.protocol += 1, "the coordinator is unblink ");
}

/// What was once said to another process is not heard; the same for this one is.
#[test]
fn an_offer_is_heard_by_the_process_that_it_names() {
    let mut talk = Talk::begin();
    let own = talk.offer(at(-300));
    talk.orders(Order::Offer(Box::new(Offer { agent: "another".into(), ..own.clone() })));
    for _ in 0..3 {
        let (run, stage) = talk.stands();
        assert!(run.is_none() && matches!(stage, Stage::Waiting(_)), "{stage:?}");
    }
    talk.orders(Order::Offer(Box::new(own)));
    let stage = talk.answers();
    assert!(matches!(stage, Stage::Preparing), "{stage:?}");
    talk.dismiss();
}

/// Whatever names a file that did not come with the run: it is not opened, so that nothing that stands in it comes back, and a pipe
/// keeps nobody waiting.
#[test]
fn no_file_is_read_that_was_not_offered() {
    let place = Place::new();
    let own = place.file("own.txt", "root:s3cret-of-the-machine:19000\n-----BEGIN s3cret-of-the-machine\n");
    let pipe = place.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    let plan = place.file("own.toml", "s3cret-of-the-machine = 1\n");
    let (own, pipe, plan) = (own.display(), pipe.display(), plan.display());
    let (line, rows) = (format!("100% POST /a @{own}"), format!("user=csv({own})"));
    let (own, pipe, plan) = (own.to_string(), pipe.to_string(), plan.to_string());
    let (http, redis, grpc) = ("http://127.0.0.1:9/", "redis://127.0.0.1:9/", "grpc://127.0.0.1:9/a.B/C");
    let naming: [&[&str]; 13] = [
        &[http, "--trace", &own, "--trace-column", "x"],
        &[http, "--trace", &pipe],
        &[http, "--replay", &own],
        &["--targets", &own, "-R", "10", "-d", "1s"],
        &["--targets", "-", "-R", "10", "-d", "1s"],
        &[http, "--body-file", &pipe, "-R", "10", "-d", "1s"],
        &[http, "--request", &line, "-R", "10", "-d", "1s"],
        &["http://127.0.0.1:9/{{user.x}}", "--let", &rows, "-R", "10", "-d", "1s"],
        &[grpc, "--proto", &own, "-R", "10", "-d", "1s"],
        &[grpc, "--descriptor-set", &own, "-R", "10", "-d", "1s"],
        &[redis, "-P", &own, "-R", "10", "-d", "1s"],
        &[http, "--script", &own, "-R", "10", "-d", "1s"],
        &[&plan],
    ];
    let asked = |arguments: &[&str]| {
        let arguments = [&["run"], arguments, &["--no-preflight"]].concat();
        let reasons = reasons(&["--allow-scripts"], |offer| {
            offer.arguments = arguments.iter().map(ToString::to_string).collect();
        });
        assert!(!reasons.contains("s3cret"), "{arguments:?}: {reasons}");
        reasons
    };
    for arguments in naming {
        let said = asked(arguments);
        assert!(said.contains("was not offered"), "{arguments:?}: {said}");
    }
    for flag in ["--cacert", "--cert", "--key"] {
        let (other, same) = if flag == "--key" { ("--cert", &pipe) } else { ("--key", &own) };
        let pair = if flag == "--cacert" { &[][..] } else { &[other, same.as_str()] };
        let named = [&["https://127.0.0.1:9/", "-R", "10", "-d", "1s", flag, own.as_str()], pair].concat();
        let said = asked(&named);
        assert!(said.contains("its own files"), "{flag}: {said}");
    }
}
