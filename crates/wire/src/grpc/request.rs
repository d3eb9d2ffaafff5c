//! A call, encoded ahead of its time.

use crate::RequestBuilder;
use crate::blank::{Filler, place};
use crate::http2::{Request, Scheme, Unrenderable};
use crate::message::Message;
use crate::request::write_decimal;

/// The place of what is left until the deadline.
const LEFT: u32 = u32::MAX - 1;

/// A call as it is asked for.
#[derive(Debug)]
pub struct CallBuilder<'a> {
    /// `/package.Service/Method`.
    pub path: &'a str,
    /// Host and port.
    pub host: &'a str,
    /// With TLS or without.
    pub scheme: Scheme,
    /// Headers of the user.
    pub metadata: &'a [(String, String)],
    /// What is sent.
    pub message: Message,
    /// The answer may have any number of messages.
    pub is_stream: bool,
}

/// Why a call can't be made.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum Uncallable {
    /// For a reason that HTTP/2 shares.
    #[error(transparent)]
    Unrenderable(#[from] Unrenderable),
    /// Metadata that gRPC says itself.
    #[error("the header {name} is said by gRPC itself: leave it out")]
    Reserved {
        /// Its name.
        name: String,
    },
}

impl CallBuilder<'_> {
    /// Encodes the call, with a gap for what is left until its deadline.
    ///
    /// # Errors
    /// [`Uncallable`] if a part would break the request's syntax.
    pub fn render(self) -> Result<Request, Uncallable> {
        let headers = self.metadata;
        let names = headers.iter().map(|(name, _)| name.to_ascii_lowercase());
        let names: Vec<String> = names.collect();
        let is_reserved = |name: &&String| {
            name.starts_with("grpc-") || ["content-type", "content-length", "te"].contains(&name.as_str())
        };
        if let Some(name) = names.iter().find(is_reserved) {
            return Err(Uncallable::Reserved { name: name.clone() });
        }
        let builder =
            RequestBuilder { method: "POST", target: self.path, host: self.host, headers, body: b"" };
        // What HTTP/2 refuses, gRPC refuses, too.
        Request::new(&builder, Vec::new().into(), self.scheme)?;
        let scheme = if self.scheme == Scheme::Https { "https" } else { "http" };
        let left = place(LEFT);
        let mut fields = vec![
            (":method", "POST"),
            (":scheme", scheme),
            (":authority", builder.host_header().unwrap_or(self.host)),
            (":path", self.path),
            ("te", "trailers"),
            ("content-type", "application/grpc"),
            ("grpc-timeout", &left),
        ];
        fields.extend(
            builder.defaults().filter(|(name, _)| *name == "User-Agent").map(|(_, v)| ("user-agent", v)),
        );
        let own = names.iter().zip(headers).map(|(name, (_, value))| (name.as_str(), value.as_str()));
        fields.extend(own.filter(|(name, _)| *name != "host"));
        Ok(Request::call(&fields, self.message, self.is_stream))
    }
}

/// Says how long is left until the deadline, and leaves everything else to another.
#[derive(Debug)]
pub(super) struct Timed<'a, F> {
    /// Fills in the rest.
    pub(super) filler: &'a mut F,
    /// Nanoseconds until the deadline.
    pub(super) left_ns: u64,
}

impl<F: Filler> Filler for Timed<'_, F> {
    fn fill(&mut self, place: u32, out: &mut Vec<u8>) {
        match place {
            LEFT => write_timeout(self.left_ns, out),
            place => self.filler.fill(place, out),
        }
    }
}

/// At most eight digits and a unit. It rounds down, so that the deadline that is sent is never too late.
fn write_timeout(left_ns: u64, out: &mut Vec<u8>) {
    let units = [(1, b'n'), (1_000, b'u'), (1_000_000, b'm'), (1_000_000_000, b'S')];
    let fits = units.iter().find(|(ns, _)| left_ns / ns < 100_000_000);
    let &(ns, unit) = fits.unwrap_or(&units[3]);
    // Zero is not allowed.
    write_decimal((left_ns / ns).clamp(1, 99_999_999), out);
    out.push(unit);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_has_eight_digits_at_the_most() {
        for (left_ns, text) in [
            (0, "1n"),
            (99_999_999, "99999999n"),
            (100_000_000, "100000u"),
            (30_000_000_999, "30000000u"),
            (100_000_000_000, "100000m"),
            (100_000_000_000_000, "100000S"),
            (u64::MAX, "99999999S"),
        ] {
            let mut out = Vec::new();
            write_timeout(left_ns, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
    }
}
