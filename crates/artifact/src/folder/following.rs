//! The folders of machines that offer a load together, while they do.

use super::merged_header::merged_header;
use super::merging::Merging;
use super::{FolderError, read_folder};
use crate::header::RunHeader;
use std::path::{Path, PathBuf};
use unblink_core::record::Interval;

/// Run folders that still grow, as one run.
pub struct Following {
    header: RunHeader,
    /// In the order of their shares.
    dirs: Vec<PathBuf>,
    merging: Merging,
}

impl Following {
    /// Follows `dirs`, once all of them have begun; `None` before. What is wrong with them for good is said by who merges them
    /// in the end.
    pub fn open(dirs: &[PathBuf]) -> Option<Following> {
        let runs: Result<Vec<_>, FolderError> = dirs.iter().map(|dir| read_folder(dir)).collect();
        let mut runs = runs.ok()?;
        runs.sort_by_key(|run| run.header.agents.first().map(|agent| agent.first));
        let header = merged_header(&runs).ok()?;
        let merging = Merging::open(&runs, header.layout()).ok()?;
        let dirs = runs.iter().map(|run| run.dir().to_path_buf()).collect();
        merging.is_begun().then_some(Following { header, dirs, merging })
    }

    /// What the run is to do.
    pub fn header(&self) -> &RunHeader {
        &self.header
    }

    /// The next interval; `None` where something is still missing of a folder that is not `over`. Of one that is, all that will
    /// come has come.
    ///
    /// # Errors
    /// A folder holds something else than intervals.
    pub fn next(&mut self, over: impl Fn(&Path) -> bool) -> Result<Option<&Interval>, FolderError> {
        let dirs = &self.dirs;
        self.merging.next_of(|place| !over(&dirs[place]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::{FolderWriter, HLOG_FILE, LINES_FILE, RUN_FILE};
    use std::fs;
    use unblink_core::record::{Ages, Bank, Gauges, Series};
    use unblink_core::time::Nanos;

    fn header(share: u32) -> RunHeader {
        let environment =
            r#"{"kernel": "", "cpu": "", "cores": 1, "file_descriptors_max": 1, "local_ports": 1}"#;
        let json = format!(
            r#"{{
            "tool": {{"name": "unblink", "version": "0.1.0"}}, "started_at": "2026-11-20T09:15:00Z", "command": [],
            "environment": {environment},
            "agents": [{{"first": {share}, "last": {share}, "of": 2, "start_at": "2026-11-20T09:15:00Z", "command": [],
                "environment": {environment}}}],
            "plan": {{"summary": "", "phases": [], "warmup_ns": 0, "duration_ns": 3000000000, "timeout_ns": 1,
                "drain_ns": 1, "threads": 1, "requests_max": null}},
            "loads": [{{"model": "closed", "users": 1, "think_ns": 0}}],
            "origins": [{{"connections": {{"mode": "fixed", "limit": 1}}}}],
            "targets": [], "protocol_failures": [], "operations": [{{"name": "GET /", "protocol": "http/1.1"}}]
        }}"#
        );
        serde_json::from_str(&json).expect("a header")
    }

    /// A second in which `due` fell due and one of them waits at its end.
    fn second(start: u64, seconds: u64, due: u64) -> Interval {
        let mut bank = Bank::new(1);
        (0..due).for_each(|n| bank.track_mut(Series::Response).record(Nanos(1_000 + n)));
        (bank.counters.measured.due, bank.counters.measured.ok) = (due, due);
        let mut ages = Ages::default();
        ages.add(Nanos(1 << 30), 1);
        let (start, length) = (Nanos::from_secs(start), Nanos::from_secs(seconds));
        Interval { start, length, double: seconds > 1, bank, gauges: Gauges::default(), ages }
    }

    /// Two records as they are in the end: the second machine handed over two seconds at once.
    fn written(place: &Path) -> [PathBuf; 2] {
        let all =
            [vec![second(0, 1, 3), second(1, 1, 3), second(2, 1, 3)], vec![second(0, 2, 8), second(2, 1, 4)]];
        let mut share = 0;
        all.map(|intervals| {
            share += 1;
            let dir = place.join(format!("whole-{share}"));
            let mut writer = FolderWriter::create(&dir, &header(share)).expect("a new folder");
            intervals.iter().for_each(|interval| writer.interval(interval).expect("written"));
            dir
        })
    }

    /// As much of a file as has come.
    fn grow(from: &Path, to: &Path, name: &str, bytes: usize) -> bool {
        let all = fs::read(from.join(name)).expect("it is whole");
        fs::write(to.join(name), &all[..bytes.min(all.len())]).expect("written");
        bytes >= all.len()
    }

    /// Intervals as (start, length, due, answers, waiting).
    fn seen(following: &mut Following, over: bool) -> Vec<(u64, u64, u64, u64, u64)> {
        let mut all = Vec::new();
        while let Some(interval) = following.next(|_| over).expect("readable") {
            let (measured, track) = (&interval.bank.counters.measured, interval.bank.track(Series::Response));
            let (start, length) = (interval.start.0, interval.length.0);
            all.push((
                start / 1_000_000_000,
                length / 1_000_000_000,
                measured.due,
                track.count(),
                interval.ages.count(),
            ));
        }
        all
    }

    #[test]
    fn what_has_not_come_as_a_whole_comes_later() {
        let place = tempfile::tempdir().expect("a folder");
        let whole = written(place.path());
        for step in [61, 499, 100_000] {
            let dirs = [1, 2].map(|share| place.path().join(format!("grown-{step}-{share}")));
            dirs.iter().for_each(|dir| fs::create_dir(dir).expect("a folder"));
            let (mut following, mut found, mut bytes, mut is_all) = (None, Vec::new(), 0usize, false);
            while !is_all {
                bytes += step;
                // The lines of one come before its histograms, and those of the other after.
                let [a, b] = [[0, 1], [1, 0]].map(|late| late.map(|late| bytes.saturating_sub(late * 700)));
                is_all = true;
                for ((from, to), [lines, hlog]) in whole.iter().zip(&dirs).zip([a, b]) {
                    grow(from, to, RUN_FILE, usize::MAX);
                    is_all &= grow(from, to, LINES_FILE, lines) & grow(from, to, HLOG_FILE, hlog);
                }
                if following.is_none() {
                    following = Following::open(&dirs);
                }
                if let Some(following) = &mut following {
                    found.extend(seen(following, false));
                }
            }
            assert_eq!(found, [(0, 2, 14, 14, 2), (2, 1, 7, 7, 2)], "{step} bytes at a time");
        }
    }

    #[test]
    fn who_gives_no_more_is_not_waited_for() {
        let place = tempfile::tempdir().expect("a folder");
        let whole = written(place.path());
        assert!(Following::open(&[place.path().join("nobody"), whole[0].clone()]).is_none());
        let lines = fs::read_to_string(whole[1].join(LINES_FILE)).expect("lines");
        let first: Vec<&str> = lines.lines().take(2).collect();
        fs::write(whole[1].join(LINES_FILE), first.join("\n") + "\n").expect("cut off behind an interval");
        let mut following = Following::open(&whole).expect("both have begun");
        assert_eq!(seen(&mut following, false), [(0, 2, 14, 14, 2)]);
        assert_eq!(seen(&mut following, true), [(2, 1, 3, 3, 1)]);
        assert_eq!(seen(&mut following, true), []);
    }
}
