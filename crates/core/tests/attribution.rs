//! Who is to blame for send lag: the pool, a connection being opened, or the generator itself.

use unblink_core::code::Code;
use unblink_core::dispatch::{Action, Actions, ConnectTimes, Dispatch, Event, Pool, Room};
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::record::{Answer, Bank, Flight, Recorder, Series};
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::time::{Instant, Nanos};

const START: Instant = Instant(1_000_000_000);

#[test]
fn whoever_waited_for_the_pool_until_little_time_was_left_was_shed() {
    let timeout = Nanos::from_secs(5);
    let shed = |pool_full: bool, sent_after: Option<u64>| {
        let mut recorder = Recorder::new(Box::new(Bank::new(1)), timeout);
        recorder.begin(START, Nanos::ZERO, Nanos::from_secs(10));
        let arrival = unblink_core::arrival::Arrival::single(0, 0, START);
        let sent = sent_after.map(|ms| START + Nanos::from_millis(ms));
        let flight = Flight { arrival, sent, pool_full, ..Flight::default() };
        recorder.timed_out(&flight, 0, START + timeout + Nanos(1));
        let mut bank: Bank<u64> = Bank::new(1);
        bank.add(recorder.bank());
        bank.counters.measured.timed_out_pool_full
    };
    assert_eq!([shed(true, None), shed(true, Some(4_900)), shed(true, Some(2_400))], [1, 1, 0]);
    assert_eq!([shed(false, None), shed(false, Some(4_900))], [0, 0]);
}

struct Rig {
    dispatch: Dispatch<unblink_core::load::Open>,
    recorder: Recorder,
    actions: Actions,
}

impl Rig {
    /// 1,000/s, not yet started.
    fn new(pool: Pool) -> Rig {
        Rig::with_room(pool, Room::SINGLE)
    }

    fn with_room(pool: Pool, room: Room) -> Rig {
        let plan = Plan::new(PlanSpec::plain(
            LoadSpec::Open {
                phases: vec![Phase::hold(Rate::per_second(1000), Nanos::from_secs(10))],
                process: Process::Even,
            },
            pool,
            Nanos::from_secs(30),
        ))
        .expect("valid");
        let mut recorder = Recorder::new(Box::new(Bank::new(1)), plan.spec().timeout).with_room(room.places);
        recorder.begin(START, Nanos::ZERO, plan.load_length());
        let mut policy = plan.policy(0);
        policy.room = room;
        let mut rig = Rig { dispatch: Dispatch::new(policy), recorder, actions: Actions::new() };
        for action in rig.at(0, Event::Tick) {
            if let Action::Open(id) = action {
                rig.at(0, Event::Connected(id, ConnectTimes::default()));
            }
        }
        rig.dispatch.start(plan.open_load(START, 0).expect("open"));
        rig
    }

    /// Feeds an event `us` after the start and gives what is to be done; sends are confirmed at once.
    fn at(&mut self, us: u64, event: Event) -> Actions {
        let now = START + Nanos::from_micros(us);
        self.dispatch.handle(now, event, &mut self.actions, &mut self.recorder);
        let actions = std::mem::take(&mut self.actions);
        for action in &actions {
            if let Action::Send { flight, .. } = action {
                self.dispatch.handle(now, Event::Sent(*flight), &mut self.actions, &mut self.recorder);
            }
        }
        actions
    }

    fn answer(&mut self, us: u64, sent: &Actions) -> Actions {
        let Some(Action::Send { flight, .. }) = sent.first() else { panic!("nothing was sent: {sent:?}") };
        let first_byte = START + Nanos::from_micros(us);
        let answer = Answer { code: Code::of_status(200), ..Answer::plain(first_byte) };
        self.at(us, Event::Answered(*flight, answer))
    }

    /// (waited for the pool, waited for a connection to open, generator late), in µs.
    fn blame_us(&self) -> (u64, u64, u64) {
        let mut bank: Bank<u64> = Bank::new(1);
        bank.add(self.recorder.bank());
        let lag = bank.counters.lag;
        let all = bank.track(Series::SendLag).sum_ns;
        assert_eq!(all, u128::from(lag.pool_ns() + lag.connecting_ns + lag.generator_ns));
        assert_eq!(bank.track(Series::GeneratorLate).sum_ns, u128::from(lag.generator_ns));
        (lag.pool_ns() / 1000, lag.connecting_ns / 1000, lag.generator_ns / 1000)
    }
}

#[test]
fn opening_a_connection_is_waited_for_from_the_moment_it_could_begin() {
    let mut rig = Rig::new(Pool::Auto { max: 100 });
    // Arrival 0 is due at 0; noticed at once; its connection takes 300 µs.
    let opened = rig.at(0, Event::Tick);
    let [Action::Open(id)] = opened[..] else { panic!("{opened:?}") };
    rig.at(300, Event::Connected(id, ConnectTimes::default()));
    assert_eq!(rig.blame_us(), (0, 300, 0));
}

