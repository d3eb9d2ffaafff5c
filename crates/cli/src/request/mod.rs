//! A request as asked for on the command line, in a plan or in a target file, and rendered for the engine.

pub(crate) mod account;
pub(crate) mod body;
pub(crate) mod cql;
pub(crate) mod cql_fields;
pub(crate) mod fields;
pub(crate) mod grpc;
mod http;
pub(crate) mod lets;
pub(crate) mod line;
pub(crate) mod login;
pub(crate) mod multipart;
pub(crate) mod postgres;
pub(crate) mod redis;
pub(crate) mod references;
pub(crate) mod series;
pub(crate) mod share;
pub(crate) mod steps;
pub(crate) mod taking;
pub(crate) mod template;
pub(crate) mod url;
pub(crate) mod version;
mod web_socket;
pub(crate) mod workload;

use crate::aside::Aside;
use crate::errors::refuse;
use crate::expect;
use crate::{errors, secrets};
use anyhow::{Result, anyhow, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use body::BodyFiles;
use cql::CqlParts;
use fields::{RequestArgs, StreamArg};
use http::{render_one, unquoted};
use multipart::Segment;
use series::Series;
use share::Share;
use std::path::Path;
use std::sync::Arc;
use steps::SocketStep;
use taking::Taking;
use template::BodyForm;
use unblink_artifact::{document, harmless};
use unblink_wire::http2::{Scheme, Unrenderable};
use unblink_wire::redis::is_reading;
use unblink_wire::{RenderError, RequestBuilder, http2, parse_header};
use unblink_workload::answer::Condition;
use unblink_workload::{Composition, Lets};
use url::{Speaks, Url};
use version::{Rendered, Version};

/// Where requests go that are only simulated.
pub(crate) const NOWHERE: &str = "http://simulated.test";

/// A request before it is rendered, wherever it was asked for.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub url: Url,
    /// As it was written, for the report and for messages: a variable that was filled in may be a secret.
    pub url_text: String,
    pub parts: Parts,
    /// File and line that it comes from, for messages.
    pub place: Option<String>,
    /// How the report calls it instead of by method and path.
    pub name: Option<String>,
    /// Of the load, if it was given one.
    pub share: Option<Share>,
    /// It adds a key.
    pub inserts: bool,
    /// The values that its templates may use.
    pub lets: Arc<Lets>,
}

/// What a request says beside its address, read and checked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parts {
    pub method: Option<String>,
    pub headers: Vec<(String, String)>,
    pub body: Option<Arc<[u8]>>,
    pub body_form: BodyForm,
    /// The file that the body is out of.
    pub file: Option<Arc<Path>>,
    /// Of a body of several parts: pieces, some of which may have templates.
    pub segments: Arc<[Segment]>,
    /// The body is a message, which only a WebSocket takes.
    pub is_message: bool,
    /// The body is a command, as text, which only Redis takes.
    pub is_command: bool,
    /// It is a step over the WebSocket of its journey.
    pub socket: Option<SocketStep>,
    /// The body is SQL, which only PostgreSQL takes.
    pub is_sql: bool,
    pub cql: CqlParts,
    /// The lines of such a body are a request of several.
    pub series: Option<Series>,
    /// What an answer must be like.
    pub expect: Arc<[Condition]>,
    pub taking: Taking,
}

impl Parts {
    /// A command of Redis: one text, or its words; nothing where there are none.
    pub(crate) fn of_command(words: &[String]) -> Parts {
        let command = match words {
            [] => return Parts::default(),
            [text] => text.clone(),
            words => redis::quoted(words),
        };
        Parts { body: Some(command.into_bytes().into()), is_command: true, ..Parts::default() }
    }

    /// Statements of one transaction; nothing where there are none.
    fn of_sql(statements: &[String]) -> Option<Arc<[u8]>> {
        (!statements.is_empty()).then(|| statements.join(";\n").into_bytes().into())
    }

