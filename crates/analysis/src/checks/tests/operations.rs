//! Operations that are recorded apart.

use super::*;
use crate::evidence::PartAccount;
use unblink_core::record::Operations;

#[test]
fn a_finding_says_so_when_pages_run_out() {
    let world = |pages: usize| {
        World::with(|w| {
            w.bank.operations = Operations::short_of_pages(3, pages);
            for k in 0..300 {
                w.bank.operations.record(k % 3, Series::Response, Nanos(1 << (k / 10)));
            }
        })
    };
    assert_eq!(world(300).severity(Code::OperationsSpilled), None);
    assert_eq!(World::healthy().severity(Code::OperationsSpilled), None, "there is one operation");
    let found =
        world(3).finding(Code::OperationsSpilled).expect("three histograms need more than three pages");
    assert_eq!(found.severity, Severity::Degrades);
    assert!(found.message.starts_with("The histograms of 3 requests had no room for "), "{}", found.message);
    assert_eq!(found.number("operations"), Some(3.0));
}

#[test]
fn a_request_that_fails_is_named_though_it_is_seldom_sent() {
    const NAMES: &[&str] = &["search", "order"];
    let with = |failed: u64, others: u64| {
        World::with(|w| {
            w.evidence.operations = NAMES;
            w.bank.operations = Operations::new(2);
            let mut outcomes = |place: usize, all: u64, failed: u64| {
                let of = &mut w.bank.operations.get_mut(place).expect("there are two").outcomes;
                (of.due, of.ok, of.failed[FailureKind::RESET.index()]) = (all, all - failed, failed);
            };
            outcomes(0, N - 30, others);
            outcomes(1, 30, failed);
            let measured = w.measured();
            (measured.ok, measured.failed[FailureKind::RESET.index()]) =
                (N - failed - others, failed + others);
        })
        .finding(Code::RequestsFailed)
    };
    assert_eq!(with(0, 0), None);
    assert_eq!(with(1, 0), None, "one of thirty");
    let found = with(30, 0).expect("all of them");
    assert!(
        found.message.starts_with("30 of 30 requests \"order\" failed or timed out, 100"),
        "{}",
        found.message
    );
    assert_eq!(found.severity, Severity::Degrades);
    assert_eq!(with(30, N - 30), None, "all fail");
}

#[test]
fn a_script_that_fails_is_no_fault_of_the_target() {
    assert_eq!(World::healthy().severity(Code::ScriptFailed), None);
    let world = World::with(|w| w.measured().failed[FailureKind::SCRIPT_FAILED.index()] = 7);
    let found = world.finding(Code::ScriptFailed).expect("seven arrivals had no request");
    assert_eq!((found.severity, found.number("script_failed")), (Severity::Invalidates, Some(7.0)));
}

#[test]
fn the_account_of_each_operation_closes() {
    const GOOD: PartAccount<'static> = PartAccount { name: "search", scheduled: 10, due: 10, ended: 10 };
    let with = |accounts: &'static [PartAccount<'static>]| {
        World::with(|w| w.evidence.accounts = accounts).finding(Code::Accounting)
    };
    assert_eq!(with(&[GOOD, GOOD]), None);
    let found = with(&[GOOD, PartAccount { name: "order", due: 9, ..GOOD }]).expect("one fell due less");
    assert!(
        found.message.starts_with("The account of \"order\" does not add up: 10 arrivals"),
        "{}",
        found.message
    );
    assert!(with(&[PartAccount { ended: 11, ..GOOD }]).is_some());
}
