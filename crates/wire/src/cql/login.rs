//! How a connection begins, up to where it may be used (native_protocol_v4.spec, §4.2.3).

use super::codes;
use super::fault::Fault;
use super::frame::put_prepare;
use super::prepared::Prepared;
use super::reader::Answer;
use super::session::Session;
use std::sync::Arc;

/// What is waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    /// Whether a password is wanted.
    Asks,
    /// Whether it is right.
    Proves,
    /// The keyspace.
    Chooses,
    /// So many statements are not prepared yet.
    Prepares(usize),
}

/// A connection that is not ready.
#[derive(Debug)]
pub(super) struct Login {
    session: Arc<Session>,
    step: Step,
    prepared: Box<[Option<Prepared>]>,
}

impl Login {
    pub(super) fn new(session: Arc<Session>) -> Login {
        let prepared = vec![None; session.statements.len()].into();
        Login { session, step: Step::Asks, prepared }
    }

    /// A statement is being prepared on this stream, or else it has its turn.
    pub(super) fn awaits(&self, stream: i16) -> bool {
        match self.step {
            Step::Prepares(_) => {
                let place = usize::try_from(stream).ok().and_then(|place| self.prepared.get(place));
                place.is_some_and(Option::is_none)
            }
            _ => stream == 0,
        }
    }

    /// A frame is whole that was awaited. What follows is appended to `out`. Gives all statements once they are prepared.
    pub(super) fn hear(
        &mut self,
        stream: i16,
        answer: Answer<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<Box<[Prepared]>>, Fault> {
        match (self.step, answer) {
            (Step::Asks, Answer::Ready) | (Step::Proves, Answer::Authenticated) => {
                self.step = Step::Chooses;
                if !self.session.put_keyspace(out) {
                    return Ok(self.prepare(out));
                }
            }
            (Step::Asks, Answer::Authenticate) => {
                if !self.session.put_password(out) {
                    return Err(Fault::PasswordNeeded);
                }
                self.step = Step::Proves;
            }
            (Step::Proves, Answer::Challenge) => return Err(Fault::MethodUnsupported),
            (Step::Chooses, Answer::Void) => return Ok(self.prepare(out)),
            (Step::Prepares(left), Answer::Prepared(fields)) => {
                let (place, prepared) = (stream as usize, Prepared::read(fields)?);
                prepared.check(self.session.statements[place].1)?;
                self.prepared[place] = Some(prepared);
                self.step = Step::Prepares(left - 1);
                if left == 1 {
                    return Ok(Some(std::mem::take(&mut self.prepared).into_iter().flatten().collect()));
                }
            }
            (step, Answer::Error(code)) => return Err(refusal(step, code)),
            _ => return Err(Fault::UnknownMessage),
        }
        Ok(None)
    }

    /// Prepares all statements at once, each on the stream of its number.
    fn prepare(&mut self, out: &mut Vec<u8>) -> Option<Box<[Prepared]>> {
        let statements = &self.session.statements;
        self.step = Step::Prepares(statements.len());
        for (stream, (cql, _)) in statements.iter().enumerate() {
            put_prepare(stream as i16, cql, out);
        }
        statements.is_empty().then(Box::default)
    }
}

/// What an error means at this step.
fn refusal(step: Step, code: i32) -> Fault {
    let name = codes::name(codes::of_error(code));
    match (step, name) {
        (_, "overloaded" | "is_bootstrapping") | (Step::Asks | Step::Proves, _) => Fault::of_login(code),
        (Step::Chooses, _) => Fault::KeyspaceRefused,
        (Step::Prepares(_), _) => Fault::StatementRefused,
    }
}
