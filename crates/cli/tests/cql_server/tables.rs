//! A table of YCSB's binding for Cassandra in the small server, and as much of the schema as is asked for before it is filled.

use super::{Answer, RESULT, error, rows};
use std::collections::BTreeMap;

const BIGINT: u16 = 0x02;
const INT: u16 = 0x09;
const UUID: u16 = 0x0c;
const TEXT: u16 = 0x0d;

const COLUMNS: usize = 11;

/// A keyspace `ycsb` and its table, once they are created.
#[derive(Default)]
pub(crate) struct Tables {
    /// As its replication was said.
    pub(crate) keyspace: Option<String>,
    /// By their tokens: each row has its key first.
    pub(crate) table: Option<BTreeMap<i64, Vec<Vec<u8>>>>,
}

/// Where a key lies on the ring: any hash will do.
fn token(key: &[u8]) -> i64 {
    let hash =
        |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
    key.iter().fold(7, hash) as i64
}

/// Codes of the types of a statement's values and of its columns; nothing of what belongs to no such table.
pub(super) fn types_of(statement: &str) -> Option<(Vec<u16>, Vec<u16>)> {
    let is = |part: &str| statement.starts_with(part);
    let values = statement.matches('?').count();
    Some(match () {
        () if is("SELECT count(*) FROM usertable") => (vec![BIGINT; 2], vec![BIGINT]),
        () if is("SELECT count(*) FROM system.peers") => (vec![], vec![BIGINT]),
        () if is("SELECT schema_version") => (vec![], vec![UUID]),
        () if is("SELECT keyspace_name") => (vec![], vec![TEXT]),
        () if is("SELECT column_name, kind") => (vec![], vec![TEXT; 2]),
        () if is("SELECT y_id FROM usertable LIMIT 1") => (vec![], vec![TEXT]),
        () if statement.ends_with("token(y_id) >= token(?) LIMIT ?") => {
            (vec![TEXT, INT], vec![TEXT; COLUMNS])
        }
        () if is("SELECT") && statement.contains("FROM usertable WHERE y_id = ?") => {
            (vec![TEXT], vec![TEXT; COLUMNS])
        }
        () if is("INSERT INTO usertable") || is("UPDATE usertable") => (vec![TEXT; values], vec![]),
        () if is("CREATE ") => (vec![], vec![]),
        () => return None,
    })
}

impl Tables {
    /// What `statement` says of the table with these values. A range with more rows than `counts_at_most` times out.
    pub(super) fn execute(
        &mut self,
        (statement, values): (&str, &[Vec<u8>]),
        skips_metadata: bool,
        counts_at_most: Option<usize>,
    ) -> Answer {
        let (_, columns) = types_of(statement).expect("it was prepared");
        let is = |part: &str| statement.starts_with(part);
        let of_rows = |all: Vec<Vec<Vec<u8>>>| rows(&columns, skips_metadata, &all);
        let one = |value: &[u8]| of_rows(vec![vec![value.to_vec()]]);
        let void = || (RESULT, 1u32.to_be_bytes().to_vec());
        match () {
            () if is("SELECT count(*) FROM system.peers") => return one(&0i64.to_be_bytes()),
            () if is("SELECT schema_version FROM system.local") => return one(&[7; 16]),
            () if is("SELECT schema_version") => return of_rows(vec![]),
            () if is("SELECT keyspace_name") => {
                let name = self.keyspace.iter().map(|_| vec![b"ycsb".to_vec()]);
                return of_rows(name.collect());
            }
            () if is("SELECT column_name, kind") => {
                let fields =
                    (0..COLUMNS - 1).map(|n| vec![format!("field{n}").into_bytes(), b"regular".to_vec()]);
                let key = vec![b"y_id".to_vec(), b"partition_key".to_vec()];
                let all = self.table.iter().flat_map(|_| fields.clone().chain([key.clone()]));
                return of_rows(all.collect());
            }
            () if is("CREATE KEYSPACE") => {
                self.keyspace = Some(statement.to_string());
                return void();
            }
            () if is("CREATE TABLE") => {
                self.table = Some(BTreeMap::new());
                return void();
            }
            () => {}
        }
        let Some(table) = &mut self.table else { return error(0x2200, "unconfigured table usertable") };
        let number = |value: &[u8]| i64::from_be_bytes(value.try_into().expect("a bigint"));
        if is("SELECT count(*)") {
            let within = (number(&values[0]) + 1)..=number(&values[1]);
            let counted = table.range(within).count();
            return match counts_at_most {
                Some(most) if counted > most => {
                    error(0x1200, "Operation timed out - received only 0 responses.")
                }
                _ => one(&(counted as i64).to_be_bytes()),
            };
        }
        if is("SELECT y_id FROM usertable LIMIT 1") {
            return of_rows(table.values().take(1).map(|row| row[..1].to_vec()).collect());
        }
        if statement.ends_with("LIMIT ?") {
            let limit = i32::from_be_bytes(values[1][..].try_into().expect("an int"));
            let from = table.range(token(&values[0])..);
            return of_rows(from.take(limit as usize).map(|(_, row)| row.clone()).collect());
        }
        if is("SELECT") {
            return of_rows(table.get(&token(&values[0])).into_iter().cloned().collect());
        }
        if is("INSERT") {
            table.insert(token(&values[0]), values.to_vec());
            return void();
        }
        // UPDATE usertable SET field3 = ? WHERE y_id = ?
        let field = statement.split(" SET field").nth(1).and_then(|rest| rest.split(' ').next());
        let field: usize = field.and_then(|number| number.parse().ok()).expect("the number of a field");
        let empty = || (0..COLUMNS).map(|n| if n == 0 { values[1].clone() } else { vec![] }).collect();
        // What is not there comes to be.
        table.entry(token(&values[1])).or_insert_with(empty)[field + 1].clone_from(&values[0]);
        void()
    }
}
