//! Objectives of a run that speak of its requests, journeys, loads and origins by name, and of what its load can show.

use super::requests::Requests;
use crate::args::objectives::SloArgs;
use crate::errors::refused_value;
use crate::secrets;
use anyhow::Result;
use unblink_analysis::slo::{AbortRule, Figure, Measure, Slo};
use unblink_artifact::document::{JourneyPlan, OperationPlan, Requested};
use unblink_artifact::header::{PartNames, RunHeader};
use unblink_artifact::names::few;
use unblink_core::plan::Plan;
use unblink_core::record::Apart;
use unblink_report::format;

/// What is asked of a run, with each request called as its report calls it.
pub(crate) struct Asked {
    pub slos: SloArgs,
    pub rules: Vec<AbortRule>,
}

/// What objectives may speak of, by name.
pub(crate) struct Known<'a> {
    pub targets: &'a [Requested],
    pub operations: &'a [OperationPlan],
    /// Journeys, loads and origins.
    pub parts: PartNames,
    /// What is to be done, if it is still to be done.
    pub plan: Option<&'a Plan>,
}

/// What `slos` and `rules` ask of a run of `plan`, once it is known that such a run can tell. Whoever names a request by its
/// path writes its parameters in clear, and the report masks them.
pub(crate) fn asked(
    slos: &SloArgs,
    rules: &[AbortRule],
    requests: &Requests,
    plan: &Plan,
    operations: &[OperationPlan],
    journeys: Vec<JourneyPlan>,
) -> Result<Asked> {
    let mut asked = Asked { slos: slos.clone(), rules: rules.to_vec() };
    let parts = plan.spec().load.open_parts();
    let parts = PartNames {
        loads: parts.iter().map(|part| part.name.clone().unwrap_or_default()).collect(),
        origins: requests.origin_names().map(|name| name.to_string()).collect(),
        journeys,
    };
    let of_slos = asked.slos.slo.iter_mut().map(|slo| &mut slo.name);
    for name in of_slos.chain(asked.rules.iter_mut().map(|rule| &mut rule.name)).flatten() {
        let called = requests.called(name);
        let is_request = requests.targets.iter().any(|target| target.name == called);
        if is_request || parts.called(name).is_none() {
            *name = called;
        }
    }
    let known = Known { targets: &requests.targets, operations, parts, plan: Some(plan) };
    check(&asked.slos.slo, &asked.rules, &known)?;
    check_tellable(&asked.slos.slo, &asked.rules, plan)?;
    Ok(asked)
}

impl Requests {
    /// The name in the report of what `given` means; without its parameters where that is no request.
    pub(crate) fn called(&self, given: &str) -> String {
        let all = || self.asked.iter().zip(&self.targets);
        let masked = || all().filter(|(asked, _)| secrets::mask_name(asked) == given);
        let found = match all().find(|(asked, _)| *asked == given) {
            _ if self.targets.iter().any(|target| target.name == given) => return given.to_string(),
            Some((_, target)) => Some(target),
            // Where a plan has a variable, the name has it, too.
            None => masked().next().filter(|_| masked().count() == 1).map(|(_, target)| target),
        };
        match found.map(|target| target.name.clone()).ok_or_else(|| secrets::mask_name(given)) {
            Ok(name) => name,
            // Another request has this name: what was given has other parameters.
            Err(name) if self.targets.iter().any(|target| target.name == name) => {
                format!("{name} with these parameters")
            }
            Err(name) => name,
        }
    }
}

/// The same of a run that is recorded, of which the parameters are not known any more.
pub(crate) fn of_recorded(asked: &SloArgs, header: &RunHeader) -> SloArgs {
    let mut asked = asked.clone();
    for name in asked.slo.iter_mut().filter_map(|slo| slo.name.as_mut()) {
        let is_part = header.part_names().called(name).is_some();
        if !is_part && header.targets.iter().all(|target| target.name != *name) {
            *name = secrets::mask_name(name);
        }
    }
    asked
}

/// Refuses names that nothing in the run has, or whose requests are not kept apart.
pub(crate) fn check(slos: &[Slo], rules: &[AbortRule], known: &Known<'_>) -> Result<()> {
    for (number, slo) in slos.iter().enumerate() {
        let why = slo.name.as_ref().and_then(|name| {
            let whole = slo.windows.is_none();
            why_unknown(name, known)
                .or_else(|| why_without_events(name, slo.measure, known))
                .or_else(|| why_not_told(name, slo.objective.figure, whole, known))
        });
        if let Some(why) = why {
            return Err(refused_value("slo", number, format!("--slo {:?}: {why}", slo.to_string())));
        }
    }
    for (number, rule) in rules.iter().enumerate() {
        let why = rule.name.as_ref().and_then(|name| {
            why_unknown(name, known)
                .or_else(|| why_without_events(name, rule.measure, known))
                .or_else(|| why_not_told(name, rule.condition.figure, false, known))
        });
        if let Some(why) = why {
            return Err(refused_value(
                "abort-on",
                number,
                format!("--abort-on {:?}: {why}", rule.to_string()),
            ));
        }
    }
    Ok(())
}

