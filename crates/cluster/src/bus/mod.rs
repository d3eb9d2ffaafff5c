//! The bus: NATS. Words travel as they are said and may be lost; records go through a stream that keeps them. Each side has a
//! thread of its own, so that no one who measures ever waits for the bus.

mod agent;
mod coordinator;
mod refusal;
mod stream;

pub use agent::{AgentBus, join};
use async_nats::connection::State;
use async_nats::{Client, ConnectError, ConnectOptions};
pub use coordinator::{Coordinating, CoordinatorBus, Keep, Record, Resumed, Told, coordinate};
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
pub use stream::Since;

/// Reads one's own clock: nanoseconds since 1970, set once when the process starts.
pub type Now = Arc<dyn Fn() -> crate::message::Time + Send + Sync>;

/// The state machines are looked at so often, beside whenever something is heard.
const TICK: Duration = Duration::from_millis(20);
/// From one attempt to reach a bus to the next.
const TRY_EVERY: Duration = Duration::from_millis(500);
/// What a stream keeps of a run whose coordinator never came back.
const KEEP: Duration = Duration::from_secs(24 * 3600);
/// For the bus to say that it has kept something.
const KEPT_WITHIN: Duration = Duration::from_secs(5);
/// Where a message belongs, in its header.
const PLACE: &str = "Place";

/// How to get onto a bus.
#[derive(Clone, Debug)]
pub struct Options {
    /// `nats://host:4222`, or `tls://…`.
    pub url: String,
    /// The private key that says who this is; none on a bus that lets everybody in.
    pub seed: Option<String>,
    /// Certificates of who signs the bus's own, in the place of those that the system trusts.
    pub ca: Option<PathBuf>,
    /// Agents and coordinators of the same name meet.
    pub fleet: String,
    /// A bus that can't be reached is tried again for so long.
    pub within: Duration,
}

/// Why there is no bus.
#[derive(Debug, thiserror::Error)]
pub enum BusError {
    /// It can't be reached, or lets nobody in.
    #[error("can't connect to the bus {url}: {why}")]
    Connect {
        /// Where it should be.
        url: String,
        /// Why not, and what helps. It is no source of this error, or whoever prints causes would say it twice.
        why: String,
    },
    /// It does something else than it should.
    #[error("the bus refuses: {0}")]
    Refused(String),
    /// What agents are to be told is more than it takes at once.
    #[error(
        "what agents are told of this run, with the names of {files} files, has {bytes} bytes, and this bus takes messages of {max}: \
         name fewer files, shorten the command line (write it into a plan), or raise max_payload in the bus's configuration"
    )]
    OfferTooLarge {
        /// So much.
        bytes: u64,
        /// And it takes this.
        max: u64,
        /// So many of them are named.
        files: usize,
    },
    /// A piece of a file that agents are to have is, or of what they record.
    #[error(
        "a piece of a file or record of this run may have {bytes} bytes, and this bus takes messages of {max}: raise max_payload in the \
         bus's configuration, to 1MB at least"
    )]
    PieceTooLarge {
        /// So much.
        bytes: u64,
        /// And it takes this.
        max: u64,
    },
    /// There is no thread for it.
    #[error("can't start a thread for the bus: {0}")]
    Thread(std::io::Error),
    /// A name with which no subject can be made.
    #[error("{0:?} can't be a fleet's name: letters, digits, - and _ are allowed")]
    Fleet(String),
}

/// # Errors
/// This can't be the name of a fleet.
pub fn check_fleet(name: &str) -> Result<(), BusError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match !name.is_empty() && name.len() <= 64 && name.chars().all(is_plain) {
        true => Ok(()),
        false => Err(BusError::Fleet(name.to_string())),
    }
}

impl Options {
    fn subject(&self, what: &str, agent: &str) -> String {
        format!("ub.{}.{what}.{agent}", self.fleet)
    }

    /// What keeps the records.
    fn stream(&self) -> String {
        format!("UB_{}", self.fleet)
    }

    /// Whoever is started together with the bus may be there before it.
    async fn connect(&self, name: String, inbox: &str) -> Result<Client, BusError> {
        let begun = tokio::time::Instant::now();
        loop {
            match self.connect_once(name.clone(), inbox).await {
                Ok(client) => return Ok(client),
                Err(error) if refusal::is_absence(&error) && begun.elapsed() + TRY_EVERY < self.within => {
                    tokio::time::sleep(TRY_EVERY).await;
                }
                Err(error) => {
                    let why = refusal::in_words(&error, self);
                    return Err(BusError::Connect { url: self.url.clone(), why });
                }
            }
        }
    }

    async fn connect_once(&self, name: String, inbox: &str) -> Result<Client, ConnectError> {
        let mut options = ConnectOptions::new()
            .name(name)
            .custom_inbox_prefix(inbox)
            .ping_interval(Duration::from_secs(2))
            .connection_timeout(Duration::from_secs(5))
            .reconnect_delay_callback(|tries| Duration::from_millis((50 * tries as u64).min(1_000)));
        if let Some(seed) = &self.seed {
            options = options.nkey(seed.clone());
        }
        if let Some(ca) = &self.ca {
            options = options.add_root_certificates(ca.clone());
        }
        options.connect(self.url.as_str()).await
    }
}

/// Runs `life` on a thread of its own, with a runtime of its own, until it ends.
fn thread<F: Future<Output = ()>>(
    name: &str,
    life: impl FnOnce() -> F + Send + 'static,
) -> Result<std::thread::JoinHandle<()>, BusError> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(BusError::Thread)?;
    std::thread::Builder::new()
        .name(name.into())
        .spawn(move || tokio::task::LocalSet::new().block_on(&runtime, life()))
        .map_err(BusError::Thread)
}

/// Says `what`, if there is somebody to hear it. What is said again anyway must not queue up.
async fn say(client: &Client, subject: &str, what: &impl Serialize) {
    if client.connection_state() == State::Connected {
        // Types of this crate, which all have a JSON. A bus that is gone just now is heard of by its state.
        let text = serde_json::to_vec(what).unwrap_or_default();
        let _ = client.publish(subject.to_string(), text.into()).await;
    }
}
