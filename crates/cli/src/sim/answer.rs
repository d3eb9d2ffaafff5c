//! `--answer` in words: what the answers to a step of a journey say.

use super::server;
use super::words::split;
use crate::errors::refused_value;
use crate::journey::{Journey, Step};
use crate::run::requests::Requests;
use crate::value;
use anyhow::{Error, Result, bail};
use unblink_artifact::names::few;
use unblink_core::journey::StepSpec;
use unblink_core::sim::{Content, Holds, Hops};

/// One of them, which is the value of this number of the flag.
pub(super) struct Answer {
    number: usize,
    /// As it was given.
    text: String,
    /// Of the step.
    name: String,
    what: What,
    /// The same in words.
    words: String,
}

enum What {
    Holds(Holds),
    Redirects(u32),
}

impl Answer {
    /// Each of `texts`.
    pub(super) fn all(texts: &[String]) -> Result<Vec<Answer>> {
        texts.iter().enumerate().map(|(number, text)| Answer::read(number, text)).collect()
    }

    fn read(number: usize, text: &str) -> Result<Answer> {
        let wrong = |why: String| refused_value("answer", number, format!("--answer {text:?}: {why}"));
        let expected =
            "expected NAME=WHAT, where WHAT is holds(3), holds(5s), holds(exp(5s)) or redirects(1)";
        let named = text.rsplit_once('=').map(|(name, what)| (name.trim(), what.trim()));
        let Some((name, what)) = named.filter(|(name, _)| !name.is_empty()) else {
            bail!(wrong(expected.into()));
        };
        let words = what.split_whitespace().collect::<String>();
        let inside = |word: &str| {
            let inside = words.strip_prefix(word)?.strip_prefix('(')?.strip_suffix(')')?;
            (!inside.is_empty()).then_some(inside)
        };
        let count = |text: &str| value::positive(text).map_err(|why| wrong(why.to_string()));
        let what = match (inside("holds"), inside("redirects")) {
            (Some(after), _) if after.bytes().all(|byte| byte.is_ascii_digit()) => {
                What::Holds(Holds::Answer(count(after)?))
            }
            (Some(after), _) => {
                let word = format!("holds={after}");
                let word = split("answer", &word).next().expect("a word");
                let time = server::service(&word);
                What::Holds(Holds::After(time.map_err(|error| wrong(crate::explain_error(&error)))?))
            }
            (_, Some(times)) => What::Redirects(count(times)?),
            _ => bail!(wrong(expected.into())),
        };
        Ok(Answer { number, text: text.to_string(), name: name.to_string(), what, words })
    }

    /// Does it redirect the requests of this step?
    pub(super) fn redirects(&self, step: &Step) -> bool {
        matches!(self.what, What::Redirects(_)) && step.request.target().name == self.name
    }

    fn wrong(&self, why: impl std::fmt::Display) -> Error {
        refused_value("answer", self.number, format!("--answer {:?}: {why}", self.text))
    }

    /// Puts down what it says, by the operation of its step, if that is among the `journeys` of `requests`. Gives the step's name, and what
    /// it says in words.
    pub(super) fn put_into(
        self,
        content: &mut Content,
        journeys: &[Journey],
        requests: Option<&Requests>,
    ) -> Result<(String, String)> {
        let steps = || journeys.iter().flat_map(|journey| &journey.steps);
        let names = || steps().map(|step| step.request.target().name);
        let found = (0..).zip(steps()).find(|(_, step)| step.request.target().name == self.name);
        let (Some((number, step)), Some(requests)) = (found, requests) else {
            let names: Vec<String> = names().collect();
            bail!(self.wrong(match names.is_empty() {
                true =>
                    "it takes the name of a step, and there is no plan that lists [[journeys]]".to_string(),
                false => format!("no step is called {:?}; there are {}", self.name, few(&names)),
            }));
        };
        let operation = (requests.plain + number) as u32;
        let StepSpec { until, redirects, .. } = step.spec;
        match &self.what {
            What::Holds(_) if until.is_none() => bail!(self.wrong(
                "the step has no until, so it asks once and waits for nothing: leave it out, or give the step until"
            )),
            What::Redirects(_) if redirects.max == 0 => bail!(self.wrong(
                "the step follows no redirects: give it redirects = 1 in the plan, or leave this out"
            )),
            What::Redirects(count) if *count > u32::from(redirects.max) + 1 => bail!(self.wrong(format_args!(
                "the step follows at most {} redirects, and fails at the next one: more than that never come",
                redirects.max
            ))),
            What::Holds(holds) => _ = content.holds.insert(operation, holds.clone()),
            What::Redirects(count) => {
                let next = next(requests, number, steps().count(), step);
                content.redirects.insert(operation, Hops { count: *count, next });
            }
        }
        Ok((self.name, self.words))
    }
}

/// The operation that follows a redirect of the step with this number, of so many: at its own origin. As after every 302, a POST
/// becomes a GET.
fn next(requests: &Requests, number: usize, steps: usize, step: &Step) -> u32 {
    let before: usize = requests.redirected.iter().take(number).map(Vec::len).sum();
    let each = requests.redirected[number].len() / requests.origins.len();
    let own = usize::from(requests.origin_of[requests.plain + number]);
    let as_get = if step.request.method() == "POST" { each - 1 } else { 0 };
    (requests.plain + steps + before + own * each + as_get) as u32
}
