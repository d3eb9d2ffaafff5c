//! A message, prepared ahead of its time.

use crate::blank::{Blank, Filler};
use std::sync::Arc;

/// What is sent for one arrival.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    payload: Arc<[u8]>,
    /// Sent instead of `payload` where it differs from one arrival to the next.
    blank: Option<Arc<Blank>>,
}

impl Message {
    /// With the places that it has ([`crate::blank`]) if it `is_filled`; otherwise it is sent as it is.
    pub fn new(payload: Arc<[u8]>, is_filled: bool) -> Message {
        let blank = is_filled.then(|| Blank::new(&payload)).filter(Blank::has_gaps).map(Arc::new);
        Message { payload, blank }
    }

    /// Its bytes; `out` is written over if they differ from one arrival to the next.
    #[inline]
    pub fn payload<'a>(&'a self, filler: &mut impl Filler, out: &'a mut Vec<u8>) -> &'a [u8] {
        match &self.blank {
            None => &self.payload,
            Some(blank) => {
                out.clear();
                blank.write(|place, out| filler.fill(place, out), out);
                out
            }
        }
    }
}
