//! Run folders of several machines become one.

mod machines;
mod support;

use machines::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use unblink_artifact::document::{ClockReading, MachineLimit, RunDocument, RunStatus, ValidityStatus};
use unblink_artifact::folder::{LINES_FILE, MergeError, merge, read_folder, replay, report_part};
use unblink_artifact::header::RunHeader;
use unblink_artifact::tally::Ending;
use unblink_core::record::Series;

#[test]
fn four_machines_are_one_run() {
    let dir = tempfile::tempdir().expect("a folder");
    let parts = shares(dir.path(), 4);
    let merged = merge(&parts, &dir.path().join("merged")).expect("parts of one run");
    let whole = plan();
    let tally = support::tally(&header_of(&whole), &simulated(&whole));
    let alone = tally.document(&ending_of(&whole, &header_of(&whole)));
    assert!(alone.arrivals.scheduled > 1_000 && alone.arrivals.ok == alone.arrivals.scheduled);
    assert_eq!(merged.arrivals, alone.arrivals);
    assert_eq!(merged.warmup, alone.warmup);
    assert_eq!(merged.response_time, alone.response_time);
    assert_eq!(merged.service_time, alone.service_time);
    assert_eq!(merged.rate, alone.rate);
    assert_eq!(merged.slowest.len(), alone.slowest.len());
    assert_eq!(merged.heatmap, alone.heatmap);
    // The arrivals of all shares are tested as those of one machine.
    assert!(alone.loads[0].arrival_process.is_some());
    assert_eq!(merged.loads[0].arrival_process, alone.loads[0].arrival_process);
    assert_eq!(merged.validity.status, alone.validity.status, "{:?}", merged.validity.findings);
    for (merged, alone) in merged.operations.iter().zip(&alone.operations) {
        assert_eq!((&merged.arrivals, &merged.response_time), (&alone.arrivals, &alone.response_time));
    }
    let names: Vec<String> = merged.agents.iter().map(|agent| agent.plan.name()).collect();
    assert_eq!(names, ["share 1 of 4", "share 2 of 4", "share 3 of 4", "share 4 of 4"]);
    let of_each = merged.agents.iter().map(|agent| agent.result.as_ref().expect("it was merged").arrivals.ok);
    assert_eq!(of_each.sum::<u64>(), merged.arrivals.ok);
    let (record, _) = replay(&dir.path().join("merged"), None, None).expect("readable");
    assert_eq!(record.totals().track(Series::Response), tally.totals().track(Series::Response));
    assert_eq!(report_part(&dir.path().join("merged"), None, None).expect("readable"), merged);
}

/// In whichever order they come, and merged one after the other or all at once.
#[test]
fn the_bytes_are_the_same_in_any_order() {
    let dir = tempfile::tempdir().expect("a folder");
    let parts = shares(dir.path(), 5);
    let to = |name: &str| dir.path().join(name);
    let doc = merge(&parts, &to("all")).expect("parts of one run");
    assert_eq!(doc.arrivals.lost, 0);
    let mut backwards = parts.clone();
    backwards.reverse();
    merge(&backwards, &to("backwards")).expect("parts of one run");
    let odd = merge(&[parts[0].clone(), parts[2].clone(), parts[4].clone()], &to("odd")).expect("mergeable");
    assert!(odd.arrivals.lost > 0 && codes(&odd).contains(&"agents_lost"), "{:?}", codes(&odd));
    merge(&[parts[3].clone(), parts[1].clone()], &to("even")).expect("mergeable");
    merge(&[to("even"), to("odd")], &to("two levels")).expect("parts of one run");
    for other in ["backwards", "two levels"] {
        assert!(bytes(&to("all")) == bytes(&to(other)), "{other}");
    }
}

