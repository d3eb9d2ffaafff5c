//! What Redis says to people.

use super::codes::name;
use super::connection::Redis;
use super::fault::Fault;
use crate::protocol::{Reply, Violation};
use crate::words::{Words, first_line};

impl Words for Redis {
    const NAME: &'static str = "Redis's protocol";

    const SCHEMES: [&'static str; 2] = ["redis", "rediss"];

    fn explain(&self, violation: Violation) -> String {
        match violation {
            Violation::ClosedEarly if self.asked.greeting.is_some() => {
                "the connection was closed before the target had answered the first command".into()
            }
            Violation::ClosedEarly => "the connection was closed before the reply was whole".into(),
            Violation::TooLarge => "the reply is larger than its limit".into(),
            Violation::Malformed(number) => match Fault::ALL.get(usize::from(number)) {
                Some(Fault::PasswordNeeded) => format!(
                    "{}: write it into the URL (redis://:PASSWORD@HOST), or set REDIS_PASSWORD",
                    Fault::PasswordNeeded
                ),
                Some(Fault::HttpAnswer) => format!("{}: write http, if HTTP is meant", Fault::HttpAnswer),
                fault => fault.map_or_else(String::new, ToString::to_string),
            },
        }
    }

    fn is_refusal(violation: Violation) -> bool {
        let Violation::Malformed(number) = violation else { return false };
        Fault::ALL.get(usize::from(number)).is_some_and(|fault| fault.is_refusal())
    }

    /// An error as it was written, and else its name.
    fn quote(reply: &Reply, received: &[u8]) -> String {
        error_line(received).unwrap_or_else(|| name(reply.code).to_string())
    }

    /// Of what is no error, nothing says what is wrong.
    fn first_line(received: &[u8]) -> Option<String> {
        let is_resp = received.first().is_some_and(|byte| b"+-:$*_#,(!=%~|>".contains(byte));
        if is_resp { error_line(received) } else { first_line(received) }
    }
}

/// The last line, if it is an error. Redis repeats the words of a command that it does not know: they are left out.
fn error_line(received: &[u8]) -> Option<String> {
    let last = received.split(|&byte| byte == b'\n').rev().find(|line| !line.is_empty())?;
    let line = first_line(last.strip_prefix(b"-")?)?;
    Some(line.split(", with args").next().unwrap_or_default().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_quoted_without_the_words_of_the_command() {
        let reply = |code| Reply { code, body_bytes: 0, reusable: true };
        for (received, code, quoted) in [
            (&b"+PONG\r\n-WRONGTYPE Operation against a key\r\n"[..], 3, "WRONGTYPE Operation against a key"),
            (
                b"+PONG\r\n-ERR unknown command 'X', with args beginning with: 's3cret' \r\n",
                2,
                "ERR unknown command 'X'",
            ),
            (b"+PONG\r\n*2\r\n-OOM x\r\n+a\r\n", 4, "OOM"),
            (b"+PONG\r\n$-1\r\n", 1, "nil"),
        ] {
            assert_eq!(Redis::quote(&reply(code), received), quoted);
        }
        assert_eq!(Redis::first_line(b"HTTP/1.1 400 No\r\n\r\n").as_deref(), Some("HTTP/1.1 400 No"));
        assert_eq!(Redis::first_line(b"-NOAUTH no\r\n").as_deref(), Some("NOAUTH no"));
        assert_eq!(Redis::first_line(b"+PONG\r\n$5\r\ns3cret"), None);
    }
}
