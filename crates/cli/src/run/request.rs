//! Requests as asked for on the command line or in a target file, and rendered for the engine.

use super::url::Url;
use crate::args::run::RunArgs;
use crate::plan::requests::Planned;
use crate::secrets;
use anyhow::{Context, Result, bail};
use unblink_artifact::document;
use unblink_engine::job::Operation;
use unblink_wire::{RequestBuilder, RequestKind, parse_header};

/// A request before it is rendered.
#[derive(Clone, Debug)]
pub(crate) struct RequestSpec {
    pub method: Option<String>,
    pub url: Url,
    /// As given, for the report.
    pub url_text: String,
    pub headers: Vec<(String, String)>,
    pub body: Option<Vec<u8>>,
    /// File and line that it comes from, for messages.
    pub place: Option<String>,
    /// How the report calls it instead of by method and path.
    pub name: Option<String>,
}

impl RequestSpec {
    pub(crate) fn new(method: Option<String>, url: &str) -> Result<RequestSpec> {
        let parsed = Url::parse(url)?;
        let url_text = url.to_string();
        let (headers, body, place, name) = (Vec::new(), None, None, None);
        Ok(RequestSpec { method, url: parsed, url_text, headers, body, place, name })
    }

    /// A request of a plan.
    fn planned(planned: &Planned) -> Result<RequestSpec> {
        let url = planned.context(Url::parse(&planned.url))?;
        let parse = |line: &String| header(line).with_context(|| planned.place.clone());
        Ok(RequestSpec {
            method: planned.method.clone(),
            url,
            url_text: planned.url_shown.clone(),
            headers: planned.headers.iter().map(parse).collect::<Result<_>>()?,
            body: planned.body.clone(),
            place: Some(planned.place.clone()),
            name: planned.name.clone(),
        })
    }

    pub(crate) fn method(&self) -> &str {
        self.method.as_deref().unwrap_or(if self.body.is_some() { "POST" } else { "GET" })
    }

    /// May be sent twice (RFC 9110 §9.2.2).
    pub(crate) fn is_idempotent(&self) -> bool {
        matches!(self.method(), "GET" | "HEAD" | "PUT" | "DELETE" | "OPTIONS" | "TRACE")
    }

    pub(crate) fn render(&self) -> Result<Operation> {
        let mut headers = self.headers.clone();
        let authorised = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        if let Some(userinfo) = self.url.userinfo.as_ref().filter(|_| !authorised) {
            headers.push(("Authorization".into(), format!("Basic {}", base64(userinfo.as_bytes()))));
        }
        let builder = RequestBuilder {
            method: self.method(),
            target: &self.url.target,
            host: &self.url.authority,
            headers: &headers,
            body: self.body.as_deref().unwrap_or_default(),
        };
        if self.method() == "CONNECT" {
            bail!("CONNECT opens a tunnel, which can't be measured as a request");
        }
        Ok(Operation {
            request: builder.render()?,
            kind: RequestKind::of_method(self.method()),
            closes: builder.asks_to_close(),
        })
    }

    /// As the report names it, secrets masked.
    pub(crate) fn target(&self) -> document::Target {
        let url = secrets::mask_url(&self.url_text);
        let method = self.method().to_string();
        let name =
            self.name.clone().unwrap_or_else(|| format!("{method} {}", secrets::mask_url(&self.path())));
        document::Target { name, method, url }
    }

    /// What is asked for, as it was written: a variable that was filled in may be a secret.
    fn path(&self) -> String {
        if !self.url_text.contains("${") {
            return self.url.target.clone();
        }
        let behind = self.url_text.split_once("://").map_or(self.url_text.as_str(), |(_, rest)| rest);
        behind.find('/').map_or("/", |i| &behind[i..]).to_string()
    }
}

/// Every request of the run, in turn. All share one origin.
pub(crate) fn requests(args: &RunArgs) -> Result<Vec<RequestSpec>> {
    let mut requests = match &args.targets {
        Some(file) => super::target_file::read(file)?,
        None if !args.planned.is_empty() => {
            args.planned.iter().map(RequestSpec::planned).collect::<Result<_>>()?
        }
        None => args.urls.iter().map(|url| RequestSpec::new(None, url)).collect::<Result<_>>()?,
    };
    let Some(first) = requests.first() else {
        bail!("nothing to request: give a URL, a plan, or --targets FILE");
    };
    let origin = first.url.origin.clone();
    if let Some(other) = requests.iter().find(|r| r.url.origin != origin) {
        let place = other.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
        bail!(
            "{place}{origin} and {} can't share connections: give the targets of one run the same scheme, host and port",
            other.url.origin
        );
    }
    let headers = headers(&args.target.headers)?;
    let body = match (&args.target.body, &args.target.body_file) {
        (Some(text), _) => Some(text.clone().into_bytes()),
        (None, Some(path)) => {
            Some(std::fs::read(path).with_context(|| format!("can't read the body file {path:?}"))?)
        }
        (None, None) => None,
    };
    for request in &mut requests {
        request.method = request.method.take().or_else(|| args.target.method.clone());
        request.body = request.body.take().or_else(|| body.clone());
        // A target's own header wins over one for all.
        let mut all: Vec<_> = headers
            .iter()
            .filter(|(name, _)| !request.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name)))
            .cloned()
            .collect();
        all.append(&mut request.headers);
        request.headers = all;
    }
    Ok(requests)
}

fn headers(lines: &[String]) -> Result<Vec<(String, String)>> {
    let parse = |(i, line): (usize, &String)| {
        let number = if lines.len() > 1 { format!(" (number {})", i + 1) } else { String::new() };
        header(line).with_context(|| format!("-H {:?}{number}", secrets::mask_header(line)))
    };
    lines.iter().enumerate().map(parse).collect()
}

/// `Name: value`. What is no header is not shown: it may be a secret whose name was forgotten.
pub(crate) fn header(line: &str) -> Result<(String, String)> {
    if !line.contains(':') {
        bail!("this header has no colon: write it as 'Name: value'");
    }
    Ok(parse_header(line)?)
}

/// RFC 4648 §4, for basic authorisation (RFC 7617).
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0u32, |bits, &b| bits << 8 | u32::from(b)) << (8 * (3 - group.len()));
        for place in 0..4 {
            let digit = ALPHABET[(bits >> (18 - 6 * place)) as usize & 63] as char;
            out.push(if place <= group.len() { digit } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_rfc_4648() {
        for (plain, coded) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }

    #[test]
    fn userinfo_becomes_basic_authorisation() {
        let spec = RequestSpec::new(None, "http://user:pass@h/").unwrap();
        let request = String::from_utf8(spec.render().unwrap().request).unwrap();
        assert!(request.contains("Authorization: Basic dXNlcjpwYXNz\r\n"), "{request}");
        assert!(!spec.target().url.contains("pass"));
    }
}
