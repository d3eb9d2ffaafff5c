use super::*;
use crate::blank::NothingToFill;
use crate::protocol::Reply;
use crate::ws::COLLECTED_MAX;
use crate::ws::handshake::accept;
use socket::{KEPT_BYTES_MAX, KEPT_MAX};

/// Writes down what it is told. A step wants messages that begin with its number.
#[derive(Default)]
struct Ear(Vec<String>);

impl Sink for Ear {
    fn ready(&mut self) {}
    fn room(&mut self, _: u32) {}
    fn retired(&mut self) {
        self.0.push("retired".into());
    }
    fn first(&mut self, _: Tag) {}
    fn head(&mut self, _: Tag, head: &[u8]) {
        if head.is_empty() {
            return;
        }
        self.0.push(format!("head {}", String::from_utf8_lossy(head).lines().next().unwrap_or_default()));
    }
    fn body(&mut self, tag: Tag, piece: &[u8]) {
        self.0.push(format!("body {} {}", tag.0, String::from_utf8_lossy(piece)));
    }
    fn done(&mut self, tag: Tag, reply: Reply) {
        let last = if reply.reusable { "" } else { " last" };
        self.0.push(format!("done {} {}{last}", tag.0, reply.code));
    }
    fn lost(&mut self, tag: Tag, violation: Violation, _: bool) {
        let Violation::Malformed(number) = violation else { panic!("{violation:?}") };
        self.0.push(format!("lost {} {}", tag.0, Steps::VIOLATIONS[usize::from(number)]));
    }
    fn unsolicited(&mut self, _: bool) {
        self.0.push("unsolicited".into());
    }
    fn pinged(&mut self) {
        self.0.push("pinged".into());
    }
    fn wants(&mut self, number: u32, message: &[u8]) -> bool {
        message.starts_with(number.to_string().as_bytes())
    }
}

struct World {
    steps: Steps,
    shared: SharedOfSteps,
    ear: Ear,
    asks: Vec<Ask>,
}

fn ask(step: Step, later: &[u32]) -> Ask {
    Ask { step, later: later.into() }
}

fn send(awaits: bool, later: &[u32]) -> Ask {
    ask(Step::Send { message: Message::new(b"hi"[..].into(), false), awaits }, later)
}

impl World {
    /// Step 0 connects; the others are these.
    fn new(others: Vec<Ask>) -> World {
        let headers = [("Authorization".to_string(), "{{3}}".to_string())];
        let handshake = Handshake::new("/chat", "a.test", &headers).unwrap();
        let later = others.first().map(|ask| ask.later.to_vec()).unwrap_or_default();
        let opening = ask(Step::Connect(Opening::new(handshake, true)), &later);
        let settings = StepSettings { limits: Limits::default(), is_binary: false };
        let asks = [vec![opening], others].concat();
        World { steps: Steps::new(&settings), shared: Steps::shared(1), ear: Ear::default(), asks }
    }

    fn submit(&mut self, number: u32) -> &mut World {
        struct Token;
        impl Filler for Token {
            fn fill(&mut self, place: u32, out: &mut Vec<u8>) {
                out.extend_from_slice(format!("token-{place}").as_bytes());
            }
        }
        let ask = self.asks[number as usize].clone();
        let tag = Tag(u64::from(number));
        match number {
            0 => self.steps.submit(&mut self.shared, tag, number, &ask, &mut Token),
            _ => self.steps.submit(&mut self.shared, tag, number, &ask, &mut NothingToFill),
        }
        self
    }

    /// All that is to be written.
    fn written(&mut self) -> Vec<u8> {
        let out = self.steps.output(&self.asks).concat();
        if !out.is_empty() {
            self.steps.wrote(out.len());
        }
        out
    }

