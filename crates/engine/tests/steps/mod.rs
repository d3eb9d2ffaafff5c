//! A journey over a WebSocket of its own, and a server that sends its messages back.

use super::job_of;
use std::net::{SocketAddr, TcpListener};
use unblink_core::dispatch::Pool;
use unblink_core::journey::{JourneySpec, Journeys, REPEAT_MAX, StepSpec, Think};
use unblink_core::mix::Mix;
use unblink_core::origins::{Origins, SocketUse};
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::time::Nanos;
use unblink_engine::job::Job;
use unblink_wire::Limits;
use unblink_wire::ws::{Ask, Handshake, Message, Opening, Step, StepSettings, Steps};
use unblink_workload::answer::{Expect, Expects, Needle};

/// Steps that say the same: each can be repeated a thousand times, and thinks for half a millisecond each time, so they last for
/// at least four seconds.
const SAYING: usize = 8;

/// Sends every message back, after a ping and before a message that nobody awaits. All go out as one: what came later could meet
/// the next message on its way, and be taken for its answer.
pub(crate) fn responder_to_steps() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().expect("a connection");
        stream.set_nodelay(true).expect("an option");
        let mut socket = tungstenite::accept(stream).expect("a handshake");
        while let Ok(message) = socket.read() {
            let ping = tungstenite::Message::Ping(Vec::new().into());
            let news = tungstenite::Message::text("news");
            let said = message.is_text().then_some([ping, message, news]).into_iter().flatten();
            if said.map(|one| socket.write(one)).any(|done| done.is_err()) || socket.flush().is_err() {
                return;
            }
        }
    });
    address
}

/// One journey at a time, which opens its socket once and then says the same again and again.
pub(crate) fn job_in_steps(address: SocketAddr, load: LoadSpec) -> Job<Steps> {
    let handshake = Handshake::new("/", "h", &[]).expect("a handshake");
    let connect = Step::Connect(Opening::new(handshake, false));
    let say = Step::Send { message: Message::new((*b"hello").into(), false), awaits: true };
    let operations = first_and(connect, say).into_iter().map(|step| Ask { step, later: [].into() }).collect();
    let settings = StepSettings { limits: Limits::default(), is_binary: false };
    let job = job_of(address, load, Pool::Fixed { n: 1 }, &[], operations, settings);
    let think = Think::Constant(Nanos::from_micros(500));
    let again = StepSpec { think, repeat: (REPEAT_MAX, REPEAT_MAX), ..StepSpec::ONCE };
    let journeys = Journeys {
        each: vec![JourneySpec { steps: first_and(StepSpec::ONCE, again), ..JourneySpec::default() }],
        under_way_max: 1,
        ..Journeys::default()
    };
    let plan = Plan::new(PlanSpec {
        mix: Mix { journeys, ..Mix::default() },
        idempotent: vec![false; 1 + SAYING],
        origins: Origins::default().with_sockets(&first_and(SocketUse::Opens, SocketUse::Uses)),
        ..job.plan.spec().clone()
    });
    let answered = Expect { contains: Needle::new(b"hello"), ..Expect::default() };
    Job {
        plan: plan.expect("a plan"),
        expects: Expects::new(vec![Expect::default(), answered], first_and(0, 1)),
        ..job
    }
}

/// Of the step that opens the socket, and of each of the others.
fn first_and<T: Clone>(first: T, others: T) -> Vec<T> {
    std::iter::once(first).chain(vec![others; SAYING]).collect()
}
