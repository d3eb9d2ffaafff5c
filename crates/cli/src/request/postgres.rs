//! A transaction of PostgreSQL.

use super::Request;
use super::account::Account;
use super::redis::{called, text_of};
use super::series::{Series, column_in};
use super::template::{BodyForm, Filled};
use super::url::{SslMode, Url};
use super::version::Rendered;
use crate::aside::Aside;
use crate::errors::{refuse, refused};
use crate::secrets;
use anyhow::{Context, Result, bail};
use unblink_wire::postgres::{BadSql, Transaction, User, shown};
use unblink_workload::answer::Condition;

/// What stands in the place of a method in a document.
pub(super) const METHOD: &str = "SQL";

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
    Transaction::new(&aside.text, true).is_ok_and(|transaction| transaction.is_reading())
}

/// The statements of `request`, whose text is `filled` with its places numbered, and how its connections begin.
pub(super) fn render(request: &Request, filled: &Filled<'_>) -> Result<Rendered> {
    let (url, parts) = (&request.url, &request.parts);
    if !url.origin.is_postgres() {
        bail!(
            "a run speaks one protocol, and other requests of this run go to PostgreSQL: put it into a run of its own"
        );
    }
    if parts.method.is_some() {
        refuse!(
            ["method"],
            "PostgreSQL has no methods: write the statement as --sql 'SELECT …', and leave -X out"
        );
    }
    if !parts.headers.is_empty() {
        refuse!(["header"], "PostgreSQL has no headers: leave them out");
    }
    if parts.body_form != BodyForm::Plain || (parts.body.is_some() && !parts.is_sql) {
        refuse!(
            ["json", "form", "body", "body-file", "message", "command"],
            "PostgreSQL takes statements: write --sql 'SELECT * FROM item WHERE id = {{{{id}}}}'"
        );
    }
    let Ok(text) = std::str::from_utf8(&filled.body) else { bail!("the statement is not text") };
    if text.is_empty() {
        refuse!(["url"], "no statement is given: add --sql 'SELECT * FROM item WHERE id = {{{{id}}}}'");
    }
    let is_filled = filled.composition.is_some();
    let transaction = match parts.series {
        Some(series) => of_series(text, series, is_filled),
        None if parts.taking.holds_connection => Transaction::step(text, is_filled),
        None => Transaction::new(text, is_filled),
    };
    let transaction =
        transaction.map_err(|error| refused(&["sql"], format!("the statement can't be sent: {error}")))?;
    let transaction = if parts.taking.tells_values { transaction.telling() } else { transaction };
    if let Some(one) = parts.expect.iter().find(|one| matches!(one, Condition::Header(..))) {
        refuse!(["expect"], "--expect '{one}': an answer of PostgreSQL has no headers");
    }
    Ok(Rendered::Postgres(account(url)?, transaction))
}

/// Statements in lines, each a transaction that is begun once the one before is done.
fn of_series(text: &str, series: Series, is_filled: bool) -> Result<Transaction, BadSql> {
    let one = |line: &str| {
        let one = match column_in(line) {
            None => Transaction::new(line, is_filled)?,
            Some((place, at)) => {
                let of = |column: u32| {
                    Transaction::new(&format!("{}{column}{}", &line[..at.start], &line[at.end..]), is_filled)
                };
                Transaction::one_of(place, (0..series.columns).map(of).collect::<Result<_, _>>()?)
            }
        };
        Ok(if series.must_find { one.finding() } else { one })
    };
    let (first, second) = Series::lines(text);
    Ok(match second {
        Some(second) => one(first)?.then(one(second)?),
        None => one(first)?,
    })
}

/// The database that a URL means, or the environment where it says none.
pub(crate) fn database(url: &str) -> Result<String> {
    Ok(account(&Url::parse(url)?)?.database)
}

/// User and database, where the URL leaves them to the environment.
pub(crate) fn left_out(url: &Url) -> Result<[Option<String>; 2]> {
    let account = account(url)?;
    let named = |userinfo: &String| userinfo.split(':').next().is_some_and(|name| !name.is_empty());
    let user = (!url.userinfo.as_ref().is_some_and(named)).then(|| account.user.name.clone());
    let path = url.target.split('?').next().unwrap_or_default();
    Ok([user, path.trim_start_matches('/').is_empty().then_some(account.database)])
}

/// Who runs this program.
fn user() -> Option<String> {
    nix::unistd::User::from_uid(nix::unistd::geteuid()).ok().flatten().map(|user| user.name)
}

