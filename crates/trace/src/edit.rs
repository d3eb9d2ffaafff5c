//! Parts of traces, samples of them, and several as one: request by request, in memory of a fixed size.

use crate::Counts;
use crate::counts::Finding;
use crate::format::{Header, Reader, Request, TraceError, Writer};
use siphasher::sip::SipHasher13;
use std::collections::BTreeSet;
use std::hash::Hasher;
use std::io::{self, Read, Write};

/// Why a trace could not be made of others.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// It can't be read; the number says which one.
    #[error("{1}")]
    Trace(usize, #[source] TraceError),
    /// It can't be written.
    #[error("can't write the trace: {0}")]
    Output(#[source] io::Error),
    /// Users are to be drawn, and a request has none.
    #[error("requests of the trace have no user: draw requests instead with --by request")]
    NoUser,
    /// There would be nothing in it.
    #[error("no request would be left")]
    Nothing,
}

/// What a sample is drawn of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    /// Users, each with all of their requests.
    User,
    /// Requests.
    Request,
}

/// Requests that started from `from` up to `to`, both ns since the trace's start. The part begins at `from`.
///
/// # Errors
/// See [`EditError`].
pub fn cut<R: Read, W: Write>(
    mut trace: Reader<R>,
    from: u64,
    to: Option<u64>,
    mut out: Writer<W>,
) -> Result<Counts, EditError> {
    let start = trace.header().start_ns();
    let moment = |ns: u64| start.saturating_add(i64::try_from(ns).unwrap_or(i64::MAX));
    let (from, to) = (moment(from), to.map(moment));
    let header = Header::new(from, trace.header().source.clone(), trace.header().keys.clone());
    out.begin(&header).map_err(EditError::Output)?;
    let mut kept = 0;
    let mut is_over = false;
    while let Some(request) = next(&mut trace, 0)? {
        if to.is_some_and(|to| request.at >= to) {
            // What comes behind is not read: it does not matter whether the file is whole.
            is_over = true;
            break;
        }
        if request.at >= from {
            out.request(&request).map_err(EditError::Output)?;
            kept += 1;
        }
    }
    let counts = if is_over { Counts::default() } else { trace.counts() };
    finish(out, kept, counts.findings)
}

/// A share of the users, or of the requests, in millionths. The same share always draws the same users, and a larger one
/// draws them, too.
///
/// # Errors
/// See [`EditError`].
pub fn sample<R: Read, W: Write>(
    mut trace: Reader<R>,
    millionths: u32,
    by: By,
    mut out: Writer<W>,
) -> Result<Counts, EditError> {
    let header = trace.header();
    let header = Header::new(header.start_ns(), header.source.clone(), header.keys.clone());
    out.begin(&header).map_err(EditError::Output)?;
    let (mut kept, mut number) = (0, 0_u64);
    while let Some(request) = next(&mut trace, 0)? {
        number += 1;
        let hash = match (by, &request.user) {
            (By::User, None) => return Err(EditError::NoUser),
            (By::User, Some(user)) => hash(user.as_bytes()),
            (By::Request, _) => hash(&number.to_le_bytes()),
        };
        if hash % 1_000_000 < u64::from(millionths) {
            out.request(&request).map_err(EditError::Output)?;
            kept += 1;
        }
    }
    let findings = trace.counts().findings;
    finish(out, kept, findings)
}

/// Several traces by the clock, as one.
///
/// # Errors
/// See [`EditError`].
pub fn merge<R: Read, W: Write>(mut traces: Vec<Reader<R>>, mut out: Writer<W>) -> Result<Counts, EditError> {
    let mut heads: Vec<Option<Request>> = Vec::new();
    for (place, trace) in traces.iter_mut().enumerate() {
        heads.push(next(trace, place)?);
    }
    let all = |of: fn(&Header) -> &Vec<String>| -> Vec<String> {
        let all: BTreeSet<&String> = traces.iter().flat_map(|trace| of(trace.header())).collect();
        all.into_iter().cloned().collect()
    };
    let start = traces.iter().map(|trace| trace.header().start_ns()).min().unwrap_or_default();
    let header = Header::new(start, all(|header| &header.source), all(|header| &header.keys));
    out.begin(&header).map_err(EditError::Output)?;
    let mut kept = 0;
    // Of requests with the same time, that of the first trace comes first.
    while let Some((place, _)) = heads
        .iter()
        .enumerate()
        .filter_map(|(place, head)| Some((place, head.as_ref()?.at)))
        .min_by_key(|(_, at)| *at)
    {
        let following = next(&mut traces[place], place)?;
        if let Some(request) = std::mem::replace(&mut heads[place], following) {
            out.request(&request).map_err(EditError::Output)?;
            kept += 1;
        }
    }
    let mut findings: Vec<Finding> = traces.iter().flat_map(|trace| trace.counts().findings).collect();
    if header.keys.len() > 1 {
        findings.push(Finding::KeysDiffer);
    }
    finish(out, kept, findings)
}

fn next<R: Read>(trace: &mut Reader<R>, place: usize) -> Result<Option<Request>, EditError> {
    trace.next_request().map_err(|error| EditError::Trace(place, error))
}

/// What is known of the logs does not hold for a part of them; the findings do.
fn finish<W: Write>(out: Writer<W>, requests: u64, findings: Vec<Finding>) -> Result<Counts, EditError> {
    if requests == 0 {
        return Err(EditError::Nothing);
    }
    let mut counts = Counts { requests, ..Counts::default() };
    findings.into_iter().for_each(|finding| counts.find(finding));
    out.finish(&counts).map_err(EditError::Output)?;
    Ok(counts)
}

