//! Processors that don't go to sleep while a run goes on.
//!
//! An idle processor is sent to sleep, and in a virtual machine handed back to the host. To wake it takes from some
//! microseconds to milliseconds, which no spinning before a deadline makes up for when it is an answer that wakes it.
//! Linux keeps all processors awake for as long as somebody holds a bound of 0 µs on the time to wake up
//! (`Documentation/power/pm_qos_interface.rst`; cyclictest does the same).

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

const DEVICE: &str = "/dev/cpu_dma_latency";

/// While it lives, no processor sleeps. The kernel takes the bound back when the file is closed, also by a kill.
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
        // In µs, as the machine writes numbers.
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
