//! HTTP archives. Entries are read one at a time, whatever else the file holds.

use super::{Got, Seen, take_header};
use crate::Unreadable;
use crate::entry::Entry;
use crate::time::{TimeForm, Times};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;
use std::io::{self, BufRead};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HarEntry {
    started_date_time: String,
    /// ms
    time: Option<f64>,
    request: HarRequest,
    response: Option<HarResponse>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HarRequest {
    method: String,
    url: String,
    #[serde(default)]
    headers: Vec<HarHeader>,
    body_size: Option<i64>,
}

#[derive(Deserialize)]
struct HarHeader {
    name: String,
    value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HarResponse {
    status: Option<i64>,
    body_size: Option<i64>,
}

pub(super) fn each<E: From<io::Error>>(
    input: &mut impl BufRead,
    keep: &[String],
    user: Option<&str>,
    see: &mut impl FnMut(Seen<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut failed = None;
    let mut entry = Entry::default();
    let mut times = Times::default();
    let mut each = |har: HarEntry| {
        entry.clear();
        let got = fill(&har, &mut entry, &mut times, keep, user);
        let text = har.started_date_time.as_bytes();
        see(Seen { got, entry: &mut entry, text }).map_err(|error| failed = Some(error)).is_ok()
    };
    let mut json = serde_json::Deserializer::from_reader(input);
    let read = Member { names: &["log", "entries"], each: &mut each }.deserialize(&mut json);
    if let Some(error) = failed {
        return Err(error);
    }
    let Err(error) = read.and_then(|()| json.end()) else { return Ok(()) };
    if let Some(kind) = error.io_error_kind() {
        return Err(io::Error::from(kind).into());
    }
    // What is broken is told in place of the entry that it would have been; its text is no line.
    let why = if error.is_eof() { Unreadable::Cut } else { Unreadable::Format };
    see(Seen { got: Err(why), entry: &mut Entry::default(), text: b"" })
}

fn fill(
    har: &HarEntry,
    entry: &mut Entry,
    times: &mut Times,
    keep: &[String],
    user: Option<&str>,
) -> Result<Got, Unreadable> {
    let (at, whole) = times.read(har.started_date_time.as_bytes(), TimeForm::Iso).ok_or(Unreadable::Time)?;
    (entry.stamp, entry.whole_second) = (Some(at), whole);
    // Of pages that were read from a file, or pictures within a page.
    if !har.request.url.starts_with("http") {
        return Ok(Got::NoRequest);
    }
    entry.method.extend_from_slice(har.request.method.as_bytes());
    entry.target.extend_from_slice(har.request.url.as_bytes());
    entry.took = har.time.filter(|ms| *ms >= 0.0).map(|ms| (ms * 1e6) as u64);
    entry.request_bytes = har.request.body_size.and_then(|size| size.try_into().ok());
    for header in &har.request.headers {
        take_header(entry, keep, user, &header.name, &header.value);
    }
    if let Some(response) = &har.response {
        // 0 where none came.
        entry.status =
            response.status.filter(|status| (1..1000).contains(status)).map(|status| status as u16);
        entry.answer_bytes = response.body_size.and_then(|size| size.try_into().ok());
    }
    Ok(Got::Request)
}

/// Goes down to the list behind these names, and calls `each` with what is in it, until that is false.
struct Member<'a, F> {
    names: &'a [&'a str],
    each: &'a mut F,
}

impl<'de, F: FnMut(HarEntry) -> bool> DeserializeSeed<'de> for Member<'_, F> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<(), D::Error> {
        match self.names {
            [] => input.deserialize_seq(Entries { each: self.each }),
            _ => input.deserialize_map(self),
        }
    }
}

impl<'de, F: FnMut(HarEntry) -> bool> Visitor<'de> for Member<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut has_it = false;
        while let Some(name) = map.next_key::<String>()? {
            if Some(&&*name) == self.names.first() {
                has_it = true;
                map.next_value_seed(Member { names: &self.names[1..], each: self.each })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        if has_it { Ok(()) } else { Err(A::Error::custom("no HTTP archive")) }
    }
}

struct Entries<'a, F> {
    each: &'a mut F,
}

impl<'de, F: FnMut(HarEntry) -> bool> Visitor<'de> for Entries<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of entries")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(entry) = list.next_element::<HarEntry>()? {
            if !(self.each)(entry) {
                return Err(A::Error::custom("stopped"));
            }
        }
        Ok(())
    }
}
