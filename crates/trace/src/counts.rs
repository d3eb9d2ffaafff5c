//! What an import counted: what became requests, what did not, and what a trace lacks.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Why a line did not become a request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unreadable {
    /// It does not fit the format.
    Format,
    /// Its time can't be read.
    Time,
    /// Another of its figures can't be read, such as a status that is no number.
    Value,
    /// It is longer than 1 MiB.
    TooLong,
    /// The input ended in it.
    Cut,
}

/// What became of a recorded answer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerIs {
    /// Its request has its status, size and duration.
    Joined,
    /// Its request is not in the input, or too far away from it.
    Stray,
    /// Its request has one already.
    Again,
    /// It says only that another one will follow (1xx).
    Interim,
    /// It answers a request that was replayed.
    OfReplay,
}

/// What a request had and its record has not, so that it can't be sent again as it was.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lacking {
    /// A body.
    Body,
    /// A password, token or cookie.
    Credentials,
    /// Values of its query, which were left out.
    QueryValues,
    /// Parts of its path, which stand there as numbers.
    PathIds,
    /// It was to reach another server (CONNECT), or no path of one (`OPTIONS *`).
    Path,
}

/// What must be known before the figures of a trace are used.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// The log stamps the end and has no duration: arrivals are late by the time that each request took.
    ArrivalIsEnd,
    /// It isn't known whether the log stamps the start or the end; it was taken for the start.
    StampIsUnknown,
    /// Times are whole seconds: within a second, arrivals are spread evenly.
    WholeSeconds,
    /// Durations are whole seconds, and starts were computed from them.
    WholeSecondDurations,
    /// Some lines have no duration, so that their end was taken for their start.
    SomeArrivalsAreEnds,
    /// Lines were left out because they could not be read.
    UnreadableLines,
    /// Requests were left out because they came too late to be put in order.
    OutOfWindow,
    /// An input ended in the middle, as a compressed file that was cut.
    InputCut,
    /// Requests have no user.
    NoUsers,
    /// The trace itself was cut: it has no last line.
    CutShort,
    /// Traces were merged whose users and paths were numbered with different keys.
    KeysDiffer,
}

impl Finding {
    /// As documents name it: `arrival_is_end`.
    pub fn code(self) -> &'static str {
        match self {
            Finding::ArrivalIsEnd => "arrival_is_end",
            Finding::StampIsUnknown => "stamp_is_unknown",
            Finding::WholeSeconds => "whole_seconds",
            Finding::WholeSecondDurations => "whole_second_durations",
            Finding::SomeArrivalsAreEnds => "some_arrivals_are_ends",
            Finding::UnreadableLines => "unreadable_lines",
            Finding::OutOfWindow => "out_of_window",
            Finding::InputCut => "input_cut",
            Finding::NoUsers => "no_users",
            Finding::CutShort => "cut_short",
            Finding::KeysDiffer => "keys_differ",
        }
    }

    /// What it is, and what to do about it.
    pub fn sentence(self) -> &'static str {
        match self {
            Finding::ArrivalIsEnd => {
                "The log stamps the end of a request and has no duration, so each arrival is late by the time that its request took. Add $request_time to log_format."
            }
            Finding::StampIsUnknown => {
                "It isn't known whether the log stamps the start or the end of a request; it was taken for the start. Say what wrote it with --format nginx or --format apache; for JSON, say --map start=FIELD, or --map end=FIELD with duration=FIELD."
            }
            Finding::WholeSeconds => {
                "The log's times are whole seconds; within each second, requests are spread evenly in the order of their lines. Bursts below a second don't show. Log $msec, or %{usec}t."
            }
            Finding::WholeSecondDurations => {
                "The log's durations are whole seconds, and starts were computed from them: each is up to 1 s off. Log %D instead of %T."
            }
            Finding::SomeArrivalsAreEnds => {
                "Some lines have no duration: for them, the end was taken for the start."
            }
            Finding::UnreadableLines => "Lines could not be read and were left out.",
            Finding::OutOfWindow => {
                "Requests started too long before others that were logged earlier to be put in order, and were left out. A larger --window holds more requests while they are sorted."
            }
            Finding::InputCut => "An input ended in the middle; what came before is in the trace.",
            Finding::NoUsers => {
                "The log does not tell users apart. Name a field that does with --map user=FIELD."
            }
            Finding::CutShort => {
                "The trace has no last line: it was cut, and requests may be missing at its end."
            }
            Finding::KeysDiffer => {
                "The traces were imported with different keys, so the same user and the same path have different numbers. Import both with the same --key-file."
            }
        }
    }
}

/// The counts of an import; a trace keeps them in its last line.
#[derive(Clone, Default, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Requests in the trace.
    pub requests: u64,
    /// Lines, or records, that were read.
    #[serde(default)]
    pub lines: u64,
    /// Lines that were empty or a comment.
    #[serde(default)]
    pub blank: u64,
    /// Lines of connections that sent no request.
    #[serde(default)]
    pub no_request: u64,
    /// Recorded answers, by what became of them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub answers: BTreeMap<AnswerIs, u64>,
    /// Where there are any: requests to which none was joined.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unanswered: u64,
    /// Lines that could not be read, by why.
    #[serde(default)]
    pub unreadable: BTreeMap<Unreadable, u64>,
    /// Requests that could not be put in order.
    #[serde(default)]
    pub out_of_window: u64,
    /// Requests that can't be sent again as they were, by what their record lacks; one may lack several things.
    #[serde(default)]
    pub lacking: BTreeMap<Lacking, u64>,
    /// What must be known before its figures are used, in a fixed order.
    #[serde(default)]
    pub findings: Vec<Finding>,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Counts {
    /// Recorded answers, whatever became of them.
    pub fn answers(&self) -> u64 {
        self.answers.values().sum()
    }

    /// Lines that could not be read.
    pub fn unreadable(&self) -> u64 {
        self.unreadable.values().sum()
    }

    /// Adds a finding once.
    pub(crate) fn find(&mut self, finding: Finding) {
        if let Err(place) = self.findings.binary_search(&finding) {
            self.findings.insert(place, finding);
        }
    }
}
