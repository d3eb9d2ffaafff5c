//! The keyspace and the table of Cassandra that are filled.

use super::asking::Asking;
use crate::ycsb::cql::KEY;
use crate::ycsb::workload::Workload;
use anyhow::{Context, Result, bail};
use std::time::Duration;

/// Replicas of a keyspace that is created, unless there are fewer nodes or a property says how many.
const REPLICAS: u64 = 3;

/// Nodes tell each other of a new table; so often it is looked whether all know it, and so long is waited in between.
const LOOKS: u32 = 50;
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Creates what is not there if it `creates`, and says whether the table has a row.
pub(super) fn make_room(asking: &Asking, workload: &Workload, creates: bool) -> Result<bool> {
    let keyspace = asking.keyspace()?;
    let (cluster, named) = (asking.beside_keyspaces(), literal(&keyspace));
    let known = format!("SELECT keyspace_name FROM system_schema.keyspaces WHERE keyspace_name = {named}");
    if cluster.ask(&known)?.is_empty() {
        if !creates {
            bail!("there is no keyspace {keyspace}: --create creates it, with its table");
        }
        let replicas = match workload.replicas {
            Some(replicas) => replicas,
            // A node lists all others.
            None => (cluster.number("SELECT count(*) FROM system.peers")? + 1).min(REPLICAS),
        };
        let create = format!(
            "CREATE KEYSPACE {} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': {replicas}}}",
            quoted(&keyspace)
        );
        cluster.ask(&create).with_context(|| format!("can't create the keyspace {keyspace}"))?;
        wait_until_known(&cluster)?;
    }
    let table = &workload.table;
    let columns = format!(
        "SELECT column_name, kind FROM system_schema.columns WHERE keyspace_name = {named} AND table_name = {}",
        // As it is called outside of quotes.
        literal(&table.to_ascii_lowercase())
    );
    let found = cluster.ask(&columns)?;
    match (found.is_empty(), creates) {
        (true, false) => bail!("there is no table {table} in the keyspace {keyspace}: --create creates it"),
        (true, true) => {
            let fields: String = (0..workload.fields).map(|n| format!(", field{n} varchar")).collect();
            let create = format!("CREATE TABLE {table} ({KEY} varchar PRIMARY KEY{fields})");
            asking.ask(&create).with_context(|| format!("can't create the table {table}"))?;
            wait_until_known(&cluster)?;
        }
        (false, _) => {
            if let Some(column) = lacking(&found, workload.fields) {
                bail!("the table {table} is not a workload's: it has no {column}");
            }
        }
    }
    Ok(!asking.ask(&format!("SELECT {KEY} FROM {table} LIMIT 1"))?.is_empty())
}

/// What a table lacks whose columns are these, a line each with its kind.
fn lacking(found: &str, fields: u32) -> Option<String> {
    let keys: Vec<&str> = found.lines().filter_map(|line| line.strip_suffix("\tpartition_key")).collect();
    if keys != [KEY] {
        return Some(format!("key that is {KEY} alone"));
    }
    let has = |field: &u32| found.lines().any(|line| line == format!("field{field}\tregular"));
    (0..fields).find(|field| !has(field)).map(|field| format!("column field{field}"))
}

/// Waits until all nodes that are up have one schema. Where that takes too long, what comes next says what is wrong.
fn wait_until_known(cluster: &Asking) -> Result<()> {
    for _ in 0..LOOKS {
        let own = cluster.ask("SELECT schema_version FROM system.local")?;
        let others = cluster.ask("SELECT schema_version FROM system.peers")?;
        // Of a node of which nothing is known yet there is none.
        if others.lines().all(|other| other == "\\N" || other == own.trim()) {
            break;
        }
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(())
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A name that is as it stands.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_its_key_and_its_fields() {
        let table = "field0\tregular\nfield1\tregular\nmore\tregular\ny_id\tpartition_key\n";
        assert_eq!(lacking(table, 2), None);
        assert_eq!(lacking(table, 3).as_deref(), Some("column field2"));
        for other in [
            "field0\tregular\nid\tpartition_key\n",
            "field0\tregular\ny_id\tregular\nid\tpartition_key\n",
            "field0\tregular\ny_id\tpartition_key\nb\tpartition_key\n",
        ] {
            assert_eq!(lacking(other, 1).as_deref(), Some("key that is y_id alone"), "{other}");
        }
    }

    #[test]
    fn names_are_quoted() {
        assert_eq!((literal("it's"), quoted("a\"b")), ("'it''s'".into(), "\"a\"\"b\"".into()));
    }
}
