//! The connection of a journey that is walked alone, from one of its requests to the next.

use super::overheard::Overheard;
use super::{Buffers, CodeRules, Common, Conn, Exchange, Hearing, Pacer};
use crate::job::Job;
use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use unblink_wire::words::Words;

/// Room for one connection, of whatever protocol. Copies share it.
#[derive(Clone, Default)]
pub(crate) struct Held(Rc<RefCell<Option<Box<dyn Any>>>>);

/// What of an exchange is used again.
struct Line<P: Words> {
    conn: Conn<Overheard<P>>,
    of_protocol: P::Shared,
    pacer: Pacer,
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Held").field(&self.0.borrow().is_some()).finish()
    }
}

impl Held {
    /// There is none: no request was sent on one, or the answer to the last was the last on it.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.borrow().is_none()
    }

    /// The connection, for the only request of `job`.
    pub(super) fn take<'a, P: Words + 'static>(
        &self,
        job: &'a Job<Overheard<P>>,
    ) -> Option<Exchange<'a, Overheard<P>>> {
        let line = self.0.take()?.downcast::<Line<P>>().ok()?;
        let Line { conn, of_protocol, pacer } = *line;
        let common = Common {
            buffers: Buffers::new(),
            hearing: Hearing::with_capacity(1, 0, &job.expects, CodeRules::of::<Overheard<P>>()),
            of_protocol,
        };
        Some(Exchange { job, conn, common, pacer })
    }

    pub(super) fn keep<P: Words + 'static>(&self, exchange: Exchange<'_, Overheard<P>>) {
        let Exchange { conn, common, pacer, .. } = exchange;
        let line = Line::<P> { conn, of_protocol: common.of_protocol, pacer };
        *self.0.borrow_mut() = Some(Box::new(line));
    }
}
