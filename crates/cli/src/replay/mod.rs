//! Replays of traces: what was recorded becomes a schedule, and requests for the host of the URL.

mod answers;
mod operations;
mod placed;
mod reading;
mod users;

use crate::args::arrivals::Arrivals;
use crate::args::load::LoadArgs;
use crate::args::replay::{Again, Factor, PathTemplate, ReplayArgs};
use crate::args::run::RunArgs;
use crate::args::steady::Warmup;
use crate::errors::{refuse, refused, refused_value};
use crate::request::Request;
use crate::request::url::Url;
use crate::{inputs, output};
use answers::Answers;
use anyhow::{Context, Result, bail};
use operations::Operation;
use reading::{Ids, LeftOut};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use unblink_artifact::document::{RecordedIds, ReplayByUser, ReplayPlan};
use unblink_artifact::names::few;
use unblink_core::plan::LoadSpec;
use unblink_core::recorded::Recorded;
use unblink_core::time::Nanos;
use unblink_report::format;
use unblink_workload::RECORDED;
use users::ByUser;

/// The last one that was read: a command line is looked at several times.
static READ: Mutex<Option<(ReplayArgs, u64, Arc<Replay>)>> = Mutex::new(None);

/// What is read from now on is another command's, whose files may have the same names.
pub(crate) fn forget() {
    *READ.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

/// What was read of a trace, and put where it belongs.
#[derive(Debug)]
pub(crate) struct Replay {
    /// When what is asked for.
    pub recorded: Recorded,
    /// By number.
    pub operations: Vec<Operation>,
    /// What of the part is not sent.
    pub left_out: LeftOut,
    /// Where each copy of the trace begins in it.
    pub offsets: Vec<Nanos>,
    /// The same arrivals by user, where each waits for its answers.
    pub by_user: Option<ByUser>,
    /// What is known of ids in its paths.
    pub ids: Ids,
}

impl ReplayArgs {
    /// What is to be replayed, if anything is. `seed` draws the offsets of copies and the users that stay.
    pub(crate) fn read(&self, seed: u64) -> Result<Option<Arc<Replay>>> {
        let Some(file) = &self.recorded.replay else {
            self.refuse_alone()?;
            return Ok(None);
        };
        if let Some(known) = self.known(seed) {
            inputs::note(file).with_context(|| format!("can't read the trace {file:?}"))?;
            return Ok(Some(known));
        }
        let replay = Arc::new(replay(file, self, seed)?);
        *READ.lock().unwrap_or_else(PoisonError::into_inner) = Some((self.clone(), seed, replay.clone()));
        Ok(Some(replay))
    }

    /// What was read for these flags last, if anything was.
    pub(crate) fn known(&self, seed: u64) -> Option<Arc<Replay>> {
        let read = READ.lock().unwrap_or_else(PoisonError::into_inner);
        let (args, of_seed, replay) = read.as_ref()?;
        (args == self && *of_seed == seed).then(|| replay.clone())
    }

    /// Says before the start what of the trace is not sent.
    pub(crate) fn tell(&self, seed: u64) {
        for line in self.known(seed).iter().flat_map(|replay| replay.lines()) {
            output::note(format_args!("note: {}", format::plain(&line)));
        }
    }

    /// Nothing that only a replay has.
    fn refuse_alone(&self) -> Result<()> {
        let given = [
            (self.speed.is_some(), "speed"),
            (self.scale.is_some(), "scale"),
            (self.again.is_some(), "loop"),
            (self.recorded.from.is_some(), "from"),
            (self.recorded.to.is_some(), "to"),
            (self.recorded.mutating, "mutating"),
            (self.per_user_order, "per-user-order"),
        ];
        match given.into_iter().find(|(is_given, _)| *is_given) {
            Some((_, flag)) => {
                refuse!([flag], "--{flag} is about a replay: add --replay TRACE, or leave it out")
            }
            None => Ok(()),
        }
    }
}

fn replay(file: &Path, args: &ReplayArgs, seed: u64) -> Result<Replay> {
    let part = &args.recorded;
    if part.to.is_some_and(|to| to <= part.from.unwrap_or_default()) {
        refuse!(["from", "to"], "--to is not after --from: nothing would be replayed");
    }
    if args.per_user_order && args.again.is_some() {
        refuse!(
            ["per-user-order", "loop"],
            "--per-user-order and --loop exclude each other: a user whose requests have ended does not come again"
        );
    }
    let read = reading::read(file, part, args.per_user_order, seed)?;
    let speed = args.speed.unwrap_or(Factor::ONE);
    let placed = placed::placed(&read, speed, args.scale.unwrap_or(Factor::ONE), args.lead, seed);
    let placed = placed.map_err(|error| refused(&["replay", "scale"], crate::explain_error(&error)))?;
    let recorded = match args.again {
        None => placed.recorded,
        Some(Again::Times(times)) => {
            let length = placed.recorded.length().0.checked_mul(times.into());
            placed.recorded.lasting(Nanos(length.unwrap_or(u64::MAX)))
        }
        Some(Again::For(length)) => placed.recorded.lasting(length),
    };
    let by_user = placed.who.map(|who| users::by_user(recorded.clone(), &who)).transpose()?;
    Ok(Replay {
        recorded,
        operations: placed.operations,
        left_out: read.left_out,
        offsets: placed.offsets,
        by_user,
        ids: read.ids,
    })
}

impl Replay {
    /// What offers the load, for as long as `-d` says.
    pub(crate) fn load(&self, duration: Option<Nanos>) -> Result<LoadSpec> {
        let length = match duration {
            Some(duration) if duration > self.recorded.length() => refuse!(
                ["duration", "replay"],
                "the replay lasts {}, less than -d: leave -d out, or add --loop to go on",
                format::plain(&format::moment(self.recorded.length().0))
            ),
            Some(duration) => duration,
            None => self.recorded.length(),
        };
        Ok(match &self.by_user {
            Some(by_user) => LoadSpec::RecordedUsers(by_user.users.lasting(length)),
            None => LoadSpec::Recorded(self.recorded.lasting(length)),
        })
    }

    /// What is sent: one request for each kind of recorded ones, with a place for the path, or with what `templates` say of
    /// it. `base` says where.
    ///
    /// # Errors
    /// No recorded path is like that of a template, or the template is no path.
    pub(crate) fn requests(&self, base: &Request, templates: &[PathTemplate]) -> Result<Vec<Request>> {
        let before = base.url.target.trim_end_matches('/').to_string();
        if let Some((number, unknown)) = templates
            .iter()
            .enumerate()
            .find(|(_, one)| !self.operations.iter().any(|kind| kind.path == one.path))
        {
            let known: Vec<&str> = self.operations.iter().map(|kind| kind.path.as_str()).collect();
            let why =
                format!("--path-template: the trace has no path {}; it has {}", unknown.path, few(&known));
            return Err(refused_value("path-template", number, why));
        }
        let request = |operation: &Operation| -> Result<Request> {
            let mut request = base.clone();
            let template = template_of(templates, operation);
            request.url.target = match template {
                Some((number, template)) => {
                    let url = Url::parse(&format!("http://recorded.invalid{before}{}", template.template));
                    let why = |error: anyhow::Error| {
                        let why = format!("--path-template {:?}: {error:#}", template.template);
                        refused_value("path-template", number, why)
                    };
                    url.map_err(why)?.target
                }
                None => format!("{before}/{{{{{RECORDED}}}}}"),
            };
            request.parts.method = Some(operation.method.clone());
            request.name = Some(operation.name.clone());
            let address = base.url_text.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
            let path = template.map_or(&operation.path, |(_, template)| &template.template);
            request.url_text = format!("{address}{path}");
            Ok(request)
        };
        self.operations.iter().map(request).collect()
    }

    /// Requests whose ids are numbers of the trace, for want of a template.
    pub(crate) fn made_up_ids(&self, templates: &[PathTemplate]) -> Option<RecordedIds> {
        let has_ids = |operation: &&Operation| {
            operation.path.contains("{id}") && template_of(templates, operation).is_none()
        };
        let requests: u64 = self.operations.iter().filter(has_ids).map(|operation| operation.count).sum();
        (requests > 0 && self.ids != Ids::Kept)
            .then_some(RecordedIds { requests, is_certain: self.ids == Ids::Replaced })
    }

    /// What the document says of it, where so many operations are recorded apart and the load ends after `length`.
    pub(crate) fn document(&self, apart: usize, length: Nanos) -> ReplayPlan {
        let (each, others) = self.operations.split_at(apart.saturating_sub(1).min(self.operations.len()));
        let others = others.iter().fold(Answers::default(), |mut all, one| {
            all.merge(&one.answers);
            all
        });
        let each = each.iter().map(|one| one.answers.document());
        ReplayPlan {
            recorded: self.left_out.all,
            left_out_by_method: self.left_out.mutating.clone(),
            left_out_by_path: self.left_out.path,
            offsets_ns: self.offsets.iter().map(|offset| offset.0).collect(),
            operations: each.chain([others.document()]).collect(),
            by_user: self.by_user.as_ref().map(|by_user| ReplayByUser {
                requests: self.recorded.count_before(length),
                users_mean: by_user.users_mean(length),
                overlapping: by_user.overlapping,
                after_unknown: by_user.after_unknown,
            }),
            made_up_ids: None,
        }
    }

    /// What is not as it was recorded: a sentence for each cause.
    fn lines(&self) -> Vec<String> {
        let mut lines = self.left_out.lines();
        let requests = |n: u64| format::plural(n, "recorded request", "recorded requests");
        if let Some(by_user) = &self.by_user {
            if by_user.overlapping > 0 {
                lines.push(format!(
                    "{} came before the answer to the one before of the same user, and will follow it at once",
                    requests(by_user.overlapping)
                ));
            }
            if by_user.after_unknown > 0 {
                lines.push(format!(
                    "of {} it is not recorded how long the one before took: that time is a part of the pause",
                    requests(by_user.after_unknown)
                ));
            }
        }
        lines
    }

    /// After the number of requests: how they were placed.
    pub(crate) fn in_words(&self, args: &ReplayArgs) -> String {
        let times = |factor: Factor| format::number(factor.as_f64());
        let mut words = String::new();
        if let Some(speed) = args.speed {
            words += &format!(", {}\u{a0}× as fast", times(speed));
        }
        if let Some(scale) = args.scale {
            words += &format!(", {}\u{a0}× as many", times(scale));
        }
        if let [_, others @ ..] = &self.offsets[..]
            && !others.is_empty()
        {
            let others: Vec<String> = others.iter().map(|offset| format::moment(offset.0)).collect();
            words += &format!(" (copies {} later)", others.join(", "));
        }
        words
    }
}

/// The template for a kind of requests, and its place among them.
fn template_of<'a>(
    templates: &'a [PathTemplate],
    operation: &Operation,
) -> Option<(usize, &'a PathTemplate)> {
    templates.iter().enumerate().find(|(_, template)| template.path == operation.path)
}

