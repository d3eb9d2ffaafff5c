//! URLs: what is connected to, and what stands in the request line.

use super::template;
use crate::aside::Aside;
use crate::secrets;
use anyhow::{Context, Result, anyhow, bail};
use http::Uri;
use std::fmt;
use std::path::Path;
use unblink_artifact::document::Scheme;

/// What stands in for an address that the environment lacks.
pub(crate) const UNKNOWN_ADDRESS: &str = "http://variable~.test";

/// Scheme, host and port: what a connection can be shared for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Origin {
    pub tls: bool,
    /// What connections to it carry.
    pub speaks: Speaks,
    /// Without brackets.
    pub host: String,
    pub port: u16,
}

/// What the scheme of a URL says of its protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Speaks {
    /// `http`, `https`: one of its versions.
    Http,
    /// `ws`, `wss`.
    WebSocket,
    /// `grpc`, `grpcs`.
    Grpc,
    /// `redis`, `rediss`.
    Redis,
    /// `postgres`, `postgresql`.
    Postgres,
    /// `cql`, `cqls`.
    Cql,
}

impl Origin {
    /// As the Host header of a request says it: with the port unless it is the scheme's own.
    pub(crate) fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        match (self.tls, self.port) {
            (false, 80) | (true, 443) => host,
            (_, port) => format!("{host}:{port}"),
        }
    }

    /// A connection becomes a WebSocket.
    pub(crate) fn is_ws(&self) -> bool {
        self.speaks == Speaks::WebSocket
    }

    /// The same for a jar of cookies: a WebSocket has those of HTTP (RFC 6265 §5.4 knows no such scheme).
    pub(crate) fn of_cookies(&self) -> Origin {
        match self.speaks {
            Speaks::WebSocket => Origin { speaks: Speaks::Http, ..self.clone() },
            _ => self.clone(),
        }
    }

    /// A request is a call.
    pub(crate) fn is_grpc(&self) -> bool {
        self.speaks == Speaks::Grpc
    }

    /// A request is a command.
    pub(crate) fn is_redis(&self) -> bool {
        self.speaks == Speaks::Redis
    }

    /// A request is a transaction.
    pub(crate) fn is_postgres(&self) -> bool {
        self.speaks == Speaks::Postgres
    }

    /// A request is a statement of CQL.
    pub(crate) fn is_cql(&self) -> bool {
        self.speaks == Speaks::Cql
    }

    /// Its requests differ by method and path.
    pub(crate) fn has_paths(&self) -> bool {
        !self.is_redis() && !self.is_postgres() && !self.is_cql()
    }

    /// As the document says it.
    pub(crate) fn scheme(&self) -> Scheme {
        match (self.speaks, self.tls) {
            (Speaks::Http, false) => Scheme::Http,
            (Speaks::Http, true) => Scheme::Https,
            (Speaks::WebSocket, false) => Scheme::Ws,
            (Speaks::WebSocket, true) => Scheme::Wss,
            (Speaks::Grpc, false) => Scheme::Grpc,
            (Speaks::Grpc, true) => Scheme::Grpcs,
            (Speaks::Redis, false) => Scheme::Redis,
            (Speaks::Redis, true) => Scheme::Rediss,
            (Speaks::Postgres, _) => Scheme::Postgres,
            (Speaks::Cql, false) => Scheme::Cql,
            (Speaks::Cql, true) => Scheme::Cqls,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match (self.speaks, self.tls) {
            (Speaks::Http, false) => "http",
            (Speaks::Http, true) => "https",
            (Speaks::WebSocket, false) => "ws",
            (Speaks::WebSocket, true) => "wss",
            (Speaks::Grpc, false) => "grpc",
            (Speaks::Grpc, true) => "grpcs",
            (Speaks::Redis, false) => "redis",
            (Speaks::Redis, true) => "rediss",
            (Speaks::Postgres, _) => "postgres",
            (Speaks::Cql, false) => "cql",
            (Speaks::Cql, true) => "cqls",
        };
        let open = if self.host.contains(':') { ("[", "]") } else { ("", "") };
        write!(f, "{scheme}://{}{}{}:{}", open.0, self.host, open.1, self.port)
    }
}