#[test]
fn what_the_generator_overslept_is_its_own() {
    let mut rig = Rig::new(Pool::Auto { max: 100 });
    // Nobody looks for 2.5 ms: arrivals 0, 1 and 2 are noticed 2.5, 1.5 and 0.5 ms late.
    let opened = rig.at(2_500, Event::Tick);
    assert_eq!(opened.len(), 3);
    for action in opened {
        let Action::Open(id) = action else { panic!("{action:?}") };
        rig.at(2_600, Event::Connected(id, ConnectTimes::default()));
    }
    assert_eq!(rig.blame_us(), (0, 300, 4_500));
    // The next one is on time.
    let idle = rig.at(3_000, Event::Tick);
    let [Action::Open(id)] = idle[..] else { panic!("{idle:?}") };
    rig.at(3_100, Event::Connected(id, ConnectTimes::default()));
    assert_eq!(rig.blame_us(), (0, 400, 4_500));
}

#[test]
fn a_full_pool_is_to_blame_from_the_intended_time_on() {
    let mut rig = Rig::new(Pool::Fixed { n: 1 });
    let sent = rig.at(0, Event::Tick);
    assert!(rig.at(1_000, Event::Tick).is_empty());
    // The only connection is busy until 5 ms; with one waiting, nobody need look before. Arrival 1 waits 4 ms.
    assert!(rig.dispatch.next_wake() > Some(START + Nanos::from_secs(1)));
    let sent = rig.answer(5_000, &sent);
    assert_eq!(rig.blame_us(), (4_000, 0, 0));
    // Arrival 2 was due at 2 ms and gets the connection at 6 ms.
    rig.answer(6_000, &sent);
    assert_eq!(rig.blame_us(), (8_000, 0, 0));
}

#[test]
fn a_full_pool_has_no_connection_or_no_room() {
    let blame = |places: u32| {
        let mut rig = Rig::with_room(Pool::Fixed { n: 1 }, Room { places, cancels: true });
        let sent = rig.at(0, Event::Tick);
        (1..=places).for_each(|ms| drop(rig.at(u64::from(ms) * 1_000, Event::Tick)));
        // The last that was due finds as many under way as there may be, and waits for 2 ms.
        rig.answer(u64::from(places) * 1_000 + 2_000, &sent);
        let lag = rig.recorder.bank().counters.lag;
        assert_eq!((lag.pool(), rig.blame_us()), (1, (2_000, 0, 0)));
        (lag.no_connection, lag.no_room)
    };
    assert_eq!((blame(1), blame(3)), ((1, 0), (0, 1)));
}

#[test]
fn an_idle_connection_leaves_only_the_generator_to_blame() {
    let mut rig = Rig::new(Pool::Fixed { n: 3 });
    rig.at(700, Event::Tick);
    assert_eq!(rig.blame_us(), (0, 0, 700));
    rig.at(1_000, Event::Tick);
    assert_eq!(rig.blame_us(), (0, 0, 700));
}

#[test]
fn an_idle_pool_is_not_a_full_one() {
    let mut rig = Rig::new(Pool::Fixed { n: 2 });
    // The generator is away for 10 ms while both connections lie idle; then arrivals 0 and 1 take them and
    // the rest waits for the pool, from the moment when it was noticed.
    let sent = rig.at(10_000, Event::Tick);
    assert_eq!(sent.len(), 2);
    assert_eq!(rig.blame_us(), (0, 0, 19_000));
    rig.answer(12_000, &sent);
    assert_eq!(rig.blame_us(), (2_000, 0, 27_000));
}

#[test]
fn a_missing_port_holds_attempts_back_only_for_a_while() {
    let mut rig = Rig::new(Pool::Auto { max: 100 });
    let opened = rig.at(0, Event::Tick);
    let [Action::Open(first)] = opened[..] else { panic!("{opened:?}") };
    rig.at(100, Event::Connected(first, ConnectTimes::default()));
    let opened = rig.at(1_000, Event::Tick);
    let [Action::Open(second)] = opened[..] else { panic!("{opened:?}") };
    let refused = unblink_core::failure::FailureKind::NO_LOCAL_PORT;
    assert!(rig.at(1_100, Event::ConnectFailed(second, refused)).is_empty());
    assert!(rig.at(50_000, Event::Tick).is_empty());
    assert_eq!(rig.dispatch.next_wake(), Some(START + Nanos::from_micros(101_100)));
    let opened = rig.at(101_100, Event::Tick);
    assert!(matches!(opened[..], [Action::Open(_), ..]), "{opened:?}");
    assert_eq!(rig.recorder.bank().counters.measured.failed_total(), 0);
}

#[test]
fn the_second_of_two_that_are_noticed_together_waits_for_the_pool() {
    let mut rig = Rig::new(Pool::Fixed { n: 1 });
    // Arrivals 0 (due at 0) and 1 (due at 1 ms) are noticed 20 µs after the latter.
    let sent = rig.at(1_020, Event::Tick);
    assert_eq!(sent.len(), 1);
    rig.answer(4_000, &sent);
    let (pool, connecting, _) = rig.blame_us();
    assert_eq!((pool, connecting), (2_980, 0));
}

#[test]
fn a_connection_of_ones_own_is_not_a_full_pool() {
    let mut rig = Rig::new(Pool::Auto { max: 1 });
    let opened = rig.at(0, Event::Tick);
    let [Action::Open(only)] = opened[..] else { panic!("{opened:?}") };
    // Arrival 0 waits for the connection that is being opened for it, though there may be no other.
    rig.at(300, Event::Connected(only, ConnectTimes::default()));
    assert_eq!(rig.blame_us(), (0, 300, 0));
}
