//! Can a run be recorded in a folder? Known before anything is sent.

use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::{ErrorKind, Result as IoResult};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// What is made to see whether anything can be: this, and what tells processes and threads apart.
const PROBE: &str = ".unblink-probe";
/// What stands above a folder may be taken away meanwhile, and what stands above that, and so on.
const TRIES: u32 = 100;

/// Nothing is made under the name of the folder, or of one above it: the run may still be refused, and another process that has one
/// of them by then must not lose it.
pub(crate) fn check_folder(folder: &Path) -> Result<()> {
    let mut tries = 0;
    loop {
        // A link that leads nowhere is in the way, too.
        if folder.symlink_metadata().is_ok() {
            return check_there(folder);
        }
        match could_be_made(folder) {
            Err(error) if error.kind() == ErrorKind::NotFound && tries < TRIES => tries += 1,
            done => return done.with_context(|| cant_create(folder)),
        }
    }
}

fn cant_create(folder: &Path) -> String {
    format!("can't create the folder {folder:?} (-o names another)")
}

/// One that is there.
fn check_there(folder: &Path) -> Result<()> {
    // Nothing happens, unless it is no folder.
    std::fs::create_dir_all(folder).with_context(|| cant_create(folder))?;
    let written = probe(folder, |place| File::create_new(place).map(drop));
    if let Ok(place) = &written {
        let _ = std::fs::remove_file(place);
    }
    let cant_read = || format!("can't read the folder {folder:?}");
    let is_probe = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with(PROBE);
    let mut entries = std::fs::read_dir(folder).with_context(cant_read)?;
    // That of another process is gone at once.
    let is_empty = entries.all(|entry| entry.is_ok_and(|entry| is_probe(&entry.file_name())));
    written.with_context(|| format!("can't write into the folder {folder:?} (-o names another)"))?;
    if !is_empty {
        bail!("the folder {folder:?} is not empty: name another with -o, so that no run overwrites one");
    }
    Ok(())
}

/// One that is not there: what is missing of it is made elsewhere in the folder above.
fn could_be_made(folder: &Path) -> IoResult<()> {
    if folder.as_os_str().is_empty() {
        return Err(ErrorKind::InvalidInput.into());
    }
    let is_there = |place: &&Path| place.as_os_str().is_empty() || place.symlink_metadata().is_ok();
    let Some(above) = folder.ancestors().find(is_there) else { return Ok(()) };
    let place = probe(if above.as_os_str().is_empty() { Path::new(".") } else { above }, |place| {
        std::fs::create_dir(place)
    })?;
    let missing = folder.strip_prefix(above).unwrap_or(folder);
    // What leads up again would lead out of the probe.
    let is_plain = missing.components().all(|part| matches!(part, Component::Normal(_)));
    let made = if is_plain { std::fs::create_dir_all(place.join(missing)) } else { Ok(()) };
    let _ = std::fs::remove_dir_all(&place);
    made
}

/// Makes something in a folder under a name that nobody else has: containers that share a disk have the same process ids.
fn probe(within: &Path, make: impl Fn(&Path) -> IoResult<()>) -> IoResult<PathBuf> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let place = within.join(format!("{PROBE}-{}-{number}", std::process::id()));
        match make(&place) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            done => return done.map(|()| place),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of two that begin at once, one looks and the other one has made the parent, and then writes there.
    #[test]
    fn who_looks_takes_no_folder_from_another() {
        let place = tempfile::tempdir().expect("a folder");
        for round in 0..100 {
            let parent = place.path().join(format!("runs-{round}"));
            let both = std::sync::Barrier::new(2);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    both.wait();
                    (0..8).for_each(|_| check_folder(&parent.join("a")).expect("it can be made"));
                });
                both.wait();
                (0..round * 50).for_each(|_| std::hint::spin_loop());
                std::fs::create_dir_all(&parent).expect("a parent");
                std::thread::yield_now();
                std::fs::create_dir(parent.join("b")).expect("the parent is still there");
            });
        }
    }

    #[test]
    fn all_that_look_at_once_may() {
        let place = tempfile::tempdir().expect("a folder");
        for round in 0..20 {
            let parent = place.path().join(format!("{round}/runs"));
            std::thread::scope(|scope| {
                for number in 0..8 {
                    let folder = parent.join(number.to_string());
                    scope.spawn(move || {
                        check_folder(&folder).expect("it can be made");
                        std::fs::create_dir_all(&folder).expect("it is made");
                        check_folder(&folder).expect("it is empty");
                    });
                }
            });
            assert_eq!(std::fs::read_dir(&parent).expect("a folder").count(), 8, "and nothing is left");
        }
    }

    #[test]
    fn what_can_not_be_is_told() {
        let place = tempfile::tempdir().expect("a folder");
        let check = |name: &str| check_folder(&place.path().join(name));
        let why = |name: &str| format!("{:#}", check(name).expect_err(name));
        assert!(check("a/b/c").is_ok() && check("a/../b").is_ok());
        assert_eq!(std::fs::read_dir(place.path()).expect("a folder").count(), 0, "nothing is left");
        std::fs::write(place.path().join("file"), "").expect("a file");
        std::os::unix::fs::symlink("nowhere", place.path().join("link")).expect("a link");
        for name in ["file", "file/a", "link", "link/a", &"x".repeat(300), &format!("a/{}", "x".repeat(300))]
        {
            assert!(why(name).starts_with("can't create the folder "), "{}", why(name));
        }
        assert!(why(".").contains("is not empty: name another with -o"), "{}", why("."));
    }
}
