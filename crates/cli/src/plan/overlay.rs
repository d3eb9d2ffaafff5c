//! A plan below the user's flags. Each field that the command heeds becomes the default of the flag of its name: one
//! parser reads both, and a flag on the command line wins. A field in whose place the user said something else is left
//! out.

use super::fields::{self, For};
use super::file::{self, Given, PlanFile, Text};
use super::user::User;
use super::{journeys, loads, requests, search, setup, value, values, workload};
use crate::args::load::PlannedLoad;
use crate::args::metric_rule::is_of_metric;
use crate::args::short::with_last_behind;
use crate::args::{Cli, Command as Of};
use crate::errors::{self, Refused};
use crate::journey::Journey;
use crate::request::Request;
use crate::setup::SetupRequest;
use anyhow::{Error, Result};
use clap::Command;
use std::sync::Arc;
use unblink_analysis::slo::Slo;
use unblink_workload::Lets;

/// Sections of which whoever wrote them expects that they are heeded.
const IS_MISSED: [&str; 2] = ["objectives", "output"];

/// What a command takes from a plan.
pub(super) struct Overlay<'a> {
    plan: &'a PlanFile,
    user: User,
    command: For,
    /// What of the plan's fields it heeds.
    heeded: Vec<Given>,
    requests: Requests,
    /// The values of the plan and of the command line.
    lets: Arc<Lets>,
    /// In the place of the load that the fields describe.
    loads: Vec<PlannedLoad>,
    /// At the target, and at the candidate.
    journeys: [Vec<Journey>; 2],
    /// Of the target, and of the candidate that a comparison holds against it.
    setup: [Vec<SetupRequest>; 2],
    /// What the script of a simulation may change.
    scripted: Option<Request>,
    /// Properties of its workload that stay below those of the user.
    set_below: Vec<String>,
}

/// What a plan requests.
enum Requests {
    /// Nothing: what it describes is simulated, or the user's flags say it.
    None,
    Of(Vec<Request>),
    /// Of the baseline, and of the candidate.
    OfBoth([Vec<Request>; 2]),
}

impl Requests {
    fn of(
        plan: &PlanFile,
        command: For,
        user: &User,
        is_simulated: bool,
        lets: &Arc<Lets>,
    ) -> Result<Requests> {
        let urls = user.urls();
        Ok(match command {
            For::Run | For::Try if user.has("targets") => Requests::None,
            For::Compare if !is_simulated => Requests::OfBoth(match is_a_a(plan, user) {
                true => [requests::of(plan, &urls, lets)?, Vec::new()],
                false => requests::of_both(plan, &urls, lets)?,
            }),
            For::Run | For::Try | For::Knee if !is_simulated => {
                Requests::Of(requests::of(plan, &urls, lets)?)
            }
            // A workload is asked of whatever stands there.
            For::Sim | For::Knee | For::Compare if workload::is_given(plan, user) => {
                Requests::Of(requests::alone(plan, lets)?.into_iter().collect())
            }
            For::Sim | For::Knee | For::Compare => Requests::Of(requests::simulated(plan, lets)?),
            _ => Requests::None,
        })
    }
}

