//! Secrets that nobody knows beforehand and that are recognised by what stands around them: a name that tells of one, in
//! whatever form texts have names and values, or a form that only credentials have.

use super::MASK;
use super::named::is_secret_name;
use regex::{Captures, Regex};
use std::sync::LazyLock;

/// The text without what stands behind a name that says it is secret, and without what looks like a credential.
pub(super) fn masked(text: String) -> String {
    let by_name = FORMS.iter().fold(text, |text, form| {
        form.replace_all(&text, |found: &Captures<'_>| masked_value(found)).into_owned()
    });
    let tags = TAG.replace_all(&by_name, |found: &Captures<'_>| masked_tag(&found[0]));
    let without = CREDENTIALS
        .iter()
        .fold(tags.into_owned(), |text, form| form.replace_all(&text, "${before}***${after}").into_owned());
    SCHEME.replace_all(&without, |found: &Captures<'_>| masked_scheme(found)).into_owned()
}

/// Forms of names and values, one after the other.
static FORMS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    all(&[
        // A member of a JSON object, in a text of JSON that stands in another one.
        r#"(?<before>\\"(?<name>[^"\\]+)\\"\s*:\s*)(?<value>\\"(?:[^"\\]|\\[^"\\]|\\\\(?:\\["\\]|[^"\\]))*(?:\\"|\\*$)|-?[0-9][^,}\]\s]*)"#,
        // One whose value is a text, a number, or a list without objects.
        r#"(?<before>"(?<name>(?:[^"\\]|\\.)*)"\s*:\s*)(?<value>"(?:[^"\\]|\\.)*(?:"|\\?$)|-?[0-9][^,}\]\s]*|\[[^\[\]{}]*\])"#,
        // The same in single quotes, as Python prints it, and with the quotes of HTML.
        r"(?<before>'(?<name>[^'\\]+)'\s*:\s*)(?<value>'(?:[^'\\]|\\.)*(?:'|\\?$)|-?[0-9][^,}\]\s]*)",
        r"(?<before>&quot;(?<name>[^&<>]+)&quot;\s*:\s*)(?<value>&quot;(?:[^&]|&[^q])*(?:&quot;|$)|-?[0-9][^,}\]\s]*)",
        // A part of a form.
        r#"(?<before>\bname="(?<name>[^"\r\n]+)"[^\r\n]*\r?\n(?:[^\r\n]+\r?\n)*\r?\n)(?<value>[^\r\n]+)"#,
        // An element of XML.
        r"(?<before><(?<name>[A-Za-z][\w:.-]*)(?:\s[^<>]*)?>\s*)(?<value><!\[CDATA\[[^\]]*|[^<\s][^<]*)",
        // A field of a form or of a query; then a setting or an attribute, whose value may hold others.
        r#"(?<before>\b(?<name>[A-Za-z0-9_.%\[\]-]+)=)(?<value>[^&\s;"'<>,]+)"#,
        r#"(?<before>\b(?<name>[A-Za-z0-9_.\[\]-]+)\s*=\s*)(?<value>"[^"]*(?:"|$))"#,
        r"(?<before>\b(?<name>[A-Za-z0-9_.\[\]-]+)\s*=\s*)(?<value>'[^']*(?:'|$))",
        // A header of many words.
        r#"(?<before>(?i)\b(?<name>authorization|proxy-authorization|cookie|set-cookie)\s*:[ \t]*)(?<value>[^\r\n<"']+)"#,
        // Another header, or a line of YAML.
        r#"(?<before>\b(?<name>[A-Za-z][A-Za-z0-9_.-]*)\s*:[ \t]+)(?<value>"[^"\r\n]*(?:"|$)|'[^'\r\n]*(?:'|$)|[^\s"'{}\[\],;<>&*]+)"#,
        // A column in an error of PostgreSQL.
        r"(?<before>\((?<name>[^()]+)\)=\()(?<value>[^)]+)",
    ])
});

/// What only credentials look like, whatever they are called.
static CREDENTIALS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    all(&[
        // User and password of a URL.
        r"(?<before>\b[a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/@<>]*:[^\s/@<>]+(?<after>@)",
        // A signed token (RFC 7519): it begins with {" in base64.
        r"(?<before>\b)eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?(?<after>)",
        // In a statement: CREATE ROLE me PASSWORD 'x'.
        r"(?<before>(?i)\bpassword\s+)'[^']*(?:'|$)(?<after>)",
        // Of a command: AUTH x, HELLO 3 AUTH me x, CONFIG SET requirepass x, ACL SETUSER me >x.
        r"(?<before>\bAUTH2?[ \t]+)[^\s<][^\r\n]*(?<after>)",
        r"(?<before>(?i)\b(?:requirepass|masterauth)\s+)\S+(?<after>)",
        r"(?<before>(?i)\bACL\s+SETUSER\s+\S+\s+)[^\r\n]+(?<after>)",
        // What a server of Redis quotes of a command that it does not know, and PostgreSQL of a row that it refuses.
        r"(?<before>with args beginning with: )[^\r\n]+(?<after>)",
        r"(?<before>Failing row contains \()[^\r\n]+(?<after>)",
    ])
});

