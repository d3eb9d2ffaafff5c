//! What the lab sees of the wire: the engine's packets.

use std::io;
use unblink_engine::packets::Packets;
use unblink_lab::Tap;

/// Taps a port of the loopback.
pub(super) fn open(port: u16) -> io::Result<Box<dyn Tap>> {
    Ok(Box::new(Loopback(Packets::of_port(port)?)))
}

struct Loopback(Packets);

impl Tap for Loopback {
    fn take(&mut self, each: &mut dyn FnMut(u64, &[u8])) -> io::Result<()> {
        self.0.take(each)
    }

    fn lost(&mut self) -> io::Result<u64> {
        self.0.lost()
    }
}
