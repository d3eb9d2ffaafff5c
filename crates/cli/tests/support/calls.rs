//! A server of gRPC. Its frames are written by hand; what clients send is read by other implementations than ours: header
//! fields by fluke-hpack, messages by prost-reflect.

use prost_reflect::prost::Message;
use prost_reflect::prost_types::FileDescriptorSet;
use prost_reflect::{DescriptorPool, DynamicMessage};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What is called.
pub(crate) const ITEMS: &str = r#"
syntax = "proto3";
package shop;
import "parts.proto";
import "google/protobuf/wrappers.proto";
enum Color { RED = 0; GREEN = 1; }
message GetRequest {
  string id = 1; int32 count = 2; sint64 delta = 3; bool fresh = 4; Color color = 5; bytes raw = 6;
  Part part = 7; repeated Part parts = 8; map<string, Part> named = 9; google.protobuf.StringValue note = 10;
  repeated uint64 many = 11; oneof pick { string a = 12; int32 b = 13; } optional double ratio = 14;
}
message GetReply { string name = 1; int64 price = 2; }
service Items {
  rpc Get(GetRequest) returns (GetReply);
  rpc Find(GetRequest) returns (GetReply) { option idempotency_level = NO_SIDE_EFFECTS; }
  rpc List(GetRequest) returns (stream GetReply);
  rpc Put(stream GetRequest) returns (GetReply);
}
"#;
pub(crate) const PARTS: &str = r#"
syntax = "proto3";
package shop;
message Part { string name = 1; repeated int32 sizes = 2; }
"#;
/// What says what is called, and whether it is well.
const REFLECTION: &str = r#"
syntax = "proto3";
package grpc.reflection.VERSION;
message ServerReflectionRequest {
  string host = 1;
  oneof message_request { string file_by_filename = 3; string file_containing_symbol = 4; string list_services = 7; }
}
message ServerReflectionResponse {
  FileDescriptorResponse file_descriptor_response = 4;
  ListServiceResponse list_services_response = 6;
  ErrorResponse error_response = 7;
}
message FileDescriptorResponse { repeated bytes file_descriptor_proto = 1; }
message ListServiceResponse { repeated ServiceResponse service = 1; }
message ServiceResponse { string name = 1; }
message ErrorResponse { int32 error_code = 1; string error_message = 2; }
"#;

/// A call as the server has read it.
#[derive(Clone, Debug)]
pub(crate) struct Called {
    pub(crate) path: String,
    pub(crate) headers: HashMap<String, String>,
    /// The message, without its prefix.
    pub(crate) message: Vec<u8>,
}

impl Called {
    /// The message as JSON.
    pub(crate) fn json(&self) -> Value {
        let kind = types().get_message_by_name("shop.GetRequest").expect("a type");
        let message = DynamicMessage::decode(kind, &self.message[..]).expect("a message");
        serde_json::to_value(&message).expect("JSON")
    }
}

/// What it does with a call: the frames of its answer, without their stream; nothing: it is silent.
pub(crate) type Answer = dyn Fn(&Called) -> Vec<Frame> + Send + Sync;

/// Kind, flags and payload.
pub(crate) type Frame = (u8, u8, Vec<u8>);

pub(crate) const DATA: u8 = 0;
const HEADERS: u8 = 1;
pub(crate) const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// Header fields that are written out.
pub(crate) fn fields(flags: u8, fields: &[(&str, &str)]) -> Frame {
    let text = |text: &str| [&[text.len() as u8][..], text.as_bytes()].concat();
    let block = fields.iter().flat_map(|(name, value)| [vec![0], text(name), text(value)].concat());
    (HEADERS, flags | END_HEADERS, block.collect())
}

pub(crate) fn head() -> Frame {
    fields(0, &[(":status", "200"), ("content-type", "application/grpc")])
}

pub(crate) fn message(bytes: &[u8]) -> Frame {
    (DATA, 0, [&[0][..], &(bytes.len() as u32).to_be_bytes(), bytes].concat())
}

pub(crate) fn status(code: &str) -> Frame {
    fields(END_STREAM, &[("grpc-status", code), ("grpc-message", "as%20it%20is")])
}

/// A whole answer.
pub(crate) fn ok(reply: Value) -> Vec<Frame> {
    vec![head(), message(&encoded(types(), "shop.GetReply", &reply)), status("0")]
}

fn encoded(pool: DescriptorPool, name: &str, json: &Value) -> Vec<u8> {
    let kind = pool.get_message_by_name(name).expect("a type");
    DynamicMessage::deserialize(kind, json).expect("a message").encode_to_vec()
}

/// The descriptors of what is called.
pub(crate) fn descriptors() -> FileDescriptorSet {
    compiled(&[("parts.proto", PARTS), ("items.proto", ITEMS)])
}

