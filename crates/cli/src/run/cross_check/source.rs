//! Where the service's own metrics come from: a page of its own, or a Prometheus server that has stored samples of it.

use super::super::question::{Answer, How, NoAnswer, Questions};
use crate::args::run::RunArgs;
use crate::clock;
use crate::errors::refuse;
use crate::secrets;
use anyhow::Result;
use std::collections::HashMap;
use std::time::Duration;
use unblink_engine::clock::Clock;
use unblink_engine::limits::Limits;
use unblink_metrics::api::{self, ByTime};
use unblink_metrics::near::near;
use unblink_metrics::selector::Selector;
use unblink_metrics::{ACCEPT, Kind, PAGE_BYTES_MAX, Value};

/// How far back samples of a Prometheus server are asked for before the load: it forgets a series after as long.
const BEFORE: &str = "5m";
/// And while it goes on.
const DURING: &str = "1m";

/// What a metric is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Latency,
    Requests,
    Errors,
    /// By its place among those that are watched.
    Watch(usize),
}

/// Samples, and what they are for: nothing where they are all that there is.
pub(super) struct Answered {
    pub role: Option<Role>,
    pub samples: ByTime,
    pub kinds: HashMap<String, Kind>,
}

/// Who is asked.
pub(super) struct Source {
    questions: Questions,
    of: Of,
    /// The number of the first question that a rule asks.
    rules_from: usize,
    /// Samples of a page have no time of their own: this clock reads 0 when the time of day was `began_s`.
    clock: Clock,
    began_s: f64,
}

enum Of {
    Page,
    /// By role: the questions of before and during.
    Prometheus(Vec<(Role, [usize; 2])>),
}

/// Of a Prometheus server: the names that it has, and its time.
const NAMES: usize = 0;
const TIME: usize = 1;

