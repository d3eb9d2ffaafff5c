//! `unblink k8s`: a run of agents as the objects of a Kubernetes cluster. No cluster is asked: what is printed is all there is.

mod bus;
mod inside;
mod keys;
mod network;
mod object;
mod places;
mod pods;
mod refused;
mod wanted;
mod words;
mod written;
mod yaml;

use crate::args::k8s::{K8sCommand, KeysArgs, RenderArgs};
use crate::{exit, output};
use anyhow::Result;
use keys::Keys;
use object::Object;
use wanted::Wanted;

/// `unblink k8s`. Gives the exit code.
pub(crate) fn k8s(command: &K8sCommand) -> Result<u8> {
    match command {
        K8sCommand::Render(args) => render(args),
        K8sCommand::Keys(args) => print_keys(args),
    }
}

fn render(args: &RenderArgs) -> Result<u8> {
    let wanted = wanted::wanted(args)?;
    let objects = objects(&wanted);
    match &args.run.output {
        None => output::print_document(&stream(&objects))?,
        Some(folder) => {
            written::write(folder, &objects)?;
            output::note(format_args!("written: kubectl apply -k {}", folder.display()));
        }
    }
    Ok(exit::OK)
}

fn print_keys(args: &KeysArgs) -> Result<u8> {
    let namespace = args.namespace.as_deref();
    let secrets = Keys::new()?.secrets(&args.name, |object| object.in_namespace(namespace));
    output::print_document(&stream(&secrets))?;
    Ok(exit::OK)
}

/// What a cluster needs before something else comes first.
fn objects(wanted: &Wanted) -> Vec<Object> {
    let mut all = Vec::new();
    all.extend(wanted.namespace());
    if let Some(keys) = &wanted.new_keys {
        all.extend(keys.secrets(&wanted.keys, |object| wanted.own(object)));
    }
    all.extend(pods::plan(wanted));
    all.extend(bus::objects(wanted));
    all.extend(network::policies(wanted));
    all.push(pods::agents(wanted));
    all.push(pods::coordinator(wanted));
    all
}

fn stream(objects: &[Object]) -> String {
    objects.iter().map(|object| format!("---\n{}", yaml::document(&object.value))).collect()
}
