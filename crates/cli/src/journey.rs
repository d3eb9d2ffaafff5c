//! Journeys as a plan lists them: steps that follow each other, each a request.

use crate::expect;
use crate::request::Request;
use crate::request::fields::RequestArgs;
use crate::request::share::Share;
use crate::request::url::Origin;
use crate::secrets;
use crate::think::{self, Measured, ThinkArg};
use crate::value;
use clap::{Args, value_parser};
use unblink_artifact::document::{JourneyPlan, RedirectsPlan, StepPlan, UntilPlan};
use unblink_core::journey::{CERTAIN, JourneySpec, Journeys, REPEAT_MAX, Redirects, StepSpec, Think};
use unblink_core::time::Nanos;
use unblink_workload::answer::Condition;

/// One journey of a plan.
#[derive(Args, Debug)]
pub(crate) struct PlannedJourney {
    /// How the report calls it
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// Its share of the load's arrivals, such as 5%; those of all requests and journeys sum to 100%
    #[arg(long, value_name = "PERCENT")]
    pub share: Option<String>,

    /// Its share as a whole number beside those of the others, instead of share
    #[arg(long, value_name = "COUNT", conflicts_with = "share")]
    pub weight: Option<String>,

    /// Time from each answer to the next request: 3s, exp(3s), lognormal(MEDIAN, SIGMA) or histogram(FILE)
    #[arg(long, value_name = "TIME", value_parser = think::parse)]
    pub think: Option<ThinkArg>,

    /// Each journey keeps the cookies that answers set, and sends them back to the same origin
    #[arg(long)]
    pub cookies: bool,

    /// Each journey has a connection of its own to each origin, from its first request there to its end
    #[arg(long)]
    pub own_connection: bool,

    /// Each journey holds the connection that its first request took, until it ends: a transaction may last over its steps
    #[arg(long)]
    pub hold_connection: bool,

    /// Follow this many redirects of each request, one after the other, each as a request of its own
    #[arg(long, value_name = "COUNT", value_parser = value_parser!(u8).range(0..=20))]
    pub redirects: Option<u8>,
}

/// One step of a journey.
#[derive(Args, Debug)]
pub(crate) struct PlannedStep {
    /// How the report and the objectives call it, after the name of its journey
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// A path at the target, or a whole URL
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,

    /// Open a WebSocket of this journey's own, at a path of the target or at a whole URL (ws:// or wss://)
    #[arg(long, value_name = "URL")]
    pub connect: Option<String>,

    /// Wait for a message of the WebSocket that is like this, such as "json $.type == 'ack'"; or any
    #[arg(long = "await", value_name = "any|CONDITION", value_parser = awaited)]
    pub awaits: Vec<Awaited>,

    /// Close the WebSocket, and wait for the server's close
    #[arg(long)]
    pub close: bool,

    /// Time before each of its requests, instead of the journey's think
    #[arg(long, value_name = "TIME", value_parser = think::parse)]
    pub think: Option<ThinkArg>,

    /// Send this many requests in a row: 3, or 1..5 for a number drawn for each journey
    #[arg(long, value_name = "COUNT", value_parser = repeat)]
    pub repeat: Option<Repeat>,

    /// How often the step is taken, such as 30%; otherwise it is skipped
    #[arg(long, value_name = "PERCENT", value_parser = chance)]
    pub chance: Option<Chance>,

    /// How often the journey ends after this step, such as 20%, counted as completed
    #[arg(long, value_name = "PERCENT", value_parser = chance)]
    pub exit: Option<Chance>,

    /// What is taken from its answer for later steps, by name: { id = "json $.id" } makes {{id}} what stands there
    #[arg(long, value_name = "TABLE")]
    pub capture: Option<String>,

    /// Follow this many redirects of each of its requests, instead of the journey's redirects; 0 follows none
    #[arg(long, value_name = "COUNT", value_parser = value_parser!(u8).range(0..=20))]
    pub redirects: Option<u8>,

    /// Each of its requests adds a key, so that latest(…) draws newer keys as time goes on
    #[arg(long)]
    pub inserts: bool,

    /// Ask again and again until the answer is like this, such as "json $.state == 'paid'"
    #[arg(long, value_name = "CONDITION", value_parser = expect::condition)]
    pub until: Vec<Condition>,

    /// From an answer that is not yet like this to the next request
    #[arg(long, value_name = "TIME", value_parser = value::duration)]
    pub every: Option<Nanos>,

    /// Time for all of that: a step whose answer is not there by then has timed out
    #[arg(long, value_name = "TIME", value_parser = value::duration)]
    pub within: Option<Nanos>,

    #[command(flatten)]
    pub own: RequestArgs,

    /// Send this table as JSON
    #[arg(long, value_name = "TABLE", conflicts_with_all = ["body", "body_file"])]
    pub json: Option<String>,

    /// Send this table as the fields of a form
    #[arg(long, value_name = "TABLE", conflicts_with_all = ["body", "body_file", "json"])]
    pub form: Option<String>,

    /// Send these parts, each with its name and a value or a file
    #[arg(long, value_name = "TABLE", conflicts_with_all = ["body", "body_file", "json", "form"])]
    pub multipart: Option<String>,
}

/// What a message must be like that is waited for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Awaited {
    /// The next one, whatever it is.
    Any,
    /// One that meets this condition.
    Like(Condition),
}

/// How many requests a step has, at the least and at the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Repeat(pub u16, pub u16);

/// In hundredths of a percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chance(pub u16);

/// A journey with what it sends.
#[derive(Clone, Debug)]
pub(crate) struct Journey {
    pub name: String,
    pub share: Option<Share>,
    /// The origins whose cookies it keeps, by number; nothing where it keeps none.
    pub cookies: Option<Vec<Origin>>,
    /// No other requests go over its connections.
    pub own_connection: bool,
    /// None do so while it lasts.
    pub hold_connection: bool,
    pub steps: Vec<Step>,
}

