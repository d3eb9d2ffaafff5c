//! A kill URL, obeyed within a second whatever it does. It is asked again before it has answered, and a load goes on only as
//! long as it has said so to a question of the last moments: a switch that answers late, or not at all, is none.

use super::alive::spawn;
use super::question::Questions;
use anyhow::Result;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;
use unblink_core::time::{Instant, Nanos};
use unblink_engine::clock::Clock;
use unblink_engine::preflight::PreflightError;
use unblink_report::format;

/// From one question to the next: one that gets lost on its way is no silence.
const ASK_EVERY: Nanos = Nanos::from_millis(250);
/// So many may be under way at once. Each asks anew only after [`SILENCE_MAX`], by which time the load would have ended.
const ASKERS: u64 = 4;
/// From one look at the answers to the next.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(25);
/// Since the last question that was answered as it should be. With a look and the stop of the workers (20 ms) this is less
/// than the second within which a switch is obeyed.
const SILENCE_MAX: Nanos = Nanos::from_millis(900);
/// Looks that lie so far apart were held up here: the process was stopped, say, and asked nothing meanwhile.
const AWAY_FROM: Nanos = Nanos::from_millis(100);

/// What was said to a question.
enum Said {
    GoOn,
    /// In words.
    Stop(String),
    /// Why not.
    Nothing(String),
}

/// Looks at a switch that is asked from now on: why the load must stop, if it must.
pub(super) fn looked_at(questions: Questions) -> Result<impl FnMut() -> Option<String> + Send> {
    let (clock, questions) = (Clock::start(), Arc::new(questions));
    let (tell, told) = channel();
    let askers = (0..ASKERS).map(|asker| ask(asker, clock, questions.clone(), tell.clone()));
    let askers = askers.collect::<Result<Vec<Sender<()>>>>()?;
    let mut heard = Heard::from(clock.now());
    Ok(move || {
        // They ask as long as somebody looks.
        let _ = &askers;
        let why = heard.look(clock.now(), || told.try_recv().ok())?;
        Some(format!("--kill-url {} {why}", questions.shown()))
    })
}

/// Begins one of those who ask in turn.
fn ask(
    asker: u64,
    clock: Clock,
    questions: Arc<Questions>,
    tell: Sender<(Instant, Said)>,
) -> Result<Sender<()>> {
    let patience = Duration::from_nanos(SILENCE_MAX.0);
    spawn(move |ended| {
        let mut turn = 0;
        loop {
            let wait = due(asker, turn).since(clock.now());
            if ended.recv_timeout(Duration::from_nanos(wait.0)) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let asked = clock.now();
            let said = match questions.ask(0, patience) {
                Ok(()) => Said::GoOn,
                Err(PreflightError::Answer { answer, .. }) => Said::Stop(format!("answers {answer:?}")),
                Err(why) => Said::Nothing(why.to_string()),
            };
            if tell.send((asked, said)).is_err() {
                return;
            }
            turn = next_turn(asker, turn, clock.now());
        }
    })
}

/// When somebody asks for the `turn`th time.
fn due(asker: u64, turn: u64) -> Instant {
    Instant((turn * ASKERS + asker) * ASK_EVERY.0)
}

/// The next turn that has not passed.
fn next_turn(asker: u64, turn: u64, now: Instant) -> u64 {
    let passed = now.0.saturating_sub(due(asker, 0).0).div_ceil(ASKERS * ASK_EVERY.0);
    passed.max(turn + 1)
}

/// What a switch has said so far.
struct Heard {
    /// The last question was asked then that was answered as it should be.
    good: Instant,
    looked: Instant,
    /// Of the last question without an answer.
    why: Option<String>,
}

impl Heard {
    /// Nobody has said anything yet, but the load may begin at `now`.
    fn from(now: Instant) -> Heard {
        Heard { good: now, looked: now, why: None }
    }

