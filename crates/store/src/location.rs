//! Where a store is: a file, or a PostgreSQL server.

use std::fmt;
use std::path::{Path, PathBuf};

/// Where a store is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Location {
    /// A SQLite database in a file.
    File(PathBuf),
    /// The URL of a PostgreSQL database.
    Server(String),
}

impl Location {
    /// A path, or a URL of PostgreSQL.
    pub fn parse(text: &str) -> Result<Location, String> {
        match text.split_once("://") {
            Some(("postgres" | "postgresql", _)) => Ok(Location::Server(text.into())),
            Some((scheme, _)) => Err(format!(
                "{scheme}:// can't hold the history: expected the path of a file, or postgres://USER@HOST/DATABASE"
            )),
            None if text.is_empty() => Err("the path is empty".into()),
            None => Ok(Location::File(text.into())),
        }
    }

    /// Is something there? Of a server only a connection can tell.
    pub fn may_exist(&self) -> bool {
        match self {
            Location::File(path) => path.exists(),
            Location::Server(_) => true,
        }
    }

    /// Puts a file aside, so that a new one can be begun; gives the name that it has now.
    pub fn put_aside(&self) -> std::io::Result<PathBuf> {
        let Location::File(path) = self else {
            return Err(std::io::Error::other("the database of a server is its administrator's to repair"));
        };
        let with = |suffix: &str| {
            let mut name = path.clone().into_os_string();
            name.push(suffix);
            PathBuf::from(name)
        };
        let of_number = |n: u32| if n == 1 { ".damaged".to_string() } else { format!(".damaged-{n}") };
        let aside = (1..).map(of_number).find(|suffix| !with(suffix).exists()).unwrap_or_default();
        std::fs::rename(path, with(&aside))?;
        // What SQLite keeps beside it belongs to it, and would be taken for the new one's. It may take it away itself,
        // while a connection is still being closed.
        for beside in ["-wal", "-shm"] {
            match std::fs::rename(with(beside), with(&format!("{aside}{beside}"))) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(with(&aside))
    }

    pub(crate) fn make_folder(&self) -> std::io::Result<()> {
        match self {
            Location::File(path) => {
                path.parent().map_or(Ok(()), |folder| match folder.as_os_str().is_empty() {
                    true => Ok(()),
                    false => std::fs::create_dir_all(folder),
                })
            }
            Location::Server(_) => Ok(()),
        }
    }

    /// As the driver wants it.
    pub(crate) fn url(&self, access: Access) -> String {
        // What can't be written can't be locked, so that nobody is expected to write it.
        let mode = match access {
            Access::Write => "mode=rwc",
            Access::Read => "mode=ro&immutable=true",
        };
        match self {
            Location::File(path) => {
                let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                format!("sqlite://{}?{mode}", percent_encoded(&path))
            }
            Location::Server(url) => url.clone(),
        }
    }
}

/// What is to be done with a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    Write,
    /// Of a file that can't be written.
    Read,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::File(path) => write!(f, "{}", path.display()),
            // Neither who asks nor any parameter: a password may stand in both.
            Location::Server(url) => {
                let url = url.split(['?', '#']).next().unwrap_or_default();
                let (scheme, rest) = url.split_once("://").unwrap_or(("postgres", url));
                let place = rest.rsplit_once('@').map_or(rest, |(_, place)| place);
                write!(f, "{scheme}://{place}")
            }
        }
    }
}

/// Everything but letters, digits and what stands for itself in a path (RFC 3986 §2.3).
fn percent_encoded(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    let one = |&byte: &u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    path.as_os_str().as_bytes().iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        assert_eq!(Location::parse("a/b.db"), Ok(Location::File("a/b.db".into())));
        for bad in ["", "mysql://h/d", "http://h"] {
            assert!(Location::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn no_password_is_shown() {
        for url in [
            "postgres://me:s3cret@h:5432/runs",
            "postgresql://h/runs?password=s3cret",
            "postgres://a:s3c@ret@h/d",
        ] {
            let shown = Location::parse(url).unwrap().to_string();
            assert!(!shown.contains("s3c") && shown.contains("h"), "{shown}");
        }
    }
}
