//! What a script calls a thread: a worker's state, seen from itself and from the state that has no worker.

use super::Shared;
use mlua::{Error, Lua, Result, UserData, UserDataFields, UserDataMethods, Value, WeakLua};
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

impl UserData for Thread {
    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        fields.add_field_method_get("addr", |_, this| {
            let own = this.address.lock().unwrap_or_else(PoisonError::into_inner).clone();
            Ok(own.or_else(|| this.first_address.clone()))
        });
        fields.add_field_method_set("addr", |_, this, address: Option<String>| {
            let is_one = |text: &String| text.parse::<core::net::SocketAddr>().is_ok();
            if let Some(wrong) = address.as_ref().filter(|text| !is_one(text)) {
                return Err(Error::runtime(format!(
                    "thread.addr = {wrong:?}: expected one of the addresses that wrk.lookup() gives"
                )));
            }
            *this.address.lock().unwrap_or_else(PoisonError::into_inner) = address;
            Ok(())
        });
    }

    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("get", |lua, this, name: String| {
            copied(&this.state()?.globals().get(name)?, lua, DEPTH_MAX)
        });
        methods.add_method("set", |_, this, (name, value): (String, Value)| {
            let state = this.state()?;
            state.globals().set(name, copied(&value, &state, DEPTH_MAX)?)
        });
        methods.add_method("stop", |_, this, ()| {
            this.shared.stop();
            Ok(())
        });
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
