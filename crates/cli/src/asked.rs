//! What is asked, and of whom, as a fingerprint: a search or a comparison goes on only with what it was begun with.
//! Nothing that may be secret enters it.

use crate::args::sim::WorldArgs;
use crate::args::target::TargetArgs;
use crate::args::value::Connections;
use crate::request::Request;
use crate::run::Prepared;
use crate::secrets;
use unblink_artifact::fingerprint::fingerprint;

/// Of a real target.
pub(crate) fn of_target(
    prepared: &Prepared,
    args: &TargetArgs,
    connections: Connections,
    planned: &[Request],
) -> String {
    let masked =
        |headers: &[String]| headers.iter().map(|line| secrets::mask_header(line)).collect::<Vec<_>>();
    let length = |body: Option<usize>| body.map(|bytes| format!("{bytes} bytes"));
    // What says how, and not what, is left as it is; what may hold a secret is not.
    let flags = TargetArgs {
        headers: masked(&args.headers),
        body: length(args.body.as_ref().map(String::len)),
        ..args.clone()
    };
    let lines = |one: &Request| {
        one.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>()
    };
    let requests: Vec<_> = planned
        .iter()
        .map(|one| {
            (&one.name, &one.method, masked(&lines(one)), length(one.body.as_ref().map(|body| body.len())))
        })
        .collect();
    let (targets, addresses) = (&prepared.header.targets, &prepared.job.target.addresses);
    fingerprint(&format!("{targets:?} {addresses:?} {flags:?} {connections:?} {requests:?}"))
}

/// Of a simulated server.
pub(crate) fn of_world(world: &WorldArgs, connections: Connections) -> String {
    fingerprint(&format!("{world:?} {connections:?}"))
}
