//! A workload's operations, as its store is asked for them.

use super::cql;
use super::kind::{KINDS, Kind};
use super::workload::{Distribution, Workload};
use crate::errors::refuse;
use crate::request::cql::{CqlParts, keyspace};
use crate::request::lets::run_id;
use crate::request::series::{Series, Then};
use crate::request::share::Share;
use crate::request::url::{Speaks, Url};
use crate::request::{Parts, Request};
use anyhow::{Result, anyhow, bail};
use std::io;
use std::sync::Arc;
use unblink_workload::{Lets, Source};

/// Records that are asked for as long as nobody has said how many there are.
const RECORDS: u64 = 1_000;

/// The sorted set of all keys by which YCSB's binding for Redis scans.
pub(crate) const INDEX: &str = "_indices";

/// What `workload` asks of `store`. `operations` are those that a run is to have.
pub(super) fn of(workload: &Workload, store: &Request, operations: Option<u64>) -> Result<Vec<Request>> {
    let speaks = self::store(&store.url)?;
    let lets = lets(workload, operations)?;
    let parts = workload.proportions.all();
    let mut requests = Vec::new();
    for ((kind, part), weight) in KINDS.into_iter().zip(parts).zip(weights(parts)) {
        if part == 0.0 {
            continue;
        }
        let mut parts = Parts::default();
        let (text, series) = match speaks {
            Speaks::Redis => of_redis(workload, kind),
            Speaks::Cql => {
                let (text, series, consistency) = cql::asked(workload, kind);
                parts.cql = CqlParts::of_lines(consistency);
                (text, series)
            }
            _ => of_postgres(workload, kind),
        };
        (parts.body, parts.series) = (Some(text.into_bytes().into()), Some(series));
        (parts.is_sql, parts.is_command) = (speaks == Speaks::Postgres, speaks == Speaks::Redis);
        requests.push(Request {
            parts,
            name: Some(kind.name().to_string()),
            share: Some(Share::Weight(weight)),
            inserts: kind == Kind::Insert,
            lets: Arc::clone(&lets),
            ..store.clone()
        });
    }
    Ok(requests)
}

/// What is spoken at `url`, if a workload can be asked there.
pub(crate) fn store(url: &Url) -> Result<Speaks> {
    match url.origin.speaks {
        speaks @ (Speaks::Redis | Speaks::Postgres) => Ok(speaks),
        Speaks::Cql => match keyspace(url)? {
            Some(_) => Ok(Speaks::Cql),
            None => refuse!(
                ["url"],
                "the URL does not name the keyspace of the records: add it, as in cql://HOST/ycsb"
            ),
        },
        _ => refuse!(
            ["url"],
            "a workload asks Redis, PostgreSQL or Cassandra: write redis://, postgres:// or cql://"
        ),
    }
}