    /// What `args` say, or all that is wrong with them. `which` comes before what is wrong with a header, by its number.
    pub(crate) fn read(
        args: &RequestArgs,
        files: &mut BodyFiles,
        which: impl Fn(usize) -> String,
    ) -> Result<Parts> {
        let Parts { body: command, is_command, .. } = Parts::of_command(&args.command);
        let text = args.body.as_ref().or(args.message.as_ref()).map(|text| text.clone().into_bytes().into());
        let is_sql = !args.sql.is_empty();
        let cql = CqlParts::of(&args.cql);
        let statement = args.cql.cql.as_ref().map(|text| text.clone().into_bytes().into());
        let said = text.or(command).or(statement).or(Parts::of_sql(&args.sql));
        let body = match (said, &args.body_file) {
            (Some(text), _) => Ok(Some(text)),
            (None, Some(path)) => files.read(path).map(Some),
            (None, None) => Ok(None),
        };
        let body = body.map_err(|error| errors::refused(&["body-file"], crate::explain_error(&error)));
        let headers = errors::all(args.headers.iter().enumerate().map(|(i, line)| {
            header(line)
                .map_err(|error| errors::refused_value("header", i, which(i) + &crate::explain_error(&error)))
        }));
        let expect = expect::check(&args.expect);
        let ((mut headers, body), ()) = errors::both(errors::both(headers, body), expect)?;
        let trace = args.traceparent.then(|| ("traceparent".to_string(), "{{traceparent}}".to_string()));
        for (name, value) in args.name_requests.iter().flat_map(|run| naming(run)).chain(trace) {
            if !headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(&name)) {
                headers.push((name, value));
            }
        }
        let streams = args.stream.map(StreamArg::condition);
        let expect = args.expect.iter().cloned().chain(streams).collect();
        let method = args.method.clone();
        let (is_message, file) = (args.message.is_some(), args.body_file.as_deref().map(Arc::from));
        Ok(Parts {
            method,
            headers,
            body,
            file,
            is_message,
            is_command,
            is_sql,
            cql,
            expect,
            ..Parts::default()
        })
    }

    /// What `flags` say for every request that does not say it itself.
    pub(crate) fn of_all(flags: &RequestArgs) -> Result<Parts> {
        let lines = &flags.headers;
        Parts::read(flags, &mut BodyFiles::default(), |i| {
            let number = if lines.len() > 1 { format!(" (number {})", i + 1) } else { String::new() };
            format!("-H {:?}{number}: ", secrets::mask_header(&lines[i]))
        })
    }

    /// Gives it a body that says what it is, unless a header does.
    pub(crate) fn set_body(&mut self, text: String, form: BodyForm) {
        let content_type = match form {
            BodyForm::Plain | BodyForm::Multipart | BodyForm::Message => None,
            BodyForm::Json => Some("application/json"),
            BodyForm::Form => Some("application/x-www-form-urlencoded"),
        };
        let is_said = self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        if let Some(value) = content_type.filter(|_| !is_said) {
            self.headers.push(("Content-Type".to_string(), value.to_string()));
        }
        (self.body, self.body_form) = (Some(text.into_bytes().into()), form);
    }

    /// Takes from `all` what it does not say itself. A header of its own wins over one for all, and a condition over one about
    /// the same.
    pub(crate) fn fill(&mut self, all: &Parts) {
        match self.socket {
            None => {}
            // Of a WebSocket, only how it is opened looks like a request.
            Some(SocketStep::Connect) => return self.fill_headers(all),
            Some(_) => return,
        }
        self.method = self.method.take().or_else(|| all.method.clone());
        if self.body.is_none() {
            (self.body, self.body_form, self.file) = (all.body.clone(), all.body_form, all.file.clone());
            (self.is_message, self.is_command, self.is_sql) = (all.is_message, all.is_command, all.is_sql);
            self.cql.is_statement = all.cql.is_statement;
        }
        self.cql.fill(&all.cql);
        self.fill_headers(all);
        let is_own = |one: &Condition| self.expect.iter().any(|own| own.is_about_the_same(one));
        self.expect = match &self.expect[..] {
            // Of many requests that say nothing, each has the very same.
            [] => all.expect.clone(),
            own => all.expect.iter().filter(|one| !is_own(one)).chain(own).cloned().collect(),
        };
    }

    fn fill_headers(&mut self, all: &Parts) {
        let is_own = |name: &str| self.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        let mut headers: Vec<_> = all.headers.iter().filter(|(name, _)| !is_own(name)).cloned().collect();
        headers.append(&mut self.headers);
        self.headers = headers;
    }
}

impl Request {
    pub(crate) fn new(method: Option<String>, url: &str) -> Result<Request> {
        let parts = Parts { method, ..Parts::default() };
        Ok(Request {
            url: Url::parse(url)?,
            url_text: url.to_string(),
            parts,
            place: None,
            name: None,
            share: None,
            inserts: false,
            lets: Arc::default(),
        })
    }

