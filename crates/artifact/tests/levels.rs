//! A thousand machines: what nodes have merged of them, merged once more, is what one merge of all makes.

mod machines;
mod support;

use machines::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use unblink_artifact::document::{LoadKind, LoadPhase, Process as TheProcess};
use unblink_artifact::folder::{FolderWriter, merge, replay};
use unblink_artifact::header::RunHeader;
use unblink_artifact::tally::Tally;
use unblink_core::dispatch::Pool;
use unblink_core::plan::{LoadSpec, Plan, PlanSpec, WorkerShares};
use unblink_core::record::{Bank, Series};
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::sim::{ServerSpec, Service, WorldSpec, simulate};
use unblink_core::time::{MILLISECOND_NS, Nanos, SECOND_NS};

/// Of 1,024 at most.
const MACHINES: u32 = 1_000;
/// Of all machines: four arrivals of each.
const PER_S: u64 = 4_000;
const LENGTH: Nanos = Nanos::from_secs(1);
/// One answer in four hundred does not come within it.
const TIMEOUT: Nanos = Nanos(300 * MILLISECOND_NS);
const SEED: u64 = 3;

fn whole_plan() -> Plan {
    let phases = vec![Phase::hold(Rate::per_second(PER_S), LENGTH)];
    let load = LoadSpec::Open { phases, process: Process::Poisson { seed: SEED } };
    Plan::new(PlanSpec::plain(load, Pool::Auto { max: 20_000 }, TIMEOUT)).expect("a valid plan")
}

fn header_for(plan: &Plan) -> RunHeader {
    let mut header = support::header(LENGTH.0 / SECOND_NS, 0);
    let per_s = PER_S as f64;
    let phases = vec![LoadPhase { from_per_s: per_s, to_per_s: per_s, duration_ns: LENGTH.0 }];
    header.plan.phases.clone_from(&phases);
    (header.plan.timeout_ns, header.plan.drain_ns) = (TIMEOUT.0, TIMEOUT.0);
    let process = TheProcess::Poisson { seed: SEED };
    header.operations.truncate(1);
    header.targets.truncate(1);
    header.loads[0].kind = LoadKind::Open { process, phases, start_ns: 0, only: Vec::new() };
    header.agents = vec![agent_of(plan, &header)];
    header
}

/// What became of arrivals, and after which times.
#[derive(Clone, Debug, Default, PartialEq)]
struct Account {
    due: u64,
    sent: u64,
    ok: u64,
    timed_out: u64,
    answers: BTreeMap<u64, u64>,
    sum_ns: u128,
    max_ns: u64,
}

impl Account {
    fn add(&mut self, bank: &Bank<u64>) {
        let (measured, response) = (&bank.counters.measured, bank.track(Series::Response));
        self.due += measured.due;
        self.sent += measured.sent;
        self.ok += measured.ok;
        self.timed_out += measured.timed_out;
        response.bins().for_each(|(ns, n)| *self.answers.entry(bin_start(ns)).or_default() += n);
        self.sum_ns += response.sum_ns;
        self.max_ns = self.max_ns.max(response.max_ns);
    }

    fn and(mut self, other: &Account) -> Account {
        self.due += other.due;
        self.sent += other.sent;
        self.ok += other.ok;
        self.timed_out += other.timed_out;
        other.answers.iter().for_each(|(ns, n)| *self.answers.entry(*ns).or_default() += n);
        self.sum_ns += other.sum_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
        self
    }
}

/// The last bin is told by the longest time in it: of all machines that is another one.
fn bin_start(ns: u64) -> u64 {
    let shift = ns.max(1).ilog2().saturating_sub(10);
    ns >> shift << shift
}

/// The machine with this share records what it has in `dir`.
fn recorded(whole: &Plan, first: u32, dir: &Path) -> Account {
    let plan =
        whole.clone().with_shares(WorkerShares { first, of: MACHINES }).expect("there is such a share");
    let server = ServerSpec::new(Service::Exponential { mean: Nanos(50 * MILLISECOND_NS) });
    let world = WorldSpec { seed: u64::from(first), ..WorldSpec::new(server) };
    let (header, mut own) = (header_for(&plan), Account::default());
    let mut writer = FolderWriter::create(dir, &header).expect("a new folder");
    let mut tally = Tally::new(header.clone());
    simulate(&plan, &world, |interval| {
        own.add(&interval.bank);
        tally.add(interval);
        writer.interval(interval).expect("written");
    });
    writer.finish(&tally.document(&ending_of(&plan, &header))).expect("written");
    own
}

/// All machines record, on every processor.
fn all_recorded(whole: &Plan, parts: &[PathBuf]) -> Vec<Account> {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let some = |from: usize| -> Vec<Account> {
        let own = (from..parts.len()).step_by(threads);
        own.map(|place| recorded(whole, place as u32, &parts[place])).collect()
    };
    let some = &some;
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|from| scope.spawn(move || some(from))).collect();
        all.into_iter().flat_map(|one| one.join().expect("all are recorded")).collect()
    })
}

/// Each has arrivals of its own, answers after times of its own, and a second and a bit. Some nodes have machines that follow each other,
/// others every fifth one.
#[test]
fn a_thousand_machines_by_ten_nodes_are_one() {
    let dir = place();
    let to = |name: &str| dir.path().join(name);
    let whole = whole_plan();
    let parts: Vec<PathBuf> = (0..MACHINES).map(|first| to(&format!("share-{first}"))).collect();
    let own = all_recorded(&whole, &parts);
    let account = own.iter().fold(Account::default(), Account::and);
    // A few may have had no arrival at all, or no answer.
    let sums: BTreeSet<u128> = own.iter().map(|own| own.sum_ns).collect();
    assert!(sums.len() > 950, "{} of {MACHINES} machines have times of their own", sums.len());

    let (neighbours, others) = parts.split_at(500);
    let hundreds = neighbours.chunks(100).map(<[PathBuf]>::to_vec);
    let fifths = (0..5).map(|first| others.iter().skip(first).step_by(5).cloned().collect::<Vec<_>>());
    let mut nodes: Vec<PathBuf> = hundreds
        .chain(fifths)
        .enumerate()
        .map(|(number, hundred)| {
            let node = to(&format!("node-{number}"));
            assert_eq!(hundred.len(), 100);
            let document = merge(&hundred, &node).expect("parts of one run");
            assert!(document.arrivals.lost > 0 && codes(&document).contains(&"agents_lost"));
            node
        })
        .collect();
    nodes.reverse();
    merge(&nodes, &to("by nodes")).expect("parts of one run");
    let document = merge(&parts, &to("at once")).expect("parts of one run");
    assert!(bytes(&to("by nodes")) == bytes(&to("at once")), "two levels and one");

    let scheduled = whole.scheduled(Nanos::ZERO, LENGTH).expect("an open load").measured;
    let arrivals = &document.arrivals;
    assert_eq!((account.due, account.ok + account.timed_out), (scheduled, scheduled));
    assert!(account.timed_out > 0 && account.ok > 3_000, "{account:?}");
    let told = (arrivals.scheduled, arrivals.ok, arrivals.timed_out, arrivals.lost);
    assert_eq!(told, (scheduled, account.ok, account.timed_out, 0));
    assert_eq!(document.agents.len(), MACHINES as usize);
    let mut merged = Account::default();
    let (record, _) = replay(&to("by nodes"), None, None).expect("readable");
    merged.add(record.totals());
    assert_eq!(merged, account);
}

/// In memory, where that is: a thousand folders are many on a disk.
fn place() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.expect("a folder")
}