/// Whole numbers that are to each other as the proportions, to a millionth.
fn weights(parts: [f64; 5]) -> [u32; 5] {
    let whole = parts.map(|part| (part * 1e6).round() as u32);
    let divisor = whole.into_iter().fold(0, gcd).max(1);
    whole.map(|weight| (weight / divisor).max(1))
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The values that the requests of `workload` draw.
fn lets(workload: &Workload, operations: Option<u64>) -> Result<Arc<Lets>> {
    let proportions = workload.proportions;
    let mut table = Lets::default();
    let mut add = |name: &str, law: String| -> Result<()> {
        let read = Source::parse(&law, &mut |_| Err(io::ErrorKind::NotFound.into()));
        let source = read.map_err(|error| anyhow!("{law}: {error}"))?;
        table.add(name, source).map_err(|why| anyhow!("{why}"))
    };
    if proportions.read + proportions.update + proportions.scan + proportions.read_modify_write > 0.0 {
        add("key", law(workload, operations)?)?;
    }
    if workload.inserts() {
        add("new_key", format!("ycsb_inserted({})", workload.records.unwrap_or(RECORDS)))?;
    }
    if proportions.update + proportions.read_modify_write > 0.0 && !workload.writes_all {
        add("field", format!("uniform({})", workload.fields))?;
    }
    if proportions.scan > 0.0 {
        add("scan_length", format!("uniform({}, {})", workload.scan_length.0, workload.scan_length.1))?;
    }
    Ok(Arc::new(table.of_run(run_id(false))))
}

/// Which records are asked for.
fn law(workload: &Workload, operations: Option<u64>) -> Result<String> {
    let n = workload.records.unwrap_or(RECORDS);
    let inserts = if workload.expects_inserts { "expected" } else { "acknowledged" };
    Ok(match workload.distribution {
        // CoreWorkload hashes to one record more than there are, the last of its generator's range, and draws again what is not there.
        Distribution::Zipfian if !workload.inserts() => format!("ycsb_scrambled({n}, modulo={})", n + 1),
        Distribution::Zipfian => {
            let Some(operations) = workload.operations.or(operations) else {
                bail!(
                    "its keys are drawn among those that it will have inserted: say how many operations there are, by -n or \
                     --set operationcount=1M"
                );
            };
            // As many again may come: YCSB's own allowance.
            let coming = (operations as f64 * workload.proportions.insert * 2.0) as u64;
            format!("ycsb_scrambled({n}, coming={}, inserts={inserts})", coming + 1)
        }
        Distribution::Uniform => format!("uniform({n})"),
        Distribution::Sequential => format!("sequential({n})"),
        Distribution::Latest => format!("ycsb_latest({n}, inserts={inserts})"),
        Distribution::Hotspot(keys, draws) => format!("ycsb_hotspot({n}, keys={keys}, draws={draws})"),
        Distribution::Exponential(percentile, within) => {
            let percentile = percentile / 100.0;
            format!("ycsb_exponential({n}, percentile={percentile}, within={within}, inserts={inserts})")
        }
    })
}

/// YCSB's binding for Redis: a record is a hash, and a sorted set has the keys of all by their hash code.
fn of_redis(workload: &Workload, kind: Kind) -> (String, Series) {
    let key = |value| workload.template("ycsb_key", value);
    let score = |value| workload.template("ycsb_score", value);
    let bytes = format!("{{{{bytes({})}}}}", workload.field_length);
    let all_fields = || (0..workload.fields).map(|n| format!(" field{n} {bytes}")).collect::<String>();
    let read = || format!("HGETALL {}", key("key"));
    let update = || match workload.writes_all {
        true => format!("HMSET {}{}", key("key"), all_fields()),
        false => format!("HMSET {} field{{{{field}}}} {bytes}", key("key")),
    };
    let series = |must_find, then| Series { must_find, then, columns: workload.fields };
    match kind {
        Kind::Read => (read(), series(true, Then::Nothing)),
        Kind::Update => (update(), series(false, Then::Nothing)),
        Kind::Insert => {
            let hash = format!("HMSET {}{}", key("new_key"), all_fields());
            let index = format!("ZADD {INDEX} {} {}", score("new_key"), key("new_key"));
            (format!("{hash}\n{index}"), series(false, Then::Line))
        }
        Kind::Scan => {
            let range = format!("ZRANGEBYSCORE {INDEX} {} +inf LIMIT 0 {{{{scan_length}}}}", score("key"));
            (range, series(false, Then::Each))
        }
        Kind::ReadModifyWrite => (format!("{}\n{}", read(), update()), series(true, Then::Line)),
    }
}

/// YCSB's JDBC binding: a row for each record, with its key and a column for each field.
fn of_postgres(workload: &Workload, kind: Kind) -> (String, Series) {
    let (table, key) = (&workload.table, workload.template("ycsb_key", "key"));
    let bytes = format!("{{{{bytes({})}}}}", workload.field_length);
    let read = || format!("SELECT * FROM {table} WHERE YCSB_KEY = {key}");
    let update = || {
        let set = match workload.writes_all {
            true => {
                (0..workload.fields).map(|n| format!("FIELD{n} = {bytes}")).collect::<Vec<_>>().join(", ")
            }
            false => format!("FIELD{{{{field}}}} = {bytes}"),
        };
        format!("UPDATE {table} SET {set} WHERE YCSB_KEY = {key}")
    };
    let series = |must_find, then| Series { must_find, then, columns: workload.fields };
    match kind {
        Kind::Read => (read(), series(true, Then::Nothing)),
        Kind::Update => (update(), series(true, Then::Nothing)),
        Kind::Insert => {
            let values = format!(", {bytes}").repeat(workload.fields as usize);
            let key = workload.template("ycsb_key", "new_key");
            let text = format!("INSERT INTO {table} ({}) VALUES ({key}{values})", columns(workload));
            (text, series(false, Then::Nothing))
        }
        Kind::Scan => {
            let order = "ORDER BY YCSB_KEY LIMIT {{scan_length}}";
            (format!("SELECT * FROM {table} WHERE YCSB_KEY >= {key} {order}"), series(false, Then::Nothing))
        }
        Kind::ReadModifyWrite => (format!("{}\n{}", read(), update()), series(true, Then::Line)),
    }
}

/// The names of a row's columns.
pub(crate) fn columns(workload: &Workload) -> String {
    (0..workload.fields).fold("YCSB_KEY".to_string(), |all, n| all + &format!(", FIELD{n}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::workload::{WorkloadArgs, WorkloadName};

    fn asked(name: WorkloadName, url: &str) -> Vec<(String, String, Option<Share>)> {
        let args = WorkloadArgs { workload: Some(name), ..WorkloadArgs::default() };
        let workload = Workload { records: Some(10), fields: 2, ..Workload::read(&args).unwrap() };
        let requests = of(&workload, &Request::new(None, url).unwrap(), Some(100)).unwrap();
        let text = |one: &Request| String::from_utf8(one.parts.body.clone().unwrap().to_vec()).unwrap();
        requests.iter().map(|one| (one.name.clone().unwrap(), text(one), one.share)).collect()
    }

    const KEY: &str = "{{ycsb_key(key, hashed, 1)}}";

    #[test]
    fn redis_is_asked_as_by_its_binding() {
        let a = asked(WorkloadName::A, "redis://h");
        let weight = Some(Share::Weight(1));
        assert_eq!(a[0], ("READ".into(), format!("HGETALL {KEY}"), weight));
        assert_eq!(a[1].1, format!("HMSET {KEY} field{{{{field}}}} {{{{bytes(100)}}}}"));
        let e = asked(WorkloadName::E, "redis://h");
        let new = "{{ycsb_key(new_key, hashed, 1)}}";
        assert_eq!(
            e[0].1,
            format!(
                "HMSET {new} field0 {{{{bytes(100)}}}} field1 {{{{bytes(100)}}}}\n\
                 ZADD _indices {{{{ycsb_score(new_key, hashed, 1)}}}} {new}"
            )
        );
        assert_eq!(
            e[1].1,
            "ZRANGEBYSCORE _indices {{ycsb_score(key, hashed, 1)}} +inf LIMIT 0 {{scan_length}}"
        );
        assert_eq!((e[0].2, e[1].2), (Some(Share::Weight(1)), Some(Share::Weight(19))));
        let f = asked(WorkloadName::F, "redis://h");
        assert_eq!((&*f[1].0, f[1].1.lines().count()), ("READ-MODIFY-WRITE", 2));
    }

    /// Of 1,000 records and 1,000 operations, 5 % of them inserts, CoreWorkload of YCSB 0.17.0 hashes modulo 1,101, and otherwise 1,001.
    #[test]
    fn records_are_hashed_modulo_what_the_core_workload_says() {
        for (name, expected) in [
            (WorkloadName::C, "ycsb_scrambled(1000, modulo=1001)"),
            (WorkloadName::E, "ycsb_scrambled(1000, coming=101, inserts=acknowledged)"),
        ] {
            let args = WorkloadArgs { workload: Some(name), ..WorkloadArgs::default() };
            let workload = Workload { records: Some(1_000), ..Workload::read(&args).unwrap() };
            assert_eq!(law(&workload, Some(1_000)).unwrap(), expected);
        }
    }

    #[test]
    fn postgres_is_asked_as_by_the_jdbc_binding() {
        let a = asked(WorkloadName::A, "postgres://u@h/d");
        assert_eq!(a[0].1, format!("SELECT * FROM usertable WHERE YCSB_KEY = {KEY}"));
        assert_eq!(
            a[1].1,
            format!("UPDATE usertable SET FIELD{{{{field}}}} = {{{{bytes(100)}}}} WHERE YCSB_KEY = {KEY}")
        );
        let e = asked(WorkloadName::E, "postgres://u@h/d");
        assert!(e[0].1.starts_with("INSERT INTO usertable (YCSB_KEY, FIELD0, FIELD1) VALUES ({{ycsb_key("));
        assert!(e[1].1.ends_with("ORDER BY YCSB_KEY LIMIT {{scan_length}}"));
        let store = |url: &str| store(&Url::parse(url).unwrap());
        assert!(store("http://h").is_err());
        let error = format!("{:#}", store("cql://h").unwrap_err());
        assert!(error.contains("cql://HOST/ycsb") && store("cqls://h/ks").is_ok(), "{error}");
    }
}
