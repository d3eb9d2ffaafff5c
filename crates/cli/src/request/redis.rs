//! A command of Redis.

use super::login::Login;
use super::series::{Series, Then};
use super::template::{BodyForm, Filled, filled_with};
use super::url::Url;
use super::version::Rendered;
use super::{Parts, Request};
use crate::aside::Aside;
use crate::errors::{refuse, refused};
use crate::secrets::{self, Known, MASK};
use anyhow::{Context, Result, bail};
use unblink_wire::blank::Blank;
use unblink_wire::redis::{self, Command, User};
use unblink_workload::answer::Condition;
use unblink_workload::template::{Piece, pieces};

/// Several words as the text of a command, each quoted where it must be. Places for values stay as they are.
pub(crate) fn quoted(words: &[String]) -> String {
    let one = |word: &String| {
        let is_plain = |c: char| !c.is_whitespace() && !c.is_control() && !matches!(c, '"' | '\'');
        let Ok(all) = pieces(word) else { return word.clone() };
        let is_bare = |piece: &Piece<'_>| match piece {
            Piece::Text(text) => text.chars().all(is_plain),
            Piece::Place(..) => true,
        };
        if !word.is_empty() && all.iter().all(is_bare) {
            return word.clone();
        }
        let mut out = String::from("\"");
        for piece in all {
            match piece {
                Piece::Place(_, at) => out += &word[at],
                Piece::Text(text) => text.chars().for_each(|c| match c {
                    '"' | '\\' => out.extend(['\\', c]),
                    '\n' => out += "\\n",
                    '\r' => out += "\\r",
                    c => out.push(c),
                }),
            }
        }
        out + "\""
    };
    words.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// The words of a command, by the rules of redis-cli: blanks part them, `'…'` is meant as it stands, and in `"…"` there are
/// `\n`, `\r`, `\t`, `\"`, `\\` and `\xHH`.
fn words(text: &str) -> Result<Vec<Vec<u8>>> {
    let (mut words, mut rest) = (Vec::new(), text.as_bytes().trim_ascii_start());
    while !rest.is_empty() {
        let (word, behind) = match rest {
            [b'\'', inside @ ..] => in_single_quotes(inside),
            [b'"', inside @ ..] => in_double_quotes(inside)?,
            bare => {
                let end = bare.iter().position(u8::is_ascii_whitespace).unwrap_or(bare.len());
                if bare[..end].contains(&b'"') || bare[..end].contains(&b'\'') {
                    bail!("there is a quote inside a word: put quotes around the whole word");
                }
                Some((bare[..end].to_vec(), &bare[end..]))
            }
        }
        .context("a quote is never closed")?;
        if behind.first().is_some_and(|byte| !byte.is_ascii_whitespace()) {
            bail!("a blank is expected after a closing quote");
        }
        words.push(word);
        rest = behind.trim_ascii_start();
    }
    Ok(words)
}

fn in_single_quotes(mut rest: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut word = Vec::new();
    loop {
        rest = match rest {
            [] => return None,
            [b'\'', behind @ ..] => return Some((word, behind)),
            [b'\\', byte @ b'\'', behind @ ..] | [byte, behind @ ..] => {
                word.push(*byte);
                behind
            }
        };
    }
}

fn in_double_quotes(mut rest: &[u8]) -> Result<Option<(Vec<u8>, &[u8])>> {
    let mut word = Vec::new();
    loop {
        rest = match rest {
            [] | [b'\\'] => return Ok(None),
            [b'"', behind @ ..] => return Ok(Some((word, behind))),
            [b'\\', b'x', high, low, behind @ ..] => {
                let digits = [*high, *low];
                let byte =
                    std::str::from_utf8(&digits).ok().and_then(|text| u8::from_str_radix(text, 16).ok());
                let byte = byte.context("two hexadecimal digits are expected after \\x")?;
                if byte == b'{' {
                    bail!("\\x7b is a brace: write it as it is, or two of them as {{{{'{{{{'}}}}");
                }
                word.push(byte);
                behind
            }
            [b'\\', byte, behind @ ..] => {
                word.push(match byte {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'a' => 7,
                    b'b' => 8,
                    other => *other,
                });
                behind
            }
            [byte, behind @ ..] => {
                word.push(*byte);
                behind
            }
        };
    }
}

/// Characters of a statement that a report calls it by.
const NAME_MAX: usize = 60;

/// A statement as the report calls it: its beginning.
pub(super) fn called(whole: String) -> String {
    match whole.char_indices().nth(NAME_MAX) {
        Some((end, _)) => format!("{}…", &whole[..end]),
        None => whole,
    }
}

/// The text of a request's command.
pub(super) fn text_of(request: &Request) -> &str {
    request.parts.body.as_deref().and_then(|body| std::str::from_utf8(body).ok()).unwrap_or_default()
}

