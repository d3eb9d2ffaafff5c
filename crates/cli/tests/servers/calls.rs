//! tonic, with the service of `echo.proto`: its messages are what prost takes bytes and numbers for.

use super::{AGE, Counted, Server, Want};
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service, http};
use tonic::server::{Grpc, ServerStreamingService, UnaryService};
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

/// Counts the calls.
#[derive(Clone)]
struct Echo(Arc<AtomicU64>);

impl UnaryService<Vec<u8>> for Echo {
    type Response = Vec<u8>;
    type Future = Ready<Result<Response<Vec<u8>>, Status>>;

    fn call(&mut self, request: Request<Vec<u8>>) -> Self::Future {
        self.0.fetch_add(1, Ordering::SeqCst);
        ready(Ok(Response::new(request.into_inner())))
    }
}

type Numbers = Box<dyn Iterator<Item = Result<u32, Status>> + Send>;

impl ServerStreamingService<u32> for Echo {
    type Response = u32;
    type ResponseStream = tokio_stream::Iter<Numbers>;
    type Future = Ready<Result<Response<Self::ResponseStream>, Status>>;

    fn call(&mut self, request: Request<u32>) -> Self::Future {
        self.0.fetch_add(1, Ordering::SeqCst);
        let numbers: Numbers = Box::new((0..request.into_inner()).map(Ok));
        ready(Ok(Response::new(tokio_stream::iter(numbers))))
    }
}

impl Service<http::Request<Body>> for Echo {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let this = self.clone();
        Box::pin(async move {
            Ok(match request.uri().path() {
                "/echo.Echo/Say" => Grpc::new(ProstCodec::default()).unary(this, request).await,
                "/echo.Echo/Count" => Grpc::new(ProstCodec::default()).server_streaming(this, request).await,
                _ => Status::unimplemented("").into_http(),
            })
        })
    }
}

/// tonic. A connection that retires does so by age.
pub(crate) fn tonic(want: Want) -> Server {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.set_nonblocking(true).expect("an option");
    let port = listener.local_addr().expect("an address").port();
    let count = Arc::new(AtomicU64::new(0));
    let echo = Echo(count.clone());
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
            let mut server = tonic::transport::Server::builder().max_concurrent_streams(want.streams);
            if want.retires {
                server = server.max_connection_age(AGE);
            }
            server.serve_with_incoming(echo, TcpIncoming::from(listener)).await.expect("it serves");
        });
    });
    Server { name: "tonic", port, is_tls: false, counted: Counted::Here(count) }
}
