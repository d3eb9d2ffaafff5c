//! Keeps processors from going to sleep while a run goes on.
//!
//! The kernel sends an idle processor to sleep, and a virtual machine hands it back to the host. Waking it takes
//! between some microseconds and milliseconds. Spinning before a deadline does not help when it is an answer that
//! wakes the processor. Linux keeps all processors awake for as long as somebody holds a bound of 0 µs on the wake-up
//! time (`Documentation/power/pm_qos_interface.rst`; cyclictest does the same).

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

const DEVICE: &str = "/dev/cpu_dma_latency";

/// No processor sleeps while this lives. The kernel drops the bound when the file is closed, even if the process is
/// killed.
#[derive(Debug)]
pub(crate) struct Awake {
    _bound: File,
}

impl Awake {
    /// `None` where the system does not permit it.
    pub(crate) fn keep() -> Option<Awake> {
        Awake::by(Path::new(DEVICE))
    }

    fn by(device: &Path) -> Option<Awake> {
        let mut bound = OpenOptions::new().write(true).open(device).ok()?;
        // A number of µs in the machine's byte order.
        bound.write_all(&0_i32.to_ne_bytes()).ok()?;
        Some(Awake { _bound: bound })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_asks_for_a_bound_of_no_time_or_does_without() {
        let device = std::env::temp_dir().join(format!("unblink-awake-{}", std::process::id()));
        assert!(Awake::by(&device).is_none(), "there is no such device");
        std::fs::write(&device, "").unwrap();
        assert!(Awake::by(&device).is_some());
        assert_eq!(std::fs::read(&device).unwrap(), [0; 4]);
        std::fs::remove_file(device).unwrap();
    }
}
