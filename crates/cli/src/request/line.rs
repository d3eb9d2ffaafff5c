//! A request in one line of the command line: `80% POST /orders @order.json`.

use super::body::BodyFiles;
use super::lets::LetArgs;
use super::share::Share;
use super::workload::WorkloadArgs;
use super::{Parts, Request, url};
use crate::aside::Aside;
use crate::errors;
use anyhow::{Context, Result, anyhow, bail};
use std::path::Path;
use std::sync::Arc;

/// Requests on the command line, where no plan lists them.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct LineArgs {
    /// Request this of the URL, such as '80% POST /orders @order.json': a share of the load (or a weight, such as 4), a
    /// method, a path, and a file with the body. All but the path may be left out. Of databases: a share and a command or
    /// statement, such as '80% GET {{key}}'. May be given several times
    #[arg(long = "request", value_name = "LINE", help_heading = "Request",
          conflicts_with_all = ["workload", "properties", "set"])]
    pub lines: Vec<String>,

    #[command(flatten)]
    pub workload: WorkloadArgs,

    #[command(flatten)]
    pub lets: LetArgs,
}

/// What the lines ask for: paths stand at `target`.
pub(crate) fn requests(lines: &[String], target: Option<&str>) -> Result<Vec<Request>> {
    let mut files = BodyFiles::default();
    errors::all(lines.iter().enumerate().map(|(i, line)| {
        let number = if lines.len() > 1 { format!(" (number {})", i + 1) } else { String::new() };
        request(line, target, &mut files).with_context(|| format!("--request{number}"))
    }))
}

/// Nothing of a line is quoted that may be a secret.
fn request(line: &str, target: Option<&str>, files: &mut BodyFiles) -> Result<Request> {
    let aside = Aside::of(line)?;
    let mut words = aside.text.split_whitespace().peekable();
    let asked = words.next_if(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    let share =
        asked.map(|word| if word.ends_with('%') { Share::percent(word) } else { Share::weight(word) });
    let share = share.transpose().map_err(|message| anyhow!("{message}"))?;
    let is_database = |target: &&str| ["redis", "postgres", "cql"].iter().any(|one| target.starts_with(one));
    if let Some(target) = target.filter(is_database) {
        let request = Request::new(None, target)?;
        let (is_sql, is_command) = (request.url.origin.is_postgres(), request.url.origin.is_redis());
        // What is behind the share is all the command or statement, whose quotes mean something.
        let command = line.trim_start()[asked.map_or(0, str::len)..].trim();
        let mut parts = Parts { body: Some(command.as_bytes().into()), is_command, is_sql, ..request.parts };
        parts.cql.is_statement = request.url.origin.is_cql();
        return Ok(Request { share, parts, ..request });
    }
    let is_method = |word: &&str| word.bytes().all(|b| b.is_ascii_uppercase());
    let method = words.next_if(is_method).map(str::to_string);
    let expected = "expected [SHARE] [METHOD] PATH [@FILE], such as '80% GET /items'";
    let address = words.next().with_context(|| format!("there is no path or URL: {expected}"))?;
    let address = match (address.starts_with('/'), target) {
        (false, _) if !address.contains("://") => {
            bail!("the path must begin with / or be a whole URL: {expected}")
        }
        (false, _) => address.to_string(),
        (true, Some(target)) => url::at(target, address),
        (true, None) => bail!("this is a path: give the URL of the target before --request"),
    };
    let file = match words.next().map(|word| word.strip_prefix('@')) {
        None => None,
        Some(Some(file)) if words.peek().is_none() => Some(Path::new(file)),
        Some(_) => bail!("only @FILE with a body may follow the path: percent-encode spaces as %20"),
    };
    let body = file.map(|file| files.read(file)).transpose()?;
    let request = Request::new(method, &aside.restored(&address))?;
    Ok(Request { share, parts: Parts { body, file: file.map(Arc::from), ..request.parts }, ..request })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_share_method_address_and_body() {
        let folder = tempfile::tempdir().unwrap();
        let body = folder.path().join("order.json");
        std::fs::write(&body, b"{}").unwrap();
        let lines = [
            "80% /items?page=2".to_string(),
            format!("15.5% POST /orders @{}", body.display()),
            "4.5%  DELETE  https://other.test/x".to_string(),
        ];
        let all = requests(&lines, Some("http://h:1/base")).unwrap();
        let said: Vec<_> =
            all.iter().map(|one| (one.share.unwrap(), one.method(), one.url_text.as_str())).collect();
        assert_eq!(
            said,
            [
                (Share::Percent(8_000), "GET", "http://h:1/items?page=2"),
                (Share::Percent(1_550), "POST", "http://h:1/orders"),
                (Share::Percent(450), "DELETE", "https://other.test/x"),
            ]
        );
        assert_eq!(all[1].parts.body.as_deref(), Some(&b"{}"[..]));
        let commands =
            requests(&["80% SET k 'a  b'".into(), "GET {{key}}".into()], Some("redis://h/1")).unwrap();
        let said: Vec<_> =
            commands.iter().map(|one| (one.share, one.method(), one.parts.body.as_deref())).collect();
        assert_eq!(
            said,
            [
                (Some(Share::Percent(8_000)), "SET", Some(&b"SET k 'a  b'"[..])),
                (None, "GET", Some(&b"GET {{key}}"[..])),
            ]
        );
        let weighed = requests(&["4 GET /a".into(), "/b".into()], Some("http://h")).unwrap();
        assert_eq!((weighed[0].share, weighed[1].share), (Some(Share::Weight(4)), None));
    }

    #[test]
    fn what_is_wrong_with_a_line_is_said() {
        for (line, part) in [
            ("", "no path or URL"),
            ("80% GET", "no path or URL"),
            ("120% /a", "at most 100%"),
            ("0 /a", "never sent"),
            ("80%GET /a", "not a weight"),
            ("get /a", "must begin with /"),
            ("GET s3cret", "must begin with /"),
            ("GET /a b", "only @FILE"),
            ("GET /a @x y", "only @FILE"),
            ("POST /a @/nonexistent", "can't read the body file"),
            ("GET http://u:s3cret/", "has the port"),
        ] {
            let error = format!("{:#}", requests(&[line.into()], Some("http://h/")).expect_err(line));
            assert!(error.contains(part) && error.contains("--request"), "{line:?}: {error}");
            assert!(!error.contains("s3cret"), "{line:?}: {error}");
        }
        let error = format!("{:#}", requests(&["/a".into(), "/b".into()], None).unwrap_err());
        assert!(error.contains("--request (number 2): this is a path"), "{error}");
    }
}
