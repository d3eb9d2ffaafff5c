//! Scripts in Lua, with the interface that wrk gives them.
//!
//! Each worker has a state of its own, as each thread of wrk has, and one more belongs to none: `setup` and `done` are
//! called there. What a worker's state says is a function of the script, its arguments, the seed and the answers that it was
//! told of; not of time, unless the script asks for it.

mod error;
mod figures;
mod pulse;
mod shared;
mod state;
#[cfg(test)]
mod tests;
mod text;
mod thread;

pub use error::ScriptError;
pub use figures::{Figures, Spread};
pub use pulse::{Looking, Pulse};
pub use shared::Stops;

use error::words;
use mlua::{BString, Error, Function, Lua, Value};
use shared::Shared;
use state::State;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use text::Last;
use thread::{Kept, Place, Thread};
use unblink_core::plan::WorkerShares;
use unblink_core::time::Nanos;

/// A day.
const DELAY_MS_MAX: f64 = 86_400_000.0;

/// What scripts may ask of the network, before the run.
pub trait Net: Send + Sync {
    /// The addresses of a name, each as `ADDRESS:PORT`; a service is a port or a name such as `http`.
    ///
    /// # Errors
    /// Why there is none.
    fn lookup(&self, host: &str, service: &str) -> Result<Vec<String>, String>;
    /// Does anybody take a connection there?
    fn connect(&self, address: &str) -> bool;
}

/// What a script is opened with.
#[derive(Clone)]
pub struct Opening<'a> {
    /// Its file, for messages.
    pub name: &'a str,
    /// Its text.
    pub source: &'a [u8],
    /// The URL as it was given: the argument before the first one.
    pub url: &'a str,
    /// `http` or `https`.
    pub scheme: &'a str,
    /// Without brackets.
    pub host: &'a str,
    /// If the URL has one.
    pub port: Option<&'a str>,
    /// Host and port as they stand in the Host header.
    pub authority: &'a str,
    /// Path and query.
    pub path: &'a str,
    /// Of the request that the script may change.
    pub method: &'a str,
    /// The user's.
    pub headers: &'a [(String, String)],
    /// The user's.
    pub body: Option<&'a [u8]>,
    /// For `init`.
    pub args: &'a [String],
    /// The load is one of users who wait for their answers: only there can `delay` say when the next request is sent.
    pub is_closed: bool,
    /// States beside the one that belongs to no worker.
    pub workers: u32,
    /// Which of the threads of the whole run these are: the others are on other machines, or nowhere any more.
    pub shares: WorkerShares,
    /// What a script comes to that asks for the end of the load.
    pub stops: Stops,
    /// Of the run.
    pub seed: u64,
    /// Of the target, each as `ADDRESS:PORT`.
    pub addresses: &'a [String],
    /// For `wrk.lookup` and `wrk.connect`.
    pub net: Arc<dyn Net>,
    /// Whoever sees to it that the script comes back looks here.
    pub pulse: Arc<Pulse>,
}

/// A script that is ready to run.
pub struct Script {
    name: String,
    args: Vec<String>,
    main: State,
    /// Until their workers take them.
    workers: Vec<Mutex<Option<Acting>>>,
    addresses: Vec<Option<String>>,
    /// Until the end: `done` may look into them.
    _states: Vec<Lua>,
    first: Vec<Vec<u8>>,
    is_fixed: bool,
    hears: bool,
    delays: bool,
    shared: Arc<Shared>,
    pulse: Arc<Pulse>,
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "script {}", self.name)
    }
}

impl Script {
    /// Runs the script in each state, then `setup`, `init` and, once in each worker's state, `request`. `setup` is called for all
    /// threads of the run in their order, wherever they are, so that it counts them alike on each machine.
    ///
    /// # Errors
    /// [`ScriptError`] for what is wrong with it.
    pub fn open(opening: &Opening<'_>) -> Result<Script, ScriptError> {
        let main = {
            let _inside = opening.pulse.enter(0);
            State::open(opening, 0)?
        };
        let shared = Arc::new(Shared::new(opening.stops));
        let mut script = Script {
            name: opening.name.to_string(),
            args: opening.args.to_vec(),
            main,
            workers: Vec::new(),
            addresses: Vec::new(),
            _states: Vec::new(),
            first: Vec::new(),
            is_fixed: true,
            hears: false,
            delays: false,
            shared,
            pulse: opening.pulse.clone(),
        };
        let WorkerShares { first, of } = opening.shares;
        let here = first..first + opening.workers;
        for share in 0..of {
            match here.contains(&share) {
                true => script.add(opening, share)?,
                false => script.stand_in(opening)?,
            }
        }
        Ok(script)
    }

