//! Fields of a frame's body, read one after the other (native_protocol_v4.spec, §3).

use super::fault::Fault;

/// Why reading stops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    /// More bytes are needed.
    Lacking,
    /// They are not what they should be.
    Wrong(Fault),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Stop {
        Stop::Wrong(fault)
    }
}

/// What is left of a body, or of its beginning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    pub(super) fn take(&mut self, n: usize) -> Result<&'a [u8], Stop> {
        let (taken, rest) = self.0.split_at_checked(n).ok_or(Stop::Lacking)?;
        self.0 = rest;
        Ok(taken)
    }

    fn chunk<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Stop::Lacking)?;
        self.0 = rest;
        Ok(*taken)
    }

    /// \[short\]
    pub(super) fn short(&mut self) -> Result<u16, Stop> {
        self.chunk().map(u16::from_be_bytes)
    }

    /// \[int\]
    pub(super) fn int(&mut self) -> Result<i32, Stop> {
        self.chunk().map(i32::from_be_bytes)
    }

    /// An \[int\] that counts something.
    pub(super) fn count(&mut self) -> Result<usize, Stop> {
        usize::try_from(self.int()?).map_err(|_| Stop::Wrong(Fault::BadMessage))
    }

    /// \[string\] or \[short bytes\]
    pub(super) fn string(&mut self) -> Result<&'a [u8], Stop> {
        let length = self.short()?;
        self.take(usize::from(length))
    }

    /// \[bytes\]; nothing if they are null.
    pub(super) fn bytes(&mut self) -> Result<Option<&'a [u8]>, Stop> {
        match self.int()? {
            ..0 => Ok(None),
            length => self.take(length as usize).map(Some),
        }
    }

    /// Passes \[bytes\], which may be null.
    pub(super) fn pass_bytes(&mut self) -> Result<(), Stop> {
        self.bytes().map(|_| ())
    }
}
