//! What a server does to its requests beyond being slow: it freezes, does not accept, hangs, resets, fails.

use crate::gate::Gate;

/// A harm, and when it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The stretch, or several at equal distances.
    pub when: Gate,
    /// What happens in it.
    pub harm: Harm,
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Harm {
    /// The whole process stands still (SIGSTOP): it reads nothing and answers nothing. A helper process wakes it.
    Freeze,
    /// No connection is accepted. So that this is felt, every answer of the run ends its connection.
    NoAccept,
    /// A request that comes in it takes so long.
    Hang {
        /// In ns, instead of the baseline.
        delay_ns: u64,
    },
    /// A request that comes in it has its connection reset when its answer would be due.
    Reset,
    /// A request that comes in it is answered with status 500 after so long.
    Error {
        /// In ns, instead of the baseline.
        delay_ns: u64,
    },
}

/// Some requests are slow by their number alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slow {
    /// The last of this many.
    pub every: u32,
    /// What it takes, in ns, instead of the baseline.
    pub delay_ns: u64,
}

/// How a request ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ending {
    /// Answered with status 200.
    #[default]
    Ok,
    /// Answered with status 500.
    Error,
    /// Its connection was reset.
    Reset,
}

impl Ending {
    /// As the truth log has it.
    pub(crate) fn code(self) -> u8 {
        match self {
            Ending::Ok => 0,
            Ending::Error => 1,
            Ending::Reset => 2,
        }
    }

    pub(crate) fn from_code(code: &str) -> Option<Ending> {
        Some(match code {
            "0" => Ending::Ok,
            "1" => Ending::Error,
            "2" => Ending::Reset,
            _ => return None,
        })
    }
}
