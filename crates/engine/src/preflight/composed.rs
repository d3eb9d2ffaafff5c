//! What an arrival sends, without sending it.

use crate::composing::{Composing, Ready};
use crate::job::Job;
use unblink_core::arrival::Arrival;
use unblink_core::time::Instant;
use unblink_wire::blank::NothingToFill;
use unblink_wire::protocol::{Carrier, Protocol, Tag};
use unblink_workload::answer::TargetText;
use unblink_workload::{Composer, Kept};

/// The bytes that `arrival` of the run sends, whose intended time counts from a schedule that begins at 0; secrets and all.
/// Its journey has taken from answers what `kept` has for it. `None` where no row is left for it.
pub fn composed<P: Protocol>(job: &Job<P>, arrival: &Arrival, kept: &Kept) -> Option<Vec<u8>> {
    let request = &job.operations[arrival.operation as usize];
    let (mut protocol, mut shared) = (P::new(&job.settings), P::shared(1));
    // Of a version that the target must agree on, its silence is enough here.
    let _ = protocol.begin(Carrier::Plain);
    match &job.values {
        Some(values) => {
            let mut composer = Composer::new(values, &job.plan);
            composer.look_up(values, kept, arrival);
            let mut filler =
                Composing::begin(values, &mut composer, &job.plan, arrival, (Instant(0), arrival.intended))?;
            protocol.submit(&mut shared, Tag(0), 0, request, &mut filler);
        }
        None if job.script.is_some() => {
            // The only one that can be told beforehand.
            let mut first = Ready::first(job.script.as_deref());
            protocol.submit(&mut shared, Tag(0), 0, request, &mut first);
        }
        None => protocol.submit(&mut shared, Tag(0), 0, request, &mut NothingToFill),
    }
    Some(protocol.output(std::slice::from_ref(request)).concat())
}

/// Where `arrival` goes: `target` with what stands in its places, as it is kept for redirects.
pub(crate) fn target_of<P: Protocol>(
    job: &Job<P>,
    arrival: &Arrival,
    kept: &Kept,
    target: &TargetText,
) -> Vec<u8> {
    let mut out = Vec::new();
    match &job.values {
        None => target.write(|_, _| {}, &mut out),
        Some(values) => {
            let mut composer = Composer::new(values, &job.plan);
            composer.look_up(values, kept, arrival);
            composer.draw(values, &job.plan, arrival, Instant(0));
            target.write(|place, out| composer.write(values, place, out), &mut out);
        }
    }
    out
}
