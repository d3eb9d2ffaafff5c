//! A workload's operations in CQL, as by YCSB's binding for Cassandra (`cassandra-cql`): a row for each record.

use super::kind::Kind;
use super::workload::Workload;
use crate::request::series::{Series, Then};
use unblink_wire::cql::Consistency;

/// The column of the key.
pub(crate) const KEY: &str = "y_id";

/// What is executed, and how many replicas must have answered: to its first statement, and to its second.
pub(super) fn asked(workload: &Workload, kind: Kind) -> (String, Series, [Consistency; 2]) {
    let (table, key) = (&workload.table, workload.template("ycsb_key", "key"));
    let (reads, writes) = (workload.reads, workload.writes);
    let bytes = format!("{{{{bytes({})}}}}", workload.field_length);
    let read = || format!("SELECT * FROM {table} WHERE {KEY} = {key} LIMIT 1");
    let update = || {
        let set = match workload.writes_all {
            true => {
                (0..workload.fields).map(|n| format!("field{n} = {bytes}")).collect::<Vec<_>>().join(", ")
            }
            false => format!("field{{{{field}}}} = {bytes}"),
        };
        format!("UPDATE {table} SET {set} WHERE {KEY} = {key}")
    };
    let series = |must_find, then| Series { must_find, then, columns: workload.fields };
    match kind {
        Kind::Read => (read(), series(true, Then::Nothing), [reads; 2]),
        Kind::Update => (update(), series(false, Then::Nothing), [writes; 2]),
        Kind::Insert => {
            let values = format!(", {bytes}").repeat(workload.fields as usize);
            let key = workload.template("ycsb_key", "new_key");
            let text = format!("INSERT INTO {table} ({}) VALUES ({key}{values})", columns(workload));
            (text, series(false, Then::Nothing), [writes; 2])
        }
        Kind::Scan => {
            let text =
                format!("SELECT * FROM {table} WHERE token({KEY}) >= token({key}) LIMIT {{{{scan_length}}}}");
            (text, series(false, Then::Nothing), [reads; 2])
        }
        Kind::ReadModifyWrite => {
            (format!("{}\n{}", read(), update()), series(true, Then::Line), [reads, writes])
        }
    }
}

/// The names of a row's columns.
pub(crate) fn columns(workload: &Workload) -> String {
    (0..workload.fields).fold(KEY.to_string(), |all, n| all + &format!(", field{n}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::workload::{WorkloadArgs, WorkloadName};

    fn of(set: &[&str], kind: Kind) -> (String, [String; 2]) {
        let set = set.iter().map(ToString::to_string).collect();
        let args = WorkloadArgs { workload: Some(WorkloadName::A), set, ..WorkloadArgs::default() };
        let (text, _, consistency) = asked(&Workload::read(&args).unwrap(), kind);
        (text, consistency.map(|one| one.to_string()))
    }

    #[test]
    fn cassandra_is_asked_as_by_its_binding() {
        let key = "{{ycsb_key(key, hashed, 1)}}";
        let two = &["fieldcount=2"][..];
        let read = format!("SELECT * FROM usertable WHERE y_id = {key} LIMIT 1");
        let update =
            format!("UPDATE usertable SET field{{{{field}}}} = {{{{bytes(100)}}}} WHERE y_id = {key}");
        assert_eq!(of(two, Kind::Read).0, read);
        assert_eq!(of(two, Kind::Update).0, update);
        assert_eq!(of(two, Kind::ReadModifyWrite).0, format!("{read}\n{update}"));
        assert_eq!(
            of(two, Kind::Insert).0,
            "INSERT INTO usertable (y_id, field0, field1) VALUES ({{ycsb_key(new_key, hashed, 1)}}, \
             {{bytes(100)}}, {{bytes(100)}})"
        );
        assert_eq!(
            of(two, Kind::Scan).0,
            format!("SELECT * FROM usertable WHERE token(y_id) >= token({key}) LIMIT {{{{scan_length}}}}")
        );
        let all = of(&["fieldcount=2", "writeallfields=true"], Kind::Update).0;
        assert!(all.contains("SET field0 = {{bytes(100)}}, field1 = {{bytes(100)}} WHERE"), "{all}");
    }

    #[test]
    fn reads_and_writes_have_a_consistency_each() {
        let said = |set: &[&str], kind| of(set, kind).1;
        assert_eq!(said(&[], Kind::ReadModifyWrite), ["quorum", "quorum"]);
        let set = ["cassandra.readconsistencylevel=ONE", "cassandra.writeconsistencylevel=LOCAL_QUORUM"];
        assert_eq!(said(&set, Kind::ReadModifyWrite), ["one", "local_quorum"]);
        assert_eq!(said(&set, Kind::Scan)[0], "one");
        assert_eq!([Kind::Update, Kind::Insert].map(|kind| said(&set, kind)[0].clone()), ["local_quorum"; 2]);
    }
}