/// A URL that can be requested.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Url {
    pub origin: Origin,
    /// For the Host header: with the port unless it is the scheme's own.
    pub authority: String,
    /// Path and query; never empty.
    pub target: String,
    /// `user:password` of the URL, for basic authorisation.
    pub userinfo: Option<String>,
}

impl Url {
    /// Reads an absolute URL of a supported scheme, whose path and query may have templates.
    pub(crate) fn parse(text: &str) -> Result<Url> {
        template::refuse_in_address(text)?;
        let aside = Aside::of(text)?;
        let url = Url::parse_plain(&aside.text);
        let url = url.map_err(|error| anyhow!("{}", aside.restored(&crate::explain_error(&error))))?;
        Ok(Url { target: aside.restored(&url.target), ..url })
    }

    fn parse_plain(text: &str) -> Result<Url> {
        let shown = secrets::mask_wrong_url(text);
        // A fragment is the reader's own; it is never sent.
        let sent = text.split('#').next().unwrap_or(text);
        if secrets::has_unencoded_password(text) {
            bail!(
                "{shown:?}: there is an @ after a / ? or #: percent-encode what belongs to the password (%2F for /, \
                 %3F for ?, %23 for #, %40 for @), and write an @ of the path as %40"
            );
        }
        if let Some(instead) = instead_of_a_socket(text) {
            bail!("{shown:?} is not a URL: a Unix socket is named beside it, as in {instead}");
        }
        let without_scheme = || without_scheme(text, &shown);
        if !sent.is_empty() && !sent.contains("://") && !sent.contains(char::is_whitespace) {
            return Err(without_scheme());
        }
        let uri: Uri = sent.parse().map_err(|e| anyhow!("{e}")).with_context(|| {
            format!(
                "{shown:?} is not a URL (expected http://HOST[:PORT]/PATH; percent-encode what is not ASCII)"
            )
        })?;
        let (tls, speaks) = match uri.scheme_str() {
            Some("http") => (false, Speaks::Http),
            Some("https") => (true, Speaks::Http),
            Some("ws") => (false, Speaks::WebSocket),
            Some("wss") => (true, Speaks::WebSocket),
            Some("grpc") => (false, Speaks::Grpc),
            Some("grpcs") => (true, Speaks::Grpc),
            Some("redis") => (false, Speaks::Redis),
            Some("rediss") => (true, Speaks::Redis),
            Some("postgres" | "postgresql") => (false, Speaks::Postgres),
            Some("cql") => (false, Speaks::Cql),
            Some("cqls") => (true, Speaks::Cql),
            Some(other) => {
                bail!(
                    "{shown:?} has the scheme {other:?}: only http, https, ws, wss, grpc, grpcs, redis, rediss, \
                     postgres, cql and cqls are supported"
                )
            }
            None => return Err(without_scheme()),
        };
        let authority = uri.authority().with_context(|| format!("{shown:?} has no host"))?;
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            bail!("{shown:?} has no host");
        }
        let (userinfo, host_and_port) = match authority.as_str().rsplit_once('@') {
            Some((userinfo, rest)) => (Some(userinfo.to_string()), rest),
            None => (None, authority.as_str()),
        };
        let port = match (authority.port_u16(), host_and_port.rsplit_once(':')) {
            (Some(0), _) => {
                bail!("{shown:?} has the port 0, which nobody can listen at: give one from 1 to 65535")
            }
            (Some(port), _) => port,
            // A port that is there but does not fit, such as :99999 or an empty one.
            (None, Some((_, port))) if !port.ends_with(']') => {
                let port = if port.bytes().all(|b| b.is_ascii_digit()) { port } else { secrets::MASK };
                bail!("{shown:?} has the port {port:?}: expected a number from 1 to 65535")
            }
            (None, _) => match (speaks, tls) {
                (Speaks::Redis, _) => 6379,
                (Speaks::Postgres, _) => 5432,
                (Speaks::Cql, _) => 9042,
                (_, true) => 443,
                (_, false) => 80,
            },
        };
        let target = match uri.path_and_query().map_or("/", |p| p.as_str()) {
            query if query.starts_with('?') => format!("/{query}"),
            target => target.to_string(),
        };
        // PostgreSQL has one scheme, and says in a parameter whether it is encrypted.
        let tls = tls || (speaks == Speaks::Postgres && SslMode::of(&target).is_some_and(SslMode::is_tls));
        let default_port = format!(":{}", if tls { 443 } else { 80 });
        Ok(Url {
            // Names of hosts are the same in either case (RFC 3986 §3.2.2).
            origin: Origin { tls, speaks, host: host.to_ascii_lowercase(), port },
            authority: host_and_port.strip_suffix(&default_port).unwrap_or(host_and_port).to_string(),
            target,
            userinfo,
        })
    }
}

