//! Objectives that speak of a request by its name.

use anyhow::{Result, bail};
use unblink_analysis::slo::{AbortRule, Slo};
use unblink_artifact::document::Target;
use unblink_artifact::tally::operation_called;

/// Refuses names that no request of the run has, or whose requests are not kept apart. `operations` are those that
/// are, as in the run's header.
pub(crate) fn check(
    slos: &[Slo],
    rules: &[AbortRule],
    targets: &[Target],
    operations: &[String],
) -> Result<()> {
    let of_slos = slos.iter().filter_map(|slo| Some((slo.name.as_ref()?, "--slo", slo.to_string())));
    let of_rules =
        rules.iter().filter_map(|rule| Some((rule.name.as_ref()?, "--abort-on", rule.to_string())));
    for (name, flag, text) in of_slos.chain(of_rules) {
        let so_called = targets.iter().filter(|target| target.name == *name).count();
        let is_kept_apart = operation_called(operations, targets, name).is_some();
        if so_called == 1 && is_kept_apart {
            continue;
        }
        let why = match so_called {
            0 => format!("no request is called {name:?}"),
            1 => format!("the requests called {name:?} are not kept apart: only the first of many are"),
            n => format!("{n} requests are called {name:?}: give each a name of its own in a plan"),
        };
        let names: Vec<&str> = match operations {
            [] => targets.iter().map(|target| target.name.as_str()).collect(),
            apart => apart.iter().map(String::as_str).collect(),
        };
        bail!("{flag} {text:?}: {why}; there are {}", names.join(", "));
    }
    Ok(())
}
