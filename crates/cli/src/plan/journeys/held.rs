//! What a journey with `hold-connection` can't have.

use super::super::file::PlanFile;
use super::super::user::User;
use crate::journey::{Journey, Step};
use crate::request::url::Speaks;

/// Why a journey of these steps can't hold its connection, if it can't.
pub(super) fn refusal(steps: &[Step], own_connection: bool) -> Option<&'static str> {
    let origins = || steps.iter().map(|step| &step.request.url.origin);
    if own_connection {
        return Some(
            "own-connection opens a connection for each journey, and hold-connection takes one of all: leave one of \
             them out",
        );
    }
    if steps.iter().any(|step| step.request.parts.socket.is_some()) {
        return Some(
            "hold-connection is for journeys without WebSockets, and connect opens one that is the journey's own anyway: leave \
             hold-connection out",
        );
    }
    if origins().any(|origin| origin.speaks == Speaks::Cql) {
        return Some(
            "hold-connection is of no use for Cassandra: nothing lasts over two statements on a connection, which many requests \
             share, and each goes to a node that has its row. Leave hold-connection out",
        );
    }
    if origins().any(|origin| !matches!(origin.speaks, Speaks::Http | Speaks::Postgres | Speaks::Redis)) {
        return Some(
            "hold-connection is for steps that ask PostgreSQL or Redis, or over HTTP/1.1: leave it out",
        );
    }
    if origins().zip(origins().skip(1)).any(|(one, other)| one != other) {
        return Some(
            "a journey with hold-connection holds one connection, and its steps go to several origins: let them go to one, or \
             leave hold-connection out",
        );
    }
    if steps.iter().any(|step| step.spec.redirects.max > 0) {
        return Some(
            "a journey with hold-connection holds one connection, and a redirect may lead elsewhere: leave redirects out",
        );
    }
    None
}

/// Why no journey of the run can do so beside what else the user or the plan says.
pub(super) fn refusal_beside(plan: &PlanFile, user: &User, journeys: &[Journey]) -> Option<&'static str> {
    let is_retried = plan.value("attempts").is_some_and(|text| text.raw != "1") || user.has("attempts");
    if !journeys.iter().any(|journey| journey.hold_connection) {
        return None;
    }
    if journeys.iter().any(|journey| journey.own_connection) {
        return Some(
            "another journey of this run has own-connection, and a run has only one of the two: give all of them the \
             same",
        );
    }
    is_retried.then_some(
        "a step of a journey with hold-connection is not tried again: once it has failed, its transaction is given up, and what \
         went before the step would be missing. Leave attempts out, or hold-connection; a whole transaction is tried again where \
         it is one request (a list in sql, or EVAL of Redis)",
    )
}
