//! Which commit this is built from, for `--version` and for the record of every run: `0.1.0 (b05549d 2026-11-21)`.
//! Without a repository of its own, such as in an unpacked archive, there is none.

use std::path::Path;
use std::process::Command;

fn main() {
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let root = Path::new("../..");
    let commit = commit(root).unwrap_or_default();
    let shown = if commit.is_empty() { version } else { format!("{version} ({commit})") };
    println!("cargo::rustc-env=UNBLINK_VERSION={shown}");
    println!("cargo::rustc-env=UNBLINK_COMMIT={commit}");
    // A commit, another branch, or a change that is not committed.
    let log = git(root, &["rev-parse", "--git-path", "logs/HEAD"]).map(|log| root.join(log));
    let sources = ["crates", "Cargo.toml", "Cargo.lock"].map(|name| root.join(name));
    for path in log.into_iter().chain(sources).filter(|path| path.exists()) {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}

/// Short hash and date, and whether what is built differs from it.
fn commit(root: &Path) -> Option<String> {
    // An archive may lie within somebody else's repository.
    let top = git(root, &["rev-parse", "--show-toplevel"])?;
    if Path::new(&top).canonicalize().ok()? != root.canonicalize().ok()? {
        return None;
    }
    let of_head = git(root, &["show", "--no-patch", "--abbrev=7", "--format=%h %cs", "HEAD"])?;
    let changes =
        git(root, &["status", "--porcelain", "--untracked-files=no", "--", "crates", "Cargo.lock"])?;
    Some(if changes.is_empty() { of_head } else { format!("{of_head}, changed") })
}

fn git(root: &Path, args: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(root).args(args).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
}