/// The request that says where a replay goes.
pub(crate) fn base(args: &RunArgs) -> Result<&Request> {
    if !args.lines.lines.is_empty() || args.targets.is_some() || !args.journeys.is_empty() {
        bail!("a replay sends what was recorded: leave --request, --targets and journeys out");
    }
    let [base] = &args.requests[..] else {
        bail!("a replay goes to one place: give one URL, such as https://staging.example");
    };
    let parts = &base.parts;
    if base.name.is_some() || base.share.is_some() || parts.method.is_some() || parts.body.is_some() {
        bail!(
            "a replay sends what was recorded: leave [[requests]] out, and give the plan a url in [target]"
        );
    }
    if base.url.origin.is_ws() || base.url.origin.is_grpc() {
        bail!("a replay sends requests of HTTP: write http:// or https://");
    }
    if base.url.target.contains(['?', '{']) {
        bail!("a replay has paths of its own: give a URL without a query and without {{{{…}}}}");
    }
    Ok(base)
}

/// Nothing that a replay has from its trace.
pub(crate) fn check(args: &LoadArgs) -> Result<()> {
    let given: [(bool, &'static str, &str); 11] = [
        (args.rate.is_some(), "rate", "-R"),
        (args.closed.is_some(), "closed", "--closed"),
        (args.shape.is_some(), "shape", "--shape"),
        (args.trace.trace.is_some(), "trace", "--trace"),
        (args.peak_for.is_some(), "peak-for", "--peak-for"),
        (args.period.is_some(), "period", "--period"),
        (args.think.is_some(), "think", "--think"),
        (args.ramp_up.is_some(), "ramp-up", "--ramp-up"),
        (args.arrivals != Arrivals::Even, "arrivals", "--arrivals"),
        (args.warmup != Warmup::Time(args.replay.lead), "warmup", "--warmup"),
        (args.replay.per_user_order && args.requests.is_some(), "requests", "-n"),
    ];
    if let Some((_, field, flag)) = given.into_iter().find(|(is_given, ..)| *is_given) {
        refuse!(
            [field, "replay"],
            "--replay and {flag} exclude each other: the trace says when each request starts (--speed and --scale change \
             how many in a second)"
        );
    }
    if !args.loads.is_empty() {
        refuse!(["replay"], "a replay is a load that stands alone: leave it out, or the [[loads]]");
    }
    Ok(())
}