impl Source {
    /// `flag` has the `url` of a Prometheus server, or of a page.
    pub(super) fn new(
        args: &RunArgs,
        (flag, url, is_prometheus): (&'static str, &str, bool),
        metrics: &[(Role, Selector)],
        rules: &[String],
        limits: &Limits,
    ) -> Result<Source> {
        let headers = [("Accept", if is_prometheus { "application/json" } else { ACCEPT })];
        let how = How { flag, headers: &headers, body_bytes_max: Some(PAGE_BYTES_MAX as u64) };
        let (clock, began_s) = (Clock::start(), clock::timestamp().as_millisecond() as f64 / 1e3);
        if !is_prometheus {
            let questions = Questions::new(args, url, &[String::new()], &how, limits)?;
            return Ok(Source { questions, of: Of::Page, rules_from: 0, clock, began_s });
        }
        if url.contains(['?', '#']) {
            refuse!([flag], "--{flag} {}: the address of the server alone is needed", secrets::mask_url(url));
        }
        let query = |text: &str| format!("/api/v1/query?query={}", secrets::percent_encoded(text, "%20"));
        let mut ends = vec!["/api/v1/label/__name__/values".to_string(), query("time()")];
        let of_role = |(role, selector): &(Role, Selector)| {
            let meant = meant(*role, selector);
            ends.extend([BEFORE, DURING].map(|range| query(&format!("{meant}[{range}]"))));
            (*role, [ends.len() - 2, ends.len() - 1])
        };
        let of = Of::Prometheus(metrics.iter().map(of_role).collect());
        let rules_from = ends.len();
        ends.extend(rules.iter().map(|text| query(text)));
        let questions = Questions::new(args, url.trim_end_matches('/'), &ends, &how, limits)?;
        Ok(Source { questions, of, rules_from, clock, began_s })
    }

    pub(super) fn is_prometheus(&self) -> bool {
        matches!(self.of, Of::Prometheus(_))
    }

    /// As it may be shown.
    pub(super) fn shown(&self) -> &str {
        self.questions.shown()
    }

    /// Since this was made.
    pub(super) fn now(&self) -> Duration {
        Duration::from_nanos(self.clock.now().0)
    }

    /// All samples that are new since it was asked last, and possibly others.
    ///
    /// # Errors
    /// Why there are none of one metric or of all.
    pub(super) fn ask(&self, is_before: bool, patience: Duration) -> Vec<Result<Answered, String>> {
        match &self.of {
            Of::Page => vec![self.page(patience)],
            Of::Prometheus(of) => {
                let ask = |(role, questions): &(Role, [usize; 2])| {
                    let samples = self.query(questions[usize::from(!is_before)], patience)?;
                    Ok(Answered { role: Some(*role), samples, kinds: HashMap::new() })
                };
                of.iter().map(ask).collect()
            }
        }
    }

    fn page(&self, patience: Duration) -> Result<Answered, String> {
        let Answer { content_type, body } = self.questions.answer(0, patience).map_err(said)?;
        let at = self.began_s + self.now().as_secs_f64();
        let page = unblink_metrics::page(&content_type, &body).map_err(|why| why.to_string())?;
        Ok(Answered { role: None, samples: vec![(at, page.samples)], kinds: page.kinds })
    }

    fn query(&self, number: usize, patience: Duration) -> Result<ByTime, String> {
        let answer = self.questions.answer(number, patience).map_err(said)?;
        api::samples(&answer.body)
    }

    /// What time it is for a Prometheus server, whose samples have its times.
    pub(super) fn time(&self, patience: Duration) -> Result<f64, String> {
        let samples = self.query(TIME, patience)?;
        samples.first().map(|(at, _)| *at).ok_or_else(|| "it does not say what time it is".to_string())
    }

    /// What a Prometheus server answers to the query of the rule with this number.
    pub(super) fn rule(&self, number: usize, patience: Duration) -> Result<Vec<f64>, String> {
        let samples = self.query(self.rules_from + number, patience)?;
        let all = samples.into_iter().flat_map(|(_, samples)| samples);
        all.map(|sample| match sample.value {
            Value::Number(value) => Ok(value),
            Value::Histogram(_) => Err("its answer is a histogram, and a number is needed".into()),
        })
        .collect()
    }

    /// The names of metrics that are like this one, of those that there are.
    pub(super) fn like(&self, name: &str, seen: &[Answered], patience: Duration) -> Vec<String> {
        if !self.is_prometheus() {
            let samples = seen.iter().flat_map(|answered| &answered.samples).flat_map(|(_, samples)| samples);
            return near(name, samples.map(|sample| sample.name.as_str()));
        }
        let names = self.questions.answer(NAMES, patience).ok();
        let names = names.and_then(|answer| api::names(&answer.body).ok()).unwrap_or_default();
        near(name, names.iter().map(String::as_str))
    }
}

/// Why an answer is none. A Prometheus server says what it objects to in the body.
fn said(NoAnswer { why, body }: NoAnswer) -> String {
    let body = body.filter(|body| body.starts_with(b"{\"status\":\"error\""));
    body.and_then(|body| api::samples(&body).err()).unwrap_or(why)
}

/// In PromQL. Of a histogram, whichever form it is stored in.
fn meant(role: Role, selector: &Selector) -> String {
    let text = selector.to_string();
    if role != Role::Latency {
        return text;
    }
    let name = &selector.name;
    let conditions = text[name.len()..].trim_matches(['{', '}']);
    let comma = if conditions.is_empty() { "" } else { "," };
    format!("{{__name__=~\"{name}(_bucket|_count|_sum)?\"{comma}{conditions}}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_is_meant_in_each_of_its_forms() {
        let of = |role, text| meant(role, &Selector::parse(text).expect("one"));
        assert_eq!(of(Role::Requests, "a_total{b=\"c\"}"), "a_total{b=\"c\"}");
        assert_eq!(of(Role::Latency, "a_seconds"), "{__name__=~\"a_seconds(_bucket|_count|_sum)?\"}");
        assert_eq!(
            of(Role::Latency, "a_seconds{b=\"c}\"}"),
            "{__name__=~\"a_seconds(_bucket|_count|_sum)?\",b=\"c}\"}"
        );
    }
}
