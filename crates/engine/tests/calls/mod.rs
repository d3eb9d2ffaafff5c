//! Calls of gRPC, and a server that answers them.

use super::job_of;
use super::together::FirstTogether;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener};
use unblink_core::dispatch::Pool;
use unblink_core::plan::LoadSpec;
use unblink_engine::job::Job;
use unblink_wire::Limits;
use unblink_wire::blank::{Blank, place};
use unblink_wire::grpc::{CallBuilder, Grpc};
use unblink_wire::http2::{self, Scheme};
use unblink_wire::message::{Kind, Message, MessagePart};
use unblink_workload::answer::{Expect, Needle};
use unblink_workload::template::Holes;
use unblink_workload::{Composition, Context, Lets, Source, Values};

/// Answers every call of gRPC, one after the other, with its message and its trailers.
pub(crate) fn responder_in_calls() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        stream.set_nodelay(true).expect("an option");
        stream.read_exact(&mut [0; 24]).expect("the preface");
        stream.write_all(b"\0\0\0\x04\0\0\0\0\0").expect("settings");
        let (mut header, mut first) = ([0; 9], FirstTogether::default());
        while stream.read_exact(&mut header).is_ok() {
            let [a, b, c, kind, _, id @ ..] = header;
            let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
            stream.read_exact(&mut payload).expect("a frame");
            // The message ends the call.
            if kind != 0 {
                continue;
            }
            let head = [&[0, 0, 32, 1, 4][..], &id, b"\x88\0\x0ccontent-type\x10application/grpc"].concat();
            let body = [&[0, 0, 10, 0, 0][..], &id, b"\0\0\0\0\x05hello"].concat();
            let end = [&[0, 0, 15, 1, 5][..], &id, b"\0\x0bgrpc-status\x010"].concat();
            // There is room for as much again.
            let window = [&[0, 0, 4, 8, 0, 0, 0, 0, 0][..], &(payload.len() as u32).to_be_bytes()].concat();
            if first.answer(&mut stream, &[window, head, body, end].concat()).is_err() {
                return;
            }
        }
    });
    address
}

/// Calls whose message and metadata are written anew for each arrival.
pub(crate) fn job_in_calls(address: SocketAddr, load: LoadSpec) -> Job<Grpc> {
    let settings = http2::Settings { limits: Limits::default(), streams: 100 };
    let mut rows = |_: &str| -> io::Result<Box<dyn Read>> { unreachable!("no file") };
    let mut lets = Lets::default();
    // Of one size: what waits to be written would otherwise grow whenever several long ones meet, however late that is.
    lets.add("size", Source::parse("constant(900)", &mut rows).expect("a law")).expect("a name");
    let mut holes = Holes::new(&lets, 0);
    let mut read = |text: &str, context| holes.read(text, context, place).expect("a template");
    let text = Blank::new(read("{{uuid}} {{bytes(size)}}", Context::Body).as_bytes());
    let number = read("{{index}}", Context::Body);
    let number = Blank::new(number.as_bytes()).only_place().expect("a place");
    let metadata = [("x-id".to_string(), read("{{uuid}}", Context::Header))];
    let composition = Some(Composition::new(holes.into_holes()));
    let inner = [
        MessagePart::Text { tag: [0x0a].into(), text, is_optional: true },
        MessagePart::Number { tag: [0x10].into(), place: number, kind: Kind::Varint, is_optional: true },
    ];
    let nested = MessagePart::Nested { tag: [0x1a].into(), parts: inner.into() };
    let message = Message { parts: [MessagePart::Fixed([0x08, 1].into()), nested].into() };
    let call = CallBuilder {
        path: "/a.B/C",
        host: "h",
        scheme: Scheme::Http,
        metadata: &metadata,
        message,
        is_stream: false,
    };
    let calls = vec![call.render().expect("a call"); 2];
    let job = job_of(address, load, Pool::Fixed { n: 1 }, &[], calls, settings);
    let values = Values::new(lets, vec![composition; 2], &[], &job.plan, 7).expect("values");
    let expect = Expect { contains: Needle::new(b"hello"), ..Expect::default() };
    Job { expects: expect.into(), values: Some(values), ..job }
}
