//! What coordinator and agents say to each other. Each says again and again where it stands, so that no message has to arrive.

use crate::PROTOCOL;
use serde::{Deserialize, Serialize};

/// An agent, by a random name that it gives itself at each start: whoever is started again is another one.
pub type AgentId = String;

/// Nanoseconds since 1970 by the speaker's own clock, which is set once, when its process starts, and then never stepped.
pub type Time = u64;

/// Where an agent stands, and that it is there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Which of its words this is, from 1.
    pub number: u64,
    /// The run that it takes part in; none before an offer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Where it stands.
    pub stage: Stage,
    /// What it was told of the time and would go by, until the coordinator says that it was so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<ToldTime>,
}

/// What an agent that asked was told of the time. Nobody signs that, since it must not take longer than the way; so it is said again,
/// signed, once it is known which answer counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToldTime {
    /// When it asked, by its own clock.
    pub asked_at: Time,
    /// The coordinator's clock.
    pub at: Time,
}

/// Where an agent stands. An agent only moves down this list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "stage", rename_all = "snake_case")]
pub enum Stage {
    /// It waits for an offer.
    Waiting(Machine),
    /// It fetches what it needs, and asks the target once.
    Preparing,
    /// It won't take part.
    Refused(Refusal),
    /// It could begin, and knows the coordinator's clock.
    Armed(Reading),
    /// It begins at the time that it was told.
    Going,
    /// It offers load.
    Running(Progress),
    /// Its run is over.
    Ended(Ended),
}

/// What an agent has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// What it speaks.
    pub protocol: u32,
    /// Its build.
    pub version: String,
    /// For people: the name of the host.
    pub host: String,
    /// How many shares it takes.
    pub shares: u32,
    /// Processors that it may use, by its affinity and its cgroup's quota; 0 where it does not say.
    #[serde(default)]
    pub cores: u32,
    /// File descriptors that its process may have; absent where it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub descriptors: Option<u64>,
    /// Connections for which these suffice beside all else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<u64>,
    /// Local ports for connections to one address and port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<u32>,
    /// Requests per second that it carries with all of its shares, by what was measured there; absent where nobody has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carries_per_s: Option<u64>,
    /// The command in one of whose runs it took part, if it waits for the next of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

impl Machine {
    /// One of this build that says nothing else of itself.
    pub fn new(version: &str, host: String, shares: u32) -> Machine {
        Machine {
            protocol: PROTOCOL,
            version: version.into(),
            host,
            shares,
            cores: 0,
            descriptors: None,
            connections: None,
            ports: None,
            carries_per_s: None,
            after: None,
        }
    }
}

/// Why an agent won't take part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// For people, a sentence each.
    pub reasons: Vec<String>,
    /// The target did not answer as expected when it was asked once.
    pub by_target: bool,
}

/// The coordinator's clock as an agent sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// Its time less the agent's own.
    pub offset_ns: i64,
    /// The offset is wrong by at most this: half of the time in which question and answer travelled.
    pub error_ns: u64,
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Arrivals that fell due so far.
    pub due: u64,
    /// Of these, whole answers as expected.
    pub ok: u64,
    /// The coordinator's clock, as it was read last.
    pub reading: Reading,
    /// Its script has asked for the end of the load: all are to end at one instant.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks_to_stop: bool,
}

/// How a run ended on an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// Its own exit code.
    pub code: u8,
    /// A guard of its own has ended the load (which, and why): all others must stop, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_by: Option<(Cause, String)>,
    /// It could not run at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What the user should hear of it, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What its record consists of.
    pub files: Vec<FileEnd>,
}

/// The guard of a load whose record can't be kept, by its name in documents.
const UNKEPT: &str = "record";

impl Ended {
    /// Its record could not be kept, there or on the bus.
    pub fn is_unkept(&self) -> bool {
        matches!(&self.stopped_by, Some((Cause::Guard(name), _)) if name == UNKEPT)
    }
}

/// A file of a record that is complete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEnd {
    /// Its name within the folder.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// Of what stands in it.
    pub sha256: String,
}