/// Machines whose connections were limited by different things.
#[test]
fn what_limited_some_of_them_is_the_same_in_any_order() {
    let dir = tempfile::tempdir().expect("a folder");
    let limits = [None, Some(MachineLimit::LocalPorts), None, Some(MachineLimit::FileDescriptors)];
    let part = |share: u32| {
        let plan = self::share(share, 4);
        let mut header = header_of(&plan);
        header.origins[0].connections.limited_by = limits[share as usize];
        let to = dir.path().join(share.to_string());
        record_as(&to, &header, &simulated(&plan), Some(&ending_of(&plan, &header)), None)
    };
    let parts: Vec<PathBuf> = (0..4).map(part).collect();
    let to = |name: &str| dir.path().join(name);
    merge(&parts, &to("all")).expect("parts of one run");
    for (name, node) in [("outer", [0, 3]), ("inner", [1, 2])] {
        merge(&node.map(|place: usize| parts[place].clone()), &to(name)).expect("mergeable");
    }
    merge(&[to("inner"), to("outer")], &to("two levels")).expect("parts of one run");
    assert!(bytes(&to("all")) == bytes(&to("two levels")));
}

#[test]
fn each_slow_arrival_names_its_machine() {
    let dir = tempfile::tempdir().expect("a folder");
    let parts = shares(dir.path(), 4);
    let mut offered_by = BTreeMap::new();
    for (part, share) in parts.iter().zip(1..) {
        let run = read_folder(part).expect("readable");
        let own = run.final_document.as_ref().expect("it has ended");
        assert!(!own.slowest.is_empty() && own.slowest.iter().all(|slow| slow.share.is_none()));
        let read = run.for_each_interval(|interval| {
            offered_by.extend(interval.bank.slowest.as_slice().iter().map(|slow| (slow.index, share)));
        });
        read.expect("whole");
    }
    let to = dir.path().join("merged");
    let merged = merge(&parts, &to).expect("parts of one run");
    for slow in &merged.slowest {
        assert_eq!(slow.share, offered_by.get(&slow.index).copied(), "{slow:?}");
    }
    let machines = merged.slowest.iter().filter_map(|slow| slow.machine(&merged.agents));
    let named: BTreeSet<String> = machines.map(|plan| plan.name()).collect();
    assert!(named.len() > 1 && named.iter().all(|name| name.ends_with(" of 4")), "{named:?}");
    // As earlier versions merged.
    let lines = std::fs::read_to_string(to.join(LINES_FILE)).expect("written");
    let (header, intervals) = lines.split_once('\n').expect("intervals");
    let bare =
        (1..=4).fold(intervals.to_string(), |text, share| text.replace(&format!("\"share\":{share},"), ""));
    assert!(bare.len() < intervals.len());
    std::fs::write(to.join(LINES_FILE), format!("{header}\n{bare}")).expect("written");
    let earlier = report_part(&to, None, None).expect("readable");
    assert!(earlier.slowest.iter().all(|slow| slow.share.is_none()));
    assert_eq!(earlier.slowest.len(), merged.slowest.len());
}

/// A machine that covers two seconds at once, since it was late, draws the others along.
#[test]
fn borders_are_where_all_have_one() {
    let dir = tempfile::tempdir().expect("a folder");
    let plans = [share(0, 2), share(1, 2)];
    let mut intervals = plans.each_ref().map(simulated);
    let late = intervals[1].remove(4);
    let joined = &mut intervals[1][3];
    joined.bank.add(&late.bank);
    joined.bank.timeline.beside(&late.bank.timeline);
    (joined.length, joined.double, joined.gauges) = (joined.length + late.length, true, late.gauges);
    let parts: Vec<PathBuf> =
        (0..2).map(|i| record(&dir.path().join(i.to_string()), &plans[i], &intervals[i], None)).collect();
    let to = dir.path().join("merged");
    let document = merge(&parts, &to).expect("parts of one run");
    assert_eq!(document.arrivals.ok, document.arrivals.scheduled);
    let mut lengths = Vec::new();
    let mut doubles = Vec::new();
    let merged = read_folder(&to).expect("readable");
    let read = merged.for_each_interval(|interval| {
        lengths.push(interval.length.0 / 1_000_000_000);
        doubles.push(interval.double);
    });
    read.expect("whole");
    assert_eq!(lengths[..6], [1, 1, 1, 2, 1, 1]);
    assert_eq!(doubles[..6], [false, false, false, true, false, false]);
}

