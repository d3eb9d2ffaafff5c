//! Where answers are read to.

/// Read buffers of a worker, shared by its connections.
pub(crate) struct Buffers {
    pub(super) socket: Box<[u8]>,
    pub(super) plain: Box<[u8]>,
    /// Stands for bytes that are dropped by the kernel; nothing is written to it.
    dropped: Box<[u8]>,
}

impl Buffers {
    pub(crate) fn new() -> Buffers {
        Buffers {
            socket: vec![0; 64 * 1024].into(),
            plain: vec![0; 16 * 1024].into(),
            dropped: vec![0; 1024 * 1024].into(),
        }
    }

    /// Room for `n` bytes that are to be dropped, or for as many as there is.
    pub(super) fn dropped(&mut self, n: u64) -> &mut [u8] {
        let n = usize::try_from(n).map_or(self.dropped.len(), |n| n.min(self.dropped.len()));
        &mut self.dropped[..n]
    }
}
