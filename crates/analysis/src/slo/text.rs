//! Objectives as they are written.

use super::{AbortRule, Figure, Measure, Objective, Relation, Slo, Unit};
use std::fmt;

impl fmt::Display for Slo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        named(f, self.name.as_deref())?;
        write!(f, "{}{}", self.measure, self.objective)?;
        match &self.windows {
            Some(windows) => write!(f, " in {} of {}", percent(windows.share), time(windows.length.0 as f64)),
            None => Ok(()),
        }
    }
}

impl fmt::Display for AbortRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        named(f, self.name.as_deref())?;
        write!(f, "{}{} for {}", self.measure, self.condition, time(self.hold.0 as f64))
    }
}

fn named(f: &mut fmt::Formatter<'_>, name: Option<&str>) -> fmt::Result {
    match name {
        Some(name) => write!(f, "{name}: "),
        None => Ok(()),
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = match self.figure.unit() {
            Unit::Time => time(self.limit),
            Unit::Share => percent(self.limit),
            Unit::Rate => format!("{}/s", self.limit),
        };
        write!(f, "{} {} {limit}", self.figure, self.relation)
    }
}

/// As it stands before a figure.
impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Measure::Response => "",
            Measure::First => "first ",
            Measure::Gap => "gap ",
        })
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Figure::Quantile(q) => write!(f, "p{}", short(q * 100.0)),
            Figure::Mean => f.write_str("mean"),
            Figure::Max => f.write_str("max"),
            Figure::Errors => f.write_str("errors"),
            Figure::AchievedShare | Figure::AchievedRate => f.write_str("achieved"),
        }
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Relation::Below => "<",
            Relation::AtMost => "<=",
            Relation::Above => ">",
            Relation::AtLeast => ">=",
        })
    }
}

/// In the largest unit in which it is at least 1.
fn time(ns: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "us")];
    let (scale, unit) = units.into_iter().find(|(scale, _)| ns >= *scale).unwrap_or((1.0, "ns"));
    format!("{}{unit}", short(ns / scale))
}

fn percent(share: f64) -> String {
    format!("{}%", short(share * 100.0))
}

/// Without what rounding has added: 99.9 rather than 99.90000000000001.
fn short(number: f64) -> f64 {
    (number * 1e9).round() / 1e9
}
