//! What a connection says before its first command.

use super::codes::name;
use super::command::Command;
use super::fault::Fault;
use std::fmt;

/// Who asks.
#[derive(Clone, PartialEq, Eq)]
pub struct User {
    /// Of the server's list (ACL); nothing where the server has one password for all.
    pub name: Option<String>,
    /// The password.
    pub password: String,
}

/// What is asked before the first command, and what each part is for.
#[derive(Clone, PartialEq, Eq)]
pub struct Greeting {
    pub(super) bytes: Box<[u8]>,
    pub(super) asked: Box<[Asked]>,
}

/// A part of the greeting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Asked {
    Hello,
    Auth,
    Select,
    Ping,
}

/// Without what is secret in it.
impl fmt::Debug for Greeting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Greeting").field("asked", &self.asked).finish_non_exhaustive()
    }
}

impl Greeting {
    /// Of a connection to `database` that speaks RESP3 if it `is_resp3`, and RESP2 otherwise.
    ///
    /// One that has nothing to say asks for a `PING`: a server that wants a password, or takes no more clients, is to be found
    /// out before a command is lost to it.
    pub fn new(is_resp3: bool, user: Option<&User>, database: u32) -> Greeting {
        let (mut bytes, mut asked) = (Vec::new(), Vec::new());
        let mut say = |what: Asked, words: &[&str]| {
            let words: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
            bytes.extend_from_slice(Command::new(&words, false).ready().unwrap_or_default());
            asked.push(what);
        };
        match (is_resp3, user) {
            (true, None) => say(Asked::Hello, &["HELLO", "3"]),
            (true, Some(User { name, password })) => {
                say(Asked::Hello, &["HELLO", "3", "AUTH", name.as_deref().unwrap_or("default"), password]);
            }
            (false, Some(User { name: Some(name), password })) => say(Asked::Auth, &["AUTH", name, password]),
            (false, Some(User { name: None, password })) => say(Asked::Auth, &["AUTH", password]),
            (false, None) => {}
        }
        if database > 0 {
            say(Asked::Select, &["SELECT", &database.to_string()]);
        }
        if !is_resp3 && user.is_none() && database == 0 {
            say(Asked::Ping, &["PING"]);
        }
        Greeting { bytes: bytes.into(), asked: asked.into() }
    }
}

impl Asked {
    /// What an answer with this code means.
    pub(super) fn check(self, code: u16) -> Result<(), Fault> {
        match (self, name(code)) {
            (_, "ok") => Ok(()),
            (_, "MAXCLIENTS") => Err(Fault::MaxClients),
            (_, "DENIED") => Err(Fault::ProtectedMode),
            (_, "NOAUTH") => Err(Fault::PasswordNeeded),
            (_, "WRONGPASS") | (Asked::Auth, _) => Err(Fault::PasswordWrong),
            (Asked::Hello, _) => Err(Fault::HelloRefused),
            (Asked::Select, _) => Err(Fault::DatabaseRefused),
            // A server that is loading, or that forbids this user to ask for it, is there.
            (Asked::Ping, _) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::codes::of_error;
    use super::*;

    #[test]
    fn a_connection_says_what_it_must_and_no_more() {
        let user = |name: Option<&str>| User { name: name.map(String::from), password: "s3cret".into() };
        let (anyone, me) = (user(None), user(Some("me")));
        for (is_resp3, user, database, words) in [
            (false, None, 0, &["PING"][..]),
            (false, None, 3, &["SELECT 3"]),
            (false, Some(&anyone), 0, &["AUTH s3cret"]),
            (false, Some(&me), 1, &["AUTH me s3cret", "SELECT 1"]),
            (true, None, 0, &["HELLO 3"]),
            (true, Some(&anyone), 0, &["HELLO 3 AUTH default s3cret"]),
            (true, Some(&me), 2, &["HELLO 3 AUTH me s3cret", "SELECT 2"]),
        ] {
            let greeting = Greeting::new(is_resp3, user, database);
            let text = String::from_utf8(greeting.bytes.to_vec()).unwrap();
            let said: Vec<&str> = text.split("\r\n").filter(|line| !line.starts_with(['*', '$'])).collect();
            assert_eq!(said.join(" ").trim_end(), words.join(" "));
            assert_eq!(greeting.asked.len(), words.len());
            assert!(!format!("{greeting:?}").contains("s3cret"));
        }
    }

    #[test]
    fn a_refusal_is_told_by_what_was_asked() {
        for (asked, error, result) in [
            (Asked::Ping, "NOAUTH Authentication required.", Err(Fault::PasswordNeeded)),
            (Asked::Ping, "LOADING Redis is loading the dataset in memory", Ok(())),
            (Asked::Ping, "NOPERM User default has no permissions", Ok(())),
            (Asked::Ping, "ERR max number of clients reached", Err(Fault::MaxClients)),
            (Asked::Auth, "WRONGPASS invalid username-password pair", Err(Fault::PasswordWrong)),
            (Asked::Auth, "ERR AUTH <password> called without any password", Err(Fault::PasswordWrong)),
            (Asked::Hello, "WRONGPASS invalid", Err(Fault::PasswordWrong)),
            (Asked::Hello, "NOPROTO unsupported", Err(Fault::HelloRefused)),
            (Asked::Hello, "ERR unknown command", Err(Fault::HelloRefused)),
            (Asked::Select, "ERR DB index is out of range", Err(Fault::DatabaseRefused)),
            (Asked::Select, "NOAUTH Authentication required.", Err(Fault::PasswordNeeded)),
            (Asked::Select, "DENIED Redis is running in protected mode", Err(Fault::ProtectedMode)),
        ] {
            assert_eq!(asked.check(of_error(error.as_bytes())), result, "{asked:?}: {error}");
        }
    }
}
