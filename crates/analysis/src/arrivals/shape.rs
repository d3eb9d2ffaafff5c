//! The expected number of arrivals over time, Λ, as a report knows it: in floating point.

use unblink_core::schedule::bursts::Stretch;
use unblink_core::time::Nanos;

/// A stretch in which the rate goes linearly from one value to another.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ShapePhase {
    /// Rate at its start, per second.
    pub from_per_s: f64,
    /// Rate at its end, per second.
    pub to_per_s: f64,
    /// Its length.
    pub duration: Nanos,
}

/// Phases end to end from t = 0. Beyond the last the load is over.
#[derive(Clone, PartialEq, Debug)]
pub struct Shape {
    /// (start in seconds, phase).
    phases: Vec<(f64, ShapePhase)>,
}

impl Shape {
    /// Joins `phases` end to end.
    pub fn new(phases: impl IntoIterator<Item = ShapePhase>) -> Shape {
        let mut start = Nanos::ZERO;
        let place = |phase: ShapePhase| {
            let placed = (start.as_secs_f64(), phase);
            start += phase.duration;
            placed
        };
        Shape { phases: phases.into_iter().map(place).collect() }
    }

    /// The same while `stretches` switch the rate: each multiplies it until it ends.
    pub fn in_bursts(
        phases: impl IntoIterator<Item = ShapePhase>,
        stretches: impl IntoIterator<Item = Stretch>,
    ) -> Shape {
        let (mut stretches, mut pieces) = (stretches.into_iter(), Vec::new());
        let mut stretch = stretches.next();
        let mut begin = Nanos::ZERO;
        for phase in phases {
            let end = begin + phase.duration;
            let rate = |at: Nanos| {
                let share = (at - begin).0 as f64 / phase.duration.0 as f64;
                phase.from_per_s + share * (phase.to_per_s - phase.from_per_s)
            };
            let mut at = begin;
            while at < end {
                let (until, factor) = stretch.map_or((end, 1.0), |s| (s.end.min(end), s.factor));
                pieces.push(ShapePhase {
                    from_per_s: factor * rate(at),
                    to_per_s: factor * rate(until),
                    duration: until - at,
                });
                at = until;
                if stretch.is_some_and(|stretch| stretch.end <= at) {
                    stretch = stretches.next();
                }
            }
            begin = end;
        }
        Shape::new(pieces)
    }

    /// Λ(`to_s`) − Λ(`from_s`), from seconds after t = 0.
    pub(super) fn expected(&self, from_s: f64, to_s: f64) -> f64 {
        let part = |&(start_s, phase): &(f64, ShapePhase)| {
            let length_s = phase.duration.as_secs_f64();
            let (a, b) = ((from_s - start_s).max(0.0), (to_s - start_s).min(length_s));
            let rate = |t: f64| phase.from_per_s + (phase.to_per_s - phase.from_per_s) * t / length_s;
            if b > a { (b - a) * (rate(a) + rate(b)) / 2.0 } else { 0.0 }
        };
        let first = self.phases.partition_point(|(start_s, _)| *start_s <= from_s).saturating_sub(1);
        let touched = self.phases[first..].iter().take_while(|(start_s, _)| *start_s < to_s);
        touched.map(part).sum()
    }

    /// The rate at `at_s`, per second; 0 when the load is over.
    pub(super) fn rate_at(&self, at_s: f64) -> f64 {
        let begun = self.phases.partition_point(|(start_s, _)| *start_s <= at_s);
        let Some(&(start_s, phase)) = self.phases[..begun].last() else { return 0.0 };
        let share = (at_s - start_s) / phase.duration.as_secs_f64();
        if share > 1.0 { 0.0 } else { phase.from_per_s + share * (phase.to_per_s - phase.from_per_s) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ramp_after_a_hold() {
        let phase =
            |from_per_s, to_per_s, s| ShapePhase { from_per_s, to_per_s, duration: Nanos::from_secs(s) };
        let shape = Shape::new([phase(10.0, 10.0, 2), phase(10.0, 30.0, 10)]);
        assert_eq!(shape.expected(0.0, 2.0), 20.0);
        assert_eq!(shape.expected(0.0, 12.0), 20.0 + 200.0);
        assert_eq!(shape.expected(7.0, 12.0), 5.0 * 25.0);
        assert_eq!(shape.expected(11.0, 100.0), 29.0);
        assert_eq!((shape.rate_at(1.0), shape.rate_at(7.0), shape.rate_at(13.0)), (10.0, 20.0, 0.0));
    }

    #[test]
    fn bursts_multiply_the_rate_where_they_are() {
        let phase =
            |from_per_s, to_per_s, s| ShapePhase { from_per_s, to_per_s, duration: Nanos::from_secs(s) };
        let stretch = |s, factor| Stretch { end: Nanos::from_secs(s), factor, in_burst: factor > 1.0 };
        let phases = [phase(10.0, 10.0, 4), phase(0.0, 30.0, 6)];
        let shape = Shape::in_bursts(phases, [stretch(3, 0.5), stretch(7, 2.0), stretch(20, 0.0)]);
        assert_eq!((shape.expected(0.0, 3.0), shape.expected(3.0, 4.0)), (15.0, 20.0));
        // The ramp's first three seconds, twice as high: 2·15·3/2.
        assert_eq!((shape.expected(4.0, 7.0), shape.expected(7.0, 10.0)), (45.0, 0.0));
        assert_eq!(
            (shape.rate_at(2.0), shape.rate_at(3.5), shape.rate_at(5.0), shape.rate_at(8.0)),
            (5.0, 20.0, 10.0, 0.0)
        );
    }
}
