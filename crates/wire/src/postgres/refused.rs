//! Statements that can't be load, by their first words.

use super::lexer::Token;

/// The first two words of a statement, in capitals and empty where something else stands; opening brackets are none. Nothing where
/// there is no statement.
pub(super) fn first_words(tokens: &[Token<'_>]) -> Option<[String; 2]> {
    let mut words = Vec::new();
    for token in tokens {
        match token {
            Token::Comment(_) => {}
            Token::Plain(text) => {
                let mut rest = text.trim_start_matches(is_between);
                while !rest.is_empty() && words.len() < 2 {
                    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
                    words.push(rest[..end].to_uppercase());
                    rest = rest[end..].trim_start_matches(is_between);
                }
            }
            _ => words.push(String::new()),
        }
        if words.len() >= 2 {
            break;
        }
    }
    let mut words = words.into_iter();
    Some([words.next()?, words.next().unwrap_or_default()])
}

fn is_between(character: char) -> bool {
    character.is_whitespace() || character == '('
}

/// Why a statement that begins so can't be a request, if it can't. A step of a journey that `holds` its connection may do what takes
/// a transaction over several steps.
pub(super) fn refused([word, second]: &[String; 2], holds: bool) -> Option<&'static str> {
    Some(match &**word {
        "BEGIN" | "START" | "COMMIT" | "END" | "ROLLBACK" | "ABORT" | "SAVEPOINT" | "RELEASE" => {
            if holds {
                return None;
            }
            "the statements of a request are one transaction anyway: leave it out. A transaction over several steps takes a journey \
             with hold-connection = true"
        }
        // The server takes it only in a transaction that was begun by a statement.
        "LOCK" => {
            if holds {
                return None;
            }
            "it takes a transaction that was begun with BEGIN: make them steps of a journey with hold-connection = true, or lock rows, \
             by SELECT with FOR UPDATE"
        }
        "PREPARE" | "EXECUTE" | "DEALLOCATE" => {
            "statements are prepared by themselves: write what it stands for"
        }
        // These end with their transaction.
        "SET" if matches!(&**second, "LOCAL" | "TRANSACTION" | "CONSTRAINTS") => return None,
        "SET" | "RESET" | "DISCARD" => {
            "it changes the connection that other transactions go over: write SET LOCAL, which ends with its transaction, or set it for \
             all connections in the URL, ?options=-c%20name%3Dvalue"
        }
        "COPY" => "its data do not go through statements: use INSERT or SELECT",
        "LISTEN" | "UNLISTEN" => "what it brings answers no request",
        "DECLARE" | "FETCH" | "MOVE" | "CLOSE" => "a cursor ends with its request: write SELECT with LIMIT",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Transaction, lexer};
    use super::*;

    #[test]
    fn words_are_found_behind_comments_and_brackets() {
        for (text, words) in [
            ("", None),
            (" -- nothing", None),
            ("Set/* x */local a = 1", Some(["SET", "LOCAL"])),
            ("/* x */ set \n local_a = 1", Some(["SET", "LOCAL_A"])),
            ("SET \"local\" = 1", Some(["SET", ""])),
            ("(select (1))", Some(["SELECT", "1"])),
            ("commit", Some(["COMMIT", ""])),
            ("'a' b", Some(["", "B"])),
            ("+ b", Some(["", ""])),
        ] {
            let found = first_words(&lexer::tokens(text).unwrap());
            assert_eq!(found, words.map(|words| words.map(str::to_string)), "{text}");
        }
    }

    /// Of those that go over the same connection, none may change what others mean.
    #[test]
    fn what_changes_the_connection_is_refused_everywhere() {
        for text in [
            "SET search_path = x",
            "set default_transaction_read_only to on",
            "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
            "SET SESSION statement_timeout = 1",
            "SET ROLE me",
            "SET TIME ZONE 'UTC'",
            "SET \"local\" = 1",
            "RESET ALL",
            "SELECT 1; reset search_path",
            "DISCARD ALL",
        ] {
            for of in [Transaction::new, Transaction::step] {
                let error = of(text, true).unwrap_err().to_string();
                assert!(error.contains("SET LOCAL") && error.contains("?options="), "{text}: {error}");
            }
        }
        for text in [
            "SET LOCAL search_path = x; SELECT 1",
            "set /* x */ local statement_timeout = {{1}}",
            "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
            "SET CONSTRAINTS ALL DEFERRED",
            "UPDATE a SET b = 1",
        ] {
            for of in [Transaction::new, Transaction::step] {
                assert!(of(text, true).is_ok_and(|one| !one.is_reading()), "{text}");
            }
        }
    }

    #[test]
    fn a_table_is_locked_only_by_a_journey_that_holds_its_connection() {
        for text in ["LOCK item", "lock TABLE item IN SHARE MODE; SELECT 1", "SELECT 1; LOCK item"] {
            let error = Transaction::new(text, true).unwrap_err().to_string();
            assert!(error.starts_with("LOCK: ") && error.contains("hold-connection = true"), "{error}");
            assert!(Transaction::step(text, true).is_ok(), "{text}");
        }
    }
}
