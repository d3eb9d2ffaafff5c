//! Steps over WebSockets, once all steps have their numbers.

use crate::journey::Journey;
use crate::request::steps;
use crate::request::version::Operations;

/// Each step over a WebSocket knows which later ones may take what has come. The first of all steps has the number `first`.
pub(super) fn look_ahead(operations: &mut Operations, journeys: &[Journey], mut first: u32) {
    let Operations::Steps(all) = operations else { return };
    for Journey { steps, .. } in journeys {
        let kinds = steps.iter().map(|step| (step.request.parts.socket, step.spec.repeat.1));
        let ahead = steps::look_ahead(&kinds.collect::<Vec<_>>(), first);
        for (number, later) in (first as usize..).zip(ahead) {
            all[number].later = later.into();
        }
        first += steps.len() as u32;
    }
}
