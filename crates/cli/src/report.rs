//! `unblink report`: everything anew from a run's folder.

use crate::args::ReportArgs;
use crate::run::objectives::{self, Known};
use crate::unshown::Shown;
use crate::{exit, history, output};
use anyhow::{Result, bail};
use std::path::Path;
use unblink_artifact::document::RunStatus;
use unblink_artifact::folder::{RUN_FILE, read_folder, replay_as};

/// Reads the folder and presents what it holds.
pub(crate) fn report(args: &ReportArgs) -> Result<u8> {
    if let (Some(from), Some(to)) = (args.from, args.to)
        && from >= to
    {
        bail!("--from {} s is not before --to {} s", from.as_secs_f64(), to.as_secs_f64());
    }
    output::check_exports(&args.exports)?;
    // Whoever names the document means the run.
    let named = history::record(&args.dir, &args.store)?;
    let dir = match named.file_name().is_some_and(|name| name == RUN_FILE) && named.is_file() {
        true => named.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new(".")),
        false => &named,
    };
    let mut run = read_folder(dir)?;
    let asked = objectives::of_recorded(&args.objectives, &run.header);
    let is_judged_anew = !asked.slo.is_empty();
    let header = &mut run.header;
    if is_judged_anew {
        let (targets, operations) = (&header.targets[..], &header.operations[..]);
        let known = Known { targets, operations, parts: header.part_names(), plan: None };
        objectives::check(&asked.slo, &[], &known)?;
        header.objectives = asked.document(&[]);
    } else if asked.on_inconclusive.is_some() {
        header.objectives.on_inconclusive = asked.document(&[]).on_inconclusive;
    }
    let (mut tally, ending) = replay_as(&run, args.from, args.to)?;
    if let Some(requests) = args.exports.fanout {
        tally.set_fanout(requests);
    }
    let document = tally.document(&ending);
    if let Some(path) = &args.html {
        output::write(path, &unblink_report::html::render(&document))?;
    }
    let shown = Shown::of(output::present(&document, &tally, &args.exports, None), dir, output::PAGE);
    // A run that was killed has no page yet. It may also go on, and then write the page of its end: what there is so
    // far has a name of its own.
    let is_open = document.status == RunStatus::Running;
    let page = dir.join(if is_open { output::PAGE_SO_FAR } else { output::PAGE });
    if document.part.is_none() && args.html.is_none() && !is_judged_anew && (is_open || !page.exists()) {
        output::write_beside(&page, &unblink_report::html::render(&document));
        output::note(format_args!("Report  {}", page.display()));
    }
    Ok(shown.code(exit::of_report(&document)))
}