/// A scheme of `Authorization`, and what may be its credentials or an ordinary word.
static SCHEME: LazyLock<Regex> =
    LazyLock::new(|| one(r"(?<before>(?i)\b(?:bearer|basic)[ \t]+)(?<value>[A-Za-z0-9+/._~-]{8,}={0,2})"));

/// An element of HTML that has its name in one attribute and its value in another; it may be cut off.
static TAG: LazyLock<Regex> = LazyLock::new(|| one(r"(?i)<(?:input|meta|param|data)\b[^>]*(?:>|$)"));
static ATTRIBUTE: LazyLock<Regex> = LazyLock::new(|| {
    one(r#"(?<before>\b(?<name>[A-Za-z-]+)\s*=\s*)(?<value>"[^"]*(?:"|$)|'[^']*(?:'|$)|[^\s"'<>]+)"#)
});

fn all(patterns: &[&str]) -> Vec<Regex> {
    patterns.iter().map(|pattern| one(pattern)).collect()
}

fn one(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a regular expression")
}

/// The quotes around a value stay.
fn quotes(value: &str) -> &str {
    match value {
        value if value.starts_with('"') => "\"",
        value if value.starts_with('\\') => "\\\"",
        value if value.starts_with('\'') => "'",
        value if value.starts_with("&quot;") => "&quot;",
        _ => "",
    }
}

fn masked_value(found: &Captures<'_>) -> String {
    if !is_secret_name(&found["name"]) {
        return found[0].to_string();
    }
    let quotes = quotes(&found["value"]);
    format!("{}{quotes}{MASK}{quotes}", &found["before"])
}

/// The value of a field whose name tells that it is secret, or whose type does.
fn masked_tag(tag: &str) -> String {
    let is_secret = ATTRIBUTE.captures_iter(tag).any(|found| {
        let says = ["name", "id", "property", "itemprop", "type", "http-equiv", "autocomplete"];
        says.contains(&found["name"].to_ascii_lowercase().as_str()) && is_secret_name(&found["value"])
    });
    if !is_secret {
        return tag.to_string();
    }
    let masked = |found: &Captures<'_>| match found["name"].to_ascii_lowercase().as_str() {
        "value" | "content" => {
            let quotes = quotes(&found["value"]);
            format!("{}{quotes}{MASK}{quotes}", &found["before"])
        }
        _ => found[0].to_string(),
    };
    ATTRIBUTE.replace_all(tag, masked).into_owned()
}

