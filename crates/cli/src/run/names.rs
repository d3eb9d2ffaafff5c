//! What the requests of a run are called.

use std::collections::HashMap;
use unblink_artifact::document::Requested;

/// What an error calls it. Commands and statements are called by their text, and one that is empty by where it was to go.
pub(super) fn in_errors(request: &Requested) -> &str {
    if request.name.is_empty() { &request.url } else { &request.name }
}

/// Requests that only what is masked tells apart have names that tell them apart, too.
#[derive(Default)]
pub(super) struct Names {
    /// By name, what was asked for under it.
    known: HashMap<String, Vec<String>>,
}

impl Names {
    pub(super) fn told_apart(&mut self, name: String, asked: &str) -> String {
        let known = self.known.entry(name.clone()).or_default();
        let number = known.iter().position(|other| other == asked).unwrap_or_else(|| {
            known.push(asked.to_string());
            known.len() - 1
        });
        if number == 0 { name } else { format!("{name} ({})", number + 1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Request;

    #[test]
    fn what_is_masked_still_tells_names_apart() {
        let mut names = Names::default();
        let said: Vec<String> = ["/p?page=1", "/p?page=2", "/p?page=1", "/p?page=3"]
            .into_iter()
            .map(|asked| names.told_apart("GET /p?page=***".into(), asked))
            .collect();
        assert_eq!(
            said,
            ["GET /p?page=***", "GET /p?page=*** (2)", "GET /p?page=***", "GET /p?page=*** (3)"]
        );
    }

    #[test]
    fn what_says_nothing_is_called_by_where_it_goes() {
        let called = |url: &str, command: &str| {
            let mut request = Request::new(None, url).unwrap();
            request.parts.body = Some(command.as_bytes().into());
            request.parts.is_command = true;
            in_errors(&request.target()).to_string()
        };
        assert_eq!(called("redis://127.0.0.1:6379/0", "GET a"), "GET");
        assert_eq!(called("redis://127.0.0.1:6379/0", ""), "redis://127.0.0.1:6379/0");
        let masked = called("redis://me:s3cret@127.0.0.1/0", "");
        assert!(masked.contains("127.0.0.1") && !masked.contains("s3cret"), "{masked}");
    }
}