/// Why what is called `name` has no events of its own.
fn why_without_events(name: &str, measure: Measure, known: &Known<'_>) -> Option<String> {
    let is_without = measure != Measure::Response && journey(name, known).is_some();
    is_without.then(|| "events are those of requests: name one of its steps".to_string())
}

/// Why `figure` is not known of what is called `name`. `is_of_whole_run`: neither in windows nor second by second.
fn why_not_told(name: &str, figure: Figure, is_of_whole_run: bool, known: &Known<'_>) -> Option<String> {
    let place = journey(name, known);
    let is_rate = !figure.is_better_small();
    match place {
        None if is_rate => Some("achieved is known of the whole run and of journeys: leave the name out".to_string()),
        Some(place) if is_rate && place >= known.parts.journeys.len() => {
            Some("achieved is known of journeys, not of their steps".to_string())
        }
        Some(_) if !is_of_whole_run => Some(
            "a journey goes on through many windows and seconds, and so does a step that asks again and again: they are \
             judged over the whole run"
                .to_string(),
        ),
        _ => None,
    }
}

/// The journey, or the step that asks again and again, that is called so and is no request.
fn journey(name: &str, known: &Known<'_>) -> Option<usize> {
    let is_request = known.operations.iter().any(|operation| operation.name == *name);
    match known.parts.called(name) {
        Some((Apart::Journey, place)) if !is_request || known.parts.is_wait(name) => Some(place),
        _ => None,
    }
}

fn why_unknown(name: &str, known: &Known<'_>) -> Option<String> {
    let Known { targets, operations, parts, plan } = known;
    let so_called: Vec<usize> = (0..targets.len()).filter(|&i| targets[i].name == *name).collect();
    let is_kept_apart = operations.iter().any(|operation| operation.name == *name);
    let is_journey = parts.journeys.iter().any(|journey| journey.name == *name);
    let why = match so_called[..] {
        [_, ..] if is_journey => {
            return Some(format!(
                "a request and a journey are called {name:?}: write \"journey {name}\" for the journey, or give one of them \
                 another name"
            ));
        }
        [] if parts.called(name).is_some() => return None,
        [] if parts.journeys.is_empty() => format!("no request is called {name:?}"),
        [] => format!("no request and no journey is called {name:?}"),
        [only] if is_kept_apart => {
            let is_asked = plan.is_none_or(|plan| plan.asks_for(only as u32));
            return (!is_asked).then(|| {
                format!("no load asks for {name:?}: add it to the only of a load, or leave the objective out")
            });
        }
        [_] => format!("the requests called {name:?} are not kept apart: only the first of many are"),
        [..] => {
            let n = so_called.len();
            format!("{n} requests are called {name:?}: give each a name of its own in a plan")
        }
    };
    // Journeys come first: of many names only the first are said.
    let names = operations.iter().map(|operation| operation.name.clone());
    let names: Vec<String> = parts.all().chain(names).collect();
    let near = nearest(name, &names).map(|near| format!(": did you mean {near:?}?"));
    Some(format!("{why}{}; there are {}", near.unwrap_or_default(), few(&names)))
}

/// The name that may have been meant. A step may be named without its journey.
fn nearest<'a>(name: &str, names: &'a [String]) -> Option<&'a String> {
    let lower = name.to_lowercase();
    let likeness = |other: &str| {
        let other = other.to_lowercase();
        let step = other.rsplit(": ").next().unwrap_or_default();
        // Of short names, one slip of the fingers is too much for that measure.
        let is_slip = |other: &str| lower.len() > 2 && strsim::osa_distance(&lower, other) == 1;
        let slip = if is_slip(&other) || is_slip(step) { 0.9 } else { 0.0 };
        strsim::jaro_winkler(&lower, &other).max(strsim::jaro_winkler(&lower, step)).max(slip)
    };
    let all = names.iter().map(|other| (likeness(other), other));
    let near = all.max_by(|(one, _), (other, _)| one.total_cmp(other));
    near.filter(|(likeness, _)| *likeness > 0.8).map(|(_, near)| near)
}

/// Refuses what no run of this plan can tell, before anything is sent for it.
pub(crate) fn check_tellable(slos: &[Slo], rules: &[AbortRule], plan: &Plan) -> Result<()> {
    let is_closed = !plan.is_open();
    let of_slos = slos.iter().map(|slo| (slo.objective.figure, "slo", slo.to_string())).enumerate();
    let of_rules = rules.iter().map(|rule| (rule.condition.figure, "abort-on", rule.to_string())).enumerate();
    for (number, (figure, field, text)) in of_slos.chain(of_rules) {
        if is_closed && figure == Figure::AchievedShare {
            let why = "Closed users offer no rate: give a limit such as 500/s";
            return Err(refused_value(field, number, format!("--{field} {text:?}: {why}")));
        }
    }
    let measured = plan.load_length() - plan.measured_from();
    for (number, slo) in slos.iter().enumerate() {
        let Some(windows) = slo.windows.filter(|windows| windows.length > measured) else { continue };
        let said = |ns| format::plain(&format::moment(ns));
        let message = format!(
            "--slo {:?}: no window of {} fits into the {} that are measured: give shorter windows, or measure for \
             longer (-d)",
            slo.to_string(),
            said(windows.length.0),
            said(measured.0)
        );
        return Err(refused_value("slo", number, message));
    }
    Ok(())
}