    /// Takes what was said to questions of certain times. Gives why the load must stop.
    fn look(&mut self, now: Instant, mut news: impl FnMut() -> Option<(Instant, Said)>) -> Option<String> {
        let away = now.since(std::mem::replace(&mut self.looked, now));
        if away > AWAY_FROM {
            self.good = self.good + away;
        }
        while let Some((asked, said)) = news() {
            match said {
                Said::GoOn => self.good = self.good.max(asked),
                Said::Stop(what) => return Some(what),
                Said::Nothing(why) => self.why = Some(why),
            }
        }
        (now.since(self.good) >= SILENCE_MAX).then(|| {
            let silence = format::plain(&format::duration(SILENCE_MAX.0));
            let why = self.why.take().unwrap_or_else(|| "an answer takes too long".into());
            format!("does not answer within {silence}: {why}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const LOOK: u64 = LOOK_EVERY.as_millis() as u64;

    /// In virtual time, ms: when a load ends whose switch says stop to questions from `stop_at` on. It answers the question
    /// asked at a time so much later, if at all. Looks lie `phase` behind those times at which somebody asks.
    fn ends(stop_at: u64, phase: u64, answer_after: impl Fn(u64) -> Option<u64>) -> Option<u64> {
        const LENGTH: u64 = 30_000;
        let turns = (0..ASKERS).flat_map(|asker| (0..LENGTH / 1_000).map(move |turn| due(asker, turn)));
        let patience = SILENCE_MAX.0 / MS;
        let answer = |asked: Instant| {
            let at = asked.0 / MS;
            match answer_after(at).filter(|after| *after < patience) {
                Some(after) if at < stop_at => (at + after, (asked, Said::GoOn)),
                Some(after) => (at + after, (asked, Said::Stop("no".into()))),
                None => (at + patience, (asked, Said::Nothing("silence".into()))),
            }
        };
        let mut answers: Vec<_> = turns.map(answer).collect();
        answers.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        let mut heard = Heard::from(Instant(0));
        (phase..LENGTH).step_by(LOOK as usize).find(|now| {
            let came = || answers.pop_if(|(at, _)| *at <= *now).map(|(_, said)| said);
            heard.look(Instant(now * MS), came).is_some()
        })
    }

    #[test]
    fn a_switch_is_obeyed_within_a_second_of_when_it_would_say_stop() {
        for stop_at in (0..3_000).step_by(37) {
            for phase in [0, 1, 12, 24] {
                let latest = stop_at + 1_000 - 20;
                // It answers, or never does, or becomes too slow: whatever it does from then on.
                for after in
                    [Some(0), Some(90), Some(400), Some(640), Some(700), Some(899), Some(5_000), None]
                {
                    let before = |at: u64| if at < stop_at { Some(5) } else { after };
                    let end = ends(stop_at, phase, before).expect("an end");
                    assert!((stop_at..latest).contains(&end), "{stop_at} ms: ended at {end} ms, {after:?}");
                    let always = ends(stop_at, phase, |_| after).expect("an end");
                    assert!(
                        always < latest,
                        "{stop_at} ms: ended at {always} ms, {after:?} from the beginning"
                    );
                }
            }
        }
    }

    #[test]
    fn a_switch_that_lets_a_load_go_on_does_not_stop_it() {
        for phase in [0, 1, 24] {
            for after in [0, 100, 400, 620] {
                assert_eq!(ends(u64::MAX, phase, |_| Some(after)), None, "each answer takes {after} ms");
            }
            // Each third question gets lost, or two in a row.
            let lost = |at: u64| (!(at / 250).is_multiple_of(3)).then_some(50);
            assert_eq!(ends(u64::MAX, phase, lost), None);
            let two = |at: u64| (!matches!(at / 250 % 8, 3 | 4)).then_some(50);
            assert_eq!(ends(u64::MAX, phase, two), None);
        }
    }

    /// Nobody asked in the time in which the process stood still: that was no silence of the switch.
    #[test]
    fn a_pause_of_the_generator_is_no_silence() {
        let mut heard = Heard::from(Instant(0));
        assert_eq!(heard.look(Instant(500 * MS), || None), None);
        assert_eq!(heard.look(Instant(5_000 * MS), || None), None);
        let looks = (5_000..7_000).step_by(LOOK as usize);
        let ended = looks.map(Instant).find(|now| heard.look(Instant(now.0 * MS), || None).is_some());
        assert_eq!(ended, Some(Instant(5_900)));
    }

    #[test]
    fn those_who_ask_take_turns_and_pass_over_what_has_passed() {
        let mut all: Vec<u64> = (0..ASKERS).flat_map(|asker| [due(asker, 0).0, due(asker, 1).0]).collect();
        all.sort_unstable();
        assert_eq!(all, (0..2 * ASKERS).map(|n| n * ASK_EVERY.0).collect::<Vec<_>>());
        assert_eq!((next_turn(1, 0, Instant(260 * MS)), next_turn(1, 0, Instant(3_300 * MS))), (1, 4));
        assert!(SILENCE_MAX < Nanos(ASKERS * ASK_EVERY.0), "whoever asks is free at the next turn");
    }
}