/// What an agent says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub enum FromAgent {
    /// Where it stands.
    Status(Status),
    /// What time is it?
    TimeAsk {
        /// The run.
        run: String,
        /// When it asked, by its own clock.
        asked_at: Time,
    },
    /// Give me the bytes of this file from there on.
    Fetch {
        /// The run.
        run: String,
        /// Which of the offered files.
        sha256: String,
        /// From here.
        offset: u64,
    },
    /// The offer of that run is signed by somebody whose word does not count here. It goes on waiting for others.
    Stranger {
        /// The run.
        run: String,
        /// Who signed it: a public key.
        by: String,
        /// Those whose word counts.
        accepts: Vec<String>,
    },
    /// It is its last word: there is no load of its, and there will be none.
    Leaves {
        /// For people.
        why: String,
    },
}

/// What the coordinator says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub enum FromCoordinator {
    /// What is to be done, signed by who may say so: a [`Reply`].
    Reply(crate::signed::Signed),
    /// The time.
    TimeAnswer {
        /// The run.
        run: String,
        /// Of the question.
        asked_at: Time,
        /// By the coordinator's clock.
        at: Time,
    },
    /// Bytes of an offered file.
    Piece {
        /// Which.
        sha256: String,
        /// Where they begin.
        offset: u64,
        /// In base64.
        data: String,
    },
}

/// What a coordinator says of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The run.
    pub run: String,
    /// Whom it is for: what was said to one agent is nothing to any other, whoever repeats it.
    pub agent: AgentId,
    /// The agent's word that this answers: the agent may go on for as long after that as a lease lasts. 0 answers none.
    pub answers: u64,
    /// What is to be done.
    pub order: Order,
    /// The time that the agent says it was told, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<ToldTime>,
    /// How often something of the records of this run was missing on the bus. Who hears of a higher number than before sends its record again.
    #[serde(default, skip_serializing_if = "is_none")]
    pub lost_by_bus: u32,
}

fn is_none(times: &u32) -> bool {
    *times == 0
}

/// What is to follow for an agent whose run is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Next {
    /// Nothing.
    Leave,
    /// Another run of the same command, which has this name.
    Run(String),
    /// Whatever is offered.
    Any,
}

/// What ends a load before its planned end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Somebody wants it to end, or an agent has ended it.
    Coordinator,
    /// Nobody said so: the coordinator has gone silent.
    Lease,
    /// A rule of the run has held for the figures of all agents.
    Rule,
    /// Enough is known.
    Enough,
    /// A guard of the coordinator, by its name in documents.
    Guard(String),
}

impl Cause {
    /// What journeys and retries go on with by themselves is waited for no longer than a moment. What is known of the target ends
    /// a load in good order.
    pub(crate) fn cuts_off(&self) -> bool {
        !matches!(self, Cause::Rule | Cause::Enough)
    }
}

/// What an agent is to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub enum Order {
    /// Nothing new.
    GoOn,
    /// Take part.
    Offer(Box<Offer>),
    /// Begin then, by the coordinator's clock.
    Go {
        /// The schedule's zero.
        start_at: Time,
    },
    /// Nothing falls due any more from then on, by the coordinator's clock.
    Stop {
        /// When.
        at: Time,
        /// What it comes of.
        cause: Cause,
        /// For people.
        why: String,
    },
    /// There is no run, or no place in it for this agent.
    Leave {
        /// For people.
        why: String,
    },
    /// The run for which this agent is there again won't come.
    NotNeeded {
        /// It is for this process and no other.
        agent: AgentId,
    },
    /// All that was recorded has come.
    Done {
        /// What is to follow.
        next: Next,
    },
}

/// A part in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Offer {
    /// What the coordinator speaks.
    pub protocol: u32,
    /// Its build.
    pub version: String,
    /// When it was made, by the coordinator's clock.
    pub made_at: Time,
    /// Whose it is: nobody else's.
    pub agent: AgentId,
    /// The first of its shares, from 1.
    pub first: u32,
    /// The last one.
    pub last: u32,
    /// Of so many.
    pub of: u32,
    /// The words after `unblink`.
    pub arguments: Vec<String>,
    /// Which of the runs that they ask for this is, where they ask for several; the program knows how to read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<serde_json::Value>,
    /// The files that they name.
    pub files: Vec<OfferedFile>,
    /// What makes requests of this run unlike those of all others.
    pub run_seed: u64,
}

/// A file that a run reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedFile {
    /// Its name, beneath the folder in which the run was asked for.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// Of what stands in it.
    pub sha256: String,
}
