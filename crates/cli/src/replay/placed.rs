//! Recorded arrivals at the times at which they are due: faster or slower, in copies, or thinned.

use super::operations::{Kinds, Operation};
use super::reading::{READ_BYTES, Read};
use crate::args::replay::Factor;
use anyhow::{Context, Result, bail};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Write;
use unblink_core::random::{below, mixed};
use unblink_core::recorded::{ARRIVAL_BYTES, Recorded, RecordedArrival};
use unblink_core::time::Nanos;
use unblink_engine::spill::Spill;

/// Requests of all copies together at the most: eight GiB of a file.
const ARRIVALS_MAX: u64 = 1 << 29;
/// Of all users, in the unit of a part of them.
const ALL_USERS: u32 = 1_000_000;

/// Keeps these draws apart from others of the same seed.
const OFFSETS: u64 = 0x6f66_6673_6574_7300;

/// Where everything lies.
pub(super) struct Placed {
    pub(super) recorded: Recorded,
    pub(super) operations: Vec<Operation>,
    /// Of each copy.
    pub(super) offsets: Vec<Nanos>,
}

/// A copy of the trace, which begins in its midst and goes on from its start.
struct Copy {
    /// How much later each of its requests is due.
    offset: Nanos,
    /// Which part of the users it has, in millionths.
    users: u32,
    /// How many requests of the trace were looked at.
    passed: u64,
    /// Where it begins.
    first: u64,
}

/// `read` so many times as fast, and in so many copies.
pub(super) fn placed(read: &Read, speed: Factor, scale: Factor, seed: u64) -> Result<Placed> {
    let (all, _) = (*read.arrivals).as_ref().as_chunks::<READ_BYTES>();
    let count = all.len() as u64;
    if count.saturating_mul(scale.milli) / 1_000 > ARRIVALS_MAX {
        bail!(
            "it would have more than {ARRIVALS_MAX} requests: take a smaller --scale, or a part of the trace"
        );
    }
    let faster = |at: Nanos| Nanos((u128::from(at.0) * 1_000 / u128::from(speed.milli)) as u64);
    let length = faster(read.length).max(faster(read.length - Nanos(1)) + Nanos(1));
    let (operations, now) = Kinds::sorted(&read.operations);
    let arrival = |k: u64| {
        let (arrival, user) = all[k as usize].split_first_chunk::<ARRIVAL_BYTES>().expect("longer than it");
        let arrival = RecordedArrival::from_bytes(arrival);
        let user = user.try_into().map_or(0, u32::from_le_bytes);
        (
            RecordedArrival {
                at: faster(arrival.at),
                operation: now[usize::from(arrival.operation)],
                ..arrival
            },
            user,
        )
    };
    let mut copies: Vec<Copy> = offsets(scale, length, seed)
        .map(|(offset, users)| {
            // Those from here on wrap around the end.
            let first = all.partition_point(|bytes| {
                let at =
                    bytes.first_chunk::<ARRIVAL_BYTES>().map(|bytes| RecordedArrival::from_bytes(bytes).at);
                faster(at.unwrap_or_default()) + offset < length
            });
            Copy { offset, users, passed: 0, first: first as u64 }
        })
        .collect();
    let next = |copy: &mut Copy| {
        while copy.passed < count {
            let (arrival, user) = arrival((copy.first + copy.passed) % count);
            copy.passed += 1;
            if user < copy.users {
                let at = arrival.at + copy.offset;
                let at = if at >= length { at - length } else { at };
                return Some(RecordedArrival { at, ..arrival });
            }
        }
        None
    };
    let mut out = Spill::new().context("can't write a temporary file")?;
    let mut heads = Vec::new();
    let mut order = BinaryHeap::new();
    for (number, copy) in copies.iter_mut().enumerate() {
        let head = next(copy);
        order.extend(head.map(|head| Reverse((head.at, number))));
        heads.push(head);
    }
    while let Some(Reverse((_, number))) = order.pop() {
        let head = std::mem::replace(&mut heads[number], next(&mut copies[number]));
        order.extend(heads[number].map(|head| Reverse((head.at, number))));
        if let Some(head) = head {
            out.write_all(&head.to_bytes()).context("can't write a temporary file")?;
        }
    }
    let offsets = copies.iter().map(|copy| copy.offset).collect();
    let arrivals = out.finish().context("can't write a temporary file")?;
    let recorded = Recorded::new(arrivals, read.texts.clone(), length)
        .context("no request is left: take a larger --scale")?;
    Ok(Placed { recorded, operations, offsets })
}

/// When each copy begins, and which part of the users it has. The first one is the trace as it is; the others lie in its length
/// so far from each other that none repeats what another has just sent, and not at fractions of it, at which a rhythm of the
/// trace would repeat itself.
fn offsets(scale: Factor, length: Nanos, seed: u64) -> impl Iterator<Item = (Nanos, u32)> {
    let (whole, rest) = (scale.milli / 1_000, (scale.milli % 1_000) as u32);
    let copies = whole + u64::from(rest > 0);
    (0..copies).map(move |number| {
        let users = if number < whole { ALL_USERS } else { rest * (ALL_USERS / 1_000) };
        if number == 0 {
            return (Nanos::ZERO, users);
        }
        let part = length.0 / copies;
        let drawn = below(mixed(mixed(seed ^ OFFSETS) ^ number), (part / 2).max(1));
        (Nanos(part * number - part / 4 + drawn), users)
    })
}