/// What the URL says: `postgres://USER:PASSWORD@HOST/DATABASE?NAME=VALUE`. What it leaves out stands in the environment, as
/// PostgreSQL's own programs have it.
fn account(url: &Url) -> Result<Account> {
    let of_environment = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let decoded =
        |text: &str| secrets::percent_decoded(text).context("user, password or database is not UTF-8");
    let (path, query) = url.target.split_once('?').unwrap_or((&url.target, ""));
    let (name, password) = match &url.userinfo {
        None => (None, None),
        Some(userinfo) => match userinfo.split_once(':') {
            Some((name, password)) => (Some(decoded(name)?), Some(decoded(password)?)),
            None => (Some(decoded(userinfo)?), None),
        },
    };
    let name = name.filter(|name| !name.is_empty()).or_else(|| of_environment("PGUSER")).or_else(user);
    let Some(name) = name else {
        refuse!(["url"], "the URL has no user: write postgres://USER@HOST/DATABASE, or set PGUSER")
    };
    let database = match path.trim_start_matches('/') {
        "" => of_environment("PGDATABASE").unwrap_or_else(|| name.clone()),
        path if path.contains('/') => {
            refuse!(
                ["url"],
                "only the name of a database may follow the host, as in postgres://USER@HOST/shop"
            )
        }
        path => decoded(path)?,
    };
    let mut parameters = vec![("application_name".to_string(), "unblink".to_string())];
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        match key {
            "application_name" => parameters[0].1 = decoded(value)?,
            "options" => parameters.push((key.to_string(), decoded(value)?)),
            "sslmode" if SslMode::read(value).is_some() => {}
            "sslmode" => {
                refuse!(
                    ["url"],
                    "sslmode={value}: a run is encrypted or it is not: write disable, require, verify-ca or verify-full"
                )
            }
            _ => refuse!(
                ["url"],
                "unknown connection parameter {key:?}; known: application_name, options, sslmode"
            ),
        }
    }
    let texts = parameters.iter().map(|(_, value)| value).chain([&name, &database]).chain(&password);
    if texts.into_iter().any(|text| text.contains('\0')) {
        refuse!(["url"], "the URL has a byte 0 (%00), which ends a text of PostgreSQL: leave it out");
    }
    let password = password.or_else(|| of_environment("PGPASSWORD"));
    Ok(Account { user: User { name, password }, database, parameters })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::version::Version;

    fn request(url: &str, sql: &str) -> Request {
        let mut request = Request::new(None, url).unwrap();
        request.parts.body = Some(sql.as_bytes().into());
        request.parts.is_sql = true;
        request
    }

    #[test]
    fn what_a_url_leaves_out_is_told_apart() {
        let left = |url: &str| left_out(&Url::parse(url).unwrap()).unwrap();
        assert_eq!(left("postgres://me:s3cret@h/shop?application_name=x"), [None, None]);
        for url in ["postgres://me@h", "postgres://me@h/", "postgres://me@h/?application_name=x"] {
            let [user, database] = left(url);
            assert_eq!(user, None, "{url}");
            // PGDATABASE, or the user's name.
            assert!(database.is_some(), "{url}");
        }
    }

    #[test]
    fn the_url_says_who_asks_and_where() {
        let account = |url: &str| match request(url, "SELECT 1").render(Version::Postgres).unwrap().0 {
            Rendered::Postgres(account, _) => account,
            other => panic!("{other:?}"),
        };
        let all =
            account("postgresql://me:s3c%40ret@h/shop?application_name=x&options=-c%20a%3Db&sslmode=disable");
        assert_eq!((all.user.name.as_str(), all.user.password.as_deref()), ("me", Some("s3c@ret")));
        assert_eq!(all.database, "shop");
        let parameters = [("application_name", "x"), ("options", "-c a=b")];
        assert_eq!(all.parameters, parameters.map(|(name, value)| (name.to_string(), value.to_string())));
        assert!(!format!("{all:?}").contains("s3c"));
    }

    #[test]
    fn what_can_not_be_sent_is_refused_with_its_reason() {
        for (url, sql, part) in [
            ("postgres://me@h/a/b", "SELECT 1", "name of a database"),
            ("postgres://me@h/a?sslmode=prefer", "SELECT 1", "encrypted or it is not"),
            ("postgres://me@h/a?x=1", "SELECT 1", "unknown connection parameter"),
            ("postgres://me@h/a%00", "SELECT 1", "byte 0"),
            ("postgres://me@h/a", "", "no statement is given"),
            ("postgres://me@h/a", "BEGIN", "one transaction anyway"),
            ("postgres://me@h/a", "SET search_path = x", "?options=-c%20name%3Dvalue"),
            ("postgres://me@h/a", "LOCK t; SELECT 1", "hold-connection = true"),
            ("postgres://me@h/a", "SELECT x{{index}}", "beside a word"),
            ("http://h", "SELECT 1", "run of its own"),
        ] {
            let error = format!("{:#}", request(url, sql).render(Version::Postgres).unwrap_err());
            assert!(error.contains(part), "{url} {sql}: {error}");
        }
    }

    #[test]
    fn a_statement_is_called_by_its_words_without_literals() {
        let target =
            request("postgres://me:s3cret@h/a", "SELECT *\n FROM t WHERE a='s3cret' AND id = {{index}}")
                .target();
        assert_eq!(target.name, "SELECT * FROM t WHERE a='***' AND id = {{index}}");
        assert_eq!((target.method.as_str(), target.url.contains("s3cret")), ("SQL", false));
    }
}
