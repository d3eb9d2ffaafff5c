//! Threads that live no longer than whoever has begun them.

use anyhow::{Context, Result};
use std::sync::mpsc::{Receiver, Sender, channel};

/// Begins one. What its life waits for ends as soon as what this gives is dropped.
pub(super) fn spawn(life: impl FnOnce(Receiver<()>) + Send + 'static) -> Result<Sender<()>> {
    let (alive, ended) = channel();
    let thread = std::thread::Builder::new().name("guard".into()).spawn(move || life(ended));
    thread.map(|_| alive).context("can't watch for what stops the load")
}
