//! Answers with known outcomes, generated: what each must read as is derived beside its bytes, not by
//! the parser.

use proptest::collection::vec;
use proptest::prelude::*;
use unblink_wire::fuzzing::{Driven, drive};
use unblink_wire::{Limits, Parser, RequestKind, Response};

/// The outcome of feeding all at once and then closing.
#[allow(dead_code, reason = "each test crate compiles this file for itself")]
pub(crate) fn whole(kind: RequestKind, bytes: &[u8]) -> Driven {
    drive(&mut Parser::new(Limits::default()), kind, bytes, || bytes.len())
}

/// A well-formed answer and what it must read as.
#[derive(Clone)]
pub(crate) struct Answer {
    pub(crate) kind: RequestKind,
    pub(crate) bytes: Vec<u8>,
    pub(crate) expected: Driven,
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {} -> {:?}", self.kind, self.bytes.escape_ascii(), self.expected.result)
    }
}

#[derive(Clone, Debug)]
enum Framing {
    Length { repeats: usize, list: bool },
    Chunked { chunks: Vec<Chunk>, coding: &'static str, trailers: Vec<(String, String)> },
    UntilClose { coding: Option<&'static str> },
}

#[derive(Clone, Debug)]
struct Chunk {
    len: usize,
    zeros: usize,
    upper: bool,
    tail: &'static str,
}

#[derive(Clone, Debug)]
struct Style {
    eol: &'static str,
    empty_lines: usize,
    interim: Vec<u16>,
    reason: &'static str,
    connection: &'static [&'static str],
    headers: Vec<(String, String)>,
    framing_first: bool,
}

/// Well-formed answers of any framing, with the requests they answer.
pub(crate) fn answers() -> impl Strategy<Value = Answer> {
    let kind = prop_oneof![
        8 => Just(RequestKind::Normal),
        1 => Just(RequestKind::Head),
        1 => Just(RequestKind::Connect),
    ];
    let status =
        prop_oneof![4 => Just(200u16), 1 => Just(204), 1 => Just(304), 2 => 200u16..600, 1 => 600u16..1000];
    let body = prop_oneof![vec(any::<u8>(), 0..40), vec(any::<u8>(), 0..600)];
    let leftover = prop_oneof![3 => Just(Vec::new()), 1 => vec(any::<u8>(), 1..20)];
    (kind, status, any::<bool>(), style(), framing(), body, leftover).prop_map(
        |(kind, status, http10, style, framing, body, leftover)| {
            // HTTP/1.0 has no transfer codings.
            let framing = match framing {
                Framing::Chunked { .. } | Framing::UntilClose { coding: Some(_) } if http10 => {
                    Framing::Length { repeats: 1, list: false }
                }
                framing => framing,
            };
            build(kind, status, http10, &style, &framing, body, &leftover)
        },
    )
}

const CONNECTIONS: &[&[&str]] = &[
    &[],
    &[],
    &[],
    &["close"],
    &["keep-alive"],
    &["Keep-Alive, Foo"],
    &["foo,CLOSE"],
    &["keep-alive", "close"],
    &["close", "keep-alive"],
    &["closed"],
];

fn style() -> impl Strategy<Value = Style> {
    let connection = prop::sample::select(CONNECTIONS);
    let eol = prop_oneof![6 => Just("\r\n"), 1 => Just("\n")];
    let empty_lines = prop_oneof![6 => Just(0usize), 1 => 1usize..=4];
    let interim = prop_oneof![
        6 => Just(Vec::new()),
        2 => vec(prop::sample::select(&[100u16, 102, 103, 199][..]), 1..4),
        1 => Just(vec![103; 16]),
    ];
    let reason = prop::sample::select(&[" OK", "", " ", " Not Found", " \u{fc}ber", " \t"][..]);
    (eol, empty_lines, interim, reason, connection, vec(field(), 0..6), any::<bool>()).prop_map(
        |(eol, empty_lines, interim, reason, connection, headers, framing_first)| Style {
            eol,
            empty_lines,
            interim,
            reason,
            connection,
            headers,
            framing_first,
        },
    )
}

/// A header field that means nothing to the codec.
fn field() -> impl Strategy<Value = (String, String)> {
    ("X-[A-Za-z0-9!#$%&'*+.^_`|~-]{0,12}", "[ \t]{0,2}[!-~\u{80}-\u{ff}][ -~\t]{0,30}|")
}

fn framing() -> impl Strategy<Value = Framing> {
    let chunk = (
        1usize..64,
        prop_oneof![3 => Just(0usize), 1 => 1usize..10],
        any::<bool>(),
        prop::sample::select(&["", "", "", ";a", ";a=b", ";a=\"b;c\"", "  ", " ;a", "\t; a = b"][..]),
    )
        .prop_map(|(len, zeros, upper, tail)| Chunk { len, zeros, upper, tail });
    let coding = prop::sample::select(&["chunked", "chunked", "Chunked", "gzip, chunked", ",chunked"][..]);
    prop_oneof![
        3 => (1usize..3, any::<bool>()).prop_map(|(repeats, list)| Framing::Length { repeats, list }),
        4 => (vec(chunk, 1..6), coding, vec(field(), 0..3))
            .prop_map(|(chunks, coding, trailers)| Framing::Chunked { chunks, coding, trailers }),
        1 => prop::sample::select(&[None, Some("gzip"), Some("identity"), Some("chunked, gzip")][..])
            .prop_map(|coding| Framing::UntilClose { coding }),
    ]
}

fn build(
    kind: RequestKind,
    status: u16,
    http10: bool,
    style: &Style,
    framing: &Framing,
    body: Vec<u8>,
    leftover: &[u8],
) -> Answer {
    let eol = style.eol;
    let mut head = eol.repeat(style.empty_lines);
    for status in &style.interim {
        head += &format!("HTTP/1.1 {status} Wait{eol}Link: </a>; rel=preload{eol}{eol}");
    }
    // Empty lines belong to the head that follows them.
    let begin = if style.interim.is_empty() { 0 } else { head.len() };
    head += &format!("HTTP/1.{} {status}{}{eol}", if http10 { 0 } else { 1 }, style.reason);
    let framing_lines = match framing {
        Framing::Length { repeats, list } if *list => {
            format!("content-length: {0}{1}{eol}", body.len(), format!(", {}", body.len()).repeat(*repeats))
        }
        Framing::Length { repeats, .. } => format!("Content-Length:{}{eol}", body.len()).repeat(*repeats),
        Framing::Chunked { coding, .. } => format!("Transfer-Encoding: {coding}{eol}"),
        Framing::UntilClose { coding: Some(coding) } => format!("Transfer-Encoding: {coding}{eol}"),
        Framing::UntilClose { coding: None } => String::new(),
    };
    let mut lines: String =
        style.headers.iter().map(|(name, value)| format!("{name}:{value}{eol}")).collect();
    lines.extend(style.connection.iter().map(|value| format!("Connection: {value}{eol}")));
    if style.framing_first {
        lines.insert_str(0, &framing_lines);
    } else {
        lines += &framing_lines;
    }
    head += &lines;
    head += eol;

    let options: Vec<String> =
        style.connection.iter().flat_map(|v| v.split(',')).map(|v| v.trim().to_ascii_lowercase()).collect();
    let keeps_alive = !options.iter().any(|option| option == "close")
        && (!http10 || options.iter().any(|option| option == "keep-alive"));
    let is_tunnel = kind == RequestKind::Connect && (200..300).contains(&status);
    let is_empty = kind == RequestKind::Head || matches!(status, 204 | 304) || is_tunnel;

    let mut bytes = head.clone().into_bytes();
    let body = if is_empty { Vec::new() } else { body };
    let closes = !is_empty && matches!(framing, Framing::UntilClose { .. });
    if !is_empty {
        match framing {
            Framing::Length { .. } | Framing::UntilClose { .. } => bytes.extend_from_slice(&body),
            Framing::Chunked { chunks, trailers, .. } => write_chunked(&mut bytes, &body, chunks, trailers),
        }
    }
    let consumed = bytes.len();
    if !closes {
        bytes.extend_from_slice(leftover);
    }
    let response = Response {
        status,
        http10,
        head_bytes: head.len() as u64,
        body_bytes: body.len() as u64,
        reusable: keeps_alive && !closes && !is_tunnel,
    };
    let head = head.into_bytes().split_off(begin);
    Answer { kind, bytes, expected: Driven { result: Ok(response), head, body, consumed: Some(consumed) } }
}

fn write_chunked(out: &mut Vec<u8>, mut body: &[u8], chunks: &[Chunk], trailers: &[(String, String)]) {
    let mut styles = chunks.iter().cycle();
    while !body.is_empty() {
        let Chunk { len, zeros, upper, tail } = styles.next().expect("at least one chunk style");
        let (data, rest) = body.split_at(body.len().min(*len));
        let size = if *upper { format!("{:X}", data.len()) } else { format!("{:x}", data.len()) };
        out.extend_from_slice(format!("{}{size}{tail}\r\n", "0".repeat(*zeros)).as_bytes());
        out.extend_from_slice(data);
        out.extend_from_slice(b"\r\n");
        body = rest;
    }
    let Chunk { zeros, tail, .. } = styles.next().expect("at least one chunk style");
    out.extend_from_slice(format!("0{}{tail}\r\n", "0".repeat(*zeros)).as_bytes());
    for (name, value) in trailers {
        out.extend_from_slice(format!("{name}:{value}\r\n").as_bytes());
    }
    out.extend_from_slice(b"\r\n");
}

/// One change to the bytes of an answer.
#[derive(Clone, Debug)]
pub(crate) enum Mutation {
    Set(prop::sample::Index, u8),
    Insert(prop::sample::Index, Vec<u8>),
    Remove(prop::sample::Index, usize),
    Repeat(prop::sample::Index, usize),
    Cut(prop::sample::Index),
}

impl Mutation {
    pub(crate) fn apply(&self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        let range = |index: &prop::sample::Index, len: usize| {
            let start = index.index(bytes.len());
            start..(start + len).min(bytes.len())
        };
        match self {
            Mutation::Set(index, byte) => {
                let at = index.index(bytes.len());
                bytes[at] = *byte;
            }
            Mutation::Insert(index, inserted) => {
                let at = index.index(bytes.len());
                bytes.splice(at..at, inserted.iter().copied());
            }
            Mutation::Remove(index, len) => {
                bytes.drain(range(index, *len));
            }
            Mutation::Repeat(index, len) => {
                let range = range(index, *len);
                let copy = bytes[range.clone()].to_vec();
                bytes.splice(range.end..range.end, copy);
            }
            Mutation::Cut(index) => bytes.truncate(index.index(bytes.len())),
        }
    }
}

/// Changes that are likely to matter to an HTTP parser.
pub(crate) fn mutations() -> impl Strategy<Value = Vec<Mutation>> {
    let byte = prop_oneof![
        3 => prop::sample::select(&b"\r\n\t :;,0159afgHTP/\0\x7f\xff+-\"="[..]),
        1 => any::<u8>(),
    ];
    let text = prop::sample::select(
        &[
            "\r\n",
            "\n",
            "\r\n\r\n",
            "\r\n ",
            "Content-Length: 5\r\n",
            "Transfer-Encoding: chunked\r\n",
            "Connection: close\r\n",
            "HTTP/1.1 100 Continue\r\n\r\n",
            "0\r\n\r\n",
            ";",
            "5, 5",
            "FFFFFFFFFFFFFFFF",
        ][..],
    );
    let index = any::<prop::sample::Index>;
    let mutation = prop_oneof![
        4 => (index(), byte).prop_map(|(index, byte)| Mutation::Set(index, byte)),
        2 => (index(), text).prop_map(|(index, text)| Mutation::Insert(index, text.into())),
        2 => (index(), 1usize..6).prop_map(|(index, len)| Mutation::Remove(index, len)),
        1 => (index(), 1usize..40).prop_map(|(index, len)| Mutation::Repeat(index, len)),
        1 => index().prop_map(Mutation::Cut),
    ];
    vec(mutation, 1..4)
}
