//! Freezing this process: a helper stops it, sleeps, and wakes it again, since what is frozen can't wake itself.

use std::io::Write;
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::fault::Harm;
use crate::{LabError, Scenario};

/// For each line with a time in seconds: stop the process whose number is $0, for so long. It ends with its input.
const SCRIPT: &str = r#"while read -r seconds; do kill -STOP "$0"; sleep "$seconds"; kill -CONT "$0"; done"#;

/// The helper, waiting.
#[derive(Debug)]
pub(crate) struct Freezer {
    helper: Child,
    orders: Option<ChildStdin>,
    done_until_ns: u64,
}

impl Freezer {
    /// Started beforehand, where the scenario freezes at all, so that it costs nothing when the time comes.
    pub(crate) fn new(scenario: &Scenario) -> Result<Option<Self>, LabError> {
        if !scenario.faults.iter().any(|fault| fault.harm == Harm::Freeze) {
            return Ok(None);
        }
        let own = std::process::id().to_string();
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT, &own]).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut helper = command.spawn().map_err(LabError::Freeze)?;
        let orders = helper.stdin.take();
        Ok(Some(Self { helper, orders, done_until_ns: 0 }))
    }

    /// Freezes up to here are over, in ns since the server was bound.
    pub(crate) fn done_until_ns(&self) -> u64 {
        self.done_until_ns
    }

    /// Orders the freeze that is due at `at_ns`. It begins within a millisecond.
    pub(crate) fn freeze(&mut self, at_ns: u64, length_ns: u64) -> Result<(), LabError> {
        self.done_until_ns = at_ns;
        let Some(orders) = &mut self.orders else { return Ok(()) };
        writeln!(orders, "{}.{:09}", length_ns / 1_000_000_000, length_ns % 1_000_000_000)
            .map_err(LabError::Freeze)
    }
}

impl Drop for Freezer {
    fn drop(&mut self) {
        // Its input ends, and so does it.
        self.orders = None;
        let _ = self.helper.wait();
    }
}