/// What the steps of `journeys` ask, in order.
pub(crate) fn requests(journeys: &[Journey]) -> impl Iterator<Item = &Request> {
    journeys.iter().flat_map(|journey| &journey.steps).map(|step| &step.request)
}

/// A step with what it sends.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub request: Request,
    pub spec: StepSpec,
    /// The times out of which it thinks, if these come from a file.
    pub measured: Option<Measured>,
}

fn awaited(text: &str) -> Result<Awaited, String> {
    match text {
        "any" => Ok(Awaited::Any),
        _ => match expect::condition(text)? {
            one @ (Condition::Size(_)
            | Condition::Contains(_)
            | Condition::Regex(_)
            | Condition::Json(..)) => Ok(Awaited::Like(one)),
            _ => Err(format!(
                "{:?}: a message has no status, headers or events: say any, or contains=, regex, json or size=",
                secrets::mask_expectation(text)
            )),
        },
    }
}

fn repeat(text: &str) -> Result<Repeat, String> {
    let wrong = || {
        format!(
            "{text:?} is not a number of requests: expected 1 to {REPEAT_MAX}, or a range of it such as 1..5"
        )
    };
    let number = |text: &str| text.trim().parse::<u16>().ok().filter(|n| (1..=REPEAT_MAX).contains(n));
    let (least, most) = text.split_once("..").unwrap_or((text, text));
    match (number(least), number(most)) {
        (Some(least), Some(most)) if least <= most => Ok(Repeat(least, most)),
        _ => Err(wrong()),
    }
}

fn chance(text: &str) -> Result<Chance, String> {
    match Share::percent(text) {
        Ok(Share::Percent(hundredths)) => Ok(Chance(hundredths as u16)),
        _ => Err(format!(
            "{text:?} is not a chance: expected more than 0% and at most 100%, with at most two decimals"
        )),
    }
}

/// For the dispatcher. `redirected` are, for each of their steps, the requests that may follow its redirects; none where nothing
/// is sent.
pub(crate) fn specs(
    journeys: &[Journey],
    seed: u64,
    under_way_max: u16,
    redirected: &[Vec<String>],
) -> Journeys {
    let mut redirected = redirected.iter().map(|names| names.len() as u16);
    let mut times = Vec::new();
    let mut step = |step: &Step| {
        let redirects = Redirects { operations: redirected.next().unwrap_or(0), ..step.spec.redirects };
        let think = match &step.measured {
            None => step.spec.think,
            Some(measured) => {
                times.push(measured.times.clone());
                Think::OneOf(times.len() as u16 - 1)
            }
        };
        StepSpec { think, redirects, ..step.spec }
    };
    let spec = |journey: &Journey| JourneySpec {
        steps: journey.steps.iter().map(&mut step).collect(),
        own_connection: journey.own_connection,
        hold_connection: journey.hold_connection,
    };
    Journeys { each: journeys.iter().map(spec).collect(), times, seed, under_way_max }
}

/// For the document. `operations` are the names of their steps' operations, one journey after the other, and `redirected`
/// those of the requests that follow the redirects of each; `shares` are theirs of the whole, if there are shares.
pub(crate) fn describe<'a>(
    journeys: &[Journey],
    under_way_max: u16,
    mut operations: impl Iterator<Item = &'a str>,
    redirected: &[Vec<String>],
    mut shares: impl Iterator<Item = f64>,
) -> Vec<JourneyPlan> {
    let mut redirected = redirected.iter();
    let mut step = |step: &Step| {
        let StepSpec { think, repeat: (least, most), chance, exit, until, redirects, .. } = step.spec;
        let elsewhere = redirected.next().cloned().unwrap_or_default();
        let share = |part: u16| f64::from(part) / f64::from(CERTAIN);
        let captures = step.request.parts.taking.captures.iter();
        let captures = captures.filter(|captured| !captured.capture.adds());
        StepPlan {
            operation: operations.next().unwrap_or_default().to_string(),
            think: think::in_words(think, step.measured.as_ref()),
            repeat_min: u32::from(least),
            repeat_max: u32::from(most),
            chance: (chance < CERTAIN).then(|| share(chance)),
            exit: (exit > 0).then(|| share(exit)),
            until: until.map(|until| UntilPlan { every_ns: until.every.0, within_ns: until.within.0 }),
            redirects: (redirects.max > 0)
                .then(|| RedirectsPlan { max: u32::from(redirects.max), operations: elsewhere }),
            captures: captures.map(|captured| captured.name.clone()).collect(),
        }
    };
    let mut one = |journey: &Journey| JourneyPlan {
        name: journey.name.clone(),
        share: shares.next(),
        under_way_max: u32::from(under_way_max),
        cookies: journey.cookies.is_some(),
        own_connection: journey.own_connection,
        hold_connection: journey.hold_connection,
        steps: journey.steps.iter().map(&mut step).collect(),
    };
    journeys.iter().map(&mut one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_and_chances_are_read() {
        assert_eq!((repeat("3"), repeat("1..5")), (Ok(Repeat(3, 3)), Ok(Repeat(1, 5))));
        for bad in ["0", "5..1", "0..2", "1001", "1..", "..", "x", "-1"] {
            assert!(repeat(bad).is_err(), "{bad}");
        }
        assert_eq!(
            (chance("30%"), chance("0.25%"), chance("100%")),
            (Ok(Chance(3_000)), Ok(Chance(25)), Ok(Chance(CERTAIN)))
        );
        for bad in ["0%", "101%", "0.5", "30"] {
            assert!(chance(bad).is_err(), "{bad}");
        }
    }
}
