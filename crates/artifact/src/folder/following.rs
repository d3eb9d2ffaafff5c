//! The folders of machines that offer a load together, while they do.

use super::merged_header::{MergeError, merged_header};
use super::merging::Merging;
use super::{FolderError, read_folder};
use crate::document::shares_missing;
use crate::header::RunHeader;
use std::path::{Path, PathBuf};
use unblink_core::record::Interval;

/// One interval of all.
pub struct Followed<'a> {
    /// What they recorded in it.
    pub interval: &'a Interval,
    /// Every machine of the run has its part in it. One of which something is missing has broken off, has ended, or was never heard:
    /// what they do in a second together is less then, through no fault of the target.
    pub is_whole: bool,
}

/// Run folders that still grow, as one run.
pub struct Following {
    header: RunHeader,
    /// In the order of their shares.
    dirs: Vec<PathBuf>,
    merging: Merging,
}

impl Following {
    /// Follows `dirs`, once all of them have begun that are not `over`; `None` before. Of one that is over nothing may ever have come
    /// that can be read.
    ///
    /// # Errors
    /// Whatever is still to come of them, they are not those of one run.
    pub fn open(dirs: &[PathBuf], over: impl Fn(&Path) -> bool) -> Result<Option<Following>, MergeError> {
        let read = dirs.iter().map(|dir| (dir, read_folder(dir)));
        let runs: Result<Vec<_>, FolderError> =
            read.filter(|(dir, run)| run.is_ok() || !over(dir)).map(|(_, run)| run).collect();
        // The beginning of one has not come as a whole.
        let Ok(mut runs) = runs else { return Ok(None) };
        runs.sort_by_key(|run| run.header.agents.first().map(|agent| agent.first));
        if runs.is_empty() {
            return Ok(None);
        }
        let header = merged_header(&runs)?;
        let Ok(merging) = Merging::open(&runs, header.layout()) else { return Ok(None) };
        let dirs: Vec<PathBuf> = runs.iter().map(|run| run.dir().to_path_buf()).collect();
        Ok(merging.is_begun(|place| over(&dirs[place])).then_some(Following { header, dirs, merging }))
    }

    /// More is waited for.
    pub fn goes_on(&self) -> bool {
        self.merging.goes_on()
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
    pub fn next(&mut self, over: impl Fn(&Path) -> bool) -> Result<Option<Followed<'_>>, FolderError> {
        let dirs = &self.dirs;
        if self.merging.next_of(|place| !over(&dirs[place]))?.is_none() {
            return Ok(None);
        }
        let is_whole = self.merging.is_whole() && shares_missing(&self.header.agents) == 0;
        Ok(Some(Followed { interval: self.merging.last(), is_whole }))
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
        while let Some(Followed { interval, .. }) = following.next(|_| over).expect("readable") {
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
                    following = Following::open(&dirs, |_| false).expect("of one run");
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
        let of = |dirs: &[PathBuf]| Following::open(dirs, |_| false).expect("of one run");
        let nobody = place.path().join("nobody");
        let begun = [nobody.clone(), whole[0].clone()];
        assert!(of(&[]).is_none() && of(&begun).is_none());
        // One that died before all of its header had come.
        let without = Following::open(&begun, |dir| dir == nobody).expect("of one run");
        assert_eq!(seen(&mut without.expect("the other has begun"), false).len(), 3);
        let lines = fs::read_to_string(whole[1].join(LINES_FILE)).expect("lines");
        let first: Vec<&str> = lines.lines().take(2).collect();
        fs::write(whole[1].join(LINES_FILE), first.join("\n") + "\n").expect("cut off behind an interval");
        let mut following = of(&whole).expect("both have begun");
        assert_eq!(seen(&mut following, false), [(0, 2, 14, 14, 2)]);
        assert!(following.goes_on());
        assert_eq!(seen(&mut following, true), [(2, 1, 3, 3, 1)]);
        assert_eq!(seen(&mut following, true), []);
        assert!(!following.goes_on());
    }

    /// Nobody waits for what never comes: that they will be one run.
    #[test]
    fn who_is_of_another_run_is_told_at_once() {
        let place = tempfile::tempdir().expect("a folder");
        let whole = written(place.path());
        let other = fs::read_to_string(whole[1].join(RUN_FILE)).expect("a header");
        let [before, after] = ["\"GET /\"", "\"GET /other\""];
        assert!(other.contains(before));
        fs::write(whole[1].join(RUN_FILE), other.replace(before, after)).expect("written");
        let why = Following::open(&whole, |_| false).err().expect("they differ").to_string();
        assert!(why.contains("not parts of one run") && why.contains("operations"), "{why}");
    }

    /// Where intervals end, and whether both machines have their part in them.
    fn wholes(following: &mut Following, over: bool) -> Vec<(u64, bool)> {
        let mut all = Vec::new();
        while let Some(Followed { interval, is_whole }) = following.next(|_| over).expect("readable") {
            all.push(((interval.start + interval.length).0 / 1_000_000_000, is_whole));
        }
        all
    }

    #[test]
    fn an_interval_that_lacks_a_machine_says_so() {
        let place = tempfile::tempdir().expect("a folder");
        let whole = written(place.path());
        let of = |dirs: &[PathBuf]| Following::open(dirs, |_| false).expect("of one run");
        let mut following = of(&whole).expect("both have begun");
        assert_eq!(wholes(&mut following, true), [(2, true), (3, true)]);
        // Nothing ever comes of the other one.
        let mut alone = of(&whole[..1]).expect("it has begun");
        assert_eq!(wholes(&mut alone, true), [(1, false), (2, false), (3, false)]);
        let lines = fs::read_to_string(whole[1].join(LINES_FILE)).expect("lines");
        let first: Vec<&str> = lines.lines().take(2).collect();
        fs::write(whole[1].join(LINES_FILE), first.join("\n") + "\n").expect("cut off behind an interval");
        let mut following = of(&whole).expect("both have begun");
        assert_eq!(wholes(&mut following, false), [(2, true)], "it may still come");
        assert_eq!(wholes(&mut following, true), [(3, false)]);
    }

    /// Files under `place` that this process has open.
    fn open_in(place: &Path) -> usize {
        let place = place.canonicalize().expect("it is there");
        let all = fs::read_dir("/proc/self/fd").expect("a list of what is open");
        let open = all.filter_map(|fd| fs::read_link(fd.ok()?.path()).ok());
        open.filter(|file| file.starts_with(&place)).count()
    }

    /// Machines may be more than files may be open.
    #[test]
    fn no_file_stays_open() {
        let place = tempfile::tempdir().expect("a folder");
        let whole = written(place.path());
        let held = fs::File::open(whole[0].join(LINES_FILE)).expect("it is there");
        assert_eq!(open_in(place.path()), 1, "one that is open is seen");
        drop(held);
        let mut following = Following::open(&whole, |_| false).expect("of one run").expect("both have begun");
        assert_eq!(open_in(place.path()), 0);
        while following.next(|_| false).expect("readable").is_some() {
            assert_eq!(open_in(place.path()), 0);
        }
        assert_eq!(open_in(place.path()), 0, "and more may come");
    }
}
