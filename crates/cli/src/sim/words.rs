//! Words of the form `name=value`, and errors that point at the one that is wrong.

use crate::errors::refused;
use crate::value;
use anyhow::{Error, Result, bail};
use unblink_core::sim::Windows;
use unblink_core::time::Nanos;

/// Slots, connections or users at the most.
const COUNT_MAX: u32 = 1_000_000;

/// What is wrong with the words of a flag.
pub(super) fn wrong(flag: &'static str, why: impl std::fmt::Display) -> Error {
    refused(&[flag], format!("--{flag}: {why}"))
}

/// As it is shown: with one space between words.
pub(super) fn one_space(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// One word of a flag.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'a> {
    /// Without its dashes.
    flag: &'static str,
    number: usize,
    text: &'a str,
    pub(super) name: &'a str,
    pub(super) value: &'a str,
}

/// The words of `text`, which was given to `flag`. A word without `=` has no value.
pub(super) fn split<'a>(flag: &'static str, text: &'a str) -> impl Iterator<Item = Word<'a>> {
    text.split_whitespace().enumerate().map(move |(i, text)| {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        Word { flag, number: i + 1, text, name, value }
    })
}

impl<'a> Word<'a> {
    /// What is wrong with this word.
    pub(super) fn wrong(&self, why: impl std::fmt::Display) -> Error {
        wrong(self.flag, format_args!("word {}, {:?}: {why}", self.number, self.text))
    }

    /// A number of things, each of which takes some memory.
    pub(super) fn count(&self) -> Result<u32> {
        match value::positive(self.value).map_err(|why| self.wrong(why))? {
            n if n > COUNT_MAX => bail!(self.wrong(format!("more than {COUNT_MAX} are not simulated"))),
            n => Ok(n),
        }
    }

    pub(super) fn time(&self) -> Result<Nanos> {
        self.time_of(self.value)
    }

    /// A time above 0.
    pub(super) fn some_time(&self) -> Result<Nanos> {
        self.some_time_of(self.value)
    }

    pub(super) fn time_of(&self, text: &str) -> Result<Nanos> {
        // Seconds or milliseconds? A world that is a thousand times slower than meant looks like an overload.
        if text.parse::<f64>().is_ok_and(|number| number.is_finite() && number > 0.0) {
            bail!(self.wrong(format!("{text:?} is a time without a unit: write {text}ms or {text}s")));
        }
        let time = value::duration(text).map_err(|why| self.wrong(why))?;
        // A year keeps every sum far from overflow.
        match time.0 > 31_536_000_000_000_000 {
            true => bail!(self.wrong("it is longer than a year")),
            false => Ok(time),
        }
    }

    fn some_time_of(&self, text: &str) -> Result<Nanos> {
        match self.time_of(text)? {
            Nanos::ZERO => {
                bail!(self.wrong(format!("{text:?} takes no time at all: it would change nothing")))
            }
            time => Ok(time),
        }
    }

    /// `1/500`.
    pub(super) fn one_in(&self) -> Result<u64> {
        let n = self.value.strip_prefix("1/").and_then(|n| value::count(n).ok());
        n.ok_or_else(|| self.wrong("expected 1/N, one in N at random, such as 1/1000"))
    }

    /// `200ms/500`.
    pub(super) fn time_in(&self) -> Result<(Nanos, u64)> {
        let parts = self.value.split_once('/').and_then(|(time, n)| Some((time, value::count(n).ok()?)));
        let (time, n) = parts.ok_or_else(|| self.wrong("expected TIME/N, such as 100ms/100"))?;
        Ok((self.time_of(time)?, n))
    }

    /// `1s@30s`, `200ms@9.5s/10s`, `200ms@9.5s/10s*6`.
    pub(super) fn windows(&self) -> Result<Windows> {
        let expected = || {
            self.wrong(
                "expected LENGTH@BEGIN, LENGTH@BEGIN/EVERY or LENGTH@BEGIN/EVERY*TIMES, such as 1s@30s",
            )
        };
        let (length, rest) = self.value.split_once('@').ok_or_else(expected)?;
        let length = self.some_time_of(length)?;
        let Some((first, rest)) = rest.split_once('/') else {
            return Ok(Windows::once(self.time_of(rest)?, length));
        };
        let (every, count) = match rest.split_once('*') {
            None => (rest, None),
            Some((every, count)) => (
                every,
                Some(value::count(count).map_err(|why| self.wrong(format!("the number of times: {why}")))?),
            ),
        };
        let (first, every) = (self.time_of(first)?, self.some_time_of(every)?);
        if every <= length {
            bail!(
                self.wrong(
                    "the next one begins before this one ends, so that it never ends; make EVERY longer"
                )
            );
        }
        Ok(Windows { first, length, every: Some(every), count })
    }
}
