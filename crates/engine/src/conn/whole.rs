//! Answers of which all is kept until somebody has looked at them.

use unblink_workload::answer::BODY_MAX;

/// Heads and bodies by the flight's place, in buffers that are used again.
#[derive(Default)]
pub(super) struct WholeAnswers {
    answers: Vec<(Vec<u8>, Vec<u8>)>,
}

impl WholeAnswers {
    /// A request is sent.
    pub(super) fn begin(&mut self, slot: usize) {
        if self.answers.len() <= slot {
            self.answers.resize(slot + 1, Default::default());
        }
        let (head, body) = &mut self.answers[slot];
        head.clear();
        body.clear();
    }

    pub(super) fn head(&mut self, slot: usize, bytes: &[u8]) {
        self.answers[slot].0.extend_from_slice(bytes);
    }

    /// What comes behind the largest body that may be looked at is left out.
    pub(super) fn body(&mut self, slot: usize, piece: &[u8]) {
        let body = &mut self.answers[slot].1;
        let room = BODY_MAX - body.len();
        body.extend_from_slice(&piece[..piece.len().min(room)]);
    }

    /// What has come.
    pub(super) fn of(&self, slot: usize) -> Option<(&[u8], &[u8])> {
        self.answers.get(slot).map(|(head, body)| (head.as_slice(), body.as_slice()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_apart_and_the_next_begins_anew() {
        let mut whole = WholeAnswers::default();
        whole.begin(0);
        whole.begin(2);
        whole.head(2, b"h");
        whole.body(2, b"a");
        whole.body(0, b"x");
        whole.body(2, b"b");
        assert_eq!((whole.of(2), whole.of(0)), (Some((&b"h"[..], &b"ab"[..])), Some((&b""[..], &b"x"[..]))));
        whole.begin(2);
        assert_eq!(whole.of(2), Some((&b""[..], &b""[..])));
        whole.body(0, &vec![0; BODY_MAX]);
        assert_eq!(whole.of(0).unwrap().1.len(), BODY_MAX);
    }
}
