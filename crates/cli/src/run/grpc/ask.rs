//! Calls before the run, which the user did not ask for: one at a time, each on a connection of its own.

use crate::args::run::RunArgs;
use crate::request::Request;
use crate::request::grpc::metadata;
use crate::run::asking;
use crate::run::preflight::{PATIENCE, told_if_slow};
use anyhow::{Result, anyhow};
use std::time::Duration;
use unblink_core::origins::Origins;
use unblink_core::plan::Plan;
use unblink_engine::job::Job;
use unblink_engine::pacing::Pacing;
use unblink_engine::preflight::once;
use unblink_engine::target::Target;
use unblink_wire::Limits;
use unblink_wire::grpc::{CODES, CallBuilder, Grpc};
use unblink_wire::http2::{self, Scheme};
use unblink_wire::message::{Message, MessagePart};
use unblink_workload::answer::Expect;
use unblink_workload::template::is_template;

/// Asks one origin.
pub(super) struct Asker {
    plan: Plan,
    target: Target,
    host: String,
    scheme: Scheme,
    /// Those that are the same for each arrival.
    metadata: Vec<(String, String)>,
    patience: Duration,
}

/// Why there is no answer with a message.
#[derive(Debug)]
pub(super) struct NoMessage {
    /// The status that the target answers with; nothing where it does not answer.
    pub(super) status: Option<&'static str>,
    /// What came of it.
    pub(super) why: String,
}

impl Asker {
    /// Asks where `like` goes to, with its headers.
    pub(super) fn new(args: &RunArgs, like: &Request, target: &Target) -> Result<Asker> {
        let request = like.below(&args.target.request)?;
        let mut metadata = metadata(&request);
        metadata.retain(|(_, value)| !is_template(value));
        let plan = asking::plan(
            args.load.timeout,
            vec![true],
            Origins::new(&[0]).ok_or_else(|| anyhow!("there is no origin"))?,
        )?;
        Ok(Asker {
            plan,
            target: target.clone(),
            host: request.url.authority.clone(),
            scheme: if request.url.origin.tls { Scheme::Https } else { Scheme::Http },
            metadata,
            patience: Duration::from_nanos(args.load.timeout.0).min(PATIENCE),
        })
    }

    /// The message that the method at `path` answers to `message` with. `what` says what is waited for.
    pub(super) fn ask(&self, path: &str, message: Vec<u8>, what: &str) -> Result<Vec<u8>, NoMessage> {
        let message = Message { parts: [MessagePart::Fixed(message.into())].into() };
        let Asker { host, scheme, metadata, .. } = self;
        let call = CallBuilder { path, host, scheme: *scheme, metadata, message, is_stream: false }.render();
        let call = call.map_err(|error| {
            let why = format!("{path}: {error}");
            NoMessage { status: None, why }
        })?;
        let job = Job::<Grpc> {
            plan: self.plan.clone(),
            targets: vec![self.target.clone()],
            operations: vec![call],
            values: None,
            script: None,
            expects: Expect::default().into(),
            settings: http2::Settings { limits: Limits::default(), streams: 1 },
            connection_age: None,
            pacing: Pacing::Frugal,
        };
        let asked = told_if_slow(|| once(&job, 0, self.patience), what, self.patience);
        let tried = asked.expect("it takes no row");
        let status = tried.reply.and_then(|reply| CODES.get(usize::from(reply.code)).copied());
        match tried.result {
            Ok(()) => Ok(tried.body),
            Err(error) => Err(NoMessage { status, why: error.to_string() }),
        }
    }
}