    pub(crate) fn method(&self) -> &str {
        if let Some(step) = self.parts.socket {
            return step.method();
        }
        match self.url.origin.speaks {
            Speaks::WebSocket => return web_socket::METHOD,
            Speaks::Grpc => return grpc::METHOD,
            Speaks::Redis => return redis::name_of(self),
            Speaks::Postgres => return postgres::METHOD,
            Speaks::Cql => return cql::METHOD,
            Speaks::Http => {}
        }
        self.parts.method.as_deref().unwrap_or(if self.parts.body.is_some() { "POST" } else { "GET" })
    }

    /// May be sent twice (RFC 9110 §9.2.2). Of a call only its type can say that it may not.
    pub(crate) fn is_idempotent(&self) -> bool {
        match self.url.origin.speaks {
            _ if series::may_change(self) => false,
            Speaks::Grpc => true,
            Speaks::Redis => is_reading(self.method()),
            Speaks::Postgres => postgres::is_reading(self),
            Speaks::Cql => cql::is_reading(self),
            Speaks::Http | Speaks::WebSocket => {
                matches!(self.method(), "GET" | "HEAD" | "PUT" | "DELETE" | "OPTIONS" | "TRACE")
            }
        }
    }

    /// What tells it from others of its name.
    pub(crate) fn asked(&self) -> String {
        match self.url.origin.has_paths() {
            false => redis::text_of(self).to_string(),
            true => self.url.target.clone(),
        }
    }

    /// By method and path, or by its words, with secrets masked and the numbers of its places: `GET /items/{{0}}`.
    pub(crate) fn numbered(&self) -> Result<String> {
        match self.url.origin.speaks {
            Speaks::Redis => return redis::numbered(self),
            Speaks::Postgres => return postgres::numbered(self),
            Speaks::Cql => return cql::numbered(self),
            Speaks::Http | Speaks::WebSocket | Speaks::Grpc => {}
        }
        let path = secrets::mask_path_of(&Aside::of(&self.url_text)?.text);
        Ok(format!("{} {path}", self.method()))
    }

    /// With what `flags` say for every request that does not say it itself.
    pub(crate) fn below(&self, flags: &RequestArgs) -> Result<Request> {
        let mut request = self.clone();
        request.parts.fill(&Parts::of_all(flags)?);
        Ok(request)
    }

    /// Its headers, with the one that the user and password of its URL ask for.
    pub(crate) fn all_headers(&self) -> Vec<(String, String)> {
        let mut headers = self.parts.headers.clone();
        let authorised = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        let userinfo = self.url.userinfo.as_ref().filter(|_| self.url.origin.has_paths());
        if let Some(userinfo) = userinfo.filter(|_| !authorised) {
            headers.push(("Authorization".into(), format!("Basic {}", STANDARD.encode(userinfo))));
        }
        headers
    }

    /// It has templates.
    pub(crate) fn is_filled_in(&self) -> Result<bool> {
        Ok(self.render(Version::One)?.1.is_some())
    }

    /// What is sent, and what stands in its places if it differs from one arrival to the next.
    pub(crate) fn render(&self, version: Version) -> Result<(Rendered, Option<Composition>)> {
        // A message has neither path nor headers: those of its WebSocket are no concern of its.
        let has_head = matches!(self.parts.socket, None | Some(SocketStep::Connect));
        let headers = if has_head { self.all_headers() } else { Vec::new() };
        let target = if has_head { &self.url.target } else { "/" };
        let filled = template::read(target, &headers, &self.parts, &self.lets)?;
        let builder = RequestBuilder {
            method: self.method(),
            target: &filled.target,
            host: &self.url.authority,
            headers: &filled.headers,
            body: &filled.body,
        };
        if self.method() == "CONNECT" {
            bail!("CONNECT opens a tunnel, which can't be measured as a request");
        }
        if !self.url.origin.is_cql() && version != Version::Cql {
            self.parts.cql.refuse_elsewhere()?;
        }
        let rendered = match version {
            Version::WebSocket => web_socket::render(self, &builder, &filled)?,
            Version::Grpc => unreachable!("a call is rendered with its types"),
            Version::Redis => redis::render(self, &filled)?,
            Version::Postgres => postgres::render(self, &filled)?,
            Version::Cql => cql::render(self, &filled)?,
            _ if self.parts.is_command && !self.url.origin.is_redis() => {
                refuse!(
                    ["command"],
                    "--command is for Redis: write redis:// or rediss://, or send it as --body"
                )
            }
            _ if self.parts.is_sql && !self.url.origin.is_postgres() => {
                refuse!(["sql"], "--sql is for PostgreSQL: write postgres://, or send it as --body")
            }
            _ if self.parts.is_message && !self.url.origin.is_ws() => {
                refuse!(
                    ["message"],
                    "--message is for WebSockets: write ws:// or wss://, or send it as --body"
                )
            }
            Version::Steps if let Some(step) = self.parts.socket => {
                steps::render(self, step, &builder, &filled)?
            }
            Version::Steps => {
                steps::of_http(render_one(&builder, &filled.body, filled.composition.is_some())?)
            }
            Version::One => Rendered::One(render_one(&builder, &filled.body, filled.composition.is_some())?),
            Version::Two => {
                let scheme = if self.url.origin.tls { Scheme::Https } else { Scheme::Http };
                let rendered = http2::Request::new(&builder, filled.body.clone(), scheme);
                Rendered::Two(rendered.map_err(|error| match error {
                    Unrenderable::Shared(error) => unquoted(error),
                    other => other.into(),
                })?)
            }
        };
        Ok((rendered, filled.composition))
    }