    /// Reads a script of this name without running any of it.
    ///
    /// # Errors
    /// [`ScriptError`] where it is no Lua.
    pub fn check(name: &str, source: &[u8]) -> Result<(), ScriptError> {
        state::check(name, source)
    }

    /// What it was given. A message of the script's may hold it.
    pub fn args(&self) -> &[String] {
        &self.args
    }

    /// Tells `setup` of a thread that is not here.
    fn stand_in(&self, opening: &Opening<'_>) -> Result<(), ScriptError> {
        let _inside = opening.pulse.enter(0);
        let begun = || {
            let thread = Thread {
                place: Place::Elsewhere(Kept::new(&self.main.lua)?),
                address: Arc::default(),
                first_address: opening.addresses.first().cloned(),
                shared: self.shared.clone(),
            };
            self.main.function("setup")?.call::<()>(self.main.hand(thread)?)
        };
        begun().map_err(|error| ScriptError::of(&error))
    }

    /// Makes the state of the next thread here, whose number among all of the run is `share`, from 0.
    fn add(&mut self, opening: &Opening<'_>, share: u32) -> Result<(), ScriptError> {
        let lua_error = |error: Error| ScriptError::of(&error);
        let number = self.workers.len() + 1;
        let inside = opening.pulse.enter(number);
        let state = State::open(opening, share + 1)?;
        let address = Arc::new(Mutex::new(None));
        let thread = || Thread {
            place: Place::Here(state.lua.weak()),
            address: address.clone(),
            first_address: opening.addresses.first().cloned(),
            shared: self.shared.clone(),
        };
        let args = state.lua.create_table().map_err(lua_error)?;
        let all = [opening.url].into_iter().chain(opening.args.iter().map(String::as_str));
        for (i, arg) in all.enumerate() {
            args.set(i, arg).map_err(lua_error)?;
        }
        let begun = || {
            self.main.function("setup")?.call::<()>(self.main.hand(thread())?)?;
            state.function("init")?.call::<()>((state.hand(thread())?, args))?;
            let has = [state.has("request")?, state.has("response")?, state.has("delay")?];
            let delay = has[2].then(|| state.function("delay")).transpose()?;
            Ok((has, state.function("request")?, state.function("response")?, delay))
        };
        let ([requests, responds, delays], request, response, delay) = begun().map_err(lua_error)?;
        if delays && !opening.is_closed {
            return Err(ScriptError::Delay { name: self.name.clone() });
        }
        let (shared, pulse) = (self.shared.clone(), self.pulse.clone());
        let lua = state.lua.clone();
        let (head, body) = (Last::default(), Last::default());
        let mut acting =
            Acting { lua, request, response, delay, head, body, first: None, shared, pulse, number };
        let mut first = Vec::new();
        // The call enters by itself.
        drop(inside);
        acting.call_request(&mut first).map_err(ScriptError::Lua)?;
        acting.first = Some(first.clone());
        self.first.push(first);
        self.is_fixed &= !requests;
        self.hears |= responds;
        self.delays |= delays;
        let own = address.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.addresses.push(own);
        self._states.push(state.lua);
        self.workers.push(Mutex::new(Some(acting)));
        Ok(())
    }

    /// Its file, for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The first request of each worker.
    pub fn first(&self) -> &[Vec<u8>] {
        &self.first
    }

    /// It has no function `request`: each worker sends the same again and again.
    pub fn is_fixed(&self) -> bool {
        self.is_fixed
    }

    /// It is told of answers.
    pub fn hears(&self) -> bool {
        self.hears
    }

    /// It says for how long users pause.
    pub fn delays(&self) -> bool {
        self.delays
    }

    /// Where the connections of a worker go, if the script has said so.
    pub fn address(&self, worker: usize) -> Option<&str> {
        self.addresses.get(worker)?.as_deref()
    }

