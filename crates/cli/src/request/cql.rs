//! A statement of CQL.

use super::Request;
use super::account::CqlAccount;
use super::cql_fields::CqlArgs;
use super::redis::{called, text_of};
use super::series::{Series, column_in};
use super::template::{BodyForm, Filled};
use super::url::Url;
use super::version::Rendered;
use crate::aside::Aside;
use crate::errors::{refuse, refused};
use crate::secrets;
use anyhow::{Context, Result, bail};
use unblink_wire::cql::{BadCql, Consistency, Options, Statement, User, shown};
use unblink_workload::answer::Condition;

/// What stands in the place of a method in a document.
pub(super) const METHOD: &str = "CQL";

/// What a request says of CQL.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct CqlParts {
    /// The body is a statement, which only a server of CQL takes.
    pub is_statement: bool,
    consistency: Option<Consistency>,
    serial_consistency: Option<Consistency>,
    page_size: Option<u32>,
    /// The same for the lines of a request of several, where `--consistency` says nothing.
    of_lines: Option<[Consistency; 2]>,
}

impl CqlParts {
    /// Of a request whose text is a statement, or two in lines, with how many replicas must have answered to each.
    pub(crate) fn of_lines(consistency: [Consistency; 2]) -> CqlParts {
        CqlParts { is_statement: true, of_lines: Some(consistency), ..CqlParts::default() }
    }

    /// What the lines of a request of several say.
    pub(crate) fn consistency_of_lines(&self) -> Option<[Consistency; 2]> {
        self.of_lines
    }

    pub(super) fn of(args: &CqlArgs) -> CqlParts {
        CqlParts {
            is_statement: args.cql.is_some(),
            consistency: args.consistency,
            serial_consistency: args.serial_consistency,
            page_size: args.page_size,
            of_lines: None,
        }
    }

    /// Takes from `all` what it does not say itself of how it is executed.
    pub(super) fn fill(&mut self, all: &CqlParts) {
        self.consistency = self.consistency.or(all.consistency);
        self.serial_consistency = self.serial_consistency.or(all.serial_consistency);
        self.page_size = self.page_size.or(all.page_size);
    }

    /// Refuses what is said of CQL where something else is spoken.
    pub(super) fn refuse_elsewhere(&self) -> Result<()> {
        if self.is_statement {
            refuse!(["cql"], "--cql is for Cassandra: write cql:// or cqls://, or send it as --body");
        }
        let given = [
            ("consistency", self.consistency.is_some()),
            ("serial-consistency", self.serial_consistency.is_some()),
            ("page-size", self.page_size.is_some()),
        ];
        if let Some((flag, _)) = given.into_iter().find(|(_, is_given)| *is_given) {
            refuse!([flag], "--{flag} is for statements of CQL: write cql:// or cqls://, or leave it out");
        }
        Ok(())
    }

    /// How the statement in this line is executed.
    fn options(&self, line: usize) -> Options {
        let of_line = self.of_lines.map(|all| all[line]);
        Options {
            consistency: self.consistency.or(of_line).unwrap_or(Consistency::LOCAL_ONE),
            serial_consistency: self.serial_consistency,
            page_size: self.page_size,
        }
    }
}

/// The statement as the report calls it: without its literals, which may be secrets.
pub(super) fn name_of(request: &Request) -> String {
    called(shown(text_of(request)))
}

/// The same whole, with the numbers of its places.
pub(super) fn numbered(request: &Request) -> Result<String> {
    Ok(shown(&Aside::of(text_of(request))?.text))
}

/// It changes nothing, so that it may be sent twice.
pub(super) fn is_reading(request: &Request) -> bool {
    // What is no statement is told of when it is rendered.
    let Ok(aside) = Aside::of(text_of(request)) else { return false };
    Statement::new(&aside.text, true, Options::default()).is_ok_and(|statement| statement.is_reading())
}

