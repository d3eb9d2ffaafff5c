//! Transactions of Redis, which last over several commands: what a connection is in the middle of.

use super::codes::{self, SUCCESSES};

/// A command that begins or ends something on its connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Control {
    Multi,
    Exec,
    Discard,
    Watch,
    Unwatch,
}

impl Control {
    pub(super) fn of(word: &[u8]) -> Option<Control> {
        let all = [
            ("MULTI", Control::Multi),
            ("EXEC", Control::Exec),
            ("DISCARD", Control::Discard),
            ("WATCH", Control::Watch),
            ("UNWATCH", Control::Unwatch),
        ];
        all.into_iter()
            .find(|(name, _)| word.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, control)| control)
    }
}

/// What is open on a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Transaction {
    /// Commands are queued until `EXEC`.
    is_queueing: bool,
    /// Keys are watched.
    is_watching: bool,
}

impl Transaction {
    /// Whoever does not go on with it must not use the connection.
    #[inline]
    pub(super) fn is_open(self) -> bool {
        self.is_queueing || self.is_watching
    }

    /// A command that is no [`Control`] is not done now, so that its reply says nothing of what it brings.
    #[inline]
    pub(super) fn is_queueing(self) -> bool {
        self.is_queueing
    }

    /// A command has been answered with this code; the reply of one that `is_list` holds others. In doubt something is open: a
    /// connection that is closed without need costs little, and one that is used by others with it would change what they do.
    pub(super) fn answered(&mut self, control: Control, code: u16, is_list: bool) {
        let is_done = code < SUCCESSES;
        match control {
            Control::Multi => self.is_queueing |= is_done,
            // An error among what it brings is one of its commands' own.
            Control::Exec if is_done || is_list || code == codes::EXEC_ABORT => {
                *self = Transaction::default()
            }
            Control::Discard if is_done => *self = Transaction::default(),
            Control::Watch => self.is_watching |= is_done,
            // Within a transaction it is queued, and `EXEC` does as much.
            Control::Unwatch if is_done && !self.is_queueing => self.is_watching = false,
            Control::Exec | Control::Discard | Control::Unwatch => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_is_open_until_it_is_done_or_given_up() {
        let (ok, nil, err) = (codes::OK, codes::NIL, codes::NIL + 1);
        let after = |all: &[(Control, u16, bool)]| {
            let mut open = Transaction::default();
            all.iter().for_each(|&(control, code, is_list)| open.answered(control, code, is_list));
            (open.is_queueing, open.is_watching)
        };
        use Control::{Discard, Exec, Multi, Unwatch, Watch};
        for (all, expected) in [
            (&[(Multi, ok, false)][..], (true, false)),
            (&[(Multi, err, false)], (false, false)),
            (&[(Watch, ok, false)], (false, true)),
            (&[(Watch, ok, false), (Multi, ok, false)], (true, true)),
            (&[(Watch, ok, false), (Multi, ok, false), (Exec, ok, true)], (false, false)),
            (&[(Watch, ok, false), (Multi, ok, false), (Exec, nil, false)], (false, false)),
            (&[(Multi, ok, false), (Exec, codes::EXEC_ABORT, false)], (false, false)),
            // One of its commands failed, and the others are done.
            (&[(Multi, ok, false), (Exec, err, true)], (false, false)),
            (&[(Multi, ok, false), (Exec, err, false)], (true, false)),
            (&[(Multi, ok, false), (Discard, ok, false)], (false, false)),
            (&[(Watch, ok, false), (Unwatch, ok, false)], (false, false)),
            (&[(Watch, ok, false), (Multi, ok, false), (Unwatch, ok, false)], (true, true)),
            (&[(Watch, ok, false), (Exec, err, false)], (false, true)),
        ] {
            assert_eq!(after(all), expected, "{all:?}");
        }
        assert_eq!(codes::name(codes::EXEC_ABORT), "EXECABORT");
        assert_eq!((Control::of(b"exec"), Control::of(b"GET")), (Some(Exec), None));
    }
}
