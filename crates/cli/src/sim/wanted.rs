//! What a plan with journeys asks for, as far as a search must know it before anything is gathered.

use crate::errors::refuse;
use crate::journey::{self, Journey};
use crate::request::Request;
use crate::request::share::{self, Share};
use anyhow::Result;
use unblink_artifact::document::JourneyPlan;
use unblink_core::mix::Mix;

/// Requests that stand alone, and journeys. Nothing without journeys.
#[derive(Default)]
pub(crate) struct Wanted {
    /// Of the operations: of requests that stand alone, then of steps. None without journeys.
    pub(crate) names: Vec<String>,
    plain: usize,
    journeys: Vec<Journey>,
    weights: Option<Vec<u32>>,
    under_way_max: u16,
}

/// Refuses steps over a WebSocket.
pub(super) fn refuse_sockets(journeys: &[Journey]) -> Result<()> {
    if journey::requests(journeys).any(|step| step.parts.socket.is_some()) {
        refuse!(
            ["connect", "message", "await", "close"],
            "a simulated server answers requests, and knows no messages that come by themselves: leave steps over a WebSocket out"
        );
    }
    Ok(())
}

impl Wanted {
    /// `requests` stand beside `journeys`, of which so many may be under way.
    pub(crate) fn of(requests: &[Request], journeys: &[Journey], under_way_max: u16) -> Result<Wanted> {
        if journeys.is_empty() {
            return Ok(Wanted::default());
        }
        refuse_sockets(journeys)?;
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

    /// The journeys as a document has them.
    pub(crate) fn described(&self) -> Vec<JourneyPlan> {
        let parts: Vec<f64> = self.weights.iter().flat_map(|weights| share::parts(weights)).collect();
        let steps = self.names.iter().skip(self.plain).map(String::as_str);
        let shares = parts.iter().skip(self.plain).copied();
        journey::describe(&self.journeys, self.under_way_max, steps, &[], shares)
    }
}
