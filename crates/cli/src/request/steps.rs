//! Steps of a journey over a WebSocket of its own.

use super::template::Filled;
use super::version::Rendered;
use super::{Request, unquoted};
use anyhow::Result;
use unblink_core::origins::SocketUse;
use unblink_wire::RequestBuilder;
use unblink_wire::http1;
use unblink_wire::ws::{Ask, Handshake, Message, Opening, Step, Unrenderable};

/// What such a step does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SocketStep {
    /// Opens the WebSocket.
    Connect,
    /// Sends a message, and waits for an answer or not.
    Send { awaits: bool },
    /// Waits for a message.
    Await,
    /// Closes the WebSocket.
    Close,
}

impl SocketStep {
    /// How the report calls it, in the place of a method.
    pub(crate) fn method(self) -> &'static str {
        match self {
            SocketStep::Connect => "OPEN",
            SocketStep::Send { .. } => "SEND",
            SocketStep::Await => "AWAIT",
            SocketStep::Close => "CLOSE",
        }
    }

    /// How it uses the connection of its journey.
    pub(crate) fn socket_use(self) -> SocketUse {
        match self {
            SocketStep::Connect => SocketUse::Opens,
            _ => SocketUse::Uses,
        }
    }

    /// It is answered by a message.
    pub(crate) fn is_answered(self) -> bool {
        matches!(self, SocketStep::Send { awaits: true } | SocketStep::Await)
    }
}

/// A request of HTTP/1.1 among steps.
pub(super) fn of_http(request: http1::Request) -> Rendered {
    Rendered::Step(Ask { step: Step::Http(request), later: [].into() })
}

/// The step of `request`; `builder` has its parts with their places numbered.
pub(super) fn render(
    request: &Request,
    step: SocketStep,
    builder: &RequestBuilder<'_>,
    filled: &Filled<'_>,
) -> Result<Rendered> {
    let is_filled = filled.composition.is_some();
    let step = match step {
        SocketStep::Connect => {
            let host = &request.url.authority;
            let handshake = Handshake::new(builder.target, host, builder.headers);
            let handshake = handshake.map_err(|error| match error {
                Unrenderable::Shared(error) => unquoted(error),
                other => other.into(),
            })?;
            Step::Connect(Opening::new(handshake, is_filled))
        }
        SocketStep::Send { awaits } => {
            Step::Send { message: Message::new(filled.body.clone(), is_filled), awaits }
        }
        SocketStep::Await => Step::Await,
        SocketStep::Close => Step::Close,
    };
    Ok(Rendered::Step(Ask { step, later: [].into() }))
}

/// Says of each step which of those from it on may take a message that has come before they begin: they await one, on the same
/// WebSocket. `steps` are those of one journey, with how often each is repeated at the most; the first has the number `first`.
pub(crate) fn look_ahead(steps: &[(Option<SocketStep>, u16)], first: u32) -> Vec<Vec<u32>> {
    let of_one = |from: usize| {
        let awaits = |number: &usize| steps[*number].0 == Some(SocketStep::Await);
        let is_end =
            |number: &usize| matches!(steps[*number].0, Some(SocketStep::Connect | SocketStep::Close));
        let behind = (from + 1..steps.len()).take_while(|number| !is_end(number)).filter(awaits);
        let itself = Some(from).filter(|number| awaits(number) && steps[from].1 > 1);
        match steps[from].0 {
            None | Some(SocketStep::Close) => Vec::new(),
            Some(_) => itself.into_iter().chain(behind).map(|number| first + number as u32).collect(),
        }
    };
    (0..steps.len()).map(of_one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_steps_on_the_same_socket_take_what_came_before_them() {
        use SocketStep::*;
        let send = Send { awaits: true };
        let steps = [
            None,
            Some(Connect),
            Some(send),
            Some(Await),
            None,
            Some(Await),
            Some(Close),
            Some(Connect),
            Some(Await),
        ];
        let steps = steps.map(|step| (step, 1));
        let ahead = look_ahead(&steps, 10);
        let expected: [&[u32]; 9] = [&[], &[13, 15], &[13, 15], &[15], &[], &[], &[], &[18], &[]];
        assert_eq!(ahead, expected);
        assert_eq!(look_ahead(&[(Some(Connect), 1), (Some(Await), 3)], 0), [[1], [1]], "its next turn");
    }
}
