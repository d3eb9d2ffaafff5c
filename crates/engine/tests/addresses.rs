//! A target with several addresses: each in turn, and those that refuse do no harm.

use rustix::net::{AddressFamily, SocketAddrV4, SocketType};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use unblink_core::dispatch::Pool;
use unblink_core::failure::FailureKind;
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::record::{AddressRecord, Bank, Counters, Series};
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::time::Nanos;
use unblink_engine::job::Job;
use unblink_engine::pacing::Pacing;
use unblink_engine::preflight::preflight;
use unblink_engine::run::{Summary, start};
use unblink_engine::target::{Address, Ask, Refresh, ResolveError, Target};
use unblink_wire::http1::{Http1, Request};
use unblink_wire::{Limits, RequestBuilder, RequestKind};
use unblink_workload::answer::Expect;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn listening() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut buffer = [0; 1024];
                while stream.read(&mut buffer).is_ok_and(|n| n > 0) && stream.write_all(ANSWER).is_ok() {}
            });
        }
    });
    address
}

/// Takes connections and requests, and answers none of them.
fn hanging() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        let taken: Vec<TcpStream> = listener.incoming().flatten().collect();
        drop(taken);
    });
    address
}

/// A port that is taken while nobody listens.
fn refusing() -> (OwnedFd, SocketAddr) {
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
    rustix::net::bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let address = rustix::net::getsockname(&socket).expect("an address");
    (socket, SocketAddr::try_from(address).expect("an internet address"))
}

/// A port that answers no attempt to connect: its queue is full, and nobody takes from it.
fn silent() -> ((OwnedFd, TcpStream), SocketAddr) {
    let (socket, address) = refusing();
    rustix::net::listen(&socket, 0).expect("a queue of one");
    let first = TcpStream::connect(address).expect("its only place");
    ((socket, first), address)
}

fn job(addresses: &[SocketAddr], pool: Pool, threads: u32) -> Job<Http1> {
    job_within(Nanos::from_secs(10), addresses, pool, threads)
}

fn job_within(timeout: Nanos, addresses: &[SocketAddr], pool: Pool, threads: u32) -> Job<Http1> {
    let builder = RequestBuilder { method: "GET", target: "/", host: "h", headers: &[], body: b"" };
    let request = builder.render().expect("a request");
    let phases = vec![Phase::hold(Rate::per_second(500), Nanos::from_millis(400))];
    let plan = Plan::new(PlanSpec {
        threads,
        ..PlanSpec::plain(LoadSpec::Open { phases, process: Process::Even }, pool, timeout)
    });
    Job {
        plan: plan.expect("a plan"),
        targets: vec![Target::plain(addresses.iter().copied().map(Address::Tcp).collect())],
        values: None,
        script: None,
        operations: vec![Request {
            head: request.into(),
            body: Default::default(),
            kind: RequestKind::Normal,
            closes: false,
            blank: None,
        }],
        expects: Expect::default().into(),
        settings: Limits::default(),
        connection_age: None,
        pacing: Pacing::default(),
    }
}

fn run(job: Job<Http1>) -> (Counters, Summary) {
    let (bank, summary) = recorded(job);
    (bank.counters, summary)
}

/// Everything that was recorded.
fn recorded(job: Job<Http1>) -> (Bank<u64>, Summary) {
    let mut bank = Bank::new(job.plan.layout());
    let mut running = start(job).expect("it starts");
    while let Some(interval) = running.next_interval() {
        bank.add(&interval.bank);
    }
    (bank, running.finish().expect("it ends"))
}

#[test]
fn each_address_in_turn() {
    let addresses = [listening(), listening(), listening()];
    for threads in [1, 2, 3] {
        let (bank, summary) = recorded(job(&addresses, Pool::Fixed { n: 9 }, threads));
        assert_eq!(bank.counters.measured.ok, 200);
        let by_address = addresses.map(|a| summary.origins[0].by_address[&a.to_string()].usable);
        assert_eq!(by_address.iter().sum::<u64>(), 9);
        let ended = addresses.map(|a| summary.origins[0].by_address[&a.to_string()].arrivals.clone());
        let ended = ended.map(|arrivals| arrivals.expect("there are several"));
        let mut all = AddressRecord::default();
        ended.iter().for_each(|one| all.add(one));
        assert_eq!((all.ok, all.failed, all.timed_out, all.unfinished), (200, 0, 0, 0));
        assert_eq!(&all.response, bank.track(Series::Response));
        assert!(ended.iter().all(|one| one.ok == one.response.count()));
        // Each worker goes round on its own.
        assert!(by_address.iter().all(|&n| n >= 2), "{threads}: {by_address:?}");
    }
}

