//! Where answers are read to.

use unblink_wire::LastHead;

/// Operations whose last heads are remembered apart.
const LAST_HEADS_MAX: usize = 32;

/// Read buffers of a worker, shared by its connections.
pub(crate) struct Buffers {
    pub(super) socket: Box<[u8]>,
    pub(super) plain: Box<[u8]>,
    /// Stands for bytes that are dropped by the kernel; nothing is written to it.
    pub(super) dropped: Box<[u8]>,
    /// By operation, modulo their number.
    pub(super) last_heads: Vec<LastHead>,
}

impl Buffers {
    /// For a run of `operations` operations.
    pub(crate) fn new(operations: usize) -> Buffers {
        Buffers {
            socket: vec![0; 64 * 1024].into(),
            plain: vec![0; 16 * 1024].into(),
            dropped: vec![0; 1024 * 1024].into(),
            last_heads: (0..operations.clamp(1, LAST_HEADS_MAX)).map(|_| LastHead::new()).collect(),
        }
    }
}

/// The first `n` bytes of a buffer, or all.
pub(super) fn upto(buffer: &mut [u8], n: u64) -> &mut [u8] {
    let n = usize::try_from(n).map_or(buffer.len(), |n| n.min(buffer.len()));
    &mut buffer[..n]
}

pub(super) fn last_head(last_heads: &mut [LastHead], operation: u32) -> &mut LastHead {
    let n = last_heads.len();
    &mut last_heads[operation as usize % n]
}
