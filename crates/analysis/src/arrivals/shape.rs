//! The expected number of arrivals over time, Λ, as a report knows it: in floating point.

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
        let mut start_s = 0.0;
        let place = |phase: ShapePhase| {
            let placed = (start_s, phase);
            start_s += phase.duration.as_secs_f64();
            placed
        };
        Shape { phases: phases.into_iter().map(place).collect() }
    }

    /// Λ(`to_s`) − Λ(`from_s`), from seconds after t = 0.
    pub(super) fn expected(&self, from_s: f64, to_s: f64) -> f64 {
        let part = |&(start_s, phase): &(f64, ShapePhase)| {
            let length_s = phase.duration.as_secs_f64();
            let (a, b) = ((from_s - start_s).max(0.0), (to_s - start_s).min(length_s));
            let rate = |t: f64| phase.from_per_s + (phase.to_per_s - phase.from_per_s) * t / length_s;
            if b > a { (b - a) * (rate(a) + rate(b)) / 2.0 } else { 0.0 }
        };
        self.phases.iter().map(part).sum()
    }

    /// The rate at `at_s`, per second; 0 when the load is over.
    pub(super) fn rate_at(&self, at_s: f64) -> f64 {
        let phase = self.phases.iter().rfind(|(start_s, _)| *start_s <= at_s);
        let Some(&(start_s, phase)) = phase else { return 0.0 };
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
}
