//! Bodies of several parts (RFC 7578): the fields and files of a form, as a browser sends them.

use super::body::BodyFiles;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use unblink_workload::template::is_template;

/// What stands between two parts. It is the same in each request, so that the same seed sends the same bytes.
const BOUNDARY: &str = "unblink-6b1f0c95d2e84a73";

/// A piece of a body.
#[derive(Clone, Debug)]
pub(crate) enum Segment {
    /// It may have templates.
    Text(String),
    /// As it is, whatever stands in it.
    Bytes(Arc<[u8]>),
}

/// One part, as a plan describes it.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    name: String,
    value: Option<String>,
    file: Option<String>,
    filename: Option<String>,
    #[serde(rename = "type")]
    media_type: Option<String>,
}

/// What the `Content-Type` of such a body says.
pub(crate) fn content_type() -> String {
    format!("multipart/form-data; boundary={BOUNDARY}")
}

/// The body that `json` describes, which was checked when the plan was read. `beside` says where a file is.
pub(crate) fn body(
    json: &str,
    files: &mut BodyFiles,
    beside: impl Fn(&str) -> PathBuf,
) -> Result<Vec<Segment>> {
    let parts: Vec<Part> = serde_json::from_str(json).context("multipart is a list of parts")?;
    let mut body = Vec::new();
    for Part { name, value, file, filename, media_type } in parts {
        let mut head = format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{}\"", quoted(&name));
        let own = file.as_deref().and_then(|file| Path::new(file).file_name()?.to_str());
        if let Some(filename) = filename.as_deref().or(own) {
            head += &format!("; filename=\"{}\"", quoted(filename));
        }
        let of_file = file.as_ref().map(|_| "application/octet-stream");
        if let Some(media_type) = media_type.as_deref().or(of_file) {
            head += &format!("\r\nContent-Type: {media_type}");
        }
        body.push(Segment::Bytes((head + "\r\n\r\n").into_bytes().into()));
        let content = match (value, file) {
            (Some(value), _) => Segment::Text(value),
            (None, Some(file)) => Segment::Bytes(files.read(&beside(&file))?),
            (None, None) => bail!("the part {name:?} has neither a value nor a file"),
        };
        let is_inside = content.bytes().windows(BOUNDARY.len()).any(|bytes| bytes == BOUNDARY.as_bytes());
        if is_inside {
            bail!("the part {name:?} contains {BOUNDARY}, which stands between the parts: it can't be sent");
        }
        body.push(content);
        body.push(Segment::Bytes(b"\r\n"[..].into()));
    }
    body.push(Segment::Bytes(format!("--{BOUNDARY}--\r\n").into_bytes().into()));
    Ok(body)
}

impl Segment {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Segment::Text(text) => text.as_bytes(),
            Segment::Bytes(bytes) => bytes,
        }
    }

    pub(crate) fn has_templates(&self) -> bool {
        matches!(self, Segment::Text(text) if is_template(text))
    }
}

/// Between the quotes of a header's parameter, as browsers write it (HTML, "multipart form data").
fn quoted(text: &str) -> String {
    text.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(json: &str, folder: &Path) -> Result<String> {
        let segments = body(json, &mut BodyFiles::default(), |name| folder.join(name))?;
        Ok(String::from_utf8(segments.iter().flat_map(Segment::bytes).copied().collect()).unwrap())
    }

    #[test]
    fn parts_are_written_as_browsers_write_them() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), "{{x}}").unwrap();
        let json = r#"[{"name":"a \"b\"","value":"{{item}}"},{"name":"f","file":"a.txt"},
            {"name":"g","value":"<g/>","filename":"g.xml","type":"text/xml"}]"#;
        let expected = "--B\r\nContent-Disposition: form-data; name=\"a %22b%22\"\r\n\r\n{{item}}\r\n\
            --B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.txt\"\r\nContent-Type: \
            application/octet-stream\r\n\r\n{{x}}\r\n\
            --B\r\nContent-Disposition: form-data; name=\"g\"; filename=\"g.xml\"\r\nContent-Type: text/xml\r\n\r\n<g/>\r\n\
            --B--\r\n";
        assert_eq!(written(json, folder.path()).unwrap(), expected.replace("--B", &format!("--{BOUNDARY}")));
        let segments = body(json, &mut BodyFiles::default(), |name| folder.path().join(name)).unwrap();
        assert_eq!(segments.iter().filter(|segment| segment.has_templates()).count(), 1);
        std::fs::write(folder.path().join("b"), format!("x{BOUNDARY}y")).unwrap();
        let error = written(r#"[{"name":"f","file":"b"}]"#, folder.path()).unwrap_err();
        assert!(error.to_string().contains("stands between the parts"), "{error:#}");
    }
}
