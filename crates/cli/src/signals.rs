//! Ctrl-C and its like: the first ends the load and waits for what is under way, the second quits at once.

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;
use unblink_engine::controls::Controls;

/// Where interruptions go.
#[derive(Clone, Default)]
pub(crate) struct Interruptions {
    state: Arc<Mutex<State>>,
    heard: Arc<Condvar>,
}

#[derive(Default)]
struct State {
    count: u32,
    controls: Option<Arc<Controls>>,
    /// Requests of that run follow answers, and so go on when its load has ended.
    has_followers: bool,
    /// Between two runs there is something to report, too: what is said then.
    deferred: Option<&'static str>,
    /// Called before an interruption ends the process.
    last_word: Option<LastWord>,
}

/// What is to be said to others before this process ends, by the name of the signal that ends it.
type LastWord = Box<dyn Fn(&str) + Send>;

/// A run that hears of interruptions as long as this lives.
pub(crate) struct Listening(Interruptions);

/// SIGINT and SIGTERM, and SIGHUP (a terminal that is gone) unless whoever started the process ignores it, as `nohup`
/// does.
fn interrupting() -> impl Iterator<Item = i32> {
    let hangup = (!is_ignored(SIGHUP)).then_some(SIGHUP);
    [SIGINT, SIGTERM].into_iter().chain(hangup)
}

/// Takes what interrupts over.
pub(crate) fn listen() -> Result<Interruptions> {
    let interruptions = Interruptions::default();
    let mut signals = Signals::new(interrupting()).context("can't listen for Ctrl-C")?;
    let heard = interruptions.clone();
    let thread = std::thread::Builder::new().name("signals".into());
    thread
        .spawn(move || signals.forever().for_each(|signal| heard.interrupt(signal)))
        .context("can't listen for Ctrl-C")?;
    Ok(interruptions)
}

/// Set by the first interruption; the second quits at once.
pub(crate) fn flag() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in interrupting() {
        // In this order: the first finds it unset.
        signal_hook::flag::register_conditional_shutdown(
            signal,
            crate::exit::INTERRUPTED.into(),
            stop.clone(),
        )
        .and_then(|_| signal_hook::flag::register(signal, stop.clone()))
        .context("can't listen for Ctrl-C")?;
    }
    Ok(stop)
}

fn name_of(signal: i32) -> &'static str {
    match signal {
        SIGINT => "SIGINT",
        SIGTERM => "SIGTERM",
        SIGHUP => "SIGHUP",
        _ => "a signal",
    }
}

/// By the process's own status: a mask in which bit n − 1 is signal n.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

impl Interruptions {
    /// Interruptions go to this run from now on. Where it `has_followers`, they also end what goes on after its load.
    pub(crate) fn attach(&self, controls: Arc<Controls>, has_followers: bool) -> Listening {
        let mut state = self.lock();
        state.has_followers = has_followers;
        if state.count > 0 {
            controls.stop();
        }
        state.controls = Some(controls);
        Listening(self.clone())
    }

    /// From now on the first interruption between two runs ends nothing by itself: this is said, and whoever asked for it looks.
    pub(crate) fn defer(&self, said: &'static str) {
        self.lock().deferred = Some(said);
    }

    /// From now on there is nothing to report any more.
    pub(crate) fn defer_no_more(&self) {
        self.lock().deferred = None;
    }

    /// From now on this is called before an interruption ends the process at once, or nothing is.
    pub(crate) fn last_word(&self, say: Option<LastWord>) {
        self.lock().last_word = say;
    }

    /// Waits for so long, or until an interruption: is there none?
    pub(crate) fn wait(&self, length: Duration) -> bool {
        let waited = self.heard.wait_timeout_while(self.lock(), length, |state| state.count == 0);
        waited.unwrap_or_else(PoisonError::into_inner).0.count == 0
    }

    fn interrupt(&self, signal: i32) {
        let mut state = self.lock();
        state.count += 1;
        self.heard.notify_all();
        match (&state.controls, state.count, state.deferred) {
            (None, 1, Some(said)) => crate::output::note(format_args!("\n{said}")),
            // Nothing is being measured yet or any more: there is nothing to wait for.
            (None, ..) => {
                let last_word = state.last_word.take();
                // Whoever says it may have to wait for somebody who looks at this.
                drop(state);
                if let Some(say) = last_word {
                    say(name_of(signal));
                }
                std::process::exit(i32::from(crate::exit::INTERRUPTED))
            }
            (Some(controls), 1, _) => {
                // What journeys and retries go on with after a rule or a guard is not what its user waits for.
                let goes_on = !controls.stop() && state.has_followers;
                if goes_on {
                    controls.abort();
                }
                let said = match goes_on {
                    true => "ending what goes on: the load had been stopped before",
                    false => "stopping: waiting for outstanding answers",
                };
                crate::output::note(format_args!("\n{said} (Ctrl-C again to quit at once)"));
            }
            (Some(controls), 2, _) => controls.abort(),
            // A third time: whatever still hangs, the user wants out. What was recorded is on disk.
            (Some(_), ..) => std::process::exit(i32::from(crate::exit::INTERRUPTED)),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.lock().controls = None;
    }
}