#[test]
fn one_that_hangs_shows_in_its_own_times() {
    let (answering, hanging) = (listening(), hanging());
    let timeout = Nanos::from_millis(200);
    let (bank, summary) = recorded(job_within(timeout, &[answering, hanging], Pool::Auto { max: 1_000 }, 2));
    let ended =
        [answering, hanging].map(|address| summary.origins[0].by_address[&address.to_string()].clone());
    let [answering, hanging] = ended.map(|counts| counts.arrivals.expect("there are several"));
    assert_eq!((answering.ok, hanging.ok), (bank.counters.measured.ok, 0));
    assert_eq!(answering.timed_out + hanging.timed_out, bank.counters.measured.timed_out);
    assert!(hanging.timed_out > 0);
    assert_eq!(hanging.censored.count(), hanging.timed_out);
    assert_eq!((hanging.censored.max_ns, hanging.response.count()), (timeout.0, 0));
}

#[test]
fn addresses_that_refuse_are_passed_over() {
    let (_taken, nobody) = refusing();
    let somebody = listening();
    for addresses in [[nobody, somebody], [somebody, nobody]] {
        for pool in [Pool::Auto { max: 50 }, Pool::Fixed { n: 4 }] {
            let job = job(&addresses, pool, 1);
            preflight(&job, 0, std::time::Duration::from_secs(5)).expect("one of them answers");
            let (counters, summary) = run(job);
            assert_eq!(counters.measured.ok, 200, "{counters:?}");
            assert_eq!(
                counters.connections().opened,
                summary.origins[0].by_address[&somebody.to_string()].usable
            );
            let dead = &summary.origins[0].by_address[&nobody.to_string()];
            assert_eq!((dead.usable, dead.unanswered, dead.unreachable), (0, 0, 0));
            // One connection may do, and the first address that is tried may have it.
            let is_tried = addresses[0] == nobody || matches!(pool, Pool::Fixed { .. });
            assert!(dead.refused > 0 || !is_tried, "{dead:?}");
        }
    }
}

#[test]
fn the_request_before_the_run_goes_on_from_an_address_that_is_silent() {
    let ((_queue, silent), somebody) = (silent(), listening());
    let ask = |addresses: &[SocketAddr]| {
        preflight(&job(addresses, Pool::Fixed { n: 1 }, 1), 0, std::time::Duration::from_millis(200))
    };
    ask(&[silent, somebody]).expect("the second one answers");
    let said = ask(&[silent]).expect_err("nobody answers").to_string();
    assert_eq!(said, format!("can't connect to {silent}: connection timed out"));
}

#[test]
fn a_name_that_moves_is_followed() {
    let (before, after) = (listening(), listening());
    let mut job = job(&[before], Pool::Fixed { n: 2 }, 2);
    let ask: Ask = Arc::new(move || Ok(vec![Address::Tcp(after)]));
    job.targets[0].refresh = Some(Refresh {
        every: Nanos::from_millis(20),
        places: vec![(ask, job.targets[0].addresses.clone())],
    });
    job.connection_age = Some(Nanos::from_millis(100));
    let (counters, summary) = run(job);
    assert_eq!(counters.measured.ok, 200, "{counters:?}");
    let usable = [before, after].map(|address| summary.origins[0].by_address[&address.to_string()].usable);
    assert!(usable[0] >= 2 && usable[1] >= 2, "{usable:?}");
    assert_eq!(counters.connections().closed_by_age + 2, usable[0] + usable[1]);
    assert_eq!(summary.origins[0].resolving_failed, 0);
}

#[test]
fn a_name_that_is_gone_leaves_the_addresses_that_were_known() {
    let address = listening();
    let mut job = job(&[address], Pool::Fixed { n: 2 }, 1);
    let ask: Ask = Arc::new(|| Err(ResolveError::Empty("gone.test".to_string())));
    job.targets[0].refresh = Some(Refresh {
        every: Nanos::from_millis(20),
        places: vec![(ask, job.targets[0].addresses.clone())],
    });
    job.connection_age = Some(Nanos::from_millis(100));
    let (counters, summary) = run(job);
    assert_eq!(counters.measured.ok, 200, "{counters:?}");
    assert!(summary.origins[0].resolving_failed > 0 && counters.connections().closed_by_age > 0);
}

#[test]
fn nobody_at_any_address() {
    let ((_one, first), (_other, second)) = (refusing(), refusing());
    for pool in [Pool::Auto { max: 50 }, Pool::Fixed { n: 4 }] {
        let job = job(&[first, second], pool, 2);
        preflight(&job, 0, std::time::Duration::from_secs(5)).expect_err("nobody answers");
        let (counters, _) = run(job);
        assert_eq!(counters.measured.failed[FailureKind::CONNECT_REFUSED.index()], 200, "{counters:?}");
        assert_eq!(counters.connections().opened, 0);
        assert!(counters.connections().refused >= 200);
    }
}
