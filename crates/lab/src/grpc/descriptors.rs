//! The types of what is served, as reflection tells them.

use prost::Message;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{
    DescriptorProto, EnumDescriptorProto, EnumValueDescriptorProto, FieldDescriptorProto,
    FileDescriptorProto, MethodDescriptorProto, ServiceDescriptorProto,
};

/// Services in the order in which they are listed.
pub(super) const SERVICES: [&str; 2] = ["grpc.health.v1.Health", "lab.Echo"];

/// The encoded file of this name.
pub(super) fn file_named(name: &str) -> Option<Vec<u8>> {
    files().into_iter().find(|file| file.name() == name).map(|file| file.encode_to_vec())
}

/// The encoded file that defines a symbol: a service, one of its methods, or a message with its parts.
pub(super) fn file_of(symbol: &str) -> Option<Vec<u8>> {
    files().into_iter().find(|file| defines(file, symbol)).map(|file| file.encode_to_vec())
}

fn defines(file: &FileDescriptorProto, symbol: &str) -> bool {
    let in_package = symbol.strip_prefix(file.package()).and_then(|rest| rest.strip_prefix('.'));
    let Some((first, rest)) = in_package.map(|name| name.split_once('.').unwrap_or((name, ""))) else {
        return false;
    };
    let service = file.service.iter().find(|service| service.name() == first);
    let message = file.message_type.iter().find(|message| message.name() == first);
    let in_service = service.is_some_and(|of| rest.is_empty() || of.method.iter().any(|m| m.name() == rest));
    let in_message = message.is_some_and(|of| {
        rest.is_empty()
            || of.field.iter().any(|field| field.name() == rest)
            || of.enum_type.iter().any(|kind| kind.name() == rest)
    });
    in_service || in_message
}

/// All of them.
fn files() -> [FileDescriptorProto; 2] {
    let text = |name: &str, number| field(name, number, Type::String);
    let word = message("Word", vec![text("text", 1), field("number", 2, Type::Uint64)]);
    let lab = file("lab.proto", "lab", vec![word], "Echo", [("Say", false), ("Watch", true)], |_| {
        (".lab.Word", ".lab.Word")
    });
    let asked = message("HealthCheckRequest", vec![text("service", 1)]);
    let status = FieldDescriptorProto {
        type_name: Some(".grpc.health.v1.HealthCheckResponse.ServingStatus".into()),
        ..field("status", 1, Type::Enum)
    };
    let value = |(number, name): (usize, &&str)| EnumValueDescriptorProto {
        name: Some((*name).into()),
        number: Some(number as i32),
        options: None,
    };
    let told = DescriptorProto {
        enum_type: vec![EnumDescriptorProto {
            name: Some("ServingStatus".into()),
            value: ["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"]
                .iter()
                .enumerate()
                .map(value)
                .collect(),
            ..Default::default()
        }],
        ..message("HealthCheckResponse", vec![status])
    };
    let types = |_: &str| (".grpc.health.v1.HealthCheckRequest", ".grpc.health.v1.HealthCheckResponse");
    let health = file(
        "grpc/health/v1/health.proto",
        "grpc.health.v1",
        vec![asked, told],
        "Health",
        [("Check", false)],
        types,
    );
    [health, lab]
}

fn file<const N: usize>(
    name: &str,
    package: &str,
    messages: Vec<DescriptorProto>,
    service: &str,
    methods: [(&str, bool); N],
    types: impl Fn(&str) -> (&'static str, &'static str),
) -> FileDescriptorProto {
    let method = |(name, is_stream): (&str, bool)| MethodDescriptorProto {
        name: Some(name.into()),
        input_type: Some(types(name).0.into()),
        output_type: Some(types(name).1.into()),
        server_streaming: is_stream.then_some(true),
        ..Default::default()
    };
    FileDescriptorProto {
        name: Some(name.into()),
        package: Some(package.into()),
        message_type: messages,
        service: vec![ServiceDescriptorProto {
            name: Some(service.into()),
            method: methods.map(method).into(),
            options: None,
        }],
        syntax: Some("proto3".into()),
        ..Default::default()
    }
}

fn message(name: &str, field: Vec<FieldDescriptorProto>) -> DescriptorProto {
    DescriptorProto { name: Some(name.into()), field, ..Default::default() }
}

fn field(name: &str, number: i32, kind: Type) -> FieldDescriptorProto {
    FieldDescriptorProto {
        name: Some(name.into()),
        number: Some(number),
        label: Some(Label::Optional.into()),
        r#type: Some(kind.into()),
        json_name: Some(name.into()),
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reflection_tells_is_the_file_beside_it() {
        let folder = env!("CARGO_MANIFEST_DIR");
        let compiled = protox::compile(["lab.proto"], [folder]).expect("it compiles");
        let mut file = compiled.file[0].clone();
        file.source_code_info = None;
        assert_eq!(file, files()[1]);
    }

    #[test]
    fn symbols_are_found_by_their_whole_name() {
        let known = [
            "lab.Echo",
            "lab.Echo.Say",
            "lab.Word",
            "lab.Word.text",
            "grpc.health.v1.Health",
            "grpc.health.v1.HealthCheckResponse.ServingStatus",
        ];
        assert!(known.iter().all(|symbol| file_of(symbol).is_some()));
        let unknown = ["", "lab", "lab.", "lab.Ech", "lab.Echo.Shout", "labs.Echo", "Echo", "lab.Word.none"];
        assert!(unknown.iter().all(|symbol| file_of(symbol).is_none()));
        assert!(SERVICES.iter().all(|service| file_of(service).is_some()));
        assert!(file_named("lab.proto").is_some() && file_named("other.proto").is_none());
    }
}