impl<'a> Overlay<'a> {
    /// `user` is the command line without the plan.
    pub(super) fn of(plan: &'a PlanFile, command: For, user: User) -> Result<Overlay<'a>> {
        let is_simulated = user.wants_simulation(command, plan);
        check(plan, command, &user)?;
        workload::check(plan, &user)?;
        let mut heeded = Vec::new();
        for given in &plan.given {
            let field = given.field;
            if !field.is_for(command) {
                if IS_MISSED.contains(&field.section.as_str()) && command != For::Sim {
                    plan.say(format_args!(
                        "{} has no {}, so the plan's is left out",
                        command.name(),
                        field.name
                    ));
                }
                continue;
            }
            let is_not_asked = field.section == "world" && !is_simulated;
            if is_not_asked || user.has(&field.name) || user.has_instead_of(field) {
                continue;
            }
            let mut values = given.values.clone();
            match (command, field.name.as_str()) {
                (For::Knee, "slo") => values = vec![search::objective(plan)?.clone()],
                (For::Sim, "abort-on") => values.retain(|text| !is_of_service(plan, text)),
                (For::Sim, "slo") if !requests::has_lists(plan) && !workload::is_given(plan, &user) => {
                    values.retain(|text| !is_of_one_request(plan, text));
                }
                _ => {}
            }
            heeded.push(Given { field, values });
        }
        // Of a plan with journeys the cap is on requests, and the search's on arrivals.
        if let (For::Knee, Some(max), true) = (command, fields::named("max"), plan.journeys.is_empty()) {
            let cap = search::cap(plan, user.value("max"))?;
            heeded.extend(cap.map(|cap| Given { field: max, values: vec![cap.clone()] }));
        }
        if let Some(wrong) = file::conflict(command.of(fields::built()), &heeded) {
            return Err(plan.source.error_hiding(&wrong, &plan.hidden));
        }
        // Its files are read once, for all that draws from them.
        let lets = values::table(plan, &user.lets());
        let requests =
            lets.and_then(|lets| Ok((Requests::of(plan, command, &user, is_simulated, &lets)?, lets)));
        let ((requests, lets), loads) = errors::both(requests, loads::of(plan, command, &user))?;
        let beside: &[Request] = match &requests {
            Requests::Of(requests) | Requests::OfBoth([requests, _]) => requests,
            Requests::None => &[],
        };
        let of = |target: Option<&requests::Address<'_>>| {
            let paths = journeys::Paths { target, lets: &lets };
            errors::both(journeys::of(plan, &user, paths, beside), setup::of(plan, command, &user, paths))
        };
        let asks_two = command == For::Compare && !is_simulated && !is_a_a(plan, &user);
        let (journeys, setup) = match asks_two {
            false => {
                let target = requests::target_of(plan, &user.urls(), is_simulated)?;
                let (journeys, setup) = of(target.as_ref())?;
                ([journeys, Vec::new()], [setup, Vec::new()])
            }
            true => {
                // That there is none is said where it is missed.
                let of = |target: Option<requests::Address<'_>>| {
                    target.as_ref().map_or_else(|| Ok(Default::default()), |target| of(Some(target)))
                };
                let [base, candidate] = requests::targets_of_both(plan, &user.urls())?;
                // What is wrong with one is wrong with the other.
                let (here, setup) = of(base)?;
                let (there, setup_there) = of(candidate)?;
                ([here, there], [setup, setup_there])
            }
        };
        let mut journeys = journeys;
        if is_simulated {
            let of_all = requests::of_all(plan)?;
            let steps = journeys[0].iter_mut().flat_map(|journey| &mut journey.steps);
            steps.for_each(|step| step.request.parts.fill(&of_all));
        }
        let has_script = command == For::Sim && (user.has("script") || plan.value("script").is_some());
        let scripted = if has_script { requests::alone(plan, &lets)? } else { None };
        let lets = lets.clone();
        let set_below = workload::set_below(plan, "set", user.has("set"));
        Ok(Overlay {
            plan,
            user,
            command,
            heeded,
            requests,
            lets,
            loads,
            journeys,
            setup,
            scripted,
            set_below,
        })
    }

    /// The values that requests draw.
    pub(super) fn lets(&self) -> &Arc<Lets> {
        &self.lets
    }

    /// What of the plan's fields is heeded.
    pub(super) fn heeded(&self) -> &[Given] {
        &self.heeded
    }

    /// The fields that are heeded.
    #[cfg(test)]
    pub(super) fn names(&self) -> Vec<&'static str> {
        self.heeded.iter().map(|heeded| heeded.field.name.as_str()).collect()
    }

    /// `cli` with the plan's fields as what a flag is when it is left out. It is for parsing alone: its help would show
    /// them, secrets and all.
    pub(super) fn below(&self, cli: Command) -> Result<Command> {
        let mut defaults = Vec::new();
        for Given { field, values } in &self.heeded {
            let values =
                values.iter().map(|text| value::of(self.plan, field, text)).collect::<Result<Vec<_>>>()?;
            defaults.push((field.arg(self.command.of(&cli)).get_id().clone(), values));
        }
        Ok(cli.mut_subcommand(self.command.name(), |command| {
            with_last_behind(defaults.into_iter().fold(command, |command, (id, values)| {
                command.mut_arg(id, |arg| arg.default_values(values).required(false))
            }))
        }))
    }

    /// The command line with what the plan requests, and with the loads that it lists.
    pub(super) fn requested(&self, mut cli: Cli) -> Cli {
        if let Some(workload) = cli.command.workload_mut() {
            workload.set = [self.set_below.clone(), std::mem::take(&mut workload.set)].concat();
        }
        if let Some(args) = cli.command.run_mut() {
            args.load.loads.clone_from(&self.loads);
            args.journeys.clone_from(&self.journeys[0]);
            args.setup.clone_from(&self.setup[0]);
            if let Requests::Of(planned) = &self.requests {
                args.requests.clone_from(planned);
            }
        }
        match &mut cli.command {
            Of::Sim(args) => {
                args.load.loads.clone_from(&self.loads);
                args.journeys.clone_from(&self.journeys[0]);
                args.scripted.clone_from(&self.scripted);
            }
            Of::Knee(args) => {
                args.journeys.clone_from(&self.journeys[0]);
                args.max_requests = search::max_requests(self.plan);
                args.setup.clone_from(&self.setup[0]);
            }
            Of::Compare(args) => {
                args.load.loads.clone_from(&self.loads);
                args.journeys.clone_from(&self.journeys);
                args.setup.clone_from(&self.setup);
            }
            _ => {}
        }
        match (&mut cli.command, &self.requests) {
            (Of::Knee(args), Requests::Of(planned)) => args.requests.clone_from(planned),
            (Of::Sim(args), Requests::Of(planned)) => args.requests.clone_from(planned),
            (Of::Compare(args), Requests::Of(planned)) => args.beside.clone_from(planned),
            (Of::Compare(args), Requests::OfBoth(planned)) => {
                (args.baseline, args.candidate) = (None, None);
                args.planned = Some(planned.clone());
            }
            _ => {}
        }
        cli
    }

    /// The error, pointed at the field that it is about; as it is where that is a flag of the user's own.
    pub(super) fn pointed(&self, error: Error) -> Error {
        let is_users = |refused: &Refused| {
            refused.load.is_none() && refused.fields.iter().any(|field| self.user.has(field))
        };
        self.plan.pointed(error, &self.heeded, is_users)
    }
}