    /// What a worker, counted from 0 on, calls. Each takes it once.
    pub fn take(&self, worker: usize) -> Option<Acting> {
        self.workers.get(worker)?.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// It has asked for the end of the load.
    pub fn is_stopped(&self) -> bool {
        self.shared.is_stopped()
    }

    /// How often it failed while the load went on, and why it did so first.
    pub fn failures(&self) -> Option<(u64, String)> {
        self.shared.failures()
    }

    /// Has it a function `done`?
    pub fn wants_figures(&self) -> bool {
        self.main.has("done").unwrap_or_default()
    }

    /// Calls `done`. What threads elsewhere have in the end is not known here, and asking for it is an error.
    ///
    /// # Errors
    /// What it throws.
    pub fn done(&self, figures: &Figures) -> Result<(), ScriptError> {
        let _inside = self.pulse.enter(0);
        self.shared.end();
        let call = || {
            let summary = figures::summary(figures, &self.main.lua)?;
            let (latency, requests) = (figures.latency.clone(), figures.requests_per_s.clone());
            self.main.function("done")?.call::<()>((summary, latency, requests))
        };
        call().map_err(|error| ScriptError::of(&error))
    }
}

/// Whole milliseconds, as wrk has them.
fn pause(ms: f64) -> Result<Nanos, String> {
    match (0.0..=DELAY_MS_MAX).contains(&ms) {
        true => Ok(Nanos::from_millis(ms as u64)),
        false => Err(format!("delay() must return milliseconds from 0 to a day: it returned {ms}")),
    }
}

/// What a worker calls while the load goes on.
pub struct Acting {
    lua: Lua,
    request: Function,
    response: Function,
    delay: Option<Function>,
    /// Of the answer that it was told of last.
    head: Last,
    body: Last,
    /// Rendered already.
    first: Option<Vec<u8>>,
    shared: Arc<Shared>,
    pulse: Arc<Pulse>,
    /// Of its state.
    number: usize,
}

impl Acting {
    /// Appends the next request. False if the script has failed.
    #[inline]
    pub fn request(&mut self, out: &mut Vec<u8>) -> bool {
        if let Some(first) = self.first.take() {
            out.extend_from_slice(&first);
            return true;
        }
        let called = self.call_request(out);
        self.note(called)
    }

    #[inline]
    fn call_request(&self, out: &mut Vec<u8>) -> Result<(), String> {
        let _inside = self.pulse.enter(self.number);
        // A value of Lua's own would be one more reference to make and to give up.
        let text = self.request.call::<BString>(()).map_err(|error| words(&error))?;
        out.extend_from_slice(&text);
        Ok(())
    }

    /// Tells the script of an answer: its head, as it came, and its body. False if the script has failed.
    pub fn response(&mut self, status: u16, head: &[u8], body: &[u8]) -> bool {
        let called = self.call_response(status, head, body).map_err(|error| words(&error));
        self.note(called)
    }

    #[inline]
    fn call_response(&mut self, status: u16, head: &[u8], body: &[u8]) -> Result<(), Error> {
        let _inside = self.pulse.enter(self.number);
        let (head, body) = (self.head.of(head, &self.lua)?, self.body.of(body, &self.lua)?);
        self.response.call((status, head, body))
    }

    /// For how long a user pauses before its next request; nothing of a script that has no `delay`. One that fails says no pause.
    pub fn delay(&mut self) -> Option<Nanos> {
        let delay = self.delay.as_ref()?;
        let _inside = self.pulse.enter(self.number);
        let called = match delay.call::<Value>(()) {
            Ok(Value::Integer(ms)) => pause(ms as f64),
            Ok(Value::Number(ms)) => pause(ms),
            Ok(other) => {
                Err(format!("delay() must return milliseconds: it returned a {}", other.type_name()))
            }
            Err(error) => Err(words(&error)),
        };
        Some(called.unwrap_or_else(|why| {
            self.shared.fail(why);
            Nanos::ZERO
        }))
    }

    /// What the script has given can't be sent.
    #[cold]
    pub fn fail(&self, why: String) {
        self.shared.fail(why);
    }

    /// It has asked for the end of the load, and that is to end at once.
    #[inline]
    pub fn ends_load(&self) -> bool {
        self.shared.ends_load()
    }

    #[inline]
    fn note(&self, called: Result<(), String>) -> bool {
        called.map_err(|why| self.shared.fail(why)).is_ok()
    }
}
