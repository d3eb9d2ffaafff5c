//! How many journeys may be under way.

use crate::value;
use clap::Args;
use unblink_core::journey::{UNDER_WAY_DEFAULT, UNDER_WAY_MAX};

/// Flags of the commands whose plan may have journeys.
#[derive(Args, Clone, Debug)]
pub(crate) struct JourneyArgs {
    /// At most this many journeys under way in each worker; the others wait for their start, and the wait counts
    #[arg(long, value_name = "COUNT", default_value_t = UNDER_WAY_DEFAULT, help_heading = "Load", value_parser = under_way)]
    pub journeys_max: u16,
}

impl Default for JourneyArgs {
    fn default() -> JourneyArgs {
        JourneyArgs { journeys_max: UNDER_WAY_DEFAULT }
    }
}

fn under_way(text: &str) -> Result<u16, String> {
    let count = value::count(text)?;
    match u16::try_from(count) {
        Ok(count) if (1..=UNDER_WAY_MAX).contains(&count) => Ok(count),
        _ => Err(format!(
            "expected 1 to {UNDER_WAY_MAX} journeys; more workers (-t) have more of them under way"
        )),
    }
}
