//! Target files in vegeta's text format.
//!
//! A target is a line `METHOD URL`, then header lines, then at most one line `@FILE` naming its body
//! (relative to the target file). Empty lines separate targets; lines that begin with `#` are comments.

use crate::inputs;
use crate::request::body::BodyFiles;
use crate::request::{Request, header};
use anyhow::{Context, Result, anyhow, bail};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// A longer line is none of a target file's.
const LINE_BYTES_MAX: u64 = 1 << 20;
/// Of the whole file.
const BYTES_MAX: u64 = 256 << 20;
/// Each is kept as it is sent.
const TARGETS_MAX: u64 = 1_000_000;

/// Reads the targets and gives each away. `-` is standard input.
pub(crate) fn read(path: &Path, each: &mut dyn FnMut(Request) -> Result<()>) -> Result<()> {
    if path == Path::new("-") {
        let mut input = inputs::stdin().context("can't read the targets from standard input")?;
        return parse(&mut input, "standard input", Path::new("."), TARGETS_MAX, each);
    }
    let file = inputs::opened(path).with_context(|| format!("can't read the target file {path:?}"))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    parse(&mut BufReader::new(file), &path.display().to_string(), folder, TARGETS_MAX, each)
}

fn parse(
    text: &mut dyn BufRead,
    name: &str,
    folder: &Path,
    targets_max: u64,
    each: &mut dyn FnMut(Request) -> Result<()>,
) -> Result<()> {
    let mut files = BodyFiles::default();
    let mut lines = Lines { text, name, bytes: Vec::new(), number: 0, read: 0 };
    let (mut target, mut count): (Option<Request>, u64) = (None, 0);
    while let Some((number, line)) = lines.next()? {
        let place = || format!("{name}:{number}");
        let line = line.trim();
        if line.starts_with('#') {
            continue;
        }
        if line.is_empty() {
            // Between an empty line and the next request line nothing else may stand.
            target.take().map_or(Ok(()), &mut *each)?;
            continue;
        }
        match target.as_mut().filter(|_| !is_request_line(line)) {
            None => {
                let next = request_line(line).with_context(place)?;
                let before = target.replace(Request { place: Some(place()), ..next });
                before.map_or(Ok(()), &mut *each)?;
                count += 1;
                if count > targets_max {
                    bail!(
                        "{}: a run takes at most {targets_max} targets, and this is one more: leave some out, or \
                         spread them over several runs",
                        place()
                    );
                }
            }
            Some(target) => match line.strip_prefix('@') {
                Some(_) if target.parts.body.is_some() => {
                    bail!("{}: this target has a body already", place())
                }
                Some(file) => {
                    let file = folder.join(file.trim());
                    target.parts.body = Some(files.read(&file).with_context(place)?);
                    target.parts.file = Some(file.into());
                }
                None => target.parts.headers.push(header(line).with_context(place)?),
            },
        }
    }
    target.map_or(Ok(()), &mut *each)?;
    if count == 0 {
        bail!("{name} holds no target (expected lines such as `GET http://127.0.0.1:8080/`)");
    }
    Ok(())
}

/// Lines of a text that may have no end.
struct Lines<'a> {
    text: &'a mut dyn BufRead,
    name: &'a str,
    bytes: Vec<u8>,
    number: u64,
    read: u64,
}

impl Lines<'_> {
    fn next(&mut self) -> Result<Option<(u64, &str)>> {
        self.bytes.clear();
        self.number += 1;
        let (name, number) = (self.name, self.number);
        let read = self.text.take(LINE_BYTES_MAX + 1).read_until(b'\n', &mut self.bytes);
        let read = read.with_context(|| format!("can't read the targets in {name}"))? as u64;
        self.read += read;
        if read > LINE_BYTES_MAX {
            bail!(
                "{name}:{number}: this line has more than {LINE_BYTES_MAX} bytes, the most that is read of one"
            );
        }
        if self.read > BYTES_MAX {
            bail!(
                "{name}:{number}: here are {BYTES_MAX} bytes, the most that is read of a target file: leave targets out, \
                 or spread them over several runs"
            );
        }
        if read == 0 {
            return Ok(None);
        }
        let text = std::str::from_utf8(&self.bytes).map_err(|_| {
            anyhow!(
                "{name}:{number}: this line is not UTF-8: write what is not ASCII in UTF-8, or percent-encode it"
            )
        })?;
        Ok(Some((number, text)))
    }
}

