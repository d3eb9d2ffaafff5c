//! `unblink agent`: waits on the bus for a run, takes part in it, and leaves, or is there again for the next one.

use super::ceiling::{Ceiling, Ceilings};
use super::led::{Led, NotBegun, Stopping, leave_with_input};
use super::taking::{FILES, Offered, RunOf, offered};
use super::{beside, keys, leaving};
use crate::args::agents::AgentArgs;
use crate::clock::OwnTime;
use crate::errors::PreflightFailed;
use crate::folder::Folder;
use crate::signals::Interruptions;
use crate::{exit, guard, output, signals};
use anyhow::{Result, bail};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use unblink_artifact::document::named_shares;
use unblink_cluster::agent::{Action, Event, Known, Left};
use unblink_cluster::bus::{AgentBus, join};
use unblink_cluster::message::{Ended, Machine, Next, Offer, Refusal};

/// What came of taking part.
struct Part {
    code: u8,
    next: Next,
    /// What it has fetched, for the run that follows.
    known: Known,
}

impl Part {
    /// Nothing is to follow.
    fn last(code: u8) -> Part {
        Part { code, next: Next::Leave, known: Known::new() }
    }
}

/// Waits for a run, and for those that follow it. Gives the exit code.
pub(crate) fn agent(args: &AgentArgs, run_of: RunOf, ceilings: Ceilings) -> Result<u8> {
    let time = OwnTime::start();
    let options = keys::options(&args.bus)?;
    // Known before anybody counts on it.
    if let Some(folder) = &args.output {
        output::check_folder(&free_folder(folder, 1, args.in_place))?;
    }
    guard::only(&args.allow_target)?;
    let interruptions = signals::listen()?;
    let shares = args.shares.unwrap_or_else(cores);
    let limits = unblink_engine::limits::raise();
    let ceiling = ceilings.of(args, shares.min(cores()), &interruptions)?;
    if matches!(ceiling, Ceiling::Interrupted) {
        return Ok(exit::INTERRUPTED);
    }
    let mut machine = Machine {
        cores: cores(),
        descriptors: Some(limits.descriptors),
        connections: Some(limits.connections(shares)),
        ports: Some(limits.ports),
        carries_per_s: ceiling.per_s(),
        ..Machine::new(env!("UNBLINK_VERSION"), host(), shares)
    };
    let stopping = Arc::new(Stopping::new(time));
    if args.in_place {
        leave_with_input(stopping.clone())?;
    }
    let mut known = Known::new();
    for number in 1.. {
        let (actions, todo) = channel();
        let stopped = stopping.clone();
        let act = move |action: Action| match action {
            // At once, whatever the run is doing.
            Action::StopLoad { at, cause, why } => stopped.stop_by(at, cause, why),
            Action::LeaseUntil(until) => stopped.lease_until(until),
            Action::Compared { at, reading } => stopped.compared(at, reading),
            Action::Unkept(why) => {
                output::note(format_args!("error: {why}: no more load is offered"));
                stopped.unkept(why);
            }
            Action::Note(note) => output::note(format_args!("warning: {note}")),
            other => drop(actions.send(other)),
        };
        let now = Arc::new(move || time.now());
        // Another one each time: what was meant for the run before is nobody's any more.
        let id = keys::unique()?;
        let trusted = args.accept_from.clone();
        let bus = join(options.clone(), id, machine.clone(), std::mem::take(&mut known), trusted, now, act)?;
        let leave = bus.leaver();
        interruptions.last_word(Some(Box::new(move |signal| leave(signal.to_string()))));
        if !args.quiet {
            let what = if number == 1 { "a" } else { "the next" };
            output::note(format_args!("waiting for {what} run on {}", options.url));
        }
        let led = Led::new(time, &bus, &todo, &stopping, &interruptions);
        let done =
            Taking { args, run_of, bus: &bus, todo: &todo, interruptions: &interruptions, number }.part(led);
        interruptions.last_word(None);
        if let Err(error) = &done {
            bus.leaver()(leaving::text(&crate::explain_error(error)));
        }
        bus.end();
        stopping.clear();
        interruptions.defer_no_more();
        let part = done?;
        let (code, next) = (part.code, part.next);
        known = part.known;
        // Its user may have waited for the record alone.
        if code != exit::OK || !interruptions.wait(Duration::ZERO) {
            return Ok(code);
        }
        machine.after = match next {
            Next::Leave => return Ok(code),
            Next::Run(command) => Some(command),
            Next::Any => None,
        };
    }
    Ok(exit::OK)
}

/// One run of several.
struct Taking<'a> {
    args: &'a AgentArgs,
    run_of: RunOf,
    bus: &'a AgentBus,
    todo: &'a Receiver<Action>,
    interruptions: &'a Interruptions,
    /// From 1.
    number: u32,
}

/// Where the record of one of several runs goes: `own`, then `own-2` and so on. Beside a coordinator `agent-1` and then
/// `run-2-agent-1`: one pattern of a shell must not take those of several runs for one.
pub(super) fn folder_of(named: &Path, run: u32, in_place: bool) -> PathBuf {
    let (before, after) = match (run, in_place) {
        (1, _) => return named.to_path_buf(),
        (_, true) => (format!("run-{run}-"), String::new()),
        (_, false) => (String::new(), format!("-{run}")),
    };
    let mut name = OsString::from(before);
    name.push(named.file_name().unwrap_or_default());
    name.push(after);
    named.with_file_name(name)
}

/// The same for a run that begins now: what is there belongs to another command, or to this one before it was started again.
fn free_folder(named: &Path, run: u32, in_place: bool) -> PathBuf {
    let mut all = (run..).map(|number| folder_of(named, number, in_place));
    all.find(|folder| is_free(folder)).unwrap_or_else(|| folder_of(named, run, in_place))
}