/// With a fixed key: users are hashed with a secret one already.
fn hash(text: &[u8]) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write(text);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(start: i64, key: &str, requests: &[(i64, &str)]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut writer = Writer::to(&mut out).unwrap();
        writer.begin(&Header::new(start, vec!["test".into()], vec![key.into()])).unwrap();
        for (at, user) in requests {
            let user = (!user.is_empty()).then(|| (*user).into());
            writer.request(&Request { at: *at, path: "/".into(), user, ..Request::default() }).unwrap();
        }
        writer.finish(&Counts { requests: requests.len() as u64, ..Counts::default() }).unwrap();
        out
    }

    fn read(trace: &[u8]) -> (i64, Vec<(i64, String)>, Counts) {
        let mut reader = Reader::new(trace).unwrap();
        let mut all = Vec::new();
        while let Some(request) = reader.next_request().unwrap() {
            all.push((request.at, request.user.unwrap_or_default().into()));
        }
        (reader.header().start_ns(), all, reader.counts())
    }

    fn into<T>(edit: impl FnOnce(Writer<&mut Vec<u8>>) -> T) -> (T, Vec<u8>) {
        let mut out = Vec::new();
        let result = edit(Writer::to(&mut out).unwrap());
        (result, out)
    }

    #[test]
    fn a_cut_begins_where_it_was_asked_to() {
        let whole = trace(100, "k", &[(100, "a"), (150, "b"), (199, "c"), (200, "d")]);
        let (counts, part) = into(|out| cut(Reader::new(&whole[..]).unwrap(), 20, Some(100), out).unwrap());
        let (start, requests, read_counts) = read(&part);
        assert_eq!((start, requests), (120, vec![(150, "b".into()), (199, "c".into())]));
        assert_eq!((counts.requests, read_counts.requests), (2, 2));
        let (nothing, _) = into(|out| cut(Reader::new(&whole[..]).unwrap(), 101, None, out));
        assert!(matches!(nothing, Err(EditError::Nothing)));
    }

    #[test]
    fn a_larger_sample_has_the_users_of_a_smaller_one() {
        let users: Vec<String> = (0..2000).map(|user| format!("user{}", user % 1000)).collect();
        let requests: Vec<(i64, &str)> = (0..).zip(users.iter().map(|user| &**user)).collect();
        let whole = trace(0, "k", &requests);
        let drawn = |millionths| {
            let (_, part) =
                into(|out| sample(Reader::new(&whole[..]).unwrap(), millionths, By::User, out).unwrap());
            read(&part).1
        };
        let (tenth, half, all) = (drawn(100_000), drawn(500_000), drawn(1_000_000));
        assert_eq!(all.len(), 2000);
        assert!(tenth.iter().all(|request| half.contains(request)));
        // Both requests of each user, and about as many users as asked for: 5 standard deviations.
        assert!(tenth.iter().all(|(at, user)| tenth.contains(&((at + 1000) % 2000, user.clone()))));
        assert!((tenth.len() as f64 / 2.0 - 100.0).abs() < 5.0 * 9.5, "{}", tenth.len());
        let nobody = trace(0, "k", &[(1, "")]);
        let (result, _) = into(|out| sample(Reader::new(&nobody[..]).unwrap(), 1, By::User, out));
        assert!(matches!(result, Err(EditError::NoUser)));
        let (result, _) = into(|out| sample(Reader::new(&nobody[..]).unwrap(), 1_000_000, By::Request, out));
        assert_eq!(result.unwrap().requests, 1);
    }

    #[test]
    fn a_merge_goes_by_the_clock() {
        let one = trace(0, "k", &[(0, "a"), (10, "a"), (20, "a")]);
        let other = trace(5, "l", &[(5, "b"), (10, "b"), (30, "b")]);
        let readers = || [&one, &other].map(|trace| Reader::new(&trace[..]).unwrap()).into();
        let (counts, both) = into(|out| merge(readers(), out).unwrap());
        let (start, requests, _) = read(&both);
        let order = [(0, "a"), (5, "b"), (10, "a"), (10, "b"), (20, "a"), (30, "b")];
        assert_eq!((start, requests), (0, order.map(|(at, user)| (at, user.to_string())).into()));
        assert_eq!(counts.findings, [Finding::KeysDiffer]);
    }

    #[test]
    fn a_trace_that_is_cut_anywhere_is_read_as_far_as_it_goes() {
        let requests: Vec<(i64, &str)> = (0..500).map(|at| (at, "a")).collect();
        let whole = trace(0, "k", &requests);
        for length in 0..whole.len() {
            let Ok(mut reader) = Reader::new(&whole[..length]) else { continue };
            let mut n = 0;
            while let Some(request) = reader.next_request().unwrap() {
                assert_eq!(request.at, n);
                n += 1;
            }
            let counts = reader.counts();
            // The checksum and the end of the frame carry nothing.
            assert!(
                counts.findings == [Finding::CutShort]
                    || (counts.requests == 500 && length + 8 > whole.len())
            );
            assert_eq!(counts.requests, n as u64);
        }
        let mut more = whole.clone();
        more.truncate(10);
        assert!(matches!(Reader::new(&more[..]), Err(TraceError::NotATrace)));
        assert!(matches!(Reader::new(&b"hello\n"[..]), Err(TraceError::NotATrace)));
    }
}
