//! What an answer says of itself in one word: a place in the table of its protocol's codes.

/// The code of an answer. Its name is the protocol's matter: of HTTP it is the status, other protocols have a list of names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Code(u16);

/// The first status that is counted alone.
const STATUS_FIRST: u16 = 100;

impl Code {
    /// How many codes are counted alone: the length of a counter array. HTTP has the statuses from 100 to 599.
    pub const COUNT: usize = 500;

    /// The code at `place` of a list of names, unless that is too far behind.
    #[inline]
    pub const fn at(place: u16) -> Option<Code> {
        if (place as usize) < Self::COUNT { Some(Code(place)) } else { None }
    }

    /// The code of HTTP's `status`, if it is one from 100 to 599.
    #[inline]
    pub const fn of_status(status: u16) -> Option<Code> {
        if status < STATUS_FIRST { None } else { Code::at(status - STATUS_FIRST) }
    }

    /// The status of HTTP that it stands for.
    pub fn status(self) -> u16 {
        self.0 + STATUS_FIRST
    }

    /// Its place in a counter array.
    #[inline]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_have_places() {
        for (status, place) in [(100, Some(0)), (200, Some(100)), (599, Some(499)), (99, None), (600, None)] {
            let code = Code::of_status(status);
            assert_eq!(code.map(Code::index), place, "{status}");
            assert!(code.is_none_or(|code| code.status() == status));
        }
        assert_eq!((Code::at(499).map(Code::index), Code::at(500)), (Some(499), None));
    }
}