    /// As the report names it, secrets masked.
    pub(crate) fn target(&self) -> document::Requested {
        let url = secrets::mask_url(&self.url_text);
        let method = self.method().to_string();
        // As it was written: a variable that was filled in may be a secret. Of a command, only its name is none.
        let path = || match self.url.origin.speaks {
            Speaks::Redis => method.clone(),
            Speaks::Postgres => postgres::name_of(self),
            Speaks::Cql => cql::name_of(self),
            _ => format!("{method} {}", secrets::mask_path_of(&self.url_text)),
        };
        let name = harmless::replaced(&self.name.clone().unwrap_or_else(path));
        document::Requested { name, method, url: harmless::replaced(&url) }
    }
}

/// Headers that say which run a request belongs to.
fn naming(run: &str) -> [(String, String); 2] {
    let agent = format!("unblink/{} ({run})", env!("CARGO_PKG_VERSION"));
    [("X-Load-Test", run.to_string()), ("User-Agent", agent)].map(|(name, value)| (name.to_string(), value))
}

/// `Name: value`. What is no header is not shown: it may be a secret whose name was forgotten.
pub(crate) fn header(line: &str) -> Result<(String, String)> {
    parse_header(line).map_err(|error| match error {
        RenderError::HeaderWithoutColon { .. } => anyhow!("this header has no colon: write it as 'Name: value'"),
        RenderError::HeaderName { .. } => {
            anyhow!("the text before the colon is not a valid header name: it must be letters, digits and -, without \
                     spaces")
        }
        other => other.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header that was given wins, whatever its case.
    #[test]
    fn requests_say_which_run_they_belong_to() {
        let flags = |headers: &[&str]| RequestArgs {
            name_requests: Some("nightly-7".into()),
            headers: headers.iter().map(ToString::to_string).collect(),
            ..RequestArgs::default()
        };
        let sent = |flags: &RequestArgs| {
            let request = Request::new(None, "http://h/").unwrap().below(flags).unwrap();
            let Rendered::One(rendered) = request.render(Version::One).unwrap().0 else { panic!("HTTP/1.1") };
            String::from_utf8(rendered.head.into()).unwrap()
        };
        let request = sent(&flags(&[]));
        let agent = format!("User-Agent: unblink/{} (nightly-7)\r\n", env!("CARGO_PKG_VERSION"));
        assert!(request.contains("X-Load-Test: nightly-7\r\n") && request.contains(&agent), "{request}");
        let request = sent(&flags(&["user-agent: mine"]));
        assert!(request.contains("user-agent: mine\r\n") && !request.contains("unblink/"), "{request}");
    }

    #[test]
    fn userinfo_becomes_basic_authorisation() {
        let spec = Request::new(None, "http://user:pass@h/").unwrap();
        let Rendered::One(rendered) = spec.render(Version::One).unwrap().0 else { panic!("HTTP/1.1") };
        let request = String::from_utf8(rendered.head.into()).unwrap();
        assert!(request.contains("Authorization: Basic dXNlcjpwYXNz\r\n"), "{request}");
        assert!(!spec.target().url.contains("pass"));
    }
}