/// The first word, by which the report calls the command.
pub(super) fn name_of(request: &Request) -> &str {
    let first = text_of(request).split_ascii_whitespace().next().unwrap_or_default();
    first.trim_matches(['"', '\''])
}

/// Its name, and its key if that is drawn, with the numbers of its places. The other words may be secrets.
pub(super) fn numbered(request: &Request) -> Result<String> {
    let text = Aside::of(text_of(request))?.text;
    let mut shown = vec![name_of(request).to_string()];
    for (place, word) in words(&text).unwrap_or_default().iter().enumerate().skip(1) {
        let is_drawn = place == 1 && Blank::new(word).has_gaps();
        let key = || Known::of_variables().masked(&String::from_utf8_lossy(word));
        shown.push(if is_drawn { key() } else { MASK.to_string() });
    }
    Ok(shown.join(" "))
}

/// What is to be sent is a command, or nothing.
fn is_of_redis(parts: &Parts) -> bool {
    parts.body_form == BodyForm::Plain && (parts.body.is_none() || parts.is_command)
}

/// Why the command can't be measured with so many at once on a connection, if it can't.
pub(crate) fn check_depth(request: &Request, depth: u32) -> Result<()> {
    // Another protocol's text may begin with a word that Redis knows.
    if !is_of_redis(&request.parts) {
        return Ok(());
    }
    let holds = request.parts.taking.holds_connection;
    let Ok(text) = filled_with(text_of(request), "1") else { return Ok(()) };
    // What is no command is told of when it is rendered.
    let Some(why) = words(&text).ok().and_then(|words| redis::refused(&words, depth, holds)) else {
        return Ok(());
    };
    refuse!(["command", "depth"], "{}: {why}", name_of(request))
}

/// The command of `request`, whose text is `filled` with its places numbered, and how its connections begin.
pub(super) fn render(request: &Request, filled: &Filled<'_>) -> Result<Rendered> {
    let (url, parts) = (&request.url, &request.parts);
    if !url.origin.is_redis() {
        bail!(
            "a run speaks one protocol, and other requests of this run go to Redis: put it into a run of its own"
        );
    }
    if parts.method.is_some() {
        refuse!(
            ["method"],
            "Redis has no methods: write the command as --command 'GET {{{{key}}}}', and leave -X out"
        );
    }
    if !parts.headers.is_empty() {
        refuse!(["header"], "Redis has no headers: leave them out");
    }
    if !is_of_redis(parts) {
        refuse!(
            ["json", "form", "body", "body-file", "message", "sql", "cql"],
            "Redis takes commands: write --command 'SET {{{{key}}}} {{{{bytes(100)}}}}'"
        );
    }
    let Ok(text) = std::str::from_utf8(&filled.body) else { bail!("the command is not text") };
    let is_filled = filled.composition.is_some();
    if let Some(series) = parts.series {
        return Ok(Rendered::Redis(login(url)?, of_series(text, series, is_filled)?));
    }
    let words =
        words(text).map_err(|error| refused(&["command"], format!("the command can't be read: {error}")))?;
    let Some(first) = words.first() else {
        refuse!(["url"], "no command is given: add --command 'GET {{{{key}}}}'")
    };
    if is_filled && Blank::new(first).has_gaps() {
        refuse!(["command"], "the first word of a command must be fixed: use one request per command");
    }
    if first.first().is_none_or(|byte| !byte.is_ascii_alphabetic()) {
        refuse!(
            ["command"],
            "the command does not begin with a name: a share may stand before a command only in --request, such as \
             --request '80% GET {{{{key}}}}'"
        );
    }
    if let Some(why) = redis::refused(&words, 1, parts.taking.holds_connection) {
        refuse!(["command"], "{}: {why}", String::from_utf8_lossy(first));
    }
    if let Some(one) = parts.expect.iter().find(|one| matches!(one, Condition::Header(..))) {
        refuse!(["expect"], "--expect '{one}': a reply of Redis has no headers");
    }
    let command = Command::new(&words, is_filled);
    let command = if parts.taking.tells_values { command.telling() } else { command };
    Ok(Rendered::Redis(login(url)?, command))
}

/// Commands in lines, each of which is asked once the one before is answered.
fn of_series(text: &str, series: Series, is_filled: bool) -> Result<Command> {
    let (first, second) = Series::lines(text);
    let command = |line: &str| Ok::<_, anyhow::Error>(Command::new(&words(line)?, is_filled));
    let first = if series.must_find { command(first)?.finding() } else { command(first)? };
    Ok(match (series.then, second) {
        (Then::Each, _) => first.then_each(),
        (Then::Line, Some(second)) => first.then(command(second)?),
        _ => first,
    })
}

