//! What of an agent leaves its machine as text: without what its own environment has filled in, which whoever leads need not know. A target
//! may say back what it was sent, and an error may quote a host.

use crate::secrets::Known;
use unblink_cluster::message::Ended;

/// A sentence, as others may read it.
pub(super) fn text(own: &str) -> String {
    Known::of_variables().masked(own)
}

/// All that is said of an end.
pub(super) fn ended(own: Ended) -> Ended {
    Ended {
        stopped_by: own.stopped_by.map(|(cause, why)| (cause, text(&why))),
        error: own.error.as_deref().map(text),
        notes: own.notes.iter().map(|note| text(note)).collect(),
        ..own
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::note_variable;
    use unblink_cluster::message::Cause;

    #[test]
    fn what_the_environment_has_filled_in_stays_here() {
        note_variable("Zq7w-of-this-machine");
        let says = |what: &str| format!("{what} Zq7w-of-this-machine.invalid, zq7w-of-this-machine.invalid");
        let all = ended(Ended {
            code: 3,
            stopped_by: Some((Cause::Coordinator, says("stopped by"))),
            error: Some(says("error of")),
            notes: vec![says("note of")],
            files: Vec::new(),
        });
        let shown = format!("{all:?}").to_lowercase();
        assert!(!shown.contains("zq7w") && shown.matches("***.invalid, ***.invalid").count() == 3, "{all:?}");
    }
}