/// Nothing has been recorded there. An agent that was killed while it made ready has left files beside it.
fn is_free(folder: &Path) -> bool {
    let is_empty = || std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none());
    !beside(folder, FILES).exists() && (!folder.exists() || is_empty())
}

impl Taking<'_> {
    /// Takes part in it.
    fn part(&self, led: Led<'_>) -> Result<Part> {
        loop {
            match self.todo.recv() {
                Ok(Action::Prepare(offer, files)) => return self.taken(&offer, files, led),
                Ok(Action::Leave(Left::Because(why))) => {
                    // After a run before, nobody needs it any more.
                    let is_first = self.number == 1;
                    if is_first {
                        output::note(format_args!("error: this agent took no part: {why}"));
                    }
                    return Ok(Part::last(if is_first { exit::INVALID } else { exit::OK }));
                }
                Ok(_) => {}
                Err(_) => bail!("the bus has gone"),
            }
        }
    }

    fn taken(&self, offer: &Offer, files: Vec<Arc<Vec<u8>>>, mut led: Led<'_>) -> Result<Part> {
        let Taking { args, run_of, bus, interruptions, number, .. } = *self;
        let named = args.output.as_ref().map(|named| free_folder(named, number, args.in_place));
        let folder = Folder::named_or_new(named.as_ref(), "unblink-runs")?;
        if !args.quiet {
            let shares = named_shares(offer.first, offer.last, offer.of);
            let elsewhere = if args.output.as_ref() == named.as_ref() { None } else { named.as_ref() };
            let to = elsewhere.map_or(String::new(), |to| format!("; its record goes to {}", to.display()));
            output::note(format_args!("taking part in a run: {shares}{to}"));
        }
        let done = offered(args, run_of, offer, files, &folder, interruptions, &mut led);
        led.recorded();
        let (code, own_reason, known) = match done {
            Ok(Offered { ended, fell_short, known }) => {
                // Whoever started it must not take what ended early for done. What the load came to is for the whole run to
                // say.
                let code = match ended.code {
                    exit::INTERRUPTED => exit::INTERRUPTED,
                    _ if fell_short => exit::INVALID,
                    _ => exit::OK,
                };
                bus.tell(Event::Ended(leaving::ended(ended)));
                (code, None, known)
            }
            Err(error) if error.is::<NotBegun>() => {
                output::note(format_args!("error: {error}"));
                return Ok(Part::last(exit::INVALID));
            }
            Err(error) => {
                let by_target = error.is::<PreflightFailed>();
                let why = crate::explain_error(&error);
                output::note(format_args!("error: {why}"));
                let why = leaving::text(&why);
                let refusal = Refusal { reasons: vec![why.clone()], by_target };
                bus.tell(Event::Prepared(Err(refusal)));
                // Once the start is settled, a refusal is none.
                let error = Some(why.clone());
                let code = if by_target { exit::FAILED } else { exit::INVALID };
                bus.tell(Event::Ended(Ended {
                    code,
                    stopped_by: None,
                    error,
                    notes: Vec::new(),
                    files: Vec::new(),
                }));
                (code, Some(why), Known::new())
            }
        };
        let part = self.left(code, &folder, own_reason.as_deref())?;
        Ok(Part { known, ..part })
    }

    /// Waits until the record has been fetched, unless there is none for this agent's `own_reason`, which has been said; then it
    /// ends with this code.
    fn left(&self, code: u8, folder: &Path, own_reason: Option<&str>) -> Result<Part> {
        let record = (own_reason.is_none() && !self.args.quiet).then_some(folder);
        while let Ok(action) = self.todo.recv() {
            match action {
                Action::Leave(Left::Done(next)) => {
                    if let Some(folder) = record {
                        let folder = folder.display();
                        output::note(format_args!("the record has been fetched; it is in {folder}, too"));
                    }
                    return Ok(Part { next, ..Part::last(code) });
                }
                Action::Leave(Left::Because(why)) => {
                    if let Some(folder) = record {
                        output::note(format_args!("the record is in {} (unblink merge)", folder.display()));
                    }
                    if !own_reason.is_some_and(|own| why.contains(own)) {
                        output::note(format_args!("error: this agent leaves: {why}"));
                    }
                    let code = if code == exit::OK { exit::INVALID } else { code };
                    return Ok(Part::last(code));
                }
                _ => {}
            }
        }
        Ok(Part::last(code))
    }
}

fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `agent-*` is what a shell is told to merge.
    #[test]
    fn records_of_several_runs_here_have_no_pattern_in_common() {
        let place = |name: &str| Path::new("whole.local").join(name);
        let of = |run, in_place| folder_of(&place("agent-1"), run, in_place);
        assert_eq!([of(1, true), of(1, false)], [place("agent-1"), place("agent-1")]);
        assert_eq!([of(2, true), of(12, true)], [place("run-2-agent-1"), place("run-12-agent-1")]);
        assert_eq!(of(2, false), place("agent-1-2"));
    }

    #[test]
    fn what_is_there_is_left_alone() {
        let place = tempfile::tempdir().expect("a folder");
        let (named, made) = (place.path().join("own"), |name: &str| {
            std::fs::create_dir(place.path().join(name)).expect("a folder");
        });
        let of = |run| free_folder(&named, run, false);
        let called = |name: &str| place.path().join(name);
        assert_eq!([of(1), of(2)], [called("own"), called("own-2")]);
        made("own");
        assert_eq!(of(1), called("own"), "an empty one will do");
        std::fs::write(called("own").join("run.json"), "{}").expect("a file");
        assert_eq!(of(1), called("own-2"));
        // Somebody was killed.
        made("own-2.files");
        assert_eq!([of(1), of(3)], [called("own-3"), called("own-3")]);
    }
}
