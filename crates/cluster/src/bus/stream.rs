//! What keeps records on the bus until they are here: a stream, and who reads it for one run. A bus that comes back without its disk
//! has neither any more; then both are made again, and whoever had sent something sends it again.

use super::{KEEP, Options};
use async_nats::Client;
use async_nats::connection::State;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, PullConsumer, pull};
use async_nats::jetstream::context::{ConsumerInfoErrorKind, CreateStreamErrorKind};
use async_nats::jetstream::{self, Message, stream};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tokio::sync::mpsc::Sender;
use tokio_stream::StreamExt;

/// A piece of a record that was not answered within this comes again, so that a coordinator that was away for a moment has it soon.
const PIECE_AGAIN_AFTER: Duration = Duration::from_secs(2);
/// So many pieces may wait for others before them. None of any record comes while there are more.
const PENDING_MAX: i64 = 20_000;
/// For the bus to say whether it has a stream.
const ANSWERED_WITHIN: Duration = Duration::from_secs(2);
/// From one look at a bus that is gone to the next.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Where a run begins in which stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Since {
    /// When the stream was made, in nanoseconds since 1970 by the bus's clock: another one of the same name has another time.
    pub made_at_ns: i64,
    /// The number of the first message that may belong to the run.
    pub from_message: u64,
}

impl Since {
    /// Where the run is in what is there now, if that has lost something that the run had in it: it was made at another time, or
    /// ends before `seen`, which had been in it.
    fn in_another(self, made_at_ns: i64, last: u64, seen: u64) -> Option<Since> {
        if made_at_ns != self.made_at_ns {
            // Agents may have been faster than this. Names in it that take no part are nobody's.
            return Some(Since { made_at_ns, from_message: 1 });
        }
        (last < seen).then(|| Since { made_at_ns, from_message: self.from_message.min(last + 1) })
    }
}

/// What is heard of the stream.
pub(super) enum Gathered {
    /// A piece of a record.
    Piece(Box<Message>),
    /// What the bus had kept is gone, and the run goes on there.
    Lost(Since),
    /// For the user.
    Note(String),
}

/// A stream, and who reads it for this run.
pub(super) struct Kept {
    client: Client,
    context: jetstream::Context,
    config: stream::Config,
    reader: String,
    consumer: PullConsumer,
    since: Since,
    /// The highest number that is known to have been in the stream.
    seen: u64,
    /// How often a reader was made again.
    again: u32,
}

impl Kept {
    /// What keeps records until they are here. Agents have names that nobody had before, so that older records are nobody's. Who takes
    /// up a run that was left there, so many times by now, reads all of it again. Told with where the run is, if that is another stream.
    pub(super) async fn open(
        client: &Client,
        options: &Options,
        run: &str,
        left: Option<(Since, u32)>,
    ) -> Result<(Kept, Option<Since>), async_nats::Error> {
        let mut context = jetstream::new(client.clone());
        context.set_timeout(ANSWERED_WITHIN);
        let config = stream::Config {
            name: options.stream(),
            subjects: vec![options.subject("iv", "*")],
            storage: stream::StorageType::File,
            max_age: KEEP,
            ..stream::Config::default()
        };
        let stream = context.get_or_create_stream(config.clone()).await?;
        let (made_at_ns, last) = state(stream.cached_info());
        let other = left.and_then(|(since, _)| {
            let known = since.from_message.saturating_sub(1);
            since.in_another(made_at_ns, last, known)
        });
        let fresh = Since { made_at_ns, from_message: last + 1 };
        let since = other.or(left.map(|(since, _)| since)).unwrap_or(fresh);
        let reader = match left {
            Some((_, times)) => format!("{run}-{}", times + 1),
            None => run.to_string(),
        };
        let consumer = stream.create_consumer(reading(&reader, since)).await?;
        let client = client.clone();
        Ok((Kept { client, context, config, reader, consumer, since, seen: last, again: 0 }, other))
    }

    /// Where the run is.
    pub(super) fn since(&self) -> Since {
        self.since
    }

