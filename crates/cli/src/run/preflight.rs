//! The request before the run: a target that does not answer it as expected is not measured, and has not passed.

use super::job::AnyJob;
use crate::errors::PreflightFailed;
use crate::{clock, output};
use anyhow::Result;
use std::path::Path;
use std::time::Duration;
use unblink_artifact::document::{Requested, RunDocument, RunStatus};
use unblink_artifact::folder::ReservedFolder;
use unblink_artifact::header::RunHeader;
use unblink_artifact::tally::{Ending, OriginEnding, Tally};
use unblink_core::origins::ORIGINS_MAX;
use unblink_core::time::Nanos;
use unblink_report::format;

/// Requests at the most: a long target file is not gone through twice.
const REQUESTS_MAX: usize = 32;
/// A request that takes longer than this is given up, whatever the timeout.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
/// For so long nothing is said of an answer that does not come.
const QUIET: Duration = Duration::from_secs(1);

/// Asks each target once that some load asks for. Gives how many were asked.
pub(crate) fn all(job: &AnyJob, targets: &[Requested]) -> Result<u64> {
    let plan = job.plan();
    let patience = Duration::from_nanos(plan.spec().timeout.0).min(PATIENCE);
    let asked = || (0..job.operations()).filter(|&number| plan.asks_for(number as u32));
    let origin_of = |number: usize| plan.spec().origins.of(number as u32);
    let mut origins = [false; ORIGINS_MAX];
    // No origin is left out because it comes late in a long list.
    let is_first = |number: &usize| !std::mem::replace(&mut origins[origin_of(*number)], true);
    let firsts: Vec<usize> = asked().filter(is_first).collect();
    let mut count = 0;
    for (place, number) in asked().enumerate() {
        // A later step of a journey means nothing without those before it.
        let is_later = plan.journeys().is_some_and(|paths| !paths.can_come_first(number));
        // What was recorded may have failed then, too: the most frequent kind alone is asked for.
        let most = if plan.recorded().is_some() { 1 } else { REQUESTS_MAX };
        if is_later || (place >= most && !firsts.contains(&number)) {
            continue;
        }
        let request = match targets.get(number) {
            Some(target) => format!("{} {}", target.method, target.url),
            // Only so many are listed.
            None => format!("target {}", number + 1),
        };
        count += 1;
        let answer = || job.preflight(number, patience);
        let room = told_if_slow(answer, &request, patience).map_err(|source| match source.is_usage() {
            true => anyhow::Error::new(source).context(format!("can't ask {request} once before the run")),
            false => {
                let origin = origin_of(number);
                PreflightFailed { origin, request: request.clone(), source, is_setup: false }.into()
            }
        })?;
        if let (Some(room), Some(streams), true) = (room, job.streams(), firsts.contains(&number)) {
            output::note(format_args!(
                "HTTP/2, {streams} streams a connection were asked for; the target allows {room}: {request}"
            ));
        }
    }
    Ok(count)
}

/// The record of a run that did not begin, in `folder`: its objectives are missed, and the finding says why.
pub(crate) fn record(
    failed: &PreflightFailed,
    mut header: RunHeader,
    folder: &Path,
) -> Result<(RunDocument, Tally)> {
    output::note(format_args!("error: {failed}"));
    header.started_at = header.agents.first().map_or_else(clock::now, |agent| agent.start_at.clone());
    let mut origins = vec![OriginEnding::default(); failed.origin + 1];
    origins[failed.origin].preflight = Some(failed.what());
    let ending = Ending {
        status: RunStatus::Complete,
        scheduled: Some(0),
        origins,
        ..Ending::unknown(&header, Nanos::ZERO)
    };
    let writer = ReservedFolder::make(folder)?.begin(&header)?;
    let tally = Tally::new(header);
    let document = tally.document(&ending);
    if let Err(error) = writer.finish(&document) {
        output::note(format_args!("warning: {error}"));
    }
    Ok((document, tally))
}

/// Does `work`, and says what it waits for where that takes a while.
pub(crate) fn told_if_slow<T>(work: impl FnOnce() -> T, what: &str, patience: Duration) -> T {
    let (done, waiting) = std::sync::mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if waiting.recv_timeout(QUIET) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                let patience = format::plain(&format::moment(patience.as_nanos() as u64));
                output::note(format_args!("waiting for the answer, for up to {patience}: {what}"));
            }
        });
        let result = work();
        drop(done);
        result
    })
}