/// What the URL says: `redis://USER:PASSWORD@HOST/DATABASE`.
fn login(url: &Url) -> Result<Login> {
    let path = url.target.trim_start_matches('/');
    let database = match path {
        "" => 0,
        _ => match path.parse() {
            Ok(database) => database,
            Err(_) => refuse!(["url"], "only a database number may follow the host, as in redis://HOST/0"),
        },
    };
    let user = match &url.userinfo {
        None => None,
        Some(userinfo) => {
            let decoded =
                |text: &str| secrets::percent_decoded(text).context("user or password is not UTF-8");
            let Some((name, password)) = userinfo.split_once(':') else {
                refuse!(
                    ["url"],
                    "there is no password before the @: write USER:PASSWORD@HOST, or :PASSWORD@HOST"
                )
            };
            let name = decoded(name)?;
            Some(User { name: (!name.is_empty()).then_some(name), password: decoded(password)? })
        }
    };
    Ok(Login { user, database })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::version::Version;

    fn split(text: &str) -> Result<Vec<String>> {
        Ok(words(text)?.into_iter().map(|word| String::from_utf8_lossy(&word).into_owned()).collect())
    }

    #[test]
    fn a_command_has_words_as_in_redis_cli() {
        for (text, expected) in [
            ("GET a", &["GET", "a"][..]),
            ("  SET\tk:{{0}}  'a b' ", &["SET", "k:{{0}}", "a b"]),
            (r#"SET k "a \"b\"\n\x41\\" '' 'it\'s "'"#, &["SET", "k", "a \"b\"\nA\\", "", "it's \""]),
            ("", &[]),
        ] {
            assert_eq!(split(text).unwrap(), expected, "{text}");
        }
        for (text, part) in [
            ("GET 'a", "never closed"),
            ("GET \"a\\", "never closed"),
            ("GET 'a'b", "a blank is expected"),
            ("SET k {\"a\":1}", "inside a word"),
            (r#"GET "\xzz""#, "hexadecimal"),
            (r#"GET "\x7b\x7b0}}""#, "write it as it is"),
        ] {
            let error = split(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn a_list_of_words_says_the_same() {
        let list = ["SET", "k:{{key}}", "a \"b\"\n\\", "", "{{x('a b')}} c", "it's"].map(String::from);
        let text = quoted(&list);
        assert_eq!(text, r#"SET k:{{key}} "a \"b\"\n\\" "" "{{x('a b')}} c" "it's""#);
        let filled = filled_with(&text, "7").unwrap();
        assert_eq!(split(&filled).unwrap(), ["SET", "k:7", "a \"b\"\n\\", "", "7 c", "it's"]);
    }

    fn request(url: &str, command: &str) -> Request {
        let mut request = Request::new(None, url).unwrap();
        request.parts.body = Some(command.as_bytes().into());
        request.parts.is_command = true;
        request
    }

    #[test]
    fn the_url_says_who_asks_and_where() {
        let login = |url: &str| match request(url, "PING").render(Version::Redis).unwrap().0 {
            Rendered::Redis(login, _) => login,
            other => panic!("{other:?}"),
        };
        let user = |name: Option<&str>, password: &str| {
            Some(User { name: name.map(Into::into), password: password.into() })
        };
        for (url, user, database) in [
            ("redis://h", None, 0),
            ("redis://h:6380/", None, 0),
            ("rediss://h/7", None, 7),
            ("redis://:s3c%40ret@h/0", user(None, "s3c@ret"), 0),
            ("redis://me:s3cret@h/1", user(Some("me"), "s3cret"), 1),
        ] {
            assert_eq!(login(url), Login { user, database }, "{url}");
        }
        assert!(!format!("{:?}", login("redis://me:s3cret@h/1")).contains("s3cret"));
    }

    #[test]
    fn what_can_not_be_sent_is_refused_with_its_reason() {
        for (url, command, part) in [
            ("redis://h/a", "PING", "database number"),
            ("redis://h/0?db=1", "PING", "database number"),
            ("redis://me@h/0", "PING", "no password"),
            ("redis://h", "", "no command is given"),
            ("redis://h", "80% GET a", "--request"),
            ("redis://h", "{{index}} a", "must be fixed"),
            ("redis://h", "SUBSCRIBE news", "one reply"),
            ("redis://h", "GET 'a", "never closed"),
            ("http://h", "GET a", "run of its own"),
        ] {
            let error = format!("{:#}", request(url, command).render(Version::Redis).unwrap_err());
            assert!(error.contains(part), "{url} {command}: {error}");
        }
        let blocking = request("redis://h", "BLPOP {{index}} 0");
        assert!(check_depth(&blocking, 1).is_ok() && check_depth(&blocking, 2).is_err());
    }

    /// `SELECT` is a command of Redis, too, and a wrong one.
    #[test]
    fn a_statement_is_told_that_redis_takes_commands() {
        let mut statement = request("redis://h", "SELECT 1");
        assert!(check_depth(&statement, 1).is_err());
        (statement.parts.is_command, statement.parts.is_sql) = (false, true);
        check_depth(&statement, 1).unwrap();
        let error = format!("{:#}", statement.render(Version::Redis).unwrap_err());
        assert!(error.contains("Redis takes commands"), "{error}");
    }
}
