//! Answers that come together in HTTP/2: the requests that follow them leave together, too.

use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::time::Duration;
use unblink_core::dispatch::Pool;
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::time::Nanos;
use unblink_engine::job::Job;
use unblink_engine::pacing::Pacing;
use unblink_engine::run::start;
use unblink_engine::target::{Address, Target};
use unblink_wire::http2::{Http2, Request, Scheme, Settings};
use unblink_wire::{Limits, RequestBuilder};
use unblink_workload::answer::{Expect, Expects};

const STREAMS: u32 = 100;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    [&(payload.len() as u32).to_be_bytes()[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Takes as many requests as there may be at once, answers all of them in one write, and so on. Says in how many reads
/// each lot came.
fn serve(listener: &TcpListener) -> io::Result<Vec<u32>> {
    let (mut stream, _) = listener.accept()?;
    stream.set_nodelay(true)?;
    stream.read_exact(&mut [0; 24])?;
    stream.write_all(&frame(4, 0, 0, &[]))?;
    // At the end of the load fewer come, and are answered after a while.
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    let (mut buffer, mut bytes, mut answers) = (vec![0; 1 << 16], Vec::new(), Vec::new());
    let (mut pending, mut reads, mut lots) = (0, 0, Vec::new());
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(lots),
            Ok(n) => bytes.extend_from_slice(&buffer[..n]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                stream.write_all(&std::mem::take(&mut answers))?;
                continue;
            }
            Err(_) => return Ok(lots),
        }
        reads += 1;
        while let Some(&[a, b, c, kind, _, id @ ..]) = bytes.first_chunk::<9>() {
            let length = 9 + u32::from_be_bytes([0, a, b, c]) as usize;
            if bytes.len() < length {
                break;
            }
            bytes.drain(..length);
            if kind == 1 {
                let id = u32::from_be_bytes(id);
                answers.extend([frame(1, 4, id, &[0x88]), frame(0, 1, id, b"hello")].concat());
                pending += 1;
            }
        }
        if pending == STREAMS {
            stream.write_all(&std::mem::take(&mut answers))?;
            lots.push(std::mem::take(&mut reads));
            pending = 0;
        }
    }
}

fn job(listener: &TcpListener) -> Job<Http2> {
    let request = RequestBuilder { method: "GET", target: "/", host: "h", headers: &[], body: b"" };
    let request = Request::new(&request, Default::default(), Scheme::Http).expect("a request");
    let plan = Plan::new(PlanSpec::plain(
        LoadSpec::closed(STREAMS, Nanos::ZERO, Nanos::from_millis(300)),
        Pool::Fixed { n: 1 },
        Nanos::from_secs(5),
    ));
    let address = Address::Tcp(listener.local_addr().expect("an address"));
    Job {
        plan: plan.expect("a plan"),
        targets: vec![Target::plain(vec![address])],
        operations: vec![request],
        values: None,
        script: None,
        expects: Expects::new(vec![Expect::default()], vec![0]),
        settings: Settings { limits: Limits::default(), streams: STREAMS },
        connection_age: None,
        pacing: Pacing::default(),
    }
}

#[test]
fn what_follows_answers_of_one_read_leaves_in_one_write() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let job = job(&listener);
    let server = std::thread::spawn(move || serve(&listener));
    let mut running = start(job).expect("it starts");
    while running.next_interval().is_some() {}
    running.finish().expect("it ends");
    let lots = server.join().expect("the server").expect("a conversation");
    // The first comes as the users begin.
    assert!(lots.len() > 3 && lots[1..].iter().all(|&reads| reads == 1), "{lots:?}");
}
