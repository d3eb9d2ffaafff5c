//! What is replayed, and how: the flags of recorded traffic.

use crate::value;
use clap::Args;
use std::path::PathBuf;
use unblink_core::time::Nanos;

/// A thousand times as fast, or as often.
const FACTOR_MAX_MICRO: u64 = 1_000_000_000;

/// What of a trace is sent.
#[derive(Args, Clone, PartialEq, Debug, Default)]
pub(crate) struct RecordedArgs {
    /// Send what this trace has recorded, when it was recorded (see unblink import): its methods and paths, to the host
    /// of the URL
    #[arg(long, value_name = "TRACE", help_heading = "Load")]
    pub replay: Option<PathBuf>,

    /// Begin this long after the start of the trace
    #[arg(long, value_name = "TIME", help_heading = "Load", value_parser = value::duration)]
    pub from: Option<Nanos>,

    /// End this long after the start of the trace
    #[arg(long, value_name = "TIME", help_heading = "Load", value_parser = value::duration)]
    pub to: Option<Nanos>,

    /// Also send what may change something: recorded requests other than GET, HEAD and OPTIONS, without their bodies
    #[arg(long, help_heading = "Load")]
    pub mutating: bool,
}

/// Recorded traffic.
#[derive(Args, Clone, PartialEq, Debug, Default)]
pub(crate) struct ReplayArgs {
    #[command(flatten)]
    pub recorded: RecordedArgs,

    /// Replay this many times as fast, such as 2 or 60
    #[arg(long, value_name = "FACTOR", help_heading = "Load", value_parser = factor)]
    pub speed: Option<Factor>,

    /// Multiply the load: 2 replays two shifted copies of the trace, 0.1 replays a random tenth of the users
    #[arg(long, value_name = "FACTOR", help_heading = "Load", value_parser = factor)]
    pub scale: Option<Factor>,

    /// Replay this many times in a row (3), or for this long (10m)
    #[arg(long = "loop", value_name = "COUNT|TIME", help_heading = "Load", value_parser = again)]
    pub again: Option<Again>,

    /// Keep the order of each user's requests: the next one starts after the answer to the one before, and the pause that was
    /// recorded between them. Users who wait are a closed load, and the report says so
    #[arg(long, help_heading = "Load")]
    pub per_user_order: bool,

    /// A search begins so long before the start of what it measures, with the traffic that this ends with.
    #[arg(skip)]
    pub lead: Nanos,
}

/// How a search makes more of what was recorded.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum By {
    /// Copies of it in the same time, and users drawn for a part of one
    Scale,
    /// The same in less time
    Speed,
}

/// A number above 0, in millionths.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Factor {
    pub micro: u64,
}

impl Factor {
    /// As it is.
    pub(crate) const ONE: Factor = Factor { micro: 1_000_000 };

    /// As a number.
    pub(crate) fn as_f64(self) -> f64 {
        self.micro as f64 / 1e6
    }
}

/// What is asked for in the place of a recorded path.
#[derive(serde::Serialize, Clone, PartialEq, Eq, Debug)]
pub(crate) struct PathTemplate {
    /// As operations are called: `/items/{id}`.
    pub path: String,
    /// `/items/{{item}}`
    pub template: String,
}

/// How long a replay goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Again {
    /// So many times.
    Times(u32),
    /// So long.
    For(Nanos),
}

pub(crate) fn factor(text: &str) -> Result<Factor, String> {
    let number = text.trim().trim_end_matches(['x', '×']).trim_end().parse::<f64>().ok();
    let milli = number.map(|number| number * 1e3).filter(|milli| (milli - milli.round()).abs() < 1e-6);
    match milli.map(|milli| milli.round() * 1e3) {
        Some(micro) if (1e3..=FACTOR_MAX_MICRO as f64).contains(&micro) => Ok(Factor { micro: micro as u64 }),
        _ => Err(format!(
            "{text:?} is not a factor: give a number from 0.001 to {}, with at most three decimals, such as 2 or 0.1",
            FACTOR_MAX_MICRO / 1_000_000
        )),
    }
}

pub(crate) fn path_template(text: &str) -> Result<PathTemplate, String> {
    // A template may have a query, and so another =.
    let (path, template) = text.split_once('=').map(|(path, template)| (path.trim(), template.trim())).ok_or_else(
        || format!("{text:?} has no =: write the recorded path and what is asked for, as in '/items/{{id}} = /items/{{{{item}}}}'"),
    )?;
    if let Some(wrong) = [path, template].into_iter().find(|side| !side.starts_with('/')) {
        return Err(format!("{wrong:?} is not a path: both sides of = begin with a slash"));
    }
    if path.contains(['?', '#']) || path.contains("{{") {
        return Err(format!(
            "{path:?} is not a recorded path: it has {{id}} for numbers, no query and no {{{{…}}}}"
        ));
    }
    Ok(PathTemplate { path: path.into(), template: template.into() })
}

fn again(text: &str) -> Result<Again, String> {
    match text.trim().parse::<u32>() {
        Ok(0) => Err("0 times is not a replay: give a count such as 3, or a time such as 10m".into()),
        Ok(times) => Ok(Again::Times(times)),
        Err(_) => value::duration(text).map(Again::For),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors() {
        assert_eq!(factor("2"), Ok(Factor { micro: 2_000_000 }));
        assert_eq!(
            (factor("60x"), factor("0.125")),
            (Ok(Factor { micro: 60_000_000 }), Ok(Factor { micro: 125_000 }))
        );
        for bad in ["0", "-1", "x", "", "1001", "0.0001", "1.23456", "nan", "10%"] {
            assert!(factor(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn paths_with_templates() {
        let template = path_template("/items/{id} = /items/{{item}}?a=1").unwrap();
        assert_eq!((&*template.path, &*template.template), ("/items/{id}", "/items/{{item}}?a=1"));
        for bad in ["/items/{id}", "items = /a", "/a = b", "/a?b=c = /d", "/{{a}} = /b"] {
            assert!(path_template(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn how_long() {
        assert_eq!(again("3"), Ok(Again::Times(3)));
        assert_eq!(again("10m"), Ok(Again::For(Nanos::from_secs(600))));
        assert!(again("0").is_err() && again("-1").is_err() && again("often").is_err());
    }
}