    fn settle(&mut self) -> &mut World {
        if self.steps.is_settled() {
            self.steps.settle(&mut self.shared, &mut self.ear);
        }
        self
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Violation> {
        self.steps.feed(&mut self.shared, bytes, &mut self.ear)
    }

    fn opened(others: Vec<Ask>) -> World {
        let mut world = World::new(others);
        let asked = String::from_utf8(world.submit(0).written()).unwrap();
        assert!(asked.contains("\r\nAuthorization: token-3\r\n"), "{asked}");
        let key = asked.split("Sec-WebSocket-Key: ").nth(1).unwrap().trim();
        let answer = format!(
            "HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {}\r\n\r\n",
            accept(key)
        );
        world.feed(answer.as_bytes()).unwrap();
        assert_eq!(world.told(), ["head HTTP/1.1 101 Switching", "done 0 101"]);
        world
    }

    fn told(&mut self) -> Vec<String> {
        std::mem::take(&mut self.ear.0)
    }
}

fn text(payload: &str) -> Vec<u8> {
    [&[0x81, payload.len() as u8][..], payload.as_bytes()].concat()
}

#[test]
fn a_message_without_an_answer_ends_once_it_is_written() {
    let mut world = World::opened(vec![send(false, &[])]);
    world.submit(1).settle();
    assert!(world.told().is_empty(), "it has yet to be written");
    let out = world.steps.output(&world.asks).concat();
    world.steps.wrote(out.len() - 1);
    assert!(!world.steps.is_settled());
    world.steps.wrote(1);
    world.settle();
    assert_eq!(world.told(), ["done 1 101"]);
}

#[test]
fn an_answer_is_the_first_message_that_is_wanted() {
    let mut world = World::opened(vec![send(true, &[])]);
    world.submit(1).written();
    world.feed(&[text("2"), b"\x89\x00".to_vec(), text("1a"), text("1b")].concat()).unwrap();
    assert_eq!(world.told(), ["unsolicited", "pinged", "body 1 1a", "done 1 101", "unsolicited"]);
}

/// Step 1 sends, 2 and 3 await: what came for them before they began is theirs, in any order.
#[test]
fn what_a_later_step_wants_is_kept_until_then() {
    let later = |from: u32| (from..=3).collect::<Vec<_>>();
    let asks = vec![send(false, &later(2)), ask(Step::Await, &later(3)), ask(Step::Await, &[])];
    let mut world = World::opened(asks);
    world.submit(1).written();
    world.settle().feed(&[text("3x"), text("2y"), text("9"), text("2z")].concat()).unwrap();
    assert_eq!(world.told(), ["done 1 101", "unsolicited"]);
    world.submit(2).settle();
    assert_eq!(world.told(), ["body 2 2y", "done 2 101"]);
    world.submit(3).settle();
    assert_eq!(world.told(), ["body 3 3x", "done 3 101"]);
    world.submit(3).settle().feed(&text("3w")).unwrap();
    assert_eq!(world.told(), ["body 3 3w", "done 3 101"], "nothing was kept for it any more");
}

#[test]
fn more_than_can_be_kept_ends_the_socket() {
    let overflow = Violation::Malformed(OF_HTTP as u16 + Fault::UnawaitedOverflow.number());
    let mut world = World::opened(vec![send(false, &[2]), ask(Step::Await, &[])]);
    world.submit(1).written();
    for _ in 0..KEPT_MAX {
        world.feed(&text("2")).unwrap();
    }
    assert_eq!(world.feed(&text("2")), Err(overflow));
    let mut world = World::opened(vec![send(false, &[2]), ask(Step::Await, &[])]);
    world.submit(1).written();
    let large = |bytes: usize| {
        let head = [&b"\x82\x7f"[..], &(bytes as u64).to_be_bytes()].concat();
        [head, vec![b'2'; bytes]].concat()
    };
    world.feed(&large(KEPT_BYTES_MAX)).unwrap();
    assert_eq!(world.feed(&text("2")), Err(overflow));
}

#[test]
fn a_close_is_answered_by_the_servers_own() {
    let mut world = World::opened(vec![ask(Step::Close, &[])]);
    let out = world.submit(1).written();
    assert_eq!((out[0], out.len()), (0x88, 8), "masked, with a status");
    world.feed(b"\x88\x02\x03\xe8").unwrap();
    assert_eq!(world.told(), ["done 1 101 last"]);
    assert!(world.written().is_empty(), "it is not answered again");
}

#[test]
fn a_socket_that_the_server_closes_fails_the_step_that_meets_it() {
    let mut world = World::opened(vec![send(true, &[])]);
    world.submit(1).written();
    world.feed(b"\x88\x02\x03\xe9").unwrap();
    assert_eq!(world.told(), ["retired", "lost 1 closed_going_away"]);
    assert_eq!(world.written()[0], 0x88, "it is answered");
    // Between two steps.
    let mut world = World::opened(vec![send(true, &[])]);
    world.feed(b"\x88\x02\x03\xe9").unwrap();
    assert!(world.told().is_empty());
    world.written();
    world.submit(1).settle();
    assert_eq!(world.told(), ["retired", "lost 1 closed_going_away"]);
    let eof = world.steps.eof(true, &mut world.ear);
    assert_eq!(eof, Err(shifted(Fault::ClosedGoingAway.into())));
}

#[test]
fn a_refused_switch_is_a_violation_of_its_own() {
    let mut world = World::new(vec![]);
    world.submit(0).written();
    let refused = world.feed(b"HTTP/1.1 403 Forbidden\r\n\r\n").unwrap_err();
    let Violation::Malformed(number) = refused else { panic!("{refused:?}") };
    assert_eq!(Steps::VIOLATIONS[usize::from(number)], "refused_4xx");
}

#[test]
fn requests_of_http_are_what_they_are_without_sockets() {
    let settings = StepSettings { limits: Limits::default(), is_binary: false };
    let request = http1::Request {
        head: b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"[..].into(),
        body: [].into(),
        kind: crate::RequestKind::Normal,
        closes: false,
        blank: None,
    };
    let asks = vec![ask(Step::Http(request), &[])];
    let mut world =
        World { steps: Steps::new(&settings), shared: Steps::shared(1), ear: Ear::default(), asks };
    world.steps.submit(&mut world.shared, Tag(7), 0, &world.asks[0], &mut NothingToFill);
    assert_eq!(world.written(), b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    world.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi").unwrap();
    assert_eq!(world.told(), ["head HTTP/1.1 200 OK", "body 7 hi", "done 7 200"]);
}

#[test]
fn no_two_violations_share_a_name() {
    let mut names = VIOLATIONS.to_vec();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), VIOLATIONS.len());
}