/// `sslmode` of PostgreSQL's URLs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SslMode {
    Disable,
    /// Any certificate.
    Require,
    /// One that a trusted authority has issued, for whomever.
    VerifyCa,
    VerifyFull,
}

impl SslMode {
    /// What path and query of a URL say, where that is one of these.
    pub(crate) fn of(target: &str) -> Option<SslMode> {
        let (_, query) = target.split_once('?')?;
        let value = query.split('&').filter_map(|pair| pair.strip_prefix("sslmode=")).next_back()?;
        SslMode::read(value)
    }

    pub(crate) fn read(value: &str) -> Option<SslMode> {
        match value {
            "disable" => Some(SslMode::Disable),
            "require" => Some(SslMode::Require),
            "verify-ca" => Some(SslMode::VerifyCa),
            "verify-full" => Some(SslMode::VerifyFull),
            _ => None,
        }
    }

    fn is_tls(self) -> bool {
        self != SslMode::Disable
    }
}

/// `path` at the scheme, host and port of `base`.
pub(crate) fn at(base: &str, path: &str) -> String {
    let host = base.find("://").map_or(0, |i| i + 3);
    let end = base[host..].find(['/', '?', '#']).map_or(base.len(), |i| host + i);
    format!("{}{path}", &base[..end])
}

/// The same where a connection becomes a WebSocket: ws:// for http://, wss:// for https://.
pub(crate) fn over_ws(url: &str) -> String {
    match url.strip_prefix("http") {
        Some(rest) if rest.starts_with("://") || rest.starts_with("s://") => format!("ws{rest}"),
        _ => url.to_string(),
    }
}

/// What to write instead of what other tools take for the path of a Unix socket.
fn instead_of_a_socket(text: &str) -> Option<&'static str> {
    let (scheme, rest) = text.split_once(':')?;
    let names_socket = scheme == "unix"
        || scheme.ends_with("+unix")
        || scheme.ends_with("+socket")
        || scheme.ends_with("-socket");
    // Without a host, or with a path in its place.
    let has_no_host = rest.starts_with("///") || rest.to_ascii_lowercase().starts_with("//%2f");
    let instead = match scheme {
        _ if !names_socket && !has_no_host => return None,
        _ if scheme.starts_with("redis") => "redis://localhost/0 --unix-socket PATH",
        _ if scheme.starts_with("postgres") => "postgres://localhost/DATABASE --unix-socket PATH",
        "unix" => "http://localhost/ or redis://localhost/0 with --unix-socket PATH",
        _ if scheme.starts_with("http") && names_socket => "http://localhost/ --unix-socket PATH",
        _ => return None,
    };
    Some(instead)
}

