//! The hours in which there may be load.

use anyhow::{Context, Result, bail};
use jiff::civil::{Date, Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use std::fmt;

const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
/// Adjoining windows are one; a week of them is looked at.
const WINDOWS_MAX: usize = 64;

/// Windows of a week in a time zone.
#[derive(Clone, Debug)]
pub(super) struct Hours {
    texts: Vec<String>,
    windows: Vec<Window>,
    zone: TimeZone,
}

/// From one time of these days to another, which is on the next day if it is not later.
#[derive(Clone, Debug)]
struct Window {
    days: [bool; 7],
    from: Time,
    to: Time,
}

impl Hours {
    /// Each text is `22:00-06:00` or `mon-fri 22:00-06:00` or `sat,sun 00:00-00:00`.
    pub(super) fn parse(texts: &[String], zone: TimeZone) -> Result<Hours> {
        let windows = texts.iter().map(|text| {
            Window::parse(text).with_context(|| {
                format!(
                    "hours: {text:?} is not a window: expected \"22:00-06:00\" or \"mon-fri 22:00-06:00\""
                )
            })
        });
        Ok(Hours { windows: windows.collect::<Result<_>>()?, texts: texts.to_vec(), zone })
    }

    /// When the load must end that goes on at `now`; `None` if there may be none.
    pub(super) fn ends(&self, now: Timestamp) -> Option<Timestamp> {
        let mut end = None;
        let mut at = now;
        for _ in 0..WINDOWS_MAX {
            let Some(later) = self.windows.iter().filter_map(|window| window.ends(at, &self.zone)).max()
            else {
                break;
            };
            end = Some(later);
            at = later;
        }
        end
    }
}

impl fmt::Display for Hours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let zone = self.zone.iana_name().unwrap_or("UTC");
        match self.texts.is_empty() {
            true => f.write_str("at no time"),
            false => write!(f, "{} {zone}", self.texts.join(", ")),
        }
    }
}

impl Window {
    fn parse(text: &str) -> Result<Window> {
        let (days, times) = match text.trim().rsplit_once(' ') {
            Some((days, times)) => (days_of(days)?, times),
            None => ([true; 7], text.trim()),
        };
        let (from, to) = times.split_once('-').context("it has no -")?;
        let time = |text: &str| Time::strptime("%H:%M", text);
        Ok(Window { days, from: time(from)?, to: time(to)? })
    }

    /// The end of the window that `now` is in.
    fn ends(&self, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let today = now.to_zoned(zone.clone()).date();
        let moment = |day: Date, time: Time| {
            day.to_datetime(time).to_zoned(zone.clone()).ok().map(|zoned| zoned.timestamp())
        };
        let of_day = |day: Date| {
            if !self.days[number(day.weekday())] {
                return None;
            }
            let last = if self.to > self.from { day } else { day.tomorrow().ok()? };
            let (from, to) = (moment(day, self.from)?, moment(last, self.to)?);
            (from <= now && now < to).then_some(to)
        };
        let yesterday = today.checked_sub(1.day()).ok();
        yesterday.into_iter().chain([today]).filter_map(of_day).max()
    }
}

fn number(day: Weekday) -> usize {
    usize::from(day.to_monday_zero_offset().unsigned_abs())
}

/// `mon-fri`, `sat,sun`.
fn days_of(text: &str) -> Result<[bool; 7]> {
    let mut days = [false; 7];
    let number = |name: &str| {
        let name = name.trim().to_lowercase();
        DAYS.iter()
            .position(|day| *day == name)
            .with_context(|| format!("{name:?} is not a day: use mon, tue and so on"))
    };
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (mut day, last) = (number(first)?, number(last)?);
        days[day] = true;
        while day != last {
            day = (day + 1) % DAYS.len();
            days[day] = true;
        }
    }
    if days == [false; 7] {
        bail!("it names no day");
    }
    Ok(days)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hours(texts: &[&str]) -> Hours {
        Hours::parse(&texts.iter().map(ToString::to_string).collect::<Vec<_>>(), TimeZone::UTC)
            .expect("hours")
    }

    fn end(texts: &[&str], now: &str) -> Option<String> {
        hours(texts).ends(now.parse().expect("a moment")).map(|end| end.to_string())
    }

    /// 23 November 2026 is a Monday.
    #[test]
    fn a_window_ends_on_its_day_or_the_next() {
        let night = ["mon-fri 22:00-06:00"];
        assert_eq!(end(&night, "2026-11-23T21:59:59Z"), None);
        assert_eq!(end(&night, "2026-11-23T22:00:00Z").as_deref(), Some("2026-11-24T06:00:00Z"));
        assert_eq!(end(&night, "2026-11-24T05:59:59Z").as_deref(), Some("2026-11-24T06:00:00Z"));
        assert_eq!(end(&night, "2026-11-24T06:00:00Z"), None);
        // The night to Saturday is Friday's, the one to Monday is Sunday's.
        assert_eq!(end(&night, "2026-11-28T05:00:00Z").as_deref(), Some("2026-11-28T06:00:00Z"));
        assert_eq!(end(&night, "2026-11-23T05:00:00Z"), None);
        assert_eq!(end(&["09:00-17:00"], "2026-11-22T12:00:00Z").as_deref(), Some("2026-11-22T17:00:00Z"));
        assert_eq!(end(&[], "2026-11-22T12:00:00Z"), None);
    }

    #[test]
    fn windows_that_adjoin_are_one() {
        let weekend = ["fri 20:00-00:00", "sat,sun 00:00-00:00"];
        assert_eq!(end(&weekend, "2026-11-27T21:00:00Z").as_deref(), Some("2026-11-30T00:00:00Z"));
        assert_eq!(end(&weekend, "2026-11-27T19:00:00Z"), None);
        assert!(end(&["00:00-00:00"], "2026-11-27T19:00:00Z").expect("always").as_str() > "2026-12-10");
    }

    #[test]
    fn what_is_no_window_is_refused() {
        for wrong in
            ["", "22:00", "22-06", "noon-22:00", "someday 22:00-23:00", "25:00-26:00", "mon- 1:00-2:00"]
        {
            assert!(Hours::parse(&[wrong.to_string()], TimeZone::UTC).is_err(), "{wrong:?}");
        }
    }
}
