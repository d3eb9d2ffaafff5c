//! Bodies that must be looked at as a whole, until their answers are judged.

use unblink_workload::answer::BODY_MAX;

/// Buffers that are larger are not kept for the next body.
const KEPT_MAX: usize = 1 << 20;

/// Names a body that is being collected.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place(u32);

/// The bodies of the answers that are under way, in buffers that are used again: as many as come in pieces at the same time.
#[derive(Default)]
pub(super) struct Collecting {
    bodies: Vec<Vec<u8>>,
    free: Vec<u32>,
}

impl Collecting {
    /// Adds a piece to the body at `place`, or to a new one. False if it grows too large: then it is not kept on.
    pub(super) fn add(&mut self, place: &mut Option<Place>, piece: &[u8]) -> bool {
        let Place(at) = *place.get_or_insert_with(|| {
            let free = self.free.pop();
            Place(free.unwrap_or_else(|| {
                self.bodies.push(Vec::new());
                self.bodies.len() as u32 - 1
            }))
        });
        let body = &mut self.bodies[at as usize];
        let fits = body.len() + piece.len() <= BODY_MAX;
        if fits {
            body.extend_from_slice(piece);
        }
        fits
    }

    /// What has come of the body at `place`.
    pub(super) fn body(&self, place: Option<Place>) -> &[u8] {
        place.map_or(&[], |Place(at)| &self.bodies[at as usize])
    }

    /// Nobody looks at it any more.
    pub(super) fn forget(&mut self, place: Option<Place>) {
        let Some(Place(at)) = place else { return };
        let body = &mut self.bodies[at as usize];
        body.clear();
        if body.capacity() > KEPT_MAX {
            *body = Vec::new();
        }
        self.free.push(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unblink_workload::answer::KEPT_BYTES_MAX;

    #[test]
    fn bodies_are_apart_and_buffers_are_used_again() {
        let mut collecting = Collecting::default();
        let (mut one, mut other) = (None, None);
        assert!(
            collecting.add(&mut one, b"a")
                && collecting.add(&mut other, b"x")
                && collecting.add(&mut one, b"b")
        );
        assert_eq!((collecting.body(one), collecting.body(other)), (&b"ab"[..], &b"x"[..]));
        collecting.forget(one);
        let mut third = None;
        assert!(collecting.add(&mut third, b"c"));
        assert_eq!((collecting.body(third), collecting.body(None)), (&b"c"[..], &b""[..]));
        assert_eq!(collecting.bodies.len(), 2);
    }

    #[test]
    fn a_body_has_a_limit() {
        let (mut collecting, mut place) = (Collecting::default(), None);
        assert_eq!(BODY_MAX, unblink_wire::ws::COLLECTED_MAX, "of messages as of bodies");
        assert_eq!(KEPT_BYTES_MAX, unblink_wire::protocol::VALUE_BYTES_MAX, "told as taken");
        let half = vec![0; BODY_MAX / 2];
        assert!(collecting.add(&mut place, &half) && collecting.add(&mut place, &half));
        assert!(!collecting.add(&mut place, b"x"));
        collecting.forget(place);
        assert_eq!(collecting.bodies[0].capacity(), 0);
    }
}
