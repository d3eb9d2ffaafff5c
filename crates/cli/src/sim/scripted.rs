//! A script whose requests are simulated: it is run as a run with one worker runs it, and told of answers without headers or body.

use super::Simulation;
use crate::args::sim::SimArgs;
use crate::errors::refuse;
use crate::request::version::HttpArg;
use crate::request::{NOWHERE, Request};
use crate::script::{self, Source, Threads};
use anyhow::Result;
use std::sync::Arc;
use unblink_wire::Whole;
use unblink_workload::script::{Acting, Net, Script};

/// Where a simulated target listens, in the eyes of its script.
const ADDRESS: &str = "127.0.0.1";

/// The script that `args` name, if they name one. Refuses what a script leaves no place for, and what is not simulated of one.
pub(super) fn read(args: &SimArgs) -> Result<Option<Source<'_>>> {
    let of = &args.script;
    let Some(path) = script::named(of)? else { return Ok(None) };
    if !args.requests.is_empty() || !args.journeys.is_empty() || args.load.replay.recorded.replay.is_some() {
        refuse!(["script"], "--script makes all requests: leave [[requests]], [[journeys]] and --replay out");
    }
    if args.http != HttpArg::One {
        refuse!(
            ["http", "script"],
            "--script makes requests of HTTP/1.1, as wrk's scripts write them: leave --http out"
        );
    }
    let request = args.scripted.clone().map_or_else(|| Request::new(None, NOWHERE), Ok)?;
    Source::read(of, path, request).map(Some)
}

impl Simulation {
    /// Runs the script of `args`, if they name one, up to its first request.
    pub(super) fn open_script(&mut self, args: &SimArgs) -> Result<()> {
        let Some(source) = read(args)? else { return Ok(()) };
        if self.client.is_some() {
            refuse!(
                ["client", "script"],
                "--script makes the requests of the ideal client: leave --client or the script out"
            );
        }
        let script =
            source.begin(&[format!("{ADDRESS}:80")], Threads::ALONE, Arc::new(Nowhere), &args.load)?;
        if script.delays() {
            refuse!(
                ["script"],
                "--script: delay() is not simulated: take it out of the script, and say with --think for how long users pause"
            );
        }
        self.header.plan.values.push(script::describe(&script));
        self.script = Some(script);
        Ok(())
    }
}

/// No network: every name is that of the simulated target, and a connection to it can be opened.
struct Nowhere;

impl Net for Nowhere {
    fn lookup(&self, _host: &str, service: &str) -> Result<Vec<String>, String> {
        Ok(vec![format!("{ADDRESS}:{}", script::port(service)?)])
    }

    fn connect(&self, _address: &str) -> bool {
        true
    }
}

/// What the only worker calls.
pub(super) struct Scripted {
    acting: Acting,
    is_fixed: bool,
    hears: bool,
    text: Vec<u8>,
    /// Requests that the script has given at once with the one before.
    left: usize,
}

impl Scripted {
    pub(super) fn new(script: &Script) -> Option<Scripted> {
        let (is_fixed, hears) = (script.is_fixed(), script.hears());
        Some(Scripted { acting: script.take(0)?, is_fixed, hears, text: Vec::new(), left: 0 })
    }

    /// Makes the next request. False if the script has none that can be sent.
    pub(super) fn makes(&mut self) -> bool {
        // The only one that there is has been looked at before.
        if self.is_fixed {
            return true;
        }
        if self.left > 0 {
            self.left -= 1;
            return true;
        }
        self.text.clear();
        if !self.acting.request(&mut self.text) {
            return false;
        }
        match Whole::all(&self.text) {
            Ok(all) => {
                self.left = all.len().saturating_sub(1);
                true
            }
            Err(why) => {
                self.acting.fail(format!("request() did not return a request: {why}"));
                false
            }
        }
    }

    /// False if the script has failed at the answer.
    pub(super) fn hears(&mut self, status: u16) -> bool {
        !self.hears || self.acting.response(status, b"", b"")
    }

    /// The script has asked for the end of the load.
    pub(super) fn is_stopped(&self) -> bool {
        self.acting.ends_load()
    }
}