/// "Basic authentication" is no secret: a word has one case and no digits.
fn masked_scheme(found: &Captures<'_>) -> String {
    let value = &found["value"];
    let is_word = value.bytes().skip(1).all(|byte| byte.is_ascii_lowercase() || b".-".contains(&byte));
    if is_word { found[0].to_string() } else { format!("{}{MASK}", &found["before"]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_masked(texts: &[(&str, &str)]) {
        for (text, shown) in texts {
            assert_eq!(masked((*text).to_string()), *shown, "{text}");
        }
    }

    #[test]
    fn pages_and_forms_keep_their_secrets() {
        assert_masked(&[
            (
                r#"<input type="hidden" name="csrf_token" value="s3cret" /> <input name=q value=a>"#,
                r#"<input type="hidden" name="csrf_token" value="***" /> <input name=q value=a>"#,
            ),
            (r#"<INPUT value='s3cret' type='password'>"#, r#"<INPUT value='***' type='password'>"#),
            (r#"<meta name="csrf-token" content="s3cr"#, r#"<meta name="csrf-token" content="***""#),
            (
                r#"<div data-page="{&quot;token&quot;:&quot;s3cret&quot;,&quot;n&quot;:1}">"#,
                r#"<div data-page="{&quot;token&quot;:&quot;***&quot;,&quot;n&quot;:1}">"#,
            ),
            (r#"<a href="/x?sid=s3cret&amp;p=2">"#, r#"<a href="/x?sid=***&amp;p=2">"#),
            (r#"<div data-x="password='s3cret'">"#, r#"<div data-x="password='***'">"#),
            (
                "<Password xsi:type=\"x\">s3cret</Password><id>7</id>",
                "<Password xsi:type=\"x\">***</Password><id>7</id>",
            ),
            ("<w:token><![CDATA[s3cret]]></w:token>", "<w:token>***]]></w:token>"),
            (r#"<item accessKey="s3cret" id='7'/>"#, r#"<item accessKey="***" id='7'/>"#),
            (
                "user%5Bpassword%5D=s3cret&user[password]=s3cret&a=b",
                "user%5Bpassword%5D=***&user[password]=***&a=b",
            ),
            (
                "--x\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\ns3cret\r\n--x",
                "--x\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\n***\r\n--x",
            ),
        ]);
    }

    #[test]
    fn texts_of_any_kind_do_too() {
        assert_masked(&[
            ("Authorization: Bearer s3cret\nHost: h", "Authorization: ***\nHost: h"),
            ("cookie: theme=s3cret; b=s3cret\r\nage: 7", "cookie: ***\r\nage: 7"),
            ("X-Api-Key: s3cret\nport: 80", "X-Api-Key: ***\nport: 80"),
            ("db:\n  password: \"s3 cret\"\n  user: me", "db:\n  password: \"***\"\n  user: me"),
            ("{'token': 's3cret', 'pin': 12, 'id': 7}", "{'token': '***', 'pin': ***, 'id': 7}"),
            ("password = 's3cret' user = 'me'", "password = '***' user = 'me'"),
            (
                "sent bearer s3cretToken1 to postgres://me:s3cret@db/x",
                "sent bearer *** to postgres://***@db/x",
            ),
            ("got eyJhbGciOi.eyJzdWIi.s3cret!", "got ***!"),
        ]);
        for text in [
            "Basic authentication is required",
            "Unexpected end of input at 7: x",
            "https://h/a@b?page=2",
            "the key is missing, no token was sent",
            "<p>Password</p><label>Name</label> a = b",
        ] {
            assert_eq!(masked(text.to_string()), text);
        }
    }

    #[test]
    fn errors_of_stores_do_too() {
        assert_masked(&[
            (
                "ERR unknown command 'GETT', with args beginning with: 's3cret' ",
                "ERR unknown command 'GETT', with args beginning with: ***",
            ),
            ("Key (api_key)=(s3cret) already exists.", "Key (api_key)=(***) already exists."),
            ("Key (email)=(a@b) already exists.", "Key (email)=(a@b) already exists."),
            ("Failing row contains (7, s3cret, null).", "Failing row contains (***"),
            ("ALTER ROLE me WITH PASSWORD 's3cret' LOGIN", "ALTER ROLE me WITH PASSWORD *** LOGIN"),
            ("CREATE ROLE me WITH PASSWORD = 's3cret'", "CREATE ROLE me WITH PASSWORD = '***'"),
            ("HELLO 3 AUTH me s3cret", "HELLO 3 AUTH ***"),
            ("CONFIG SET requirepass s3cret", "CONFIG SET requirepass ***"),
            (
                "WRONGPASS invalid username-password pair or user is disabled.",
                "WRONGPASS invalid username-password pair or user is disabled.",
            ),
            ("SELECT * FROM item WHERE id = 's3'", "SELECT * FROM item WHERE id = 's3'"),
        ]);
    }
}
