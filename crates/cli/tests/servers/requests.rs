//! hyper.

use super::{AGE, Counted, LARGE, Server, Want};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

async fn answer(
    request: Request<Incoming>,
    count: Arc<AtomicU64>,
) -> Result<Response<Full<Bytes>>, hyper::Error> {
    count.fetch_add(1, Ordering::SeqCst);
    let path = request.uri().path().to_string();
    let body = request.into_body().collect().await?.to_bytes();
    let said = match path.as_str() {
        "/large" => Bytes::from(vec![b'x'; LARGE]),
        _ => Bytes::from(format!("hello after {} bytes\n", body.len())),
    };
    Ok(Response::new(Full::new(said)))
}

/// hyper. A connection that retires does so by age.
pub(crate) fn hyper(want: Want) -> Server {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.set_nonblocking(true).expect("an option");
    let port = listener.local_addr().expect("an address").port();
    let count = Arc::new(AtomicU64::new(0));
    let counted = Counted::Here(count.clone());
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
            while let Ok((stream, _)) = listener.accept().await {
                stream.set_nodelay(true).expect("an option");
                let count = count.clone();
                tokio::spawn(async move {
                    let service = hyper::service::service_fn(move |request| answer(request, count.clone()));
                    let mut builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                    builder.max_concurrent_streams(want.streams);
                    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
                    if want.retires && tokio::time::timeout(AGE, connection.as_mut()).await.is_err() {
                        connection.as_mut().graceful_shutdown();
                    }
                    // How a connection ends is for the client to say.
                    let _ = connection.await;
                });
            }
        });
    });
    Server { name: "hyper", port, is_tls: false, counted }
}
