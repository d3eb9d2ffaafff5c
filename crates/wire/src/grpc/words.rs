//! What gRPC says to people.

use super::fault::Fault;
use super::{CODES, Grpc};
use crate::protocol::{Reply, Violation};
use crate::words::Words;

impl Words for Grpc {
    const NAME: &'static str = "gRPC";

    const SCHEMES: [&'static str; 2] = ["grpc", "grpcs"];

    fn explain(&self, violation: Violation) -> String {
        match violation {
            Violation::Malformed(number) => match Fault::at(number) {
                Some(fault) => fault.to_string(),
                None => self.http2.explain(violation),
            },
            other => self.http2.explain(other),
        }
    }

    fn quote(reply: &Reply, _: &[u8]) -> String {
        let name = CODES.get(usize::from(reply.code)).copied().unwrap_or("an unknown status");
        format!("gRPC {name}")
    }

    fn first_line(received: &[u8]) -> Option<String> {
        crate::http2::Http2::first_line(received)
    }
}
