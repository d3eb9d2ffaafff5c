//! What an agent says of an offer of somebody whose word does not count.

use super::{Action, Agent, State};
use crate::message::FromAgent;

impl Agent {
    /// Says so, since whoever made the offer can't know it otherwise. Nothing else comes of it: a stranger must not keep this agent
    /// from a run of those whose word counts, whatever name that stranger gives the run.
    pub(super) fn strange(
        &self,
        run: String,
        agent: &str,
        by: String,
        accepts: Vec<String>,
        out: &mut Vec<Action>,
    ) {
        if matches!(self.state, State::Waiting) && agent == self.id {
            out.push(Action::Say(FromAgent::Stranger { run, by, accepts }));
        }
    }
}
