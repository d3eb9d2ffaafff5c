//! The records of a run as they come from the bus.

use super::super::PLACE;
use super::{Life, Told};
use crate::coordinator::Event;
use crate::message::{AgentId, FileEnd, Time};
use crate::record::{Inbox, Place, Taken, Whole, inflated};
use async_nats::jetstream::{self, AckKind};
use std::path::PathBuf;
use std::time::Duration;

/// See [`Life::ask_again`].
const ASKED_FOR: Time = 3_000_000_000;

impl<T: FnMut(Told)> Life<T> {
    /// Of whom nothing comes any more, that is told of which another coordinator had gathered.
    pub(super) fn find_gathered(&mut self) {
        let all: Vec<AgentId> = self.machine.borrow().records().map(|(agent, _)| agent.clone()).collect();
        for agent in &all {
            let _ = self.inbox(agent);
        }
    }

    /// A little at a time, since agents are answered here.
    pub(super) fn read_on(&mut self) {
        // What can't be read is told of when it should be whole.
        let mut all = self.inboxes.values_mut();
        let _ = all.any(|(inbox, _)| inbox.read_on().unwrap_or(false));
    }

    /// Is all of a record here?
    pub(super) fn whole(&mut self, agent: &str, ends: &[FileEnd]) -> Whole {
        if ends.is_empty() {
            return Whole::Yes;
        }
        let now = (self.now)();
        let Some((inbox, dir)) = self.inbox(agent) else { return Whole::NotYet };
        match inbox.whole(now, ends) {
            Ok(whole) => whole,
            Err(error) => {
                let text = format!("can't keep a record in {}: {error}", dir.display());
                (self.tell)(Told::Broken(text));
                Whole::NotYet
            }
        }
    }

    /// Where the record of an agent is gathered, if it takes part.
    fn inbox(&mut self, agent: &str) -> Option<&mut (Inbox, PathBuf)> {
        if !self.inboxes.contains_key(agent) {
            let first = self.machine.borrow().first_share(agent)?;
            let dir = self.dir.join(format!("share-{first:04}"));
            // What another coordinator has gathered is here, and perhaps nowhere else any more.
            let inbox = match self.kept.times {
                0 => Inbox::new(dir.clone(), self.names),
                _ => Inbox::resumed(dir.clone(), self.names),
            };
            match inbox {
                Ok(inbox) => drop(self.inboxes.insert(agent.to_string(), (inbox, dir))),
                Err(error) => {
                    let text = format!("can't keep records in {}: {error}", dir.display());
                    (self.tell)(Told::Broken(text));
                }
            }
        }
        self.inboxes.get_mut(agent)
    }

    /// All send all of it, so that one word is enough for whatever else is found missing at that time.
    pub(super) fn ask_again(&mut self) -> Option<Event> {
        let now = (self.now)();
        if self.asked_at.is_some_and(|asked_at| now.saturating_sub(asked_at) < ASKED_FOR) {
            return None;
        }
        self.asked_at = Some(now);
        Some(Event::Missing)
    }

    /// Keeps a piece of a record, and lets the stream know. Gives what follows from it.
    pub(super) async fn keep(&mut self, piece: jetstream::Message) -> Option<Event> {
        let agent = piece.subject.rsplit('.').next().unwrap_or_default().to_string();
        let place: Option<Place> = piece
            .headers
            .as_ref()
            .and_then(|headers| headers.get(PLACE))
            .and_then(|place| serde_json::from_str(place.as_str()).ok());
        let takes_part = self.machine.borrow().first_share(&agent).is_some();
        let (now, mut missing) = ((self.now)(), None);
        // Another run's, or nothing that is understood: nobody here waits for it.
        if let Some(place) = place.filter(|_| takes_part) {
            let (inbox, dir) = self.inbox(&agent)?;
            let again_after = match inflated(&piece.payload).and_then(|bytes| inbox.take(now, &place, &bytes))
            {
                Ok(Taken::Settled) => None,
                Ok(Taken::Early(again_after)) => Some(again_after),
                Ok(Taken::Missing(again_after)) => {
                    missing = self.ask_again();
                    Some(again_after)
                }
                Err(error) => {
                    let text = format!("can't keep a record in {}: {error}", dir.display());
                    (self.tell)(Told::Broken(text));
                    return None;
                }
            };
            if let Some(again_after) = again_after {
                let _ = piece.ack_with(AckKind::Nak(Some(Duration::from_nanos(again_after)))).await;
                return missing;
            }
        }
        // Unheard, it would come again, and change nothing.
        let _ = piece.ack().await;
        missing
    }
}
