//! The types that calls are made of, and the methods that there are.

use super::fields::GrpcArgs;
use crate::errors::{refuse, refused};
use crate::inputs;
use anyhow::Result;
use prost::Message;
use prost_reflect::prost_types::FileDescriptorSet;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, MethodDescriptor};
use protox::Compiler;
use protox::file::{
    ChainFileResolver, DescriptorSetFileResolver, File, FileResolver, GoogleFileResolver, IncludeFileResolver,
};
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use unblink_artifact::names::few;
use unblink_workload::answer::Reader;

/// Bytes of a file of types.
const BYTES_MAX: u64 = 64 << 20;

/// Services and their messages.
#[derive(Clone, Debug)]
pub(crate) struct Types {
    pool: DescriptorPool,
    /// One for each type of an answer, so that answers of the same type share it.
    readers: RefCell<HashMap<String, Reader>>,
}

impl Types {
    /// Of what was compiled.
    pub(crate) fn new(pool: DescriptorPool) -> Types {
        Types { pool, readers: RefCell::default() }
    }

    /// Those of the files that `args` name; nothing where they name none.
    pub(crate) fn of_files(args: &GrpcArgs) -> Result<Option<Types>> {
        if args.proto.is_empty() && args.descriptor_set.is_empty() {
            if !args.import_path.is_empty() {
                refuse!(
                    ["import-path"],
                    "--import-path is where files look that --proto names: add --proto FILE"
                );
            }
            return Ok(None);
        }
        if !args.proto.is_empty() && !args.descriptor_set.is_empty() {
            refuse!(
                ["proto", "descriptor-set"],
                "--proto and --descriptor-set name the types twice: leave one of them out"
            );
        }
        let (mut resolver, mut names) = (ChainFileResolver::new(), args.proto.clone());
        for path in &args.descriptor_set {
            let wrong =
                |why: String| refused(&["descriptor-set"], format!("--descriptor-set {path:?}: {why}"));
            let bytes = inputs::read(path, BYTES_MAX).map_err(|error| wrong(error.to_string()))?;
            let set = FileDescriptorSet::decode(&bytes[..]).map_err(|_| {
                wrong("it is not a set of descriptors, as protoc --descriptor_set_out writes".into())
            })?;
            names.extend(set.file.iter().map(|file| PathBuf::from(file.name())));
            resolver.add(DescriptorSetFileResolver::new(set));
        }
        for folder in folders(args) {
            resolver.add(Noted { folder: folder.clone(), files: IncludeFileResolver::new(folder) });
        }
        resolver.add(GoogleFileResolver::new());
        let field = if args.proto.is_empty() { "descriptor-set" } else { "proto" };
        for path in &args.proto {
            inputs::read(path, BYTES_MAX)
                .map_err(|error| refused(&["proto"], format!("--proto {path:?}: {error}")))?;
        }
        compiled(resolver, &names)
            .map(Some)
            .map_err(|error| refused(&[field, "import-path"], format!("--{field}: {error}")))
    }

    /// The method at `path`, which is `/package.Service/Method`.
    pub(crate) fn method(&self, path: &str) -> Result<MethodDescriptor> {
        let (service_name, name) = parts(path)?;
        let services: Vec<String> =
            self.pool.services().map(|service| service.full_name().to_string()).collect();
        let Some(service) = self.pool.get_service_by_name(service_name) else {
            refuse!(["url"], "there is no service {service_name}{}", instead(service_name, &services));
        };
        let Some(method) = service.methods().find(|method| method.name() == name) else {
            let methods: Vec<String> = service.methods().map(|method| method.name().to_string()).collect();
            refuse!(["url"], "{service_name} has no method {name}{}", instead(name, &methods));
        };
        if method.is_client_streaming() {
            refuse!(
                ["url"],
                "{service_name}/{name} takes a stream of messages, so that nothing says when an arrival has been answered: only \
                 methods that take one message can be called"
            );
        }
        Ok(method)
    }

    /// What makes JSON of the answers of `method`. Of a stream, nobody knows afterwards where one message ended.
    pub(crate) fn reader(&self, method: &MethodDescriptor) -> Reader {
        if method.is_server_streaming() {
            return Reader::new(|_, _| false);
        }
        let descriptor = method.output();
        let mut readers = self.readers.borrow_mut();
        let known = readers.entry(descriptor.full_name().to_string());
        known.or_insert_with(|| Reader::new(move |message, out| to_json(&descriptor, message, out))).clone()
    }
}

/// Compiles these files, and those that they import.
pub(crate) fn compiled(
    resolver: impl FileResolver + 'static,
    names: &[impl AsRef<Path>],
) -> Result<Types, protox::Error> {
    let mut compiler = Compiler::with_file_resolver(resolver);
    compiler.include_imports(true);
    compiler.open_files(names)?;
    Ok(Types::new(compiler.descriptor_pool()))
}

/// Service and method of `/package.Service/Method`.
pub(crate) fn parts(path: &str) -> Result<(&str, &str)> {
    let inside = path.strip_prefix('/').and_then(|path| path.split_once('/'));
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._".contains(&byte))
    };
    match inside.filter(|(service, method)| is_name(service) && is_name(method)) {
        Some(parts) => Ok(parts),
        None => refuse!(
            ["url"],
            "a call names a service and a method after the host, as in grpc://127.0.0.1:50051/shop.Items/Get"
        ),
    }
}

/// What may have been meant instead of `name`.
pub(crate) fn instead(name: &str, known: &[String]) -> String {
    let last = |full: &str| full.rsplit('.').next().unwrap_or_default().to_lowercase();
    let near = known.iter().map(|other| {
        let whole = strsim::jaro_winkler(&name.to_lowercase(), &other.to_lowercase());
        // The package may have been left out.
        (whole.max(strsim::jaro_winkler(&last(name), &last(other))), other)
    });
    match near.max_by(|(one, _), (other, _)| one.total_cmp(other)) {
        Some((likeness, near)) if likeness > 0.85 => format!(": did you mean {near}?"),
        Some(_) => format!(": there are {}", few(known)),
        None => String::new(),
    }
}

/// The files of a folder that others import, of which note is taken: they belong to the run as those that name them do.
struct Noted {
    folder: PathBuf,
    files: IncludeFileResolver,
}

impl FileResolver for Noted {
    fn resolve_path(&self, path: &Path) -> Option<String> {
        self.files.resolve_path(path)
    }

    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        let path = self.folder.join(name);
        // Looked for before it is noted, since it may be in another folder; but not where nothing may be read.
        if !inputs::is_readable(&path) {
            return Err(protox::Error::file_not_found(name));
        }
        let file = self.files.open_file(name)?;
        inputs::note(&path).map_err(|_| protox::Error::file_not_found(name))?;
        Ok(file)
    }
}

/// Where imports are looked for.
fn folders(args: &GrpcArgs) -> Vec<PathBuf> {
    let own = args.proto.iter().map(|path| match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    });
    match args.import_path.is_empty() {
        true => own.collect(),
        false => args.import_path.iter().cloned().chain(own).collect(),
    }
}

/// Appends a message as JSON.
fn to_json(descriptor: &MessageDescriptor, message: &[u8], out: &mut Vec<u8>) -> bool {
    let decoded = DynamicMessage::decode(descriptor.clone(), message);
    decoded.is_ok_and(|message| serde_json::to_writer(out, &message).is_ok())
}
