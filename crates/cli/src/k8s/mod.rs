//! `unblink k8s`: a run of agents as the objects of a Kubernetes cluster. No cluster is asked: what is printed is all there is.

mod bus;
mod keys;
mod network;
mod object;
mod pods;
mod wanted;
mod words;
mod yaml;

use crate::args::k8s::{K8sCommand, KeysArgs, RenderArgs};
use crate::{exit, output};
use anyhow::{Context, Result};
use keys::Keys;
use object::Object;
use serde_json::json;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
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
            write(folder, &objects)?;
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

/// A file for each, and one that names them all.
fn write(folder: &Path, objects: &[Object]) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("can't create the folder {folder:?}"))?;
    for object in objects {
        // A private key may be read by its owner.
        let mode = if object.value["kind"] == "Secret" { 0o600 } else { 0o644 };
        write_file(&folder.join(&object.file), &yaml::document(&object.value), mode)?;
    }
    // Private keys of a rendering before this one.
    let secrets = keys::SECRETS.into_iter().map(Object::file_of);
    for old in secrets.filter(|old| objects.iter().all(|object| object.file != *old)) {
        let path = folder.join(old);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("can't remove {path:?}, which has a private key"));
            }
            _ => {}
        }
    }
    let resources: Vec<&str> = objects.iter().map(|object| object.file.as_str()).collect();
    let all = json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": resources,
    });
    write_file(&folder.join("kustomization.yaml"), &yaml::document(&all), 0o644)
}

fn write_file(path: &Path, text: &str, mode: u32) -> Result<()> {
    let file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.with_context(|| format!("can't write {path:?}"))
}