fn compiled(files: &[(&'static str, &str)]) -> FileDescriptorSet {
    let folder = tempfile::tempdir().expect("a folder");
    files.iter().for_each(|(name, text)| std::fs::write(folder.path().join(name), text).expect("a file"));
    let mut compiler = protox::Compiler::new([folder.path()]).expect("a folder");
    compiler.include_imports(true).open_files(files.iter().map(|(name, _)| name)).expect("types");
    compiler.file_descriptor_set()
}

fn types() -> DescriptorPool {
    DescriptorPool::from_file_descriptor_set(descriptors()).expect("types")
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    /// In the order in which they came, those before the run included.
    pub(crate) calls: Arc<Mutex<Vec<Called>>>,
}

impl Server {
    pub(crate) fn url(&self, path: &str) -> String {
        format!("grpc://{}{path}", self.address)
    }

    /// Those of the run and its pre-flight.
    pub(crate) fn calls_of(&self, path: &str) -> Vec<Called> {
        self.calls.lock().expect("no panic").iter().filter(|call| call.path == path).cloned().collect()
    }
}

/// Answers each call as `answer` says. Calls of reflection are answered in `reflection` alone, and not at all without it.
pub(crate) fn serve(
    reflection: Option<&'static str>,
    answer: impl Fn(&Called) -> Vec<Frame> + Send + Sync + 'static,
) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let calls = Arc::new(Mutex::new(Vec::new()));
    let server = Server { address: listener.local_addr().expect("an address"), calls: calls.clone() };
    let told = reflection.map(|version| (version, reflect(version)));
    let answer: Arc<Answer> = Arc::new(move |called: &Called| match &told {
        Some((version, told)) if called.path.starts_with(&format!("/grpc.reflection.{version}.")) => {
            told(called)
        }
        _ if called.path.starts_with("/shop.Items/") || called.path.starts_with("/grpc.health.v1.") => {
            answer(called)
        }
        _ => unimplemented(),
    });
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (answer, calls) = (answer.clone(), calls.clone());
            std::thread::spawn(move || converse(stream, &*answer, &calls));
        }
    });
    server
}

/// There is no such method.
pub(crate) fn unimplemented() -> Vec<Frame> {
    let only = [(":status", "200"), ("content-type", "application/grpc"), ("grpc-status", "12")];
    vec![fields(END_STREAM, &only)]
}

/// Tells of each file alone, so that its imports must be asked for.
fn reflect(version: &str) -> Box<Answer> {
    let package = format!("grpc.reflection.{version}");
    let text = REFLECTION.replace("VERSION", version);
    let own =
        DescriptorPool::from_file_descriptor_set(compiled(&[("reflection.proto", &text)])).expect("types");
    let files: HashMap<String, String> = descriptors()
        .file
        .into_iter()
        .map(|file| {
            use base64::Engine;
            let bytes = file.encode_to_vec();
            (file.name().to_string(), base64::engine::general_purpose::STANDARD.encode(bytes))
        })
        .collect();
    Box::new(move |called| {
        let kind = own.get_message_by_name(&format!("{package}.ServerReflectionRequest")).expect("a type");
        let asked = DynamicMessage::decode(kind, &called.message[..]).expect("a message");
        let asked = serde_json::to_value(&asked).expect("JSON");
        let file = |name: &str| json!({"fileDescriptorResponse": {"fileDescriptorProto": [files[name]]}});
        let told = match (asked["fileByFilename"].as_str(), asked["fileContainingSymbol"].as_str()) {
            (Some(name), _) if files.contains_key(name) => file(name),
            (_, Some("shop.Items")) => file("items.proto"),
            (None, None) => json!({"listServicesResponse": {"service": [{"name": "shop.Items"}]}}),
            _ => json!({"errorResponse": {"errorCode": 5, "errorMessage": "not found"}}),
        };
        let told = encoded(own.clone(), &format!("{package}.ServerReflectionResponse"), &told);
        vec![head(), message(&told), status("0")]
    })
}

fn converse(mut stream: TcpStream, answer: &Answer, calls: &Mutex<Vec<Called>>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.read_exact(&mut [0; 24])?;
    stream.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0])?;
    let (mut decoder, mut open) = (fluke_hpack::Decoder::new(), HashMap::new());
    loop {
        let mut header = [0; 9];
        stream.read_exact(&mut header)?;
        let [a, b, c, kind, flags, id @ ..] = header;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        stream.read_exact(&mut payload)?;
        match kind {
            HEADERS => {
                let mut headers = HashMap::new();
                let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("a text");
                let take = |name: std::borrow::Cow<'_, [u8]>, value: std::borrow::Cow<'_, [u8]>| {
                    headers.insert(text(&name), text(&value));
                };
                decoder.decode_with_cb(&payload, take).expect("a block");
                let path = headers[":path"].clone();
                open.insert(id, Called { path, headers, message: Vec::new() });
            }
            DATA => {
                let mut called = open.remove(&id).expect("a call");
                called.message.extend_from_slice(&payload);
                if flags & END_STREAM == 0 {
                    open.insert(id, called);
                    continue;
                }
                let length = u32::from_be_bytes(called.message[1..5].try_into().expect("four bytes"));
                assert_eq!((called.message[0], length as usize + 5), (0, called.message.len()));
                called.message.drain(..5);
                let frames = answer(&called);
                calls.lock().expect("no panic").push(called);
                for (kind, flags, payload) in frames {
                    let length = payload.len() as u32;
                    let header = [&length.to_be_bytes()[1..], &[kind, flags], &id].concat();
                    stream.write_all(&[header, payload].concat())?;
                }
            }
            4 if flags & 1 == 0 => stream.write_all(&[0, 0, 0, 4, 1, 0, 0, 0, 0])?,
            _ => {}
        }
    }
}
