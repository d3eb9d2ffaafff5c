//! A workload as YCSB's CoreWorkload understands its properties.

use super::properties::{self, Property};
use crate::errors::refuse;
use crate::request::workload::WorkloadArgs;
use anyhow::{Result, anyhow};
use unblink_wire::cql::Consistency;
use unblink_workload::records::KeyNames;

/// What is asked, and of which records.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Workload {
    /// Records that are there; nothing where nobody has said it.
    pub records: Option<u64>,
    /// That there are none has been said: to a run it means as much as nothing, as in YCSB.
    pub is_empty: bool,
    /// Operations that will be asked, where that is said.
    pub operations: Option<u64>,
    pub table: String,
    pub fields: u32,
    pub field_length: u32,
    pub names: KeyNames,
    pub proportions: Proportions,
    pub distribution: Distribution,
    /// The shortest and the longest scan.
    pub scan_length: (u64, u64),
    /// An update writes every field.
    pub writes_all: bool,
    /// Keys that a run adds count once their inserts are expected, and not only once these have ended.
    pub expects_inserts: bool,
    /// Of Cassandra: how many replicas must have answered when something is read.
    pub reads: Consistency,
    /// The same when something is written.
    pub writes: Consistency,
    /// Of Cassandra: replicas of a keyspace that is created, where that is said.
    pub replicas: Option<u64>,
}

/// What part of the operations each kind has; of all of them together.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Proportions {
    pub read: f64,
    pub update: f64,
    pub insert: f64,
    pub scan: f64,
    pub read_modify_write: f64,
}

/// Which records are asked for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Distribution {
    Zipfian,
    Uniform,
    Latest,
    Sequential,
    /// Part of the records that are hot, and part of the operations that go to them.
    Hotspot(f64, f64),
    /// Percentile, and the part of the records that it lies in.
    Exponential(f64, f64),
}

/// What YCSB says beside what is asked; a run says these itself.
const OF_A_RUN: [&str; 17] = [
    "threadcount",
    "target",
    "maxexecutiontime",
    "measurementtype",
    "reportlatencyforeacherror",
    "latencytrackederrors",
    "exporter",
    "exportfile",
    "status",
    "label",
    "db",
    "dotransactions",
    "histogram.buckets",
    "core_workload_insertion_retry_limit",
    "core_workload_insertion_retry_interval",
    "workload",
    "operationcount",
];

/// Fields that a record may have: a statement that inserts 100 rows of them has no more than 32,767 values.
const FIELDS_MAX: u64 = 100;
const FIELD_LENGTH_MAX: u64 = 1 << 20;
const RECORDS_MAX: u64 = 1_000_000_000_000;

impl Workload {
    /// What the flags come to.
    pub(crate) fn read(args: &WorkloadArgs) -> Result<Workload> {
        let mut all = args.workload.map(properties::of_core).unwrap_or_default();
        for path in &args.properties {
            all.extend(properties::of_file(path)?);
        }
        for (number, text) in args.set.iter().enumerate() {
            all.push(properties::of_line(number, text)?);
        }
        if args.workload.is_none() && args.properties.is_empty() {
            refuse!(["set"], "--set changes a workload: give --workload ycsb-a or another, or a file by -P");
        }
        Workload::of(&all)
    }

