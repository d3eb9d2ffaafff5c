//! What a script calls a thread: a worker's state, seen from itself and from the state that has no worker.

use super::shared::Shared;
use mlua::{Error, Lua, Result, Table, Value, WeakLua};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// Tables within tables that are copied at the most: one that contains itself has no end.
const DEPTH_MAX: u32 = 32;

/// A worker, for scripts.
pub(super) struct Thread {
    pub(super) place: Place,
    pub(super) address: Arc<Mutex<Option<String>>>,
    /// What `addr` is where the script has not set it.
    pub(super) first_address: Option<String>,
    pub(super) shared: Arc<Shared>,
}

/// Where a thread is.
pub(super) enum Place {
    /// In this process. The state keeps the thread, so it does not keep the state.
    Here(WeakLua),
    /// On another machine. What is set of it is kept, so that `setup` finds all threads of the run alike on each machine.
    Elsewhere(Kept),
}

/// What `setup` has set of a thread that is elsewhere.
pub(super) struct Kept {
    values: Table,
    /// Nothing may have been set, too.
    names: Mutex<BTreeSet<String>>,
}

impl Kept {
    /// Nothing yet. It is kept in the state `lua`.
    pub(super) fn new(lua: &Lua) -> Result<Kept> {
        Ok(Kept { values: lua.create_table()?, names: Mutex::default() })
    }
}

impl Thread {
    fn here(state: &WeakLua) -> Result<Lua> {
        state.try_upgrade().ok_or_else(|| Error::runtime("this thread is gone"))
    }

    fn get(&self, lua: &Lua, name: String) -> Result<Value> {
        let kept = match &self.place {
            Place::Here(state) => return copied(&Thread::here(state)?.globals().get(name)?, lua, DEPTH_MAX),
            Place::Elsewhere(kept) => kept,
        };
        // What it was at the start would pass for what it is now.
        if self.shared.is_over() {
            return Err(Error::runtime(format!(
                "thread:get({name:?}): the thread was on another machine, and what it had in the end stays there"
            )));
        }
        if !kept.names.lock().unwrap_or_else(PoisonError::into_inner).contains(&name) {
            return Err(Error::runtime(format!(
                "thread:get({name:?}): this thread is on another machine, and of it only that is known here which setup() has set before \
                 (thread:set)"
            )));
        }
        copied(&kept.values.raw_get(name)?, lua, DEPTH_MAX)
    }

    fn set(&self, lua: &Lua, name: String, value: &Value) -> Result<()> {
        match &self.place {
            Place::Here(state) => {
                let state = Thread::here(state)?;
                let value = copied(value, &state, DEPTH_MAX)?;
                state.globals().set(name, value)
            }
            Place::Elsewhere(kept) => {
                // A copy: whoever changes the table afterwards changes nothing of the thread's.
                kept.values.raw_set(name.as_str(), copied(value, lua, DEPTH_MAX)?)?;
                kept.names.lock().unwrap_or_else(PoisonError::into_inner).insert(name);
                Ok(())
            }
        }
    }

    fn stop(&self) -> Option<&'static str> {
        match self.place {
            Place::Here(_) => self.shared.stop(),
            Place::Elsewhere(_) => Some(
                "thread:stop(): this thread is on another machine, where its own script can end the load (wrk.thread:stop())",
            ),
        }
    }

    /// What the prelude makes a thread of, for scripts of `lua`: functions that return why they can't, if they can't. No
    /// userdata of ours: its finalizer hands LuaJIT a C int whose upper half is not zero, which LuaJIT takes for part of
    /// the number.
    pub(super) fn access(self, lua: &Lua) -> Result<Table> {
        let this = Arc::new(self);
        let access = lua.create_table()?;
        let of = this.clone();
        access.set(
            "addr",
            lua.create_function(move |_, ()| {
                let own = of.address.lock().unwrap_or_else(PoisonError::into_inner).clone();
                Ok(own.or_else(|| of.first_address.clone()))
            })?,
        )?;
        let of = this.clone();
        access.set(
            "set_addr",
            lua.create_function(move |_, address: Option<String>| {
                let is_one = |text: &String| text.parse::<core::net::SocketAddr>().is_ok();
                if let Some(wrong) = address.as_ref().filter(|text| !is_one(text)) {
                    return Ok(Some(format!(
                        "thread.addr = {wrong:?}: expected one of the addresses that wrk.lookup() gives"
                    )));
                }
                *of.address.lock().unwrap_or_else(PoisonError::into_inner) = address;
                Ok(None)
            })?,
        )?;
        let of = this.clone();
        access.set(
            "get",
            lua.create_function(move |lua, name: String| {
                Ok(match of.get(lua, name) {
                    Ok(value) => (None, value),
                    Err(why) => (Some(said(&why)), Value::Nil),
                })
            })?,
        )?;
        let of = this.clone();
        access.set(
            "set",
            lua.create_function(move |lua, (name, value): (String, Value)| {
                Ok(of.set(lua, name, &value).err().map(|why| said(&why)))
            })?,
        )?;
        access.set("stop", lua.create_function(move |_, ()| Ok(this.stop()))?)?;
        Ok(access)
    }
}

/// An error of ours in its own words.
fn said(error: &Error) -> String {
    match error {
        Error::RuntimeError(text) => text.clone(),
        other => super::error::words(other),
    }
}

/// The same value in another state.
fn copied(value: &Value, to: &Lua, depth: u32) -> Result<Value> {
    Ok(match value {
        Value::Nil | Value::Boolean(_) | Value::Integer(_) | Value::Number(_) => value.clone(),
        Value::String(text) => Value::String(to.create_string(text.as_bytes())?),
        Value::Table(table) if depth > 0 => {
            let copy = to.create_table()?;
            for pair in table.pairs::<Value, Value>() {
                let (key, value) = pair?;
                copy.set(copied(&key, to, depth - 1)?, copied(&value, to, depth - 1)?)?;
            }
            Value::Table(copy)
        }
        Value::Table(_) => {
            return Err(Error::runtime("the table is nested too deep to be handed to a thread"));
        }
        other => return Err(Error::runtime(format!("a {} can't be handed to a thread", other.type_name()))),
    })
}
