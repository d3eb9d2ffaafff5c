//! What is asked, and of whom, as a fingerprint: a search or a comparison goes on only with what it was begun with.
//! It is taken of their values as JSON, and nothing that may be secret enters it.

use crate::args::sim::WorldArgs;
use crate::args::target::TargetArgs;
use crate::request::Request;
use crate::run::Prepared;
use crate::secrets::mask_header;
use crate::value::Connections;
use serde_json::{Value, json};
use unblink_artifact::document::{JourneyPlan, RetryPlan};
use unblink_artifact::fingerprint::fingerprint;

/// Of a real target.
pub(crate) fn of_target(
    prepared: &Prepared,
    args: &TargetArgs,
    connections: Connections,
    requests: &[Request],
) -> String {
    let length = |bytes: usize| format!("{bytes} bytes");
    // What says how, and not what, is left as it is; what may hold a secret is not.
    let mut flags = args.clone();
    flags.request.headers.iter_mut().for_each(|line| *line = mask_header(line));
    for text in [&mut flags.request.body, &mut flags.request.message] {
        *text = text.as_ref().map(|text| length(text.len()));
    }
    let of_script = &mut flags.script;
    let script_bytes = of_script.script.as_ref().and_then(|path| std::fs::metadata(path).ok());
    let script_args = of_script.script_arg.iter_mut().chain(&mut of_script.script_args);
    script_args.for_each(|arg| *arg = length(arg.len()));
    let (script, socket) = (&mut of_script.script, &mut flags.unix_socket);
    let of_tls = [&mut flags.cacert, &mut flags.cert, &mut flags.key];
    let files = [&mut flags.request.body_file, socket, script].into_iter().chain(of_tls);
    // JSON has no path that is not UTF-8.
    files.flatten().for_each(|path| *path = path.to_string_lossy().into_owned().into());
    let of_request = |request: &Request| {
        let line = |(name, value): &(String, String)| mask_header(&format!("{name}: {value}"));
        let mut asked = json!({
            "name": request.name,
            "method": request.parts.method,
            "headers": request.parts.headers.iter().map(line).collect::<Vec<_>>(),
            "body": request.parts.body.as_ref().map(|body| length(body.len())),
        });
        if !request.parts.expect.is_empty() {
            let conditions = request.parts.expect.iter().map(ToString::to_string);
            asked["expect"] = conditions.collect();
        }
        if let Some(share) = request.share {
            asked["share"] = json!(share);
        }
        asked
    };
    let addresses = prepared.job.targets().iter().flat_map(|target| &target.addresses);
    let mut asked = json!({
        "targets": prepared.header.targets,
        "addresses": addresses.map(ToString::to_string).collect::<Vec<_>>(),
        "flags": flags,
        "connections": connections,
        "requests": requests.iter().map(of_request).collect::<Vec<_>>(),
    });
    // A workload's texts hold no secret, and of the same length there are others; its laws stand in none of them.
    let of_workload: Vec<Value> =
        requests.iter().filter(|request| request.parts.series.is_some()).map(text_of_workload).collect();
    if !of_workload.is_empty() {
        asked["workload"] = json!([of_workload, prepared.header.plan.values]);
    }
    if let Some(script) = script_bytes {
        asked["script"] = json!(length(script.len() as usize));
    }
    add(&mut asked, prepared.header.plan.retry.as_ref(), &prepared.header.journeys);
    taken(&asked)
}

fn text_of_workload(request: &Request) -> Value {
    let text = request.parts.body.as_deref().map(String::from_utf8_lossy);
    json!([text, request.parts.cql.consistency_of_lines().map(|both| both.map(|one| one.to_string()))])
}

/// Of a simulated server. `listed` is what a plan lists for it.
pub(crate) fn of_world(
    world: &WorldArgs,
    connections: Connections,
    retry: Option<&RetryPlan>,
    journeys: &[JourneyPlan],
    listed: Option<Value>,
) -> String {
    let mut asked = json!({"world": world, "connections": connections});
    if let Some(listed) = listed {
        asked["listed"] = listed;
    }
    add(&mut asked, retry, journeys);
    taken(&asked)
}

/// Without retries and journeys all is as it was before there were any.
fn add(asked: &mut Value, retry: Option<&RetryPlan>, journeys: &[JourneyPlan]) {
    if let Some(retry) = retry {
        asked["retry"] = json!(retry);
    }
    if !journeys.is_empty() {
        asked["journeys"] = json!(journeys);
    }
}

fn taken(asked: &Value) -> String {
    fingerprint(&asked.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A search or a comparison that another version began goes on only where these stay as they are.
    #[test]
    fn a_fingerprint_stays() {
        let (server, empty) = (Some("slots=1 service=1ms".to_string()), String::new);
        let world = WorldArgs { server, scenario: None, network: empty(), generator: empty() };
        let json = r#"{"connections":{"Fixed":5},"world":{"generator":"","network":"","scenario":null,"server":"slots=1 service=1ms"}}"#;
        assert_eq!(of_world(&world, Connections::Fixed(5), None, &[], None), fingerprint(json));
    }
}