    fn of(all: &[Property]) -> Result<Workload> {
        let mut workload = Workload {
            records: None,
            is_empty: false,
            operations: None,
            table: "usertable".into(),
            fields: 10,
            field_length: 100,
            names: KeyNames { is_ordered: false, digits: 1 },
            proportions: Proportions {
                read: 0.95,
                update: 0.05,
                insert: 0.0,
                scan: 0.0,
                read_modify_write: 0.0,
            },
            distribution: Distribution::Uniform,
            scan_length: (1, 1_000),
            writes_all: false,
            expects_inserts: false,
            reads: Consistency::QUORUM,
            writes: Consistency::QUORUM,
            replicas: None,
        };
        let (mut hot, mut exponential) = ((0.2, 0.8), (95.0, 0.857_142_857_1));
        let mut distribution = None;
        for property in all {
            let Property { name, value, .. } = property;
            let wrong = |why: &str| property.wrong(why);
            let number = |least: u64, most: u64| {
                let number = crate::value::count(value).ok().or_else(|| (value == "0").then_some(0));
                number
                    .filter(|number| (least..=most).contains(number))
                    .ok_or_else(|| wrong(&format!("expected a whole number from {least} to {most}")))
            };
            let part = || {
                let part = value.parse::<f64>().ok().filter(|part| (0.0..=1.0).contains(part));
                part.ok_or_else(|| wrong("expected a number from 0 to 1"))
            };
            let flag = || value.parse::<bool>().map_err(|_| wrong("expected true or false"));
            let consistency = || {
                let known = || format!("expected one of {}", Consistency::NAMES.join(", "));
                Consistency::read(value).ok_or_else(|| wrong(&known()))
            };
            let only = |known: &str, why: &str| if value == known { Ok(()) } else { Err(wrong(why)) };
            match name.as_str() {
                // YCSB's own default, by which it means that nothing was said.
                "recordcount" => {
                    let records = number(0, RECORDS_MAX)?;
                    (workload.records, workload.is_empty) = (Some(records).filter(|n| *n > 0), records == 0);
                }
                "operationcount" => workload.operations = Some(number(0, RECORDS_MAX)?).filter(|n| *n > 0),
                "table" => {
                    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
                    if !value.chars().all(is_plain) || !value.starts_with(|c: char| c.is_ascii_alphabetic()) {
                        return Err(wrong("a table is called by letters, digits and _"));
                    }
                    workload.table.clone_from(value);
                }
                "fieldcount" => workload.fields = number(1, FIELDS_MAX)? as u32,
                "fieldlength" => workload.field_length = number(1, FIELD_LENGTH_MAX)? as u32,
                "fieldlengthdistribution" => only("constant", "fields have one length here: constant")?,
                "fieldlengthhistogram" => return Err(wrong("fields have one length here: leave it out")),
                "fieldnameprefix" => only("field", "fields are called field0 and so on here")?,
                "minfieldlength" => {}
                "readallfields" => only("true", "a read takes all fields here")?,
                "writeallfields" => workload.writes_all = flag()?,
                "dataintegrity" => {
                    only("false", "fields are not checked in a run; `fill` checks what it has written")?
                }
                "insertorder" => {
                    workload.names.is_ordered = match value.as_str() {
                        "hashed" => false,
                        "ordered" => true,
                        _ => return Err(wrong("expected hashed or ordered")),
                    };
                }
                "zeropadding" => workload.names.digits = number(1, 200)? as u8,
                "insertstart" => only("0", "records are counted from 0 here")?,
                "insertcount" => only("0", "all records are there before a run: set recordcount")?,
                "readproportion" => workload.proportions.read = part()?,
                "updateproportion" => workload.proportions.update = part()?,
                "insertproportion" => workload.proportions.insert = part()?,
                "scanproportion" => workload.proportions.scan = part()?,
                "readmodifywriteproportion" => workload.proportions.read_modify_write = part()?,
                "requestdistribution" => distribution = Some(property),
                "hotspotdatafraction" => hot.0 = part()?,
                "hotspotopnfraction" => hot.1 = part()?,
                "exponential.percentile" => {
                    let percentile = value.parse().ok().filter(|percent| *percent > 0.0 && *percent < 100.0);
                    exponential.0 = percentile.ok_or_else(|| wrong("expected a number between 0 and 100"))?;
                }
                "exponential.frac" => exponential.1 = part()?,
                "minscanlength" => workload.scan_length.0 = number(1, 100_000)?,
                "maxscanlength" => workload.scan_length.1 = number(1, 100_000)?,
                "scanlengthdistribution" => only("uniform", "lengths of scans are uniform here")?,
                "inserts" => {
                    workload.expects_inserts = match value.as_str() {
                        "acknowledged" => false,
                        "expected" => true,
                        _ => return Err(wrong("expected acknowledged or expected")),
                    };
                }
                "cassandra.readconsistencylevel" => workload.reads = consistency()?,
                "cassandra.writeconsistencylevel" => workload.writes = consistency()?,
                "replicas" => workload.replicas = Some(number(1, 100)?),
                "workload" if !value.ends_with(".CoreWorkload") => {
                    return Err(wrong("only the core workload is known here"));
                }
                // A database's own, or how YCSB shows what it has measured.
                name if name.contains('.') || OF_A_RUN.contains(&name) => {}
                _ => return Err(wrong("unknown property")),
            }
        }
        if let Some(property) = distribution {
            workload.distribution = match property.value.as_str() {
                "zipfian" => Distribution::Zipfian,
                "uniform" => Distribution::Uniform,
                "latest" => Distribution::Latest,
                "sequential" => Distribution::Sequential,
                "hotspot" => Distribution::Hotspot(hot.0, hot.1),
                "exponential" => Distribution::Exponential(exponential.0, exponential.1),
                _ => {
                    let known = "zipfian, uniform, latest, sequential, hotspot or exponential";
                    return Err(property.wrong(&format!("expected {known}")));
                }
            };
        }
        if workload.scan_length.0 > workload.scan_length.1 {
            let (least, most) = workload.scan_length;
            return Err(anyhow!("minscanlength={least} is more than maxscanlength={most}"));
        }
        if workload.proportions.all().iter().all(|part| *part == 0.0) {
            return Err(anyhow!("all proportions of the workload are 0, so that nothing would be asked"));
        }
        Ok(workload)
    }