/// The statement of `request`, whose text is `filled` with its places numbered, and how its connections begin.
pub(super) fn render(request: &Request, filled: &Filled<'_>) -> Result<Rendered> {
    let (url, parts) = (&request.url, &request.parts);
    if !url.origin.is_cql() {
        bail!(
            "a run speaks one protocol, and other requests of this run go to Cassandra: put it into a run of its own"
        );
    }
    if parts.method.is_some() {
        refuse!(["method"], "CQL has no methods: write the statement as --cql 'SELECT …', and leave -X out");
    }
    if !parts.headers.is_empty() {
        refuse!(["header"], "CQL has no headers: leave them out");
    }
    if parts.body_form != BodyForm::Plain || (parts.body.is_some() && !parts.cql.is_statement) {
        refuse!(
            ["json", "form", "body", "body-file", "message", "command", "sql"],
            "Cassandra takes statements of CQL: write --cql 'SELECT * FROM item WHERE id = {{{{id}}}}'"
        );
    }
    let Ok(text) = std::str::from_utf8(&filled.body) else { bail!("the statement is not text") };
    if text.is_empty() {
        refuse!(["url"], "no statement is given: add --cql 'SELECT * FROM item WHERE id = {{{{id}}}}'");
    }
    let is_filled = filled.composition.is_some();
    let statement = match parts.series {
        Some(series) => of_series(text, series, &parts.cql, is_filled),
        None => Statement::new(text, is_filled, parts.cql.options(0)),
    };
    let statement =
        statement.map_err(|error| refused(&["cql"], format!("the statement can't be sent: {error}")))?;
    let statement = if parts.taking.tells_values { statement.telling() } else { statement };
    if let Some(one) = parts.expect.iter().find(|one| matches!(one, Condition::Header(..))) {
        refuse!(["expect"], "--expect '{one}': an answer of CQL has no headers");
    }
    Ok(Rendered::Cql(account(url)?, statement))
}

/// Statements in lines, each of which is executed once the one before is done.
fn of_series(text: &str, series: Series, parts: &CqlParts, is_filled: bool) -> Result<Statement, BadCql> {
    let one = |number: usize, line: &str| match column_in(line) {
        None => Statement::new(line, is_filled, parts.options(number)),
        Some((place, at)) => {
            let of = |column: u32| {
                let text = format!("{}{column}{}", &line[..at.start], &line[at.end..]);
                Statement::new(&text, is_filled, parts.options(number))
            };
            Ok(Statement::one_of(place, (0..series.columns).map(of).collect::<Result<_, _>>()?))
        }
    };
    let (first, second) = Series::lines(text);
    let first = if series.must_find { one(0, first)?.finding() } else { one(0, first)? };
    Ok(match second {
        Some(second) => first.then(one(1, second)?),
        None => first,
    })
}

/// The keyspace that a URL names.
pub(crate) fn keyspace(url: &Url) -> Result<Option<String>> {
    Ok(account(url)?.keyspace)
}

