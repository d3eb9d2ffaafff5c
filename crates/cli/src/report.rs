//! `unblink report`: everything anew from a run's folder.

use crate::args::ReportArgs;
use crate::{exit, output};
use anyhow::{Result, bail};
use std::path::Path;
use unblink_artifact::folder::{RUN_FILE, replay};

/// Reads the folder and presents what it holds.
pub(crate) fn report(args: &ReportArgs) -> Result<u8> {
    if let (Some(from), Some(to)) = (args.from, args.to)
        && from >= to
    {
        bail!("--from {} s is not before --to {} s", from.as_secs_f64(), to.as_secs_f64());
    }
    output::check_exports(&args.exports)?;
    // Whoever names the document means the run.
    let dir = match args.dir.file_name().is_some_and(|name| name == RUN_FILE) && args.dir.is_file() {
        true => args.dir.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new(".")),
        false => &args.dir,
    };
    let (mut tally, ending) = replay(dir, args.from, args.to)?;
    if let Some(requests) = args.exports.fanout {
        tally.set_fanout(requests);
    }
    let document = tally.document(&ending);
    if let Some(path) = &args.html {
        output::write(path, &unblink_report::html::render(&document))?;
    }
    output::present(&document, &tally, &args.exports)?;
    let page = dir.join("report.html");
    // A run that was killed has no page yet.
    if document.part.is_none() && args.html.is_none() && !page.exists() {
        output::write_beside(&page, &unblink_report::html::render(&document));
        output::note(format_args!("Report  {}", page.display()));
    }
    Ok(exit::of_report(&document))
}