fn head_of(bytes: usize) -> Vec<u8> {
    [&b"\x82\x7f"[..], &(bytes as u64).to_be_bytes()].concat()
}

#[test]
fn a_message_is_collected_up_to_a_bound() {
    let unchecked = Violation::Malformed(OF_HTTP as u16 + Fault::MessageUnchecked.number());
    let mut world = World::opened(vec![send(true, &[])]);
    world.submit(1).written();
    let half = vec![b'2'; COLLECTED_MAX / 2];
    for piece in [&head_of(COLLECTED_MAX), &half, &half] {
        world.feed(piece).unwrap();
    }
    assert_eq!(world.told(), ["unsolicited"], "the longest that is looked at");
    for piece in [&head_of(COLLECTED_MAX + 1), &half, &half] {
        world.feed(piece).unwrap();
    }
    assert_eq!(world.feed(b"2"), Err(unchecked));
}

#[test]
fn the_memory_of_a_long_message_is_not_kept() {
    let mut world = World::opened(vec![send(true, &[])]);
    world.submit(1).written();
    world.feed(&[head_of(1 << 20), vec![b'2'; 1 << 20]].concat()).unwrap();
    let kept: usize = world.shared.ws.spare.iter().map(Vec::capacity).sum();
    assert!((1..128 << 10).contains(&kept), "{kept} bytes");
}

#[test]
fn pings_whose_pongs_are_not_read_are_a_flood() {
    let flood = Violation::Malformed(OF_HTTP as u16 + Fault::Flood.number());
    let mut world = World::opened(vec![send(true, &[])]);
    let ping = [&b"\x89\x7d"[..], &[0; 125]].concat();
    // A pong is a head of 6 bytes and what the ping brought.
    let taken = (0..).take_while(|_| world.feed(&ping).is_ok()).count();
    assert_eq!(taken, (1 << 20) / 131 + 1);
    assert_eq!(world.feed(&ping), Err(flood));
}