/// What the URL says: `cql://USER:PASSWORD@HOST/KEYSPACE`. A password that it leaves out stands in the environment.
fn account(url: &Url) -> Result<CqlAccount> {
    let decoded =
        |text: &str| secrets::percent_decoded(text).context("user, password or keyspace is not UTF-8");
    if url.target.contains('?') {
        refuse!(["url"], "a URL of CQL has no parameters: leave out the ? and what follows it");
    }
    let keyspace = match url.target.trim_start_matches('/') {
        "" => None,
        path if path.contains('/') => {
            refuse!(["url"], "only the name of a keyspace may follow the host, as in cql://HOST/shop")
        }
        path => Some(decoded(path)?),
    };
    let user = match &url.userinfo {
        None => None,
        Some(userinfo) => {
            let (name, password) = match userinfo.split_once(':') {
                Some((name, password)) => (name, Some(decoded(password)?)),
                None => (userinfo.as_str(), std::env::var("CQL_PASSWORD").ok()),
            };
            let Some(password) = password else {
                refuse!(
                    ["url"],
                    "the URL has a user but no password: write cql://USER:PASSWORD@HOST, or set CQL_PASSWORD"
                )
            };
            Some(User { name: decoded(name)?, password })
        }
    };
    let texts = user.iter().flat_map(|user| [&user.name, &user.password]);
    if texts.into_iter().any(|text| text.contains('\0')) {
        refuse!(["url"], "the URL has a byte 0 (%00) in its user or password: leave it out");
    }
    Ok(CqlAccount { user, keyspace })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::version::Version;

    fn request(url: &str, cql: &str) -> Request {
        let mut request = Request::new(None, url).unwrap();
        request.parts.body = Some(cql.as_bytes().into());
        request.parts.cql.is_statement = true;
        request
    }

    #[test]
    fn the_url_says_who_asks_and_where() {
        let account = |url: &str| match request(url, "SELECT 1").render(Version::Cql).unwrap().0 {
            Rendered::Cql(account, _) => account,
            other => panic!("{other:?}"),
        };
        let all = account("cql://me:s3c%40ret@h/shop");
        let user = all.user.clone().unwrap();
        assert_eq!((user.name.as_str(), user.password.as_str()), ("me", "s3c@ret"));
        assert_eq!(all.keyspace.as_deref(), Some("shop"));
        assert!(!format!("{all:?}").contains("s3c"));
        assert_eq!(account("cqls://h"), CqlAccount { user: None, keyspace: None });
        let origin = request("cql://h", "SELECT 1").url.origin;
        assert_eq!((origin.port, origin.tls, request("cqls://h", "").url.origin.tls), (9042, false, true));
    }

    #[test]
    fn what_can_not_be_sent_is_refused_with_its_reason() {
        for (url, cql, part) in [
            ("cql://h/a/b", "SELECT 1", "name of a keyspace"),
            ("cql://h/a?x=1", "SELECT 1", "no parameters"),
            ("cql://me:a%00@h/a", "SELECT 1", "byte 0"),
            ("cql://h/a", "", "no statement is given"),
            ("cql://h/a", "USE b", "cql://HOST/shop"),
            ("cql://h/a", "SELECT x{{index}}", "beside a word"),
            ("http://h", "SELECT 1", "run of its own"),
        ] {
            let error = format!("{:#}", request(url, cql).render(Version::Cql).unwrap_err());
            assert!(error.contains(part), "{url} {cql}: {error}");
        }
    }

    #[test]
    fn a_statement_is_called_by_its_words_without_literals() {
        let target =
            request("cql://me:s3cret@h/a", "SELECT *\n FROM t WHERE a='s3cret' AND id = {{index}}").target();
        assert_eq!(target.name, "SELECT * FROM t WHERE a='***' AND id = {{index}}");
        assert_eq!((target.method.as_str(), target.url.contains("s3cret")), ("CQL", false));
    }

    #[test]
    fn what_is_said_for_all_holds_where_a_request_says_nothing() {
        let quorum = Consistency::read("quorum");
        let mut own = CqlParts { page_size: Some(7), ..CqlParts::default() };
        own.fill(&CqlParts { consistency: quorum, page_size: Some(9), ..CqlParts::default() });
        assert_eq!((own.options(0).consistency, own.options(0).page_size), (quorum.unwrap(), Some(7)));
        let lines = [Consistency::LOCAL_ONE, Consistency::QUORUM];
        let mut workload = CqlParts::of_lines(lines);
        workload.fill(&CqlParts::default());
        assert_eq!([0, 1].map(|line| workload.options(line).consistency), lines);
        workload.fill(&CqlParts { consistency: Consistency::read("all"), ..CqlParts::default() });
        assert_eq!(workload.options(1).consistency.to_string(), "all", "the command line wins");
    }
}
