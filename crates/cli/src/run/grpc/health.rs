//! What the target says of its health
//! ([grpc.health.v1](https://github.com/grpc/grpc/blob/master/doc/health-checking.md)), before it is measured.

use super::ask::{Asker, NoMessage};
use crate::args::run::RunArgs;
use crate::errors::PreflightFailed;
use crate::request::grpc::types::parts;
use crate::request::version::Version;
use anyhow::Result;
use prost::Message;
use unblink_engine::preflight::PreflightError;
use unblink_engine::target::Target;

/// `HealthCheckRequest`.
#[derive(Clone, PartialEq, Message)]
struct Asked {
    #[prost(string, tag = "1")]
    service: String,
}

/// `HealthCheckResponse`.
#[derive(Clone, PartialEq, Message)]
struct Told {
    #[prost(int32, tag = "1")]
    status: i32,
}

/// `SERVING`.
const SERVING: i32 = 1;

const PATH: &str = "/grpc.health.v1.Health/Check";

/// What is asked of each origin of a run.
pub(crate) struct Health(Vec<OfOrigin>);

struct OfOrigin {
    number: usize,
    asker: Asker,
    /// Those that are called.
    services: Vec<String>,
}

impl Health {
    /// Of a run over gRPC; nothing is asked of another. `origin_of` has for each request the place of its origin.
    pub(in crate::run) fn of(args: &RunArgs, origin_of: &[u8], targets: &[Target]) -> Result<Health> {
        let mut all: Vec<OfOrigin> = Vec::new();
        if args.other_than_http() != Some(Version::Grpc) {
            return Ok(Health(all));
        }
        for (request, &number) in args.requests.iter().zip(origin_of) {
            let service = parts(&request.url.target)?.0.to_string();
            let number = usize::from(number);
            match all.iter_mut().find(|of| of.number == number) {
                Some(of) if of.services.contains(&service) => {}
                Some(of) => of.services.push(service),
                None => {
                    let asker = Asker::new(args, request, &targets[number])?;
                    all.push(OfOrigin { number, asker, services: vec![service] });
                }
            }
        }
        Ok(Health(all))
    }

    /// Asks, as far as the targets offer it.
    ///
    /// # Errors
    /// A target says that it is not well.
    pub(in crate::run) fn ask(&self) -> Result<()> {
        for OfOrigin { number, asker, services } in &self.0 {
            for service in services {
                if let Some(status) = status(asker, service) {
                    let request = format!("{PATH} of {service}");
                    let source = PreflightError::Answer {
                        answer: "gRPC OK".into(),
                        reason: format!("it says of its health that it is {status}"),
                    };
                    return Err(PreflightFailed { origin: *number, request, source, is_setup: false }.into());
                }
            }
        }
        Ok(())
    }
}

/// What `service` is, unless it is well or nothing is known of its health. One that does not answer fails the request itself.
fn status(asker: &Asker, service: &str) -> Option<&'static str> {
    let ask = |service: &str| {
        let message = Asked { service: service.to_string() }.encode_to_vec();
        asker.ask(PATH, message, "the target's health (grpc.health.v1)")
    };
    let told = match ask(service) {
        // Of this service alone nothing is known, but of the whole server.
        Err(NoMessage { status: Some("NOT_FOUND"), .. }) => ask(""),
        told => told,
    };
    match Told::decode(&told.ok()?[..]).ok()?.status {
        SERVING => None,
        2 => Some("NOT_SERVING"),
        3 => Some("SERVICE_UNKNOWN"),
        _ => Some("UNKNOWN"),
    }
}
