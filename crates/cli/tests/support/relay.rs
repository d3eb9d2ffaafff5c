//! A way to a server that can be cut: nothing gets through then, nothing is closed, and what was said arrives once it is whole again.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};

/// Forwards both ways between whoever connects to it and one address, until the test's process ends.
pub(crate) struct Relay {
    pub(crate) address: SocketAddr,
    way: Arc<Way>,
}

#[derive(Default)]
struct Way {
    is_cut: Mutex<bool>,
    healed: Condvar,
    /// To those who have connected.
    brought_bytes: AtomicU64,
}

impl Relay {
    pub(crate) fn to(server: SocketAddr) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let relay =
            Relay { address: listener.local_addr().expect("an address"), way: Arc::new(Way::default()) };
        let way = relay.way.clone();
        std::thread::spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                let way = way.clone();
                std::thread::spawn(move || way.join(client, server));
            }
        });
        relay
    }

    /// From now on nothing gets through. Who connects is let in and hears nothing.
    pub(crate) fn cut(&self) {
        *self.way.is_cut.lock().expect("no panic") = true;
    }

    /// It goes on where it was cut.
    pub(crate) fn heal(&self) {
        *self.way.is_cut.lock().expect("no panic") = false;
        self.way.healed.notify_all();
    }

    /// How many bytes of the server have come through.
    pub(crate) fn brought_bytes(&self) -> u64 {
        self.way.brought_bytes.load(Ordering::SeqCst)
    }
}

impl Drop for Relay {
    /// Nobody waits any more.
    fn drop(&mut self) {
        self.heal();
    }
}

impl Way {
    fn wait_until_whole(&self) {
        let is_cut = self.is_cut.lock().expect("no panic");
        drop(self.healed.wait_while(is_cut, |is_cut| *is_cut).expect("no panic"));
    }

    fn join(self: Arc<Way>, client: TcpStream, server: SocketAddr) {
        self.wait_until_whole();
        // A server that is gone is heard of by the end of the connection.
        let Ok(server) = TcpStream::connect(server) else { return };
        let again = |stream: &TcpStream| stream.try_clone().expect("a descriptor");
        let (from, to, way) = (again(&client), again(&server), self.clone());
        std::thread::spawn(move || way.pass_on(from, to, &AtomicU64::new(0)));
        self.pass_on(server, client, &self.brought_bytes);
    }

    fn pass_on(&self, mut from: TcpStream, mut to: TcpStream, passed_bytes: &AtomicU64) {
        let mut bytes = [0; 16 << 10];
        loop {
            let read = from.read(&mut bytes).unwrap_or(0);
            // What was on its way when it was cut arrives later, and so does an end.
            self.wait_until_whole();
            if read == 0 || to.write_all(&bytes[..read]).is_err() {
                break;
            }
            passed_bytes.fetch_add(read as u64, Ordering::SeqCst);
        }
        for stream in [from, to] {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}
