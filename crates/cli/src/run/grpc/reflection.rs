//! Types that the target itself tells
//! ([server reflection](https://github.com/grpc/grpc/blob/master/doc/server-reflection.md)).

use super::ask::{Asker, NoMessage};
use crate::errors::{refuse, refused};
use crate::request::grpc::types::{Types, compiled, instead, parts};
use crate::request::url::Origin;
use anyhow::{Error, Result};
use prost::Message;
use prost_reflect::prost_types::FileDescriptorProto;
use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

/// Its versions, the latest first.
const VERSIONS: [&str; 2] = ["v1", "v1alpha"];

/// Files that a target may tell, so that one that makes them up as it goes is not asked for ever.
const FILES_MAX: usize = 4_096;

/// `ServerReflectionRequest`.
#[derive(Clone, PartialEq, Message)]
struct Asked {
    #[prost(oneof = "Question", tags = "3, 4, 7")]
    question: Option<Question>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Question {
    #[prost(string, tag = "3")]
    FileByName(String),
    #[prost(string, tag = "4")]
    FileOfSymbol(String),
    #[prost(string, tag = "7")]
    Services(String),
}

/// `ServerReflectionResponse`.
#[derive(Clone, PartialEq, Message)]
struct Told {
    #[prost(message, optional, tag = "4")]
    files: Option<Files>,
    #[prost(message, optional, tag = "6")]
    services: Option<Services>,
    #[prost(message, optional, tag = "7")]
    error: Option<Refused>,
}

#[derive(Clone, PartialEq, Message)]
struct Files {
    #[prost(bytes = "vec", repeated, tag = "1")]
    files: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
struct Services {
    #[prost(message, repeated, tag = "1")]
    services: Vec<Service>,
}

#[derive(Clone, PartialEq, Message)]
struct Service {
    #[prost(string, tag = "1")]
    name: String,
}

#[derive(Clone, PartialEq, Message)]
struct Refused {
    #[prost(int32, tag = "1")]
    code: i32,
}

/// The types of the methods at `paths`.
pub(super) fn types<'a>(
    asker: Asker,
    origin: &Origin,
    paths: impl Iterator<Item = &'a str>,
) -> Result<Types> {
    let mut services = BTreeSet::new();
    for path in paths {
        services.insert(parts(path)?.0.to_string());
    }
    let version = version(&asker, origin)?;
    let reflection = Reflection { asker, version, files: RefCell::default() };
    let mut names = Vec::new();
    for service in &services {
        names.push(reflection.file_of(service).map_err(|why| match why {
            Lack::NotFound => reflection.no_service(service),
            Lack::Unanswered(why) => unanswered(origin, why),
        })?);
    }
    let mut resolver = ChainFileResolver::new();
    resolver.add(reflection);
    // Few targets tell what every program has.
    resolver.add(GoogleFileResolver::new());
    compiled(resolver, &names).map_err(|error| {
        refused(
            &["url"],
            format!("the types that {origin} tells of itself can't be used: {error}; {OTHERWISE}"),
        )
    })
}

const OTHERWISE: &str = "give them by --proto FILE (with --import-path DIR) or --descriptor-set FILE";

/// The latest version that the target knows.
fn version(asker: &Asker, origin: &Origin) -> Result<&'static str> {
    for version in VERSIONS {
        match ask(asker, version, Question::Services(String::new())) {
            Ok(_) => return Ok(version),
            Err(NoMessage { status: Some("UNIMPLEMENTED"), .. }) => {}
            Err(other) => return Err(unanswered(origin, other.why)),
        }
    }
    refuse!(
        ["proto", "descriptor-set", "url"],
        "{origin} does not tell the types of its messages (it has no server reflection): turn that on in the server, or {OTHERWISE}"
    )
}

fn unanswered(origin: &Origin, why: String) -> Error {
    refused(
        &["url"],
        format!(
            "the types of its messages were asked of {origin} (server reflection): {why}; to do without, {OTHERWISE}"
        ),
    )
}

fn ask(asker: &Asker, version: &str, question: Question) -> Result<Told, NoMessage> {
    let path = format!("/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo");
    let message = Asked { question: Some(question) }.encode_to_vec();
    let told = asker.ask(&path, message, "the types of its messages (server reflection)")?;
    // What does not read is as good as nothing.
    Ok(Told::decode(&told[..]).unwrap_or_default())
}

/// What the target tells of itself.
struct Reflection {
    asker: Asker,
    version: &'static str,
    /// By name, as they were told.
    files: RefCell<HashMap<String, FileDescriptorProto>>,
}

/// Why a file is not there.
enum Lack {
    NotFound,
    Unanswered(String),
}

impl Reflection {
    /// Keeps the files that the target answers with, and gives their names.
    fn learn(&self, question: Question) -> Result<Vec<String>, Lack> {
        let told = ask(&self.asker, self.version, question);
        let told = told.map_err(|error| Lack::Unanswered(error.why))?;
        if told.error.is_some() {
            return Err(Lack::NotFound);
        }
        let mut names = Vec::new();
        for bytes in told.files.unwrap_or_default().files {
            let file = FileDescriptorProto::decode(&bytes[..]).map_err(|_| {
                Lack::Unanswered("the server's reflection answer is not a file descriptor".into())
            })?;
            names.push(file.name().to_string());
            self.files.borrow_mut().insert(file.name().to_string(), file);
        }
        if self.files.borrow().len() > FILES_MAX {
            return Err(Lack::Unanswered(format!("it tells of more than {FILES_MAX} files")));
        }
        Ok(names)
    }

    /// The name of the file that has `service`.
    fn file_of(&self, service: &str) -> Result<String, Lack> {
        let names = self.learn(Question::FileOfSymbol(service.to_string()))?;
        let files = self.files.borrow();
        let has_it = |name: &String| {
            files.get(name).is_some_and(|file| {
                let package =
                    if file.package().is_empty() { String::new() } else { format!("{}.", file.package()) };
                file.service.iter().any(|one| format!("{package}{}", one.name()) == service)
            })
        };
        names.into_iter().find(has_it).ok_or(Lack::NotFound)
    }

    fn no_service(&self, service: &str) -> Error {
        let told = ask(&self.asker, self.version, Question::Services(String::new()));
        let all = told.ok().and_then(|told| told.services).unwrap_or_default().services;
        let names = all.into_iter().map(|service| service.name);
        let names: Vec<String> = names.filter(|name| !name.starts_with("grpc.reflection.")).collect();
        if names.iter().any(|name| name == service) {
            let said = format!(
                "there is a service {service}, but the target's server reflection does not tell its types: give them by --proto FILE \
                 (with --import-path DIR) or --descriptor-set FILE"
            );
            return refused(&["url"], said);
        }
        refused(&["url"], format!("there is no service {service}{}", instead(service, &names)))
    }
}

impl FileResolver for Reflection {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        let known = || self.files.borrow().get(name).cloned();
        if known().is_none() {
            match self.learn(Question::FileByName(name.to_string())) {
                Ok(_) | Err(Lack::NotFound) => {}
                Err(Lack::Unanswered(why)) => return Err(protox::Error::new(why)),
            }
        }
        known().map(File::from_file_descriptor_proto).ok_or_else(|| protox::Error::file_not_found(name))
    }
}