/// Is the target compared with itself?
fn is_a_a(plan: &PlanFile, user: &User) -> bool {
    user.has("a-a") || plan.value("a-a").is_some()
}

/// Refuses what the command can't make anything of.
fn check(plan: &PlanFile, command: For, user: &User) -> Result<()> {
    let is_experiment = matches!(command, For::Knee | For::Compare);
    if is_experiment && user.has("simulate") {
        let is_there = |flag: &str| user.has(flag) || plan.value(flag).is_some();
        if !is_there("server") && !is_there("scenario") {
            return Err(plan.error_of_all("there is nothing to simulate: [world] has no server"));
        }
    }
    if let Some(targets) = plan.value("targets") {
        let message = match is_experiment {
            true => format!("{} takes [[requests]] of a plan, not a file of targets", command.name()),
            false if plan.value(fields::TARGET).is_some() || requests::has_lists(plan) => {
                "use targets, or target and requests, not both".into()
            }
            false => return Ok(()),
        };
        return Err(plan.error(targets, message));
    }
    if let (For::Compare, [_, _, ..], [a_a, ..]) = (command, user.urls().as_slice(), plan.values("a-a")) {
        let message = "a-a compares a target with itself, and two are given: leave one of them out";
        return Err(plan.error(a_a, message));
    }
    if command == For::Knee && !user.has("slo") && plan.value("slo").is_none() {
        return Err(plan.error_of_all(
            "a search needs a percentile to go by: add slo = \"p99 < 200ms\" to [objectives], or give --slo",
        ));
    }
    Ok(())
}

/// A rule on the service's own metrics, which a simulated service does not have.
fn is_of_service(plan: &PlanFile, text: &Text) -> bool {
    let raw = &text.raw;
    let is_one = is_of_metric(raw);
    if is_one {
        plan.say(format_args!("a simulated server has no metrics of its own, so {raw:?} is left out"));
    }
    is_one
}

/// An objective of one request by its name, which a simulation of a plan that lists none does not have.
fn is_of_one_request(plan: &PlanFile, text: &Text) -> bool {
    let raw = &text.raw;
    let is_one = Slo::parse(raw).is_ok_and(|slo| slo.name.is_some());
    if is_one {
        plan.say(format_args!("a simulation has no request by name, so {raw:?} is left out"));
    }
    is_one
}
