//! Whose a connection is, from what is sent over it.

use std::collections::{HashMap, HashSet};
use unblink_core::dispatch::ConnId;
use unblink_core::journey::Paths;
use unblink_core::origins::SocketUse;
use unblink_core::plan::Plan;

/// Of an arrival's number, what says of which unit it is.
const UNIT: u64 = (1 << 48) - 1;

#[derive(Default)]
pub(crate) struct Owned {
    /// Operations of journeys with connections of their own.
    operations: HashSet<u32>,
    /// Those that open a WebSocket for their journey, and those that use it.
    sockets: HashMap<u32, SocketUse>,
    /// By connection: the unit of the journey that it carries.
    pub(super) by: HashMap<ConnId, u64>,
    /// By unit: the connection that it has now.
    now: HashMap<u64, ConnId>,
    /// Those that have carried somebody else's requests.
    common: HashSet<ConnId>,
    /// Operations of journeys that hold a connection of all.
    held: HashSet<u32>,
    /// By connection: the unit that was sent on it last.
    last: HashMap<ConnId, u64>,
    /// By unit of such a journey: its connection.
    holds: HashMap<u64, ConnId>,
    /// How many steps went over a connection that one before had taken.
    pub(crate) held_on: u64,
    /// How many were taken.
    pub(crate) taken: u64,
    /// How many steps went over a WebSocket that one before had opened.
    pub(crate) used: u64,
}

impl Owned {
    pub(super) fn of(plan: &Plan) -> Owned {
        let of_journey = |operation: u32, is_so: fn(&Paths, usize) -> bool| {
            let entry = |paths: &Paths| {
                let journey = (paths.entry_of(operation) as usize).checked_sub(paths.plain());
                journey.is_some_and(|journey| is_so(paths, journey))
            };
            plan.journeys().is_some_and(entry)
        };
        let own = |operation: &u32| of_journey(*operation, Paths::has_own_connection);
        let held = |operation: &u32| of_journey(*operation, Paths::holds_connection);
        let all = 0..plan.spec().idempotent.len() as u32;
        let origins = &plan.spec().origins;
        let sockets = all.clone().map(|operation| (operation, origins.socket_use(operation)));
        let sockets: HashMap<u32, SocketUse> = sockets.filter(|(_, of)| *of != SocketUse::None).collect();
        let is_own = |operation: &u32| sockets.contains_key(operation) || own(operation);
        let (operations, held) = (all.clone().filter(is_own).collect(), all.filter(held).collect());
        Owned { operations, held, sockets, ..Owned::default() }
    }

    /// Some journeys have connections of their own, or hold some of all.
    pub(super) fn are_any(&self) -> bool {
        !self.operations.is_empty() || !self.held.is_empty()
    }

    /// From the first request to the last, a journey that holds its connection sends on that alone, and nobody else does.
    fn hold(&mut self, conn: ConnId, operation: u32, (unit, follows): (u64, bool)) {
        let last = self.last.insert(conn, unit);
        if !self.held.contains(&operation) {
            return;
        }
        let before = self.holds.insert(unit, conn);
        if follows {
            assert_eq!(before, Some(conn), "unit {unit} goes on elsewhere");
            assert_eq!(last, Some(unit), "unit {unit} does not hold {conn:?} alone");
            self.held_on += 1;
        }
    }

    pub(super) fn sent(
        &mut self,
        conn: ConnId,
        operation: u32,
        arrival: u64,
        is_open: impl Fn(&ConnId) -> bool,
    ) {
        let unit = arrival & UNIT;
        self.hold(conn, operation, (unit, arrival > UNIT));
        if !self.operations.contains(&operation) {
            assert!(!self.by.contains_key(&conn), "{conn:?} is a journey's own, and carries another request");
            self.common.insert(conn);
            return;
        }
        assert!(!self.common.contains(&conn), "{conn:?} is everybody's, and unit {unit} should have its own");
        let owner = *self.by.entry(conn).or_insert(unit);
        assert_eq!(owner, unit, "{conn:?} carries two journeys");
        let before = self.now.insert(unit, conn);
        match self.sockets.get(&operation) {
            Some(SocketUse::Opens) => {
                assert!(before != Some(conn), "unit {unit} opens a socket, and has it already")
            }
            Some(_) => {
                assert_eq!(
                    before,
                    Some(conn),
                    "unit {unit} uses a socket that is not the last it has opened"
                );
                self.used += 1;
            }
            None => {}
        }
        self.taken += u64::from(before != Some(conn));
        let has_left = before.is_none_or(|before| before == conn || !is_open(&before));
        assert!(has_left, "unit {unit} has another connection, and {before:?} is still there");
    }
}
