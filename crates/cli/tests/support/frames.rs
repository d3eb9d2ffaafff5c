//! A server of HTTP/2 that writes its frames by hand and understands no more of the client's than where they end.
#![allow(dead_code)] // each test binary uses its part

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// What it does with a request, by its number over all connections: bytes, and whether the connection goes on.
pub(crate) type Script = dyn Fn(usize, u32) -> (Vec<u8>, bool) + Send + Sync;

pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    [&(payload.len() as u32).to_be_bytes()[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// `:status: 200`, and a body.
pub(crate) fn ok(stream: u32) -> Vec<u8> {
    [frame(1, 4, stream, &[0x88]), frame(0, 1, stream, b"hello")].concat()
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) connections: Arc<AtomicUsize>,
    pub(crate) cancelled: Arc<AtomicUsize>,
    /// Header blocks, in the order in which they came.
    pub(crate) heads: Arc<Mutex<Vec<Vec<u8>>>>,
}

/// Serves with these settings.
pub(crate) fn serve(
    settings: &'static [u8],
    script: impl Fn(usize, u32) -> (Vec<u8>, bool) + Send + Sync + 'static,
) -> Server {
    serve_from(move |_, stream| stream.write_all(&frame(4, 0, 0, settings)), script)
}

/// Serves connections that `open` begins, by the number of each.
pub(crate) fn serve_from(
    open: impl Fn(usize, &mut TcpStream) -> std::io::Result<()> + Send + Sync + 'static,
    script: impl Fn(usize, u32) -> (Vec<u8>, bool) + Send + Sync + 'static,
) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let (connections, cancelled) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let heads = Arc::new(Mutex::new(Vec::new()));
    let (counted, given_up, noted) = (connections.clone(), cancelled.clone(), heads.clone());
    let server = Server { address, connections: counted, cancelled: given_up, heads: noted };
    let (script, requests): (Arc<Script>, _) = (Arc::new(script), Arc::new(AtomicUsize::new(0)));
    let open = Arc::new(open);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let number = connections.fetch_add(1, Ordering::Relaxed);
            let open = open.clone();
            let (script, requests, cancelled) = (script.clone(), requests.clone(), cancelled.clone());
            let heads = heads.clone();
            std::thread::spawn(move || {
                let open = |stream: &mut TcpStream| open(number, stream);
                let _ = converse(stream, open, &*script, &requests, (&cancelled, &heads));
            });
        }
    });
    server
}

pub(crate) fn converse(
    mut stream: TcpStream,
    open: impl Fn(&mut TcpStream) -> std::io::Result<()>,
    script: &Script,
    requests: &AtomicUsize,
    (cancelled, heads): (&AtomicUsize, &Mutex<Vec<Vec<u8>>>),
) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    stream.read_exact(&mut [0; 24])?;
    open(&mut stream)?;
    loop {
        let mut header = [0; 9];
        stream.read_exact(&mut header)?;
        let [a, b, c, kind, flags, id @ ..] = header;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        stream.read_exact(&mut payload)?;
        match kind {
            1 => {
                heads.lock().expect("no panic").push(payload);
                let number = requests.fetch_add(1, Ordering::Relaxed);
                let (bytes, goes_on) = script(number, u32::from_be_bytes(id));
                stream.write_all(&bytes)?;
                if !goes_on {
                    return Ok(());
                }
            }
            3 => {
                cancelled.fetch_add(1, Ordering::Relaxed);
            }
            4 if flags & 1 == 0 => stream.write_all(&frame(4, 1, 0, b""))?,
            _ => {}
        }
    }
}
