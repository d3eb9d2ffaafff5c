//! One Lua state: the libraries, `wrk`, and the script, which has run once.

use super::error::ScriptError;
use super::thread::Thread;
use super::{Net, Opening};
use mlua::chunk::ChunkMode;
use mlua::{Error, Function, Lua, LuaOptions, Result, StdLib, Table, Value};
use std::sync::Arc;
use unblink_core::random::mixed;

/// A state may hold so many bytes.
pub(super) const MEMORY_MAX: usize = 1 << 30;

/// What calls the script, for each function of its interface.
pub(super) struct State {
    pub(super) lua: Lua,
    call: Table,
}

/// What is no Lua in a script of this name, of which nothing is run.
pub(super) fn check(name: &str, source: &[u8]) -> std::result::Result<(), ScriptError> {
    let lua = Lua::new_with(StdLib::NONE, LuaOptions::default()).map_err(|error| ScriptError::of(&error))?;
    let text = lua.load(source).set_name(format!("@{name}")).set_mode(ChunkMode::Text);
    text.into_function().map(drop).map_err(|error| ScriptError::of(&error))
}

impl State {
    /// Runs the script once. Thread 0 is nobody's, those of the run are numbered from 1 on, wherever they are.
    pub(super) fn open(opening: &Opening<'_>, thread: u32) -> std::result::Result<State, ScriptError> {
        let opened = || {
            let lua = Lua::new_with(StdLib::ALL_SAFE, LuaOptions::default())?;
            // Where the allocator can't be told, there is no limit.
            let _ = lua.set_memory_limit(MEMORY_MAX);
            let given = given(opening, thread, &lua)?;
            let call = lua.load(include_str!("prelude.lua")).set_name("@wrk").call(given)?;
            lua.load(opening.source)
                .set_name(format!("@{}", opening.name))
                .set_mode(ChunkMode::Text)
                .exec()?;
            Ok(State { lua, call })
        };
        opened().map_err(|error: Error| ScriptError::of(&error))
    }

    /// One of the functions that call the script.
    pub(super) fn function(&self, name: &str) -> Result<Function> {
        self.call.get(name)
    }

    /// A thread, as a value of this state's.
    pub(super) fn hand(&self, thread: Thread) -> Result<Value> {
        self.function("thread")?.call(thread.access(&self.lua)?)
    }

    /// Has the script a function of this name?
    pub(super) fn has(&self, name: &str) -> Result<bool> {
        self.function("has")?.call(name)
    }
}

/// What the prelude is given.
fn given(opening: &Opening<'_>, thread: u32, lua: &Lua) -> Result<Table> {
    let given = lua.create_table()?;
    // 53 bits: a number of Lua holds no more.
    given.set("seed", (mixed(opening.seed ^ u64::from(thread)) >> 11) as f64)?;
    given.set("scheme", opening.scheme)?;
    given.set("host", opening.host)?;
    given.set("port", opening.port)?;
    given.set("authority", opening.authority)?;
    given.set("method", opening.method)?;
    given.set("path", opening.path)?;
    if let Some(body) = opening.body {
        given.set("body", lua.create_string(body)?)?;
    }
    let headers = lua.create_table()?;
    for (name, value) in opening.headers {
        headers.set(name.as_str(), value.as_str())?;
    }
    given.set("headers", headers)?;
    given.set("addrs", opening.addresses.to_vec())?;
    let net: Arc<dyn Net> = opening.net.clone();
    given.set("lookup", {
        let net = net.clone();
        lua.create_function(move |_, (host, service): (String, Option<String>)| {
            // The prelude throws what is wrong, which then has the line of whoever asked.
            Ok(match net.lookup(&host, service.as_deref().unwrap_or("http")) {
                Ok(found) => (Some(found), None),
                Err(why) => (None, Some(why)),
            })
        })?
    })?;
    given.set("connect", lua.create_function(move |_, address: String| Ok(net.connect(&address)))?)?;
    Ok(given)
}