#[test]
fn what_a_killed_machine_did_not_tell_is_lost_until_it_is_found() {
    let dir = tempfile::tempdir().expect("a folder");
    let parts = shares(dir.path(), 3);
    let killed = share(1, 3);
    let intervals = simulated(&killed);
    let broken = record(&dir.path().join("broken"), &killed, &intervals, Some(7));
    let to = |name: &str| dir.path().join(name);

    let without = merge(&[parts[0].clone(), parts[2].clone()], &to("without")).expect("mergeable");
    let with_broken =
        merge(&[broken.clone(), parts[0].clone(), parts[2].clone()], &to("with broken")).expect("mergeable");
    let all = merge(&parts, &to("all")).expect("mergeable");
    let due = |document: &RunDocument, share: usize| document.agents[share].plan.due.expect("open");
    assert_eq!(without.arrivals.lost, due(&all, 1));
    assert_eq!(without.arrivals.scheduled, all.arrivals.scheduled);
    // Seven seconds of thirteen, one of them warm-up, were told of.
    let ended = with_broken.arrivals.ok - without.arrivals.ok;
    assert!(ended > 0 && ended < due(&all, 1));
    assert_eq!(with_broken.arrivals.lost, due(&all, 1) - ended);
    assert_eq!(with_broken.arrivals.scheduled, all.arrivals.scheduled);
    assert_eq!(with_broken.agents[1].result.as_ref().map(|result| result.status), Some(RunStatus::Running));
    for document in [&without, &with_broken] {
        assert_eq!(document.validity.status, ValidityStatus::Invalid);
        assert!(codes(document).contains(&"agents_lost") && !codes(document).contains(&"accounting"));
        assert!(document.loads[0].arrival_process.is_none(), "some shares are not the process of all");
        let a = &document.arrivals;
        let sum = a.ok + a.failed + a.timed_out + a.unfinished + a.unsent + a.withheld + a.lost;
        assert_eq!(sum, a.scheduled);
    }
    assert_eq!(report_part(&to("with broken"), None, None).expect("readable"), with_broken);
    // Found later, it heals.
    merge(&[to("without"), parts[1].clone()], &to("healed")).expect("mergeable");
    assert!(bytes(&to("healed")) == bytes(&to("all")));
    assert!(!codes(&all).contains(&"agents_lost"));
}

/// The machine that was lost is here after all: what it recorded lies where the others said that it would.
#[test]
fn a_machine_that_may_be_lost_leaves_ranges() {
    let dir = tempfile::tempdir().expect("a folder");
    let tolerant = |first: u32| {
        let plan = share(first, 3);
        let mut header = header_of(&plan);
        header.agents[0].tolerate_lost = Some(1);
        let to = dir.path().join(format!("share-{first}"));
        record_as(&to, &header, &simulated(&plan), Some(&ending_of(&plan, &header)), None)
    };
    let parts: Vec<PathBuf> = (0..3).map(tolerant).collect();
    let to = |name: &str| dir.path().join(name);
    let without = merge(&[parts[0].clone(), parts[2].clone()], &to("without")).expect("mergeable");
    let all = merge(&parts, &to("all")).expect("mergeable");
    assert_eq!(without.validity.status, ValidityStatus::Degraded, "{:?}", without.validity.findings);
    let lost = without.arrivals.lost;
    assert!(lost > 0 && without.arrivals.scheduled == all.arrivals.scheduled);
    for (known, whole) in without.response_time.quantiles.iter().zip(&all.response_time.quantiles) {
        let low = known.if_lost_at_once.expect("a range");
        let high = known.if_lost_never.unwrap_or(u64::MAX);
        assert!((low..=high).contains(&whole.value), "{known:?} {whole:?}");
        // A third of them can be anything: only what lies below may have an end.
        let share = lost as f64 / all.arrivals.scheduled as f64;
        assert_eq!(known.if_lost_never.is_some(), known.q <= 1.0 - share, "{known:?}");
        assert_eq!((whole.if_lost_at_once, whole.if_lost_never), (None, None));
    }
    let two = merge(&parts[..1], &to("one of three")).expect("mergeable");
    assert_eq!(two.validity.status, ValidityStatus::Invalid, "two are missing");
}

