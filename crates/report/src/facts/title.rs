//! What a picture says.

/// What a picture says and what it shows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Title {
    /// The finding.
    pub(crate) finding: String,
    /// What is plotted.
    pub(crate) plotted: String,
}

pub(super) fn title(finding: String, plotted: &str) -> Title {
    Title { finding, plotted: plotted.into() }
}
