//! What a simulated server is asked for, where a plan has journeys.

use crate::args::load::LoadArgs;
use crate::args::steady::Warmup;
use crate::errors::refuse;
use crate::journey::{self, Journey};
use crate::request::Request;
use crate::request::share::{self, Share};
use anyhow::Result;
use unblink_artifact::document::{JourneyPlan, OperationPlan, Target};
use unblink_artifact::header::RunHeader;
use unblink_core::mix::Mix;

/// Requests that stand alone, and journeys. Without journeys a simulated server is asked for one thing only.
#[derive(Default)]
pub(crate) struct Wanted {
    /// Of the operations: of requests that stand alone, then of steps. None without journeys.
    pub(crate) names: Vec<String>,
    plain: usize,
    journeys: Vec<Journey>,
    weights: Option<Vec<u32>>,
    under_way_max: u16,
}

impl Wanted {
    /// `requests` stand beside `journeys`, of which so many may be under way.
    pub(crate) fn of(requests: &[Request], journeys: &[Journey], under_way_max: u16) -> Result<Wanted> {
        if journeys.is_empty() {
            return Ok(Wanted::default());
        }
        if journey::requests(journeys).any(|step| step.parts.socket.is_some()) {
            refuse!(
                ["connect", "message", "await", "close"],
                "a simulated server answers requests, and knows no messages that come by themselves: leave steps over a WebSocket out"
            );
        }
        let steps = journey::requests(journeys);
        let shares = requests.iter().map(|request| request.share);
        let shares: Vec<Option<Share>> = shares.chain(journeys.iter().map(|journey| journey.share)).collect();
        Ok(Wanted {
            names: requests.iter().chain(steps).map(|request| request.target().name).collect(),
            plain: requests.len(),
            journeys: journeys.to_vec(),
            weights: share::weights(&shares)?,
            under_way_max,
        })
    }

    pub(crate) fn mix(&self, seed: u64) -> Mix {
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
        header.journeys = self.described();
    }

    /// The journeys as a document has them.
    pub(crate) fn described(&self) -> Vec<JourneyPlan> {
        let parts: Vec<f64> = self.weights.iter().flat_map(|weights| share::parts(weights)).collect();
        let steps = self.names.iter().skip(self.plain).map(String::as_str);
        let shares = parts.iter().skip(self.plain).copied();
        journey::describe(&self.journeys, self.under_way_max, steps, &[], shares)
    }
}
