//! Target files in vegeta's text format.
//!
//! A target is a line `METHOD URL`, then header lines, then at most one line `@FILE` naming its body
//! (relative to the target file). Empty lines separate targets; lines that begin with `#` are comments.

use super::request::{RequestSpec, header};
use anyhow::{Context, Result, anyhow, bail};
use std::io::Read;
use std::path::Path;

/// Reads every target. `-` is standard input.
pub(crate) fn read(path: &Path) -> Result<Vec<RequestSpec>> {
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).context("can't read targets from standard input")?;
        return parse(text(&bytes, "standard input")?, "standard input", Path::new("."));
    }
    let bytes = std::fs::read(path).with_context(|| format!("can't read the target file {path:?}"))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let name = path.display().to_string();
    parse(text(&bytes, &name)?, &name, folder)
}

/// UTF-8, or where it is not.
fn text<'a>(bytes: &'a [u8], name: &str) -> Result<&'a str> {
    std::str::from_utf8(bytes).map_err(|error| {
        let line = 1 + bytes[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count();
        anyhow!(
            "{name}:{line}: this line is not UTF-8: write what is not ASCII in UTF-8, or percent-encode it"
        )
    })
}

fn parse(text: &str, name: &str, folder: &Path) -> Result<Vec<RequestSpec>> {
    let mut targets: Vec<RequestSpec> = Vec::new();
    // Between an empty line and the next request line nothing else may stand.
    let mut open = false;
    for (number, line) in text.lines().enumerate() {
        let place = || format!("{name}:{}", number + 1);
        let line = line.trim();
        if line.starts_with('#') {
            continue;
        }
        if line.is_empty() {
            open = false;
            continue;
        }
        match targets.last_mut().filter(|_| open && !is_request_line(line)) {
            None => {
                let target = request_line(line).with_context(place)?;
                targets.push(RequestSpec { place: Some(place()), ..target });
                open = true;
            }
            Some(target) => match line.strip_prefix('@') {
                Some(_) if target.body.is_some() => bail!("{}: this target has a body already", place()),
                Some(file) => {
                    let file = folder.join(file.trim());
                    let body = std::fs::read(&file);
                    target.body = Some(
                        body.with_context(|| format!("{}: can't read the body file {file:?}", place()))?,
                    );
                }
                None => target.headers.push(header(line).with_context(place)?),
            },
        }
    }
    if targets.is_empty() {
        bail!("{name} holds no target (expected lines such as `GET http://127.0.0.1:8080/`)");
    }
    Ok(targets)
}

/// A header has its colon before any space; a request line begins with a method and a space.
fn is_request_line(line: &str) -> bool {
    line.split_once(' ').is_some_and(|(method, url)| {
        !method.contains(':') && method.chars().all(|c| c.is_ascii_uppercase()) && url.contains("://")
    })
}

fn request_line(line: &str) -> Result<RequestSpec> {
    let Some((method, url)) = line.split_once(char::is_whitespace) else {
        bail!("this is not a target: expected `METHOD URL`, such as `GET http://127.0.0.1:8080/`");
    };
    // The line may be a header whose target is missing, and its value a secret.
    if method.contains(':') {
        bail!("a header belongs below a line `METHOD URL`, without an empty line between them");
    }
    RequestSpec::new(Some(method.to_string()), url.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_with_headers_bodies_and_comments() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("body.json"), b"{}").unwrap();
        let text = "# a comment\nGET http://h/a\nX-One: 1\n\nPOST http://h/b\nContent-Type: application/json\n@body.json\nDELETE http://h/c\n";
        let targets = parse(text, "t", folder.path()).unwrap();
        assert_eq!(targets.len(), 3);
        assert_eq!(targets[0].headers, [("X-One".to_string(), "1".to_string())]);
        assert_eq!(targets[1].body.as_deref(), Some(&b"{}"[..]));
        assert_eq!((targets[2].method(), targets[2].url.target.as_str()), ("DELETE", "/c"));
    }

    #[test]
    fn what_is_not_utf_8_has_a_line() {
        let error = text(b"GET http://h/\n\nGET http://h/caf\xe9\n", "t").unwrap_err().to_string();
        assert!(error.starts_with("t:3: this line is not UTF-8"), "{error}");
    }

    #[test]
    fn errors_name_file_and_line() {
        for (text, part) in [
            ("", "holds no target"),
            ("GET", "t:1"),
            ("\n\nGET nonsense", "t:3"),
            ("GET http://h/\nno colon here", "t:2"),
            ("GET http://h/\n@/nonexistent/body", "t:2"),
            ("X-Header: before any target", "t:1"),
        ] {
            let error = format!("{:#}", parse(text, "t", Path::new(".")).expect_err(text));
            assert!(error.contains(part), "{text:?}: {error}");
        }
    }
}
