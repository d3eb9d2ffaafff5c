//! The files of an offer, as an agent fetches them.

use super::{ASK_AGAIN, Action, Agent, State};
use crate::message::{FromAgent, Time};
use std::sync::Arc;

impl Agent {
    pub(super) fn piece(&mut self, now: Time, of: &str, offset: u64, data: &[u8]) {
        let State::Fetching { offer, files, ask_at } = &mut self.state else { return };
        if !data.is_empty() {
            self.heard_at = now;
        }
        for (file, bytes) in offer.files.iter().zip(files) {
            let wanted = file.bytes - bytes.len() as u64;
            if file.sha256 == of && offset == bytes.len() as u64 && data.len() as u64 <= wanted {
                Arc::make_mut(bytes).extend_from_slice(data);
                *ask_at = now;
            }
        }
    }

    /// Asks for what is missing of the files; prepares once nothing is.
    pub(super) fn fetch(&mut self, now: Time, out: &mut Vec<Action>) {
        let State::Fetching { offer, files, ask_at } = &mut self.state else { return };
        let missing =
            offer.files.iter().zip(files.iter()).find(|(file, bytes)| (bytes.len() as u64) < file.bytes);
        match missing {
            Some((file, bytes)) if now >= *ask_at => {
                let (sha256, offset) = (file.sha256.clone(), bytes.len() as u64);
                let run = self.run.clone().unwrap_or_default();
                out.push(Action::Say(FromAgent::Fetch { run, sha256, offset }));
                *ask_at = now + ASK_AGAIN;
            }
            Some(_) => {}
            None => {
                out.push(Action::Prepare(offer.clone(), std::mem::take(files)));
                self.state = State::Preparing;
                self.speak_at = now;
            }
        }
    }
}