#[test]
fn what_belongs_to_no_run_is_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    let parts = shares(dir.path(), 2);
    let refused =
        |from: &[PathBuf]| merge(from, &dir.path().join("refused")).expect_err("not parts of one run");
    assert!(matches!(refused(&[]), MergeError::Nothing));
    let twice = refused(&[parts[0].clone(), parts[1].clone(), parts[0].clone()]);
    assert!(matches!(twice, MergeError::Twice { share: 1, of: 2, .. }), "{twice}");
    let whole = plan();
    let alone = record(&dir.path().join("alone"), &whole, &simulated(&whole), None);
    assert!(matches!(refused(&[parts[0].clone(), alone]), MergeError::NotAShare { .. }));
    let of_three = share(1, 3);
    let other = record(&dir.path().join("other"), &of_three, &simulated(&of_three), None);
    let error = refused(&[parts[0].clone(), other]).to_string();
    assert!(error.contains("they differ in `agents.of` (2 and 3)"), "{error}");
    // Each of them, and only some of very many.
    let header = header_of(&share(1, 2));
    let part = |name: &str, change: &dyn Fn(&mut RunHeader)| {
        let mut header = header.clone();
        change(&mut header);
        let to = record_as(&dir.path().join(name), &header, &[], None, None);
        refused(&[parts[0].clone(), to]).to_string()
    };
    let error = part("longer", &|header| {
        (header.plan.timeout_ns, header.plan.drain_ns, header.plan.threads) = (6, 7, 3);
        header.targets[0].name = "other".into();
    });
    for named in ["`plan.drain_ns` (", "`plan.timeout_ns` (5000000000 and 6)", "`targets[0].name` ("] {
        assert!(error.contains(named) && !error.contains("threads"), "{named}: {error}");
    }
    let error = part("unlike", &|header| {
        let plan = &mut header.plan;
        (plan.timeout_ns, plan.drain_ns, plan.warmup_ns, plan.duration_ns) = (6, 7, 8, 9);
        (plan.summary, plan.requests_max) = ("another load".into(), Some(10));
        header.targets[0].name = "other".into();
    });
    assert!(error.contains(" and 1 more"), "{error}");
    // A merge that was stopped before its end.
    let node = dir.path().join("node");
    merge(&parts, &node).expect("mergeable");
    let half = dir.path().join("half");
    record_as(&half, &read_folder(&node).expect("readable").header, &[], None, None);
    assert!(matches!(refused(&[half]), MergeError::HalfMerged { .. }));
    // Nothing is left of what was refused.
    assert!(!dir.path().join("refused").exists());
    let missing = refused(&[dir.path().join("nowhere")]).to_string();
    assert!(missing.contains("nowhere"), "{missing}");
}

/// Of what a header tells nothing, its digest does; where one is not known, nothing is held against it.
#[test]
fn parts_that_were_asked_for_something_else_are_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    let part = |number: u32, asked: Option<&str>, words: [&str; 2]| {
        let plan = share(number, 3);
        let mut header = header_of(&plan);
        let agent = &mut header.agents[0];
        agent.asked_sha256 = asked.map(String::from);
        let own = format!("--share={}/3", number + 1);
        agent.command = ["unblink", "run", &own].iter().chain(&words).map(|word| word.to_string()).collect();
        let to = dir.path().join(format!("{number}-{}-{}", asked.unwrap_or("none"), words[1].len()));
        record_as(&to, &header, &simulated(&plan), Some(&ending_of(&plan, &header)), None)
    };
    let to = |name: &str| dir.path().join(name);
    let one = part(0, Some("aa"), ["--body", "(5 bytes)"]);
    let same = part(1, Some("aa"), ["--body", "(5 bytes)"]);
    let (old, other) =
        (part(2, None, ["--body", "(5 bytes)"]), part(2, Some("bb"), ["--body", "(12 bytes)"]));
    let hidden = part(1, Some("bb"), ["--body", "(5 bytes)"]);
    let two = to("two");
    let document = merge(&[one.clone(), same.clone()], &two).expect("parts of one run");
    assert!(document.agents.iter().all(|agent| agent.plan.asked_sha256.as_deref() == Some("aa")));
    let all = merge(&[two.clone(), old.clone()], &to("all")).expect("an old one is merged as before");
    merge(&[old, same, one.clone()], &to("again")).expect("in another order");
    assert_eq!(bytes(&to("all")), bytes(&to("again")));
    assert_eq!(all.agents[2].plan.asked_sha256, None);
    let refused = |from: &[PathBuf]| merge(from, &to("refused")).expect_err("another run").to_string();
    // Merged before, too.
    for with in [&one, &two] {
        let error = refused(&[other.clone(), with.clone()]);
        for part in
            [with.to_str(), other.to_str(), Some("do not ask for the same"), Some("differ in --body)")]
        {
            assert!(error.contains(part.expect("UTF-8")), "{error}");
        }
    }
    let error = refused(&[one, hidden]);
    assert!(error.contains("show no difference"), "{error}");
    assert!(!to("refused").exists());
}

