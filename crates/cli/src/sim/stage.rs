//! A simulation as a stage of a sign-off.

use super::simulation;
use crate::args::sim::SimArgs;
use crate::{history, output};
use anyhow::Result;
use std::path::Path;
use unblink_artifact::document::RunDocument;

/// Simulates into a folder that is given, without a word on standard output.
pub(crate) fn stage(args: &SimArgs, folder: &Path) -> Result<RunDocument> {
    let mut simulation = simulation(args)?;
    simulation.open_script(args)?;
    args.load.replay.tell(args.load.seed);
    simulation.tell(args);
    output::check_folder(folder)?;
    let (document, _) = simulation.run_into(folder)?;
    history::keep(&args.keep, &[folder.to_path_buf()]);
    Ok(document)
}
