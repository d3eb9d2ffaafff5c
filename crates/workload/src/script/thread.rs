//! What a script calls a thread: a worker's state, seen from itself and from the state that has no worker.

use super::Shared;
use mlua::{Error, Lua, Result, Table, Value, WeakLua};
use std::sync::{Arc, Mutex, PoisonError};

/// Tables within tables that are copied at the most: one that contains itself has no end.
const DEPTH_MAX: u32 = 32;

/// A worker, for scripts. The state keeps it, so it does not keep the state.
pub(super) struct Thread {
    pub(super) state: WeakLua,
    pub(super) address: Arc<Mutex<Option<String>>>,
    /// What `addr` is where the script has not set it.
    pub(super) first_address: Option<String>,
    pub(super) shared: Arc<Shared>,
}

impl Thread {
    fn state(&self) -> Result<Lua> {
        self.state.try_upgrade().ok_or_else(|| Error::runtime("this thread is gone"))
    }
}

impl Thread {
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
                let got = of.state().and_then(|state| copied(&state.globals().get(name)?, lua, DEPTH_MAX));
                Ok(match got {
                    Ok(value) => (None, value),
                    Err(why) => (Some(said(&why)), Value::Nil),
                })
            })?,
        )?;
        let of = this.clone();
        access.set(
            "set",
            lua.create_function(move |_, (name, value): (String, Value)| {
                let set = of.state().and_then(|state| {
                    let value = copied(&value, &state, DEPTH_MAX)?;
                    state.globals().set(name, value)
                });
                Ok(set.err().map(|why| said(&why)))
            })?,
        )?;
        access.set(
            "stop",
            lua.create_function(move |_, ()| {
                this.shared.stop();
                Ok(())
            })?,
        )?;
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
