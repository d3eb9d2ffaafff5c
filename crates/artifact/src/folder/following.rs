//! The folders of machines that offer a load together, while they do.

use super::merged_header::merged_header;
use super::merging::Merging;
use super::{FolderError, read_folder};
use crate::header::RunHeader;
use std::path::{Path, PathBuf};
use unblink_core::record::Interval;

/// Run folders that still grow, as one run.
pub struct Following {
    header: RunHeader,
    /// In the order of their shares.
    dirs: Vec<PathBuf>,
    merging: Merging,
}

impl Following {
    /// Follows `dirs`, once all of them have begun; `None` before. What is wrong with them for good is said by who merges them
    /// in the end.
    pub fn open(dirs: &[PathBuf]) -> Option<Following> {
        let runs: Result<Vec<_>, FolderError> = dirs.iter().map(|dir| read_folder(dir)).collect();
        let mut runs = runs.ok()?;
        runs.sort_by_key(|run| run.header.agents.first().map(|agent| agent.first));
        let header = merged_header(&runs).ok()?;
        let merging = Merging::open(&runs, header.layout()).ok()?;
        let dirs = runs.iter().map(|run| run.dir().to_path_buf()).collect();
        merging.is_begun().then_some(Following { header, dirs, merging })
    }

    /// What the run is to do.
    pub fn header(&self) -> &RunHeader {
        &self.header
    }

    /// The next interval; `None` where something is still missing of a folder that is not `over`. Of one that is, all that will
    /// come has come.
    ///
    /// # Errors
    /// A folder holds something else than intervals.
    pub fn next(&mut self, over: impl Fn(&Path) -> bool) -> Result<Option<&Interval>, FolderError> {
        let dirs = &self.dirs;
        self.merging.next_of(|place| !over(&dirs[place]))
    }
}
