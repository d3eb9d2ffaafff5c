//! How a connection comes to be ready: it says who it is, proves it, and prepares its statements.

use super::fault::Fault;
use super::message::{field, message, text, value};
use super::scram::{self, Scram};
use super::session::Session;
use md5::{Digest, Md5};
use std::fmt::Write;
use std::sync::Arc;

/// The SQLSTATE of a statement that is prepared under a name that is taken.
const DUPLICATE_STATEMENT: &[u8] = b"42P05";

/// A connection that is not ready yet.
#[derive(Debug)]
pub(super) struct Login {
    session: Arc<Session>,
    step: Step,
}

#[derive(Debug)]
enum Step {
    /// The server is to say how it wants to know who asks.
    Asks,
    Challenged(Box<Scram>),
    /// The server has let it in and says more about itself.
    LetIn,
    /// So many statements are to be prepared yet.
    Preparing(usize),
    /// The server knows one of them already: a pooler is between, and another of its clients has prepared it there.
    Unprepared,
}

impl Login {
    pub(super) fn new(session: Arc<Session>) -> Login {
        Login { session, step: Step::Asks }
    }

    /// The first message.
    pub(super) fn begin(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.session.startup);
    }

    /// Takes a whole message, of which `kept` is the beginning. True once requests may be sent.
    pub(super) fn hear(&mut self, kind: u8, kept: &[u8], out: &mut Vec<u8>) -> Result<bool, Fault> {
        match (kind, &mut self.step) {
            (b'E', Step::Preparing(_)) => match field(kept, b'C') {
                Some(DUPLICATE_STATEMENT) => self.step = Step::Unprepared,
                _ => return Err(Fault::StatementRefused),
            },
            (b'E', _) => return Err(Fault::of_login(field(kept, b'C').unwrap_or_default())),
            (b'R', Step::Asks | Step::Challenged(_)) => self.authenticate(kept, out)?,
            (b'K' | b'v', Step::LetIn) | (b'v', Step::Asks) => {}
            (b'Z', Step::LetIn) => {
                out.extend_from_slice(&self.session.prepare);
                self.step = Step::Preparing(self.session.statements);
            }
            (b'1', Step::Preparing(left)) => *left = left.checked_sub(1).ok_or(Fault::UnknownMessage)?,
            (b'Z', Step::Preparing(0) | Step::Unprepared) => return Ok(true),
            // Notices, parameters and notifications come at any time.
            (b'N' | b'S' | b'A', _) => {}
            _ => return Err(Fault::UnknownMessage),
        }
        Ok(false)
    }

    /// Statements can't be relied on: each transaction brings its own.
    pub(super) fn is_unprepared(&self) -> bool {
        matches!(self.step, Step::Unprepared)
    }

    fn authenticate(&mut self, kept: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
        let (method, rest) = kept.split_first_chunk::<4>().ok_or(Fault::BadMessage)?;
        let password = || self.session.user.password.as_deref().ok_or(Fault::PasswordNeeded);
        match (u32::from_be_bytes(*method), &mut self.step) {
            (0, _) => self.step = Step::LetIn,
            (3, Step::Asks) => {
                let password = password()?;
                message(b'p', out, |out| text(password, out));
            }
            (5, Step::Asks) => {
                let salt = rest.first_chunk::<4>().ok_or(Fault::BadMessage)?;
                let hashed = md5_password(&self.session.user.name, password()?, *salt);
                message(b'p', out, |out| text(&hashed, out));
            }
            (10, Step::Asks) => {
                let mut methods = rest.split(|&byte| byte == 0);
                if !methods.any(|method| method == scram::NAME.as_bytes()) {
                    return Err(Fault::MethodUnsupported);
                }
                password()?;
                let scram = Scram::new(self.session.nonce());
                let first = scram.first();
                message(b'p', out, |out| {
                    text(scram::NAME, out);
                    value(out, |out| out.extend_from_slice(first.as_bytes()));
                });
                self.step = Step::Challenged(Box::new(scram));
            }
            (11, Step::Challenged(scram)) => {
                let password = self.session.user.password.as_deref().ok_or(Fault::PasswordNeeded)?;
                let last = scram.last(rest, password, &self.session.keys)?;
                message(b'p', out, |out| out.extend_from_slice(last.as_bytes()));
            }
            (12, Step::Challenged(scram)) => scram.check(rest)?,
            (3 | 5 | 10 | 11 | 12, _) => return Err(Fault::UnknownMessage),
            _ => return Err(Fault::MethodUnsupported),
        }
        Ok(())
    }
}

/// `md5` and the hash of the hash of password and name, and the salt, in hexadecimal.
fn md5_password(name: &str, password: &str, salt: [u8; 4]) -> String {
    let hex = |parts: &[&[u8]]| {
        let mut hash = Md5::new();
        parts.iter().for_each(|part| hash.update(part));
        hash.finalize().iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    };
    let inner = hex(&[password.as_bytes(), name.as_bytes()]);
    format!("md5{}", hex(&[inner.as_bytes(), &salt]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hashed_password_is_that_of_another_implementation() {
        let hashed =
            postgres_protocol::authentication::md5_hash(b"md5_user", b"password", [0x2a, 0x3d, 0x8f, 0xe0]);
        assert_eq!(md5_password("md5_user", "password", [0x2a, 0x3d, 0x8f, 0xe0]), hashed);
    }
}
