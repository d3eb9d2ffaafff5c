//! The server's clock, and waiting for sockets until an exact time.

use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, clock_gettime, timerfd_create,
    timerfd_settime,
};

use crate::LabError;

/// Above this wait a timer descriptor with an absolute time is used: epoll's own timeout gets slack of 0.1 % of
/// the wait, which up to here stays within 5 µs. In ns.
const LONG_WAIT_NS: u64 = 5_000_000;

/// Time in ns since it was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    origin_ns: u64,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { origin_ns: monotonic_ns() }
    }

    pub(crate) fn now_ns(&self) -> u64 {
        monotonic_ns() - self.origin_ns
    }
}

/// An epoll instance that can wait until an exact time.
#[derive(Debug)]
pub(crate) struct Sleeper {
    pub(crate) epoll: OwnedFd,
    timer: OwnedFd,
    clock: Clock,
    spin_ns: u64,
    /// What the timer descriptor is set to, so that it is not set twice.
    timer_ns: Option<u64>,
}

impl Sleeper {
    /// The timer's events carry `timer_token` and mean nothing by themselves.
    pub(crate) fn new(clock: Clock, spin_ns: u64, timer_token: u64) -> Result<Self, LabError> {
        let fail = |operation| move |source| LabError::Loop { operation, source };
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(fail("epoll_create1"))?;
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)
            .map_err(fail("timerfd_create"))?;
        // Edge-triggered: each expiry is one event, and nobody needs to read the count.
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&epoll, timer.as_fd(), epoll::EventData::new_u64(timer_token), flags)
            .map_err(fail("epoll_ctl"))?;
        Ok(Self { epoll, timer, clock, spin_ns, timer_ns: None })
    }

    /// Fills `events` with what is ready now, or waits for it until `wake_ns` (`None`: for ever). Returns early,
    /// with nothing, just before `wake_ns`: then call again, and it spins.
    pub(crate) fn wait(
        &mut self,
        events: &mut Vec<epoll::Event>,
        wake_ns: Option<u64>,
    ) -> Result<(), LabError> {
        events.clear();
        let timeout = match wake_ns {
            None => None,
            Some(wake_ns) => {
                let now_ns = self.clock.now_ns();
                let sleep_ns = wake_ns.saturating_sub(now_ns).saturating_sub(self.spin_ns);
                if sleep_ns <= LONG_WAIT_NS {
                    Some(timespec(sleep_ns))
                } else {
                    self.set_timer(wake_ns - self.spin_ns)?;
                    None
                }
            }
        };
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(events), timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(source) => Err(LabError::Loop { operation: "epoll_pwait2", source }),
        }
    }

    fn set_timer(&mut self, at_ns: u64) -> Result<(), LabError> {
        if self.timer_ns == Some(at_ns) {
            return Ok(());
        }
        let value = timespec(at_ns + self.clock.origin_ns);
        let once = Itimerspec { it_interval: timespec(0), it_value: value };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &once)
            .map_err(|source| LabError::Loop { operation: "timerfd_settime", source })?;
        self.timer_ns = Some(at_ns);
        Ok(())
    }
}

/// The time of day in ns since 1970, for what the kernel stamps by it. It can be set: no time is measured by it alone.
pub(crate) fn wall_ns() -> u64 {
    let now = clock_gettime(ClockId::Realtime);
    // Nobody's clock stands before 1970.
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    // The monotonic clock counts from the machine's start: never negative.
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as _ }
}