/// What to write instead; `shown` is the text as it may be seen.
fn without_scheme(text: &str, shown: &str) -> anyhow::Error {
    const EXPECTED: &str = "give the URL of what is tested, such as http://127.0.0.1:8080/";
    let address = shown.trim_start_matches('/');
    let found = Path::new(text);
    if !shown.contains('@') && (found.is_dir() || found.is_file()) {
        let what = if found.is_dir() { "folder" } else { "file" };
        return anyhow!("{shown:?} is a {what}, not a URL: {EXPECTED}");
    }
    // One slash begins a path, unless a user stands behind it.
    if address.is_empty() || (shown.len() - address.len() == 1 && !shown.contains('@')) {
        return anyhow!("{shown:?} is a path without scheme and host, not a URL: {EXPECTED}");
    }
    anyhow!("{shown:?} has no scheme: write http://{address} or https://{address}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_url() {
        let url = Url::parse("https://u:p@example.test:443/a/b?c=d#e").unwrap();
        assert_eq!(
            url.origin,
            Origin { tls: true, speaks: Speaks::Http, host: "example.test".into(), port: 443 }
        );
        assert_eq!((url.authority.as_str(), url.target.as_str()), ("example.test", "/a/b?c=d"));
        assert_eq!(url.userinfo.as_deref(), Some("u:p"));
        let six = Url::parse("http://[::1]:8080").unwrap();
        assert_eq!(six.origin.host, "::1");
        assert_eq!((six.authority.as_str(), six.target.as_str()), ("[::1]:8080", "/"));
        assert_eq!(Url::parse("http://h?x=1").unwrap().target, "/?x=1");
        assert_eq!(Url::parse("http://[::1]/").unwrap().origin.port, 80);
        let redis = Url::parse("redis://h/0").unwrap();
        assert_eq!((redis.origin.to_string().as_str(), redis.target.as_str()), ("redis://h:6379", "/0"));
        let socket = Url::parse("wss://h/chat").unwrap();
        assert_eq!((socket.origin.to_string().as_str(), socket.authority.as_str()), ("wss://h:443", "h"));
    }

    #[test]
    fn a_path_stands_at_the_origin_of_the_target() {
        assert_eq!(at("http://h:1/base?x", "/cart"), "http://h:1/cart");
        assert_eq!(at("http://h:1", "/cart"), "http://h:1/cart");
        assert_eq!(at("${BASE}", "/cart"), "${BASE}/cart");
        let urls = ["http://h/c", "https://h/c", "ws://h/c", "${BASE}/c", "httpx://h/c"];
        assert_eq!(urls.map(over_ws), ["ws://h/c", "wss://h/c", "ws://h/c", "${BASE}/c", "httpx://h/c"]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, part) in [
            ("", "not a URL"),
            ("localhost:8080", "scheme"),
            ("ftp://h/", "only http, https, ws, wss, grpc, grpcs, redis, rediss, postgres, cql and cqls"),
            ("http://", "not a URL"),
            ("http://h:99999/", "port"),
            ("http://h:0/", "port"),
            ("http://h:/", "port"),
            ("http://h/a b", "not a URL"),
            ("http:///x", "not a URL"),
            ("http://u:s3/cret@h/", "percent-encode"),
            ("http://u:s3?cret@h/", "percent-encode"),
            ("http://u:s3#cret@h/", "percent-encode"),
            ("http://u:s3@s3/cret@h/", "percent-encode"),
            ("http://u:s3cret/", "has the port"),
            ("http://h/ s3cret", "not a URL"),
            ("http://u:12/s3cret@127.0.0.1:7001/", "percent-encode"),
            ("http://u:12?s3cret@h/", "percent-encode"),
            (
                "//u:s3cret@h:7001/",
                "\"//***@h:7001/\" has no scheme: write http://***@h:7001/ or https://***@h:7001/",
            ),
            ("//u:12/s3cret@h/", "percent-encode"),
            ("/u:s3cret@h/", "has no scheme: write http://***@h/"),
            ("/no-such/path", "is a path without scheme and host"),
            ("/", "is a folder, not a URL: give the URL"),
            ("redis+unix:///tmp/r.sock", "as in redis://localhost/0 --unix-socket PATH"),
            ("redis:///tmp/r.sock", "as in redis://localhost/0 --unix-socket PATH"),
            ("postgres:///shop?host=/run", "as in postgres://localhost/DATABASE --unix-socket PATH"),
            ("postgres://%2Frun/shop", "as in postgres://localhost/DATABASE --unix-socket PATH"),
            ("http+unix://%2Frun%2Fs/x", "as in http://localhost/ --unix-socket PATH"),
            ("unix:/run/s", "with --unix-socket PATH"),
        ] {
            let error = format!("{:#}", Url::parse(text).expect_err(text));
            assert!(error.contains(part), "{text:?}: {error}");
            assert!(!error.contains("s3") && !error.contains("cret"), "{text:?}: {error}");
        }
    }
}