/// A header has its colon before any space; a request line begins with a method and a space.
fn is_request_line(line: &str) -> bool {
    line.split_once(' ').is_some_and(|(method, url)| {
        !method.contains(':') && method.chars().all(|c| c.is_ascii_uppercase()) && url.contains("://")
    })
}

fn request_line(line: &str) -> Result<Request> {
    let Some((method, url)) = line.split_once(char::is_whitespace) else {
        bail!("this is not a target: expected `METHOD URL`, such as `GET http://127.0.0.1:8080/`");
    };
    // The line may be a header whose target is missing, and its value a secret.
    if method.contains(':') {
        bail!("a header belongs below a line `METHOD URL`, without an empty line between them");
    }
    // What is no URL at all may be a secret: it is not shown.
    let url = url.trim();
    if !url.contains("://") {
        bail!(
            "there is no URL after the method: expected `METHOD URL`, such as `GET http://127.0.0.1:8080/`"
        );
    }
    Request::new(Some(method.to_string()), url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &[u8], folder: &Path) -> Result<Vec<Request>> {
        let mut targets = Vec::new();
        let mut each = |target| {
            targets.push(target);
            Ok(())
        };
        parse(&mut &text[..], "t", folder, 3, &mut each).map(|()| targets)
    }

    #[test]
    fn targets_with_headers_bodies_and_comments() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("body.json"), b"{}").unwrap();
        let text = "# a comment\nGET http://h/a\nX-One: 1\n\nPOST http://h/b\nContent-Type: application/json\n@body.json\nDELETE http://h/c\n";
        let targets = parsed(text.as_bytes(), folder.path()).unwrap();
        assert_eq!(targets.len(), 3);
        assert_eq!(targets[0].parts.headers, [("X-One".to_string(), "1".to_string())]);
        assert_eq!(targets[1].parts.body.as_deref(), Some(&b"{}"[..]));
        assert_eq!((targets[2].method(), targets[2].url.target.as_str()), ("DELETE", "/c"));
    }

    #[test]
    fn what_is_not_utf_8_has_a_line() {
        let wrong = parsed(b"GET http://h/\n\nGET http://h/caf\xe9\n", Path::new("."));
        let error = format!("{:#}", wrong.unwrap_err());
        assert!(error.starts_with("t:3: this line is not UTF-8"), "{error}");
    }

    #[test]
    fn the_first_target_too_many_has_a_line() {
        let text = "GET http://h/\nX-A: 1\n\n".repeat(3);
        assert_eq!(parsed(text.as_bytes(), Path::new(".")).unwrap().len(), 3);
        let error = parsed((text + "GET http://h/").as_bytes(), Path::new(".")).unwrap_err();
        assert!(error.to_string().starts_with("t:10: a run takes at most 3 targets"), "{error}");
    }

    #[test]
    fn what_has_no_end_is_refused() {
        let error = read(Path::new("/dev/zero"), &mut |_| Ok(())).unwrap_err();
        assert!(format!("{error:#}").starts_with("/dev/zero:1: this line has more than"), "{error:#}");
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
            ("Authorization s3cret", "t:1"),
            ("GET http://u:s3cret/x@h/", "t:1"),
            ("GET http://h/ s3cret", "t:1"),
            ("GET http://h/\nCookie s3cret; a: b", "t:2"),
            ("GET http://h/\nX-A: \x01s3cret", "t:2"),
        ] {
            let error = format!("{:#}", parsed(text.as_bytes(), Path::new(".")).expect_err(text));
            assert!(error.contains(part), "{text:?}: {error}");
            assert!(!error.contains("s3cret"), "{text:?}: {error}");
        }
    }
}