/// What a machine's own document says of its clock after the start is in the merged one, and stays when that is merged again.
#[test]
fn the_last_reading_of_each_clock_is_kept() {
    let dir = tempfile::tempdir().expect("a folder");
    let last = |share: u32| ClockReading { at_ns: 60, offset_ns: i64::from(share) * 20_000_000, error_ns: 9 };
    let part = |share: u32| {
        let plan = self::share(share, 3);
        let mut header = header_of(&plan);
        (header.agents[0].clock_offset_ns, header.agents[0].clock_error_ns) = (Some(0), Some(7));
        let ending = Ending { clock_last: Some(last(share)), ..ending_of(&plan, &header) };
        record_as(&dir.path().join(share.to_string()), &header, &simulated(&plan), Some(&ending), None)
    };
    let parts: Vec<PathBuf> = (0..3).map(part).collect();
    let own = report_part(&parts[1], None, None).expect("a record");
    assert_eq!(own.agents[0].clock_last, Some(last(1)));
    assert!(codes(&own).contains(&"clock_uncertain"), "20 ms since the start");
    let two = dir.path().join("two");
    merge(&parts[..2], &two).expect("parts of one run");
    let all = merge(&[two, parts[2].clone()], &dir.path().join("all")).expect("parts of one run");
    let read = |share: usize| all.agents[share].clock_last;
    assert_eq!([read(0), read(1), read(2)], [0, 1, 2].map(|share| Some(last(share))));
    let finding = all.validity.findings.iter().find(|finding| finding.code == "clock_uncertain");
    assert_eq!(finding.map(|finding| finding.evidence["clock_error_ns_max"]), Some(60_000_018.0));
}

/// The machine whose record came onto the bus latest is named, however its record is merged.
#[test]
fn the_machine_that_was_behind_is_named() {
    let dir = tempfile::tempdir().expect("a folder");
    let behind_ns = [400_000_000, 12_300_000_000, 3_100_000_000];
    let part = |share: u32| {
        let plan = self::share(share, 3);
        let header = header_of(&plan);
        let ending = Ending { bus_behind_ns: Some(behind_ns[share as usize]), ..ending_of(&plan, &header) };
        record_as(&dir.path().join(share.to_string()), &header, &simulated(&plan), Some(&ending), None)
    };
    let parts: Vec<PathBuf> = (0..3).map(part).collect();
    let own = report_part(&parts[0], None, None).expect("a record");
    assert_eq!(
        (own.agents[0].bus_behind_ns, codes(&own).contains(&"bus_behind")),
        (Some(400_000_000), false)
    );
    let two = dir.path().join("two");
    merge(&parts[..2], &two).expect("parts of one run");
    let all = merge(&[two, parts[2].clone()], &dir.path().join("all")).expect("parts of one run");
    let finding = all.validity.findings.iter().find(|finding| finding.code == "bus_behind").expect("it was");
    assert!(finding.message.contains("the machine with share 2 of 3"), "{}", finding.message);
    assert_eq!(finding.evidence["bus_behind_ns_max"], 12.3e9);
    assert_eq!(all.validity.status, own.validity.status, "the figures do not rest on it");
}
