//! What the head of a request says, as far as the lab cares.

/// The most header fields in a head.
pub(super) const MOST_FIELDS: usize = 96;

/// What a request asks for, as far as the lab cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) route: Route,
    /// The answer has no body.
    pub(crate) head_only: bool,
    /// The connection stays open after the answer.
    pub(crate) keep_alive: bool,
    /// HTTP/1.0, which must be told that the connection stays open.
    pub(crate) http10: bool,
    /// The answer comes as events.
    pub(crate) is_stream: bool,
}

impl Request {
    /// One of HTTP/2.
    pub(crate) fn of_stream(method: &str, target: &str) -> Request {
        Request {
            route: route(method, target),
            head_only: method == "HEAD",
            keep_alive: true,
            http10: false,
            is_stream: false,
        }
    }

    /// What could not be read as one: its answer is the last on the connection.
    pub(crate) const REJECTED: Request =
        Request { route: Route::Unknown, keep_alive: false, ..Request::SCENARIO };

    /// A request of the scenario that has neither path nor head.
    pub(crate) const SCENARIO: Request = Request {
        route: Route::Scenario,
        head_only: false,
        keep_alive: true,
        http10: false,
        is_stream: false,
    };
}

/// Where a request goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// Every path but the ones below.
    Scenario,
    /// `/healthy`: answered at once.
    Healthy,
    /// `POST /_lab/arm`: starts the event clock.
    Arm,
    /// `GET /_lab/truth`: counts as JSON.
    Truth,
    /// Anything else below `/_lab/`.
    Unknown,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reject {
    BadRequest,
    ExpectationFailed,
    HeadTooLarge,
    UnknownTransferCoding,
    UnknownVersion,
}

pub(super) struct Head {
    pub(super) request: Request,
    pub(super) body: Body,
    pub(super) expects_continue: bool,
}

pub(super) enum Body {
    Length(u64),
    Chunked,
}

impl Head {
    pub(super) fn parse(head: &[u8]) -> Result<Head, Reject> {
        let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
        let mut parsed = httparse::Request::new(&mut fields);
        match parsed.parse(head) {
            Ok(httparse::Status::Complete(_)) => {}
            Err(httparse::Error::TooManyHeaders) => return Err(Reject::HeadTooLarge),
            Err(httparse::Error::Version) => return Err(Reject::UnknownVersion),
            Ok(httparse::Status::Partial) | Err(_) => return Err(Reject::BadRequest),
        }
        let (Some(method), Some(target), Some(minor)) = (parsed.method, parsed.path, parsed.version) else {
            return Err(Reject::BadRequest);
        };
        let http10 = minor == 0;
        let (mut hosts, mut length, mut chunked) = (0, None, false);
        let (mut close, mut keep_alive, mut expects_continue) = (false, false, false);
        for field in parsed.headers.iter() {
            let is = |name: &str| field.name.eq_ignore_ascii_case(name);
            let tokens = || field.value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii);
            if is("host") {
                hosts += 1;
            } else if is("content-length") {
                // A list of equal numbers may be accepted; nobody sends one on purpose.
                if length.is_some() {
                    return Err(Reject::BadRequest);
                }
                length = Some(parse_length(field.value).ok_or(Reject::BadRequest)?);
            } else if is("transfer-encoding") {
                if chunked || http10 {
                    return Err(Reject::BadRequest);
                }
                if !field.value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
                    return Err(Reject::UnknownTransferCoding);
                }
                chunked = true;
            } else if is("connection") {
                close |= tokens().any(|token| token.eq_ignore_ascii_case(b"close"));
                keep_alive |= tokens().any(|token| token.eq_ignore_ascii_case(b"keep-alive"));
            } else if is("expect") {
                if !field.value.trim_ascii().eq_ignore_ascii_case(b"100-continue") {
                    return Err(Reject::ExpectationFailed);
                }
                // HTTP/1.0 clients do not know interim answers.
                expects_continue = !http10;
            }
        }
        if hosts > 1 || (hosts == 0 && !http10) || (chunked && length.is_some()) {
            return Err(Reject::BadRequest);
        }
        let keep_alive = !close && (keep_alive || !http10);
        let request = Request { keep_alive, http10, ..Request::of_stream(method, target) };
        let body = if chunked { Body::Chunked } else { Body::Length(length.unwrap_or(0)) };
        Ok(Head { request, body, expects_continue })
    }
}

fn parse_length(value: &[u8]) -> Option<u64> {
    let digits = value.trim_ascii();
    // `parse` alone would accept a plus sign.
    let text = std::str::from_utf8(digits).ok().filter(|_| digits.iter().all(u8::is_ascii_digit))?;
    text.parse().ok()
}

fn route(method: &str, target: &str) -> Route {
    // The absolute form `http://host/path` is allowed for any request (RFC 9112, section 3.2.2).
    let path = match target.split_once("://") {
        Some((scheme, rest)) if !scheme.contains('/') => rest.find('/').map_or("/", |slash| &rest[slash..]),
        _ => target,
    };
    match path.split(['?', '#']).next().unwrap_or(path) {
        "/healthy" => Route::Healthy,
        "/_lab/arm" if method == "POST" => Route::Arm,
        "/_lab/truth" if matches!(method, "GET" | "HEAD") => Route::Truth,
        path if path.starts_with("/_lab/") => Route::Unknown,
        _ => Route::Scenario,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes() {
        assert_eq!(route("GET", "/healthy"), Route::Healthy);
        assert_eq!(route("GET", "/healthy?x=1"), Route::Healthy);
        assert_eq!(route("GET", "http://a:1/healthy"), Route::Healthy);
        assert_eq!(route("GET", "/healthy/"), Route::Scenario);
        assert_eq!(route("GET", "/?to=http://a/healthy"), Route::Scenario);
        assert_eq!(route("POST", "/_lab/arm"), Route::Arm);
        assert_eq!(route("GET", "/_lab/arm"), Route::Unknown);
        assert_eq!(route("GET", "/_lab/truth"), Route::Truth);
        assert_eq!(route("OPTIONS", "*"), Route::Scenario);
    }
}
