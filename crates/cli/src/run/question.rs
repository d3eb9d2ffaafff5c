//! Questions to a URL that is none of the load's: each like a request before the run, with the same trust in certificates.

use super::asking;
use super::job::{AnyJob, Whole};
use super::version::agreed;
use super::way::Ways;
use crate::args::run::RunArgs;
use crate::errors::refuse;
use crate::guard::Guard;
use crate::request::Request;
use crate::request::url::Speaks;
use crate::secrets;
use anyhow::{Context, Result};
use std::time::Duration;
use unblink_core::origins::Origins;
use unblink_core::time::Nanos;
use unblink_engine::limits::Limits;
use unblink_engine::preflight::PreflightError;

/// What is asked, by number, of one server.
#[derive(Debug)]
pub(super) struct Questions {
    job: AnyJob,
    shown: String,
}

/// What is the same for all questions.
pub(super) struct How<'a> {
    /// The flag that has the URL.
    pub flag: &'static str,
    pub headers: &'a [(&'a str, &'a str)],
    /// A larger answer is none.
    pub body_bytes_max: Option<u64>,
}

/// A whole answer that is as it should be.
#[derive(Debug)]
pub(super) struct Answer {
    /// The value of its `Content-Type`.
    pub content_type: String,
    pub body: Vec<u8>,
}

/// Why there is none.
#[derive(Debug)]
pub(super) struct NoAnswer {
    pub why: String,
    /// What was said instead, in whole, if anything was.
    pub body: Option<Vec<u8>>,
}

impl Questions {
    /// Asks `base` with each of these at its end.
    pub(super) fn new(
        args: &RunArgs,
        base: &str,
        ends: &[String],
        how: &How<'_>,
        limits: &Limits,
    ) -> Result<Questions> {
        let shown = secrets::mask_url(base);
        let context = || format!("--{} {shown}", how.flag);
        let request = |end: &String| {
            let mut request = Request::new(None, &format!("{base}{end}")).with_context(context)?;
            if request.url.origin.speaks != Speaks::Http {
                refuse!([how.flag], "{}: it is asked in HTTP: give an http or https URL", context());
            }
            let headers = how.headers.iter().map(|(name, value)| (name.to_string(), value.to_string()));
            request.parts.headers.extend(headers);
            Ok(request)
        };
        let requests = ends.iter().map(request).collect::<Result<Vec<_>>>()?;
        let (load, mut target) = (args.load.clone(), args.target.clone());
        // What the load's requests are like, and where they go, is nothing to it.
        (target.web_socket, target.grpc, target.request, target.script) = Default::default();
        (target.connect_to, target.unix_socket, target.resolve_every) = Default::default();
        (target.http, target.streams) = Default::default();
        target.max_body_size = how.body_bytes_max.unwrap_or(target.max_body_size);
        if requests.iter().all(|request| !request.url.origin.tls) {
            (target.insecure, target.cacert, target.cert, target.key) = Default::default();
        }
        let own = RunArgs::of_experiment(requests, load, target, true);
        let (requests, Ways { targets, .. }) =
            agreed(&own, limits, Guard::of_questions()).with_context(context)?;
        let plan = asking::plan(
            Nanos::from_secs(1),
            requests.idempotent.clone(),
            Origins::new(&requests.origin_of).expect("one server is one origin"),
        )?;
        let whole = Whole { plan, targets, values: None, script: None, expects: requests.expects() };
        Ok(Questions { job: AnyJob::new(whole, requests.operations, &own.target), shown })
    }

    /// Where it goes, as it may be shown.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// Is the answer to this question as it should be?
    pub(super) fn ask(&self, number: usize, patience: Duration) -> Result<(), PreflightError> {
        self.job.preflight(number, patience).map(drop)
    }

    /// The answer to this question.
    ///
    /// # Errors
    /// Why there is none, and what was answered instead.
    pub(super) fn answer(&self, number: usize, patience: Duration) -> Result<Answer, NoAnswer> {
        let tried = self.job.once(number, patience).expect("it takes no row");
        match tried.result {
            Ok(()) => Ok(Answer { content_type: content_type(&tried.head), body: tried.body }),
            Err(why) => {
                let is_whole = matches!(why, PreflightError::Answer { .. });
                Err(NoAnswer { why: why.to_string(), body: is_whole.then_some(tried.body) })
            }
        }
    }
}

/// What the head says of the body; empty where it says nothing.
fn content_type(head: &[u8]) -> String {
    let head = String::from_utf8_lossy(head);
    let mut fields = head.lines().filter_map(|line| line.split_once(':'));
    let found = fields.find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    found.map(|(_, value)| value.trim().to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_says_what_its_body_is() {
        let head = b"HTTP/1.1 200 OK\r\nServer: a\r\ncontent-TYPE:  text/plain; version=0.0.4\r\n\r\n";
        assert_eq!(content_type(head), "text/plain; version=0.0.4");
        assert_eq!(content_type(b"HTTP/1.1 200 OK\r\n\r\n"), "");
    }
}
