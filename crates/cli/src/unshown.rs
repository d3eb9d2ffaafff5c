//! What was measured and is recorded, but can't be shown: the disk behind standard output is full, or a file that was asked
//! for can't be written. That takes nothing away from the record, and no verdict.

use crate::{exit, explain_error, output};
use anyhow::Result;
use std::path::Path;
use unblink_artifact::folder::RUN_FILE;

/// Whether what was measured could be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) struct Shown {
    is_all: bool,
}

impl Shown {
    /// Says what could not be shown, and where all of it is: the folder, and the command that shows it again or the name of
    /// its page.
    pub(crate) fn of(result: Result<()>, folder: &Path, page: &str) -> Shown {
        let Err(error) = result else { return Shown { is_all: true } };
        output::note(format_args!("error: {}", explain_error(&error)));
        let (page, place) = (folder.join(page), folder.display());
        let again = match (folder.join(RUN_FILE).is_file(), page.is_file()) {
            (true, _) => format!(", and the report can be shown again with `unblink report {place}`"),
            (false, true) => format!(", and its page is {}", page.display()),
            (false, false) => String::new(),
        };
        output::note(format_args!("what was measured is not lost: its record is in {place}{again}"));
        Shown { is_all: false }
    }

    /// The exit code of what was measured. Only where all was well it says that somebody waits for a result in vain.
    pub(crate) fn code(self, measured: u8) -> u8 {
        if measured == exit::OK && !self.is_all { exit::USAGE } else { measured }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_stands_whatever_becomes_of_the_report() {
        for is_all in [true, false] {
            for code in [exit::FAILED, exit::INVALID, exit::INTERRUPTED] {
                assert_eq!(Shown { is_all }.code(code), code);
            }
        }
        assert_eq!(Shown { is_all: true }.code(exit::OK), exit::OK);
        assert_eq!(Shown { is_all: false }.code(exit::OK), exit::USAGE);
    }
}
