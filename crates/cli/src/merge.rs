//! `unblink merge`: one run folder from those of several machines.

use crate::args::history::KeepArgs;
use crate::args::{Exports, MergeArgs};
use crate::folder::Folder;
use crate::unshown::Shown;
use crate::{exit, history, output};
use anyhow::Result;
use std::path::{Path, PathBuf};
use unblink_artifact::document::{Aborted, RunDocument};
use unblink_artifact::folder::{self, replay};

/// Merges and presents what came out. Gives the exit code.
pub(crate) fn merge(args: &MergeArgs) -> Result<u8> {
    output::check_exports(&args.exports)?;
    let to = Folder::named_or_new(args.output.as_ref(), "unblink-runs")?;
    output::check_folder(&to)?;
    let (document, shown) = present(&args.dirs, &to, None, &args.exports, &args.keep)?;
    Ok(shown.code(exit::of_report(&document)))
}

/// The same of checked arguments: the merged run, and whether it could be shown. A rule that `held` when no load was left to stop
/// is known to who has led the run, and to no record of an agent: it joins what is shown, and the record stays what is merged.
pub(crate) fn present(
    from: &[PathBuf],
    to: &Folder,
    held: Option<&str>,
    exports: &Exports,
    keep: &KeepArgs,
) -> Result<(RunDocument, Shown)> {
    let document = merged(from, to)?;
    // What is exported beside the document comes from its record.
    let (mut tally, ending) = replay(to, None, None)?;
    let mut document = match exports.fanout {
        None => document,
        Some(requests) => {
            tally.set_fanout(requests);
            tally.document(&ending)
        }
    };
    if let Some(rule) = held.filter(|_| document.aborted.is_none()) {
        document.aborted = Some(held_at_the_end(rule.to_string(), &document));
    }
    output::write_page(to, &document);
    let shown = Shown::of(output::present(&document, &tally, exports, Some(to)), to, output::PAGE);
    history::keep(keep, &[to.to_path_buf()]);
    Ok((document, shown))
}

/// One run folder from those of several machines. Of those that break off, it is said where.
pub(crate) fn merged(from: &[PathBuf], to: &Path) -> Result<RunDocument> {
    Ok(folder::merge_telling(from, to, |broken| output::note(format_args!("warning: {broken}")))?)
}

/// A rule that stopped nothing, since the load was over when it was seen to hold.
pub(crate) fn held_at_the_end(rule: String, document: &RunDocument) -> Aborted {
    Aborted { rule, at_ns: document.series.load_to_ns, guard: None }
}