    /// A function of templates over the record whose number is `value`.
    pub(super) fn template(&self, function: &str, value: &str) -> String {
        let order = if self.names.is_ordered { "ordered" } else { "hashed" };
        format!("{{{{{function}({value}, {order}, {})}}}}", self.names.digits)
    }

    /// A run adds records.
    pub(crate) fn inserts(&self) -> bool {
        self.proportions.insert > 0.0
    }
}

impl Proportions {
    /// In the order of [`super::kind::KINDS`].
    pub(crate) fn all(self) -> [f64; 5] {
        [self.read, self.update, self.insert, self.scan, self.read_modify_write]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::workload::WorkloadName;

    fn set(workload: WorkloadName, set: &[&str]) -> Result<Workload> {
        let set = set.iter().map(ToString::to_string).collect();
        Workload::read(&WorkloadArgs { workload: Some(workload), set, ..WorkloadArgs::default() })
    }

    #[test]
    fn core_workloads_are_those_of_ycsb() {
        for (name, proportions, distribution) in [
            (WorkloadName::A, [0.5, 0.5, 0.0, 0.0, 0.0], Distribution::Zipfian),
            (WorkloadName::B, [0.95, 0.05, 0.0, 0.0, 0.0], Distribution::Zipfian),
            (WorkloadName::C, [1.0, 0.0, 0.0, 0.0, 0.0], Distribution::Zipfian),
            (WorkloadName::D, [0.95, 0.0, 0.05, 0.0, 0.0], Distribution::Latest),
            (WorkloadName::E, [0.0, 0.0, 0.05, 0.95, 0.0], Distribution::Zipfian),
            (WorkloadName::F, [0.5, 0.0, 0.0, 0.0, 0.5], Distribution::Zipfian),
        ] {
            let workload = set(name, &[]).unwrap();
            assert_eq!((workload.proportions.all(), workload.distribution), (proportions, distribution));
            let others = (workload.records, workload.fields, workload.field_length, &*workload.table);
            assert_eq!(others, (None, 10, 100, "usertable"));
        }
        assert_eq!(set(WorkloadName::E, &[]).unwrap().scan_length, (1, 100));
        let sized = set(WorkloadName::A, &["recordcount=1M", "fieldcount=2", "insertorder=ordered"]).unwrap();
        assert_eq!((sized.records, sized.fields, sized.names.is_ordered), (Some(1_000_000), 2, true));
        let hot = set(WorkloadName::A, &["requestdistribution=hotspot", "hotspotdatafraction=0.1"]).unwrap();
        assert_eq!(hot.distribution, Distribution::Hotspot(0.1, 0.8));
    }

    #[test]
    fn what_is_not_understood_is_refused_with_its_reason() {
        for (text, part) in [
            ("recordcount=x", "whole number"),
            ("recordcont=5", "unknown property"),
            ("readproportion=2", "from 0 to 1"),
            ("fieldlengthdistribution=zipfian", "one length"),
            ("readallfields=false", "all fields"),
            ("fieldlengthhistogram=hist.txt", "one length"),
            ("requestdistribution=pareto", "expected zipfian"),
            ("table=a;b", "letters"),
            ("workload=site.ycsb.workloads.TimeSeriesWorkload", "core workload"),
            ("minscanlength=101", "more than maxscanlength"),
            ("scanlengthdistribution=zipfian", "uniform"),
            ("cassandra.readconsistencylevel=most", "local_quorum"),
            ("replicas=0", "from 1 to 100"),
        ] {
            let error = format!("{:#}", set(WorkloadName::E, &[text]).unwrap_err());
            assert!(error.contains(part), "{text}: {error}");
        }
        let nothing = ["scanproportion=0", "insertproportion=0"];
        assert!(set(WorkloadName::E, &nothing).is_err());
        assert!(set(WorkloadName::A, &["redis.host=h", "threadcount=4", "status=true"]).is_ok());
        let measured = ["reportlatencyforeacherror=true", "latencytrackederrors=NOT_FOUND"];
        assert!(set(WorkloadName::A, &measured).is_ok(), "how YCSB measures is passed over");
        let empty = set(WorkloadName::A, &["recordcount=0"]).unwrap();
        assert_eq!((empty.records, empty.is_empty), (None, true));
        let alone = WorkloadArgs { set: vec!["recordcount=5".into()], ..WorkloadArgs::default() };
        assert!(Workload::read(&alone).is_err());
    }
}
