//! What a simulated server is asked for, where a plan has journeys.

use crate::args::load::LoadArgs;
use crate::args::sim::SimArgs;
use crate::args::steady::Warmup;
use crate::errors::refuse;
use crate::journey::{self, Journey};
use crate::request::share::{self, Share};
use anyhow::Result;
use unblink_artifact::document::{OperationPlan, Target};
use unblink_artifact::header::RunHeader;
use unblink_core::mix::Mix;

/// Requests that stand alone, and journeys. Without journeys a simulated server is asked for one thing only.
#[derive(Default)]
pub(super) struct Wanted {
    /// Of the operations: of requests that stand alone, then of steps. None without journeys.
    pub(super) names: Vec<String>,
    plain: usize,
    journeys: Vec<Journey>,
    weights: Option<Vec<u32>>,
    under_way_max: u16,
}

impl Wanted {
    pub(super) fn of(args: &SimArgs) -> Result<Wanted> {
        let SimArgs { requests, journeys, under_way, .. } = args;
        if journeys.is_empty() {
            return Ok(Wanted::default());
        }
        let steps = journeys.iter().flat_map(|journey| &journey.steps).map(|step| &step.request);
        let shares = requests.iter().map(|request| request.share);
        let shares: Vec<Option<Share>> = shares.chain(journeys.iter().map(|journey| journey.share)).collect();
        Ok(Wanted {
            names: requests.iter().chain(steps).map(|request| request.target().name).collect(),
            plain: requests.len(),
            journeys: journeys.clone(),
            weights: share::weights(&shares)?,
            under_way_max: under_way.journeys_max,
        })
    }

    pub(super) fn mix(&self, seed: u64) -> Mix {
        if self.journeys.is_empty() {
            return Mix::default();
        }
        Mix {
            journeys: journey::specs(&self.journeys, seed, self.under_way_max, &[]),
            ..share::mix(self.weights.as_deref(), None, seed)
        }
    }

    pub(super) fn check(&self, args: &LoadArgs, has_client: bool) -> Result<()> {
        if self.journeys.is_empty() {
            return Ok(());
        }
        if has_client {
            refuse!(["client"], "--client imitates a tool without journeys: leave it out, or [[journeys]]");
        }
        if args.warmup == Warmup::Auto {
            refuse!(["warmup"], "--warmup auto would cut through journeys: give the warm-up a time");
        }
        Ok(())
    }

    /// Puts what it is into the header, which has one operation.
    pub(super) fn describe(&self, header: &mut RunHeader) {
        if self.journeys.is_empty() {
            return;
        }
        let (operation, target) = (header.operations[0].clone(), header.targets[0].clone());
        let parts: Vec<f64> = self.weights.iter().flat_map(|weights| share::parts(weights)).collect();
        let named = |(place, name): (usize, &String)| OperationPlan {
            name: name.clone(),
            share: parts.get(place).copied().filter(|_| place < self.plain),
            ..operation.clone()
        };
        header.operations = self.names.iter().enumerate().map(named).collect();
        header.targets =
            self.names.iter().map(|name| Target { name: name.clone(), ..target.clone() }).collect();
        let steps = self.names[self.plain..].iter().map(String::as_str);
        let shares = parts.iter().skip(self.plain).copied();
        header.journeys = journey::describe(&self.journeys, self.under_way_max, steps, &[], shares);
    }
}