    /// Looks whether stream and reader are there, and makes them again if not. Gives where the run is from now on if something that
    /// the bus had kept is gone.
    async fn looked_after(&mut self) -> Result<Option<Since>, async_nats::Error> {
        let stream = self.context.get_or_create_stream(self.config.clone()).await?;
        let (made_at_ns, last) = state(stream.cached_info());
        let other = self.since.in_another(made_at_ns, last, self.seen);
        if other.is_none() {
            match self.consumer.get_info().await {
                Ok(_) => return Ok(None),
                Err(error) if error.kind() == ConsumerInfoErrorKind::NotFound => {}
                Err(error) => return Err(error.into()),
            }
        }
        let since = other.unwrap_or(self.since);
        // Under a name of its own: what is still on its way for the reader before it means nothing here.
        self.again += 1;
        let reader = format!("{}-again-{}", self.reader, self.again);
        self.consumer = stream.create_consumer(reading(&reader, since)).await?;
        (self.since, self.seen) = (since, last);
        Ok(other)
    }

    /// Takes pieces of records from the stream, for as long as somebody wants them.
    pub(super) async fn gather(mut self, to: Sender<Gathered>) {
        let mut has_complained = false;
        loop {
            self.read(&to).await;
            // The bus is gone, or its heartbeat is, or what it had kept.
            loop {
                tokio::time::sleep(LOOK_EVERY).await;
                if to.is_closed() {
                    return;
                }
                if self.client.connection_state() == State::Connected {
                    break;
                }
            }
            match self.looked_after().await {
                Ok(None) => {}
                Ok(Some(since)) => drop(to.send(Gathered::Lost(since)).await),
                Err(error) => {
                    if !is_absence(&error) && !std::mem::replace(&mut has_complained, true) {
                        let note = format!("the bus keeps no records any more, and they can't come: {error}");
                        let _ = to.send(Gathered::Note(note)).await;
                    }
                }
            }
        }
    }

    /// Until nothing comes any more.
    async fn read(&mut self, to: &Sender<Gathered>) {
        let batches = self
            .consumer
            .stream()
            .expires(Duration::from_secs(2))
            .heartbeat(Duration::from_millis(500))
            .max_messages_per_batch(64);
        let Ok(mut messages) = batches.messages().await else { return };
        while let Some(Ok(message)) = messages.next().await {
            let number = message.info().map_or(0, |info| info.stream_sequence);
            self.seen = self.seen.max(number);
            if to.send(Gathered::Piece(Box::new(message))).await.is_err() {
                return;
            }
        }
    }
}

/// When a stream was made, and the number of its last message.
fn state(info: &stream::Info) -> (i64, u64) {
    // Until the year 2262.
    (info.created.unix_timestamp_nanos() as i64, info.state.last_sequence)
}

/// Who reads a run from there on.
fn reading(name: &str, since: Since) -> pull::Config {
    pull::Config {
        durable_name: Some(name.to_string()),
        deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: since.from_message },
        ack_policy: AckPolicy::Explicit,
        ack_wait: PIECE_AGAIN_AFTER,
        inactive_threshold: KEEP,
        max_ack_pending: PENDING_MAX,
        ..pull::Config::default()
    }
}

/// Nobody has answered: the bus is gone again, or not quite back yet.
fn is_absence(error: &async_nats::Error) -> bool {
    let of_stream = error.downcast_ref::<jetstream::context::CreateStreamError>();
    of_stream.is_some_and(|error| {
        matches!(error.kind(), CreateStreamErrorKind::TimedOut | CreateStreamErrorKind::JetStreamUnavailable)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_that_lost_something_is_another_one() {
        let since = Since { made_at_ns: 7, from_message: 40 };
        assert_eq!(since.in_another(7, 60, 55), None, "it goes on");
        assert_eq!(since.in_another(7, 55, 55), None, "nothing came meanwhile");
        let from = |made_at_ns, from_message| Some(Since { made_at_ns, from_message });
        // A disk that was cut off from its power: the next message has a number that another one had.
        assert_eq!(since.in_another(7, 54, 55), from(7, 40));
        assert_eq!(since.in_another(7, 30, 55), from(7, 31));
        // Made again, by whomever. It may have more in it than the old one had.
        assert_eq!(since.in_another(8, 0, 55), from(8, 1));
        assert_eq!(since.in_another(8, 100, 55), from(8, 1));
    }
}
