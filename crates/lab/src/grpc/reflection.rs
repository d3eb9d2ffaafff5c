//! [Server reflection](https://github.com/grpc/grpc/blob/master/doc/server-reflection.md): what is asked and told. `v1` and
//! `v1alpha` have the same messages.

use prost::Message;

use super::Code;
use super::descriptors::{SERVICES, file_named, file_of};

/// `ServerReflectionRequest`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Asked {
    #[prost(string, tag = "1")]
    host: String,
    #[prost(oneof = "Question", tags = "3, 4, 5, 6, 7")]
    question: Option<Question>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Question {
    #[prost(string, tag = "3")]
    FileByName(String),
    #[prost(string, tag = "4")]
    FileOfSymbol(String),
    #[prost(bytes = "vec", tag = "5")]
    FileOfExtension(Vec<u8>),
    #[prost(string, tag = "6")]
    ExtensionsOf(String),
    #[prost(string, tag = "7")]
    Services(String),
}

/// `ServerReflectionResponse`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Told {
    #[prost(string, tag = "1")]
    host: String,
    #[prost(message, optional, tag = "2")]
    asked: Option<Asked>,
    #[prost(oneof = "Answer", tags = "4, 6, 7")]
    answer: Option<Answer>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Answer {
    #[prost(message, tag = "4")]
    Files(Files),
    #[prost(message, tag = "6")]
    Services(Services),
    #[prost(message, tag = "7")]
    Error(Error),
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
struct Error {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
}

/// What is told to a question.
pub(super) fn tell(asked: Asked) -> Told {
    let error =
        |code: Code, message: &str| Answer::Error(Error { code: code as i32, message: message.into() });
    let files = |file: Option<Vec<u8>>| match file {
        Some(file) => Answer::Files(Files { files: vec![file] }),
        None => error(Code::NotFound, "there is no such file or symbol"),
    };
    let answer = match &asked.question {
        Some(Question::FileByName(name)) => files(file_named(name)),
        Some(Question::FileOfSymbol(symbol)) => files(file_of(symbol)),
        Some(Question::Services(_)) => {
            Answer::Services(Services { services: SERVICES.map(|name| Service { name: name.into() }).into() })
        }
        Some(Question::FileOfExtension(_) | Question::ExtensionsOf(_)) => {
            error(Code::NotFound, "there are no extensions")
        }
        None => error(Code::InvalidArgument, "the question is not one of reflection"),
    };
    Told { host: asked.host.clone(), asked: Some(asked), answer: Some(answer) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(question: Question) -> Answer {
        tell(Asked { host: "h".into(), question: Some(question) }).answer.expect("an answer")
    }

    #[test]
    fn questions_are_answered() {
        let Answer::Services(list) = answer(Question::Services("*".into())) else { panic!("services") };
        assert_eq!(list.services.len(), 2);
        let Answer::Files(of) = answer(Question::FileOfSymbol("lab.Echo".into())) else { panic!("files") };
        assert_eq!(of.files, [file_named("lab.proto").expect("a file")]);
        let code = |question| match answer(question) {
            Answer::Error(error) => error.code,
            other => panic!("{other:?}"),
        };
        assert_eq!(code(Question::FileOfSymbol("lab.Nope".into())), 5);
        assert_eq!(code(Question::FileByName("nope.proto".into())), 5);
        assert_eq!(code(Question::ExtensionsOf("lab.Word".into())), 5);
        let lost = tell(Asked::default()).answer;
        assert!(matches!(lost, Some(Answer::Error(Error { code: 3, .. }))));
    }
}
