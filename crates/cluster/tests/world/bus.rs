//! The bus of a world: what is lost on it, late, doubled and out of order, and what it keeps of records.

use super::record::{KEPT_WITHIN, LOOK_EVERY, NAMES};
use super::{SECOND, TICK, World};
use rand_xoshiro::rand_core::Rng;
use std::path::PathBuf;
use unblink_cluster::message::{FromAgent, Reply, Stage, Time, ToldTime};
use unblink_cluster::record::{Inbox, Place, Taken, Whole};
use unblink_cluster::{agent, coordinator};

/// What is under way.
pub(super) enum Word {
    /// To the coordinator, of an agent.
    Up(usize, FromAgent),
    /// To an agent.
    Down(usize, Reply),
    Time {
        to: usize,
        asked_at: Time,
        at: Time,
    },
    /// A piece of an agent's record, to the bus, which keeps it.
    Piece(usize, Place, Vec<u8>),
    /// The bus has kept so many bytes of it.
    Kept(usize, Place, u64),
    /// What the bus has kept, by its number, to the coordinator.
    Passed(usize),
}

/// A piece that the bus has kept.
pub(super) struct Piece {
    of: usize,
    place: Place,
    bytes: Vec<u8>,
    /// The coordinator has it, as far as the bus knows.
    is_taken: bool,
    /// When it is passed on again.
    again_at: u64,
    /// The bus has it no more.
    is_gone: bool,
}

/// What was not answered comes again.
const AGAIN_AFTER: u64 = 2 * SECOND;

impl World {
    pub(super) fn chance(&mut self, of: f64) -> bool {
        ((self.random.next_u64() >> 11) as f64) < of * (1u64 << 53) as f64
    }

    /// The bus itself, for the coordinator.
    pub(super) fn is_there(&self) -> bool {
        self.bus_gone.is_none_or(|(from, to)| self.now < from || self.now >= to)
    }

    fn gets_through(&self, node: usize) -> bool {
        let parted = self.nodes[node].parted;
        self.is_there() && parted.is_none_or(|(from, to)| self.now < from || self.now >= to)
    }

    /// Between the coordinator or the bus and an agent.
    pub(super) fn send(&mut self, node: usize, make: impl Fn() -> Word) {
        self.send_if(|world| world.gets_through(node), make);
    }

    fn send_if(&mut self, gets_through: impl Fn(&World) -> bool, make: impl Fn() -> Word) {
        for _ in 0..if self.chance(self.doubled) { 2 } else { 1 } {
            if gets_through(self) && !self.chance(self.loss) {
                let late = self.delay / 2 + self.random.next_u64() % self.delay + self.straggles();
                self.sent += 1;
                self.words.insert((self.now + late, self.sent), make());
            }
        }
    }

    pub(super) fn arrive(&mut self, word: Word) {
        match word {
            Word::Up(node, said) if self.life.runs(self.now) => self.hear(node, said),
            Word::Down(node, reply) if self.nodes[node].life.runs(self.now) => {
                self.act(node, agent::Event::Reply(reply));
            }
            Word::Time { to, asked_at, at } if self.nodes[to].life.runs(self.now) => {
                self.act(to, agent::Event::TimeAnswer { run: "r".into(), asked_at, at });
            }
            Word::Piece(of, place, bytes) if self.is_there() && self.keeps => {
                let (told, length) = (place.clone(), bytes.len() as u64);
                let again_at = self.now;
                self.kept_pieces.push(Piece { of, place, bytes, is_taken: false, again_at, is_gone: false });
                self.send(of, || Word::Kept(of, told.clone(), length));
            }
            Word::Kept(node, place, length) if self.nodes[node].life.runs(self.now) => {
                let node = &mut self.nodes[node];
                let own = node.clock.at(self.now);
                let Some(load) = &mut node.load else { return };
                load.record.outbox.told(&place, length, own);
                if load.record.under_way.take_if(|(waiting, ..)| *waiting == place).is_some() {
                    // There may be more.
                    node.looked_at = u64::MAX;
                }
            }
            Word::Passed(number) if self.life.runs(self.now) && self.outcome.is_none() => self.take(number),
            // Whoever stands still or is dead hears nothing.
            _ => {}
        }
    }

    fn hear(&mut self, node: usize, said: FromAgent) {
        match said {
            FromAgent::Status(status) => {
                let said_at = self.nodes[node].said.get(&status.number).copied().unwrap_or(0);
                if self.outcome.is_some() {
                    return;
                }
                let known = &mut self.nodes[node].known_until;
                *known = said_at.max(*known);
                let ends = match &status.stage {
                    Stage::Ended(ended) => Some(ended.files.clone()),
                    _ => None,
                };
                self.coordinate(coordinator::Event::Status(format!("a{node}"), status));
                let (own, inbox) = (self.clock.at(self.now), self.inboxes.get_mut(&node));
                let whole = ends.zip(inbox).map(|(ends, inbox)| inbox.whole(own, &ends).expect("readable"));
                match whole {
                    Some(Whole::Yes) => self.coordinate(coordinator::Event::Received(format!("a{node}"))),
                    Some(Whole::Lacks) => self.coordinate(coordinator::Event::Missing),
                    Some(Whole::NotYet) | None => {}
                }
            }
            FromAgent::TimeAsk { asked_at, .. } => {
                let at = self.clock.at(self.now);
                let told = ToldTime { asked_at, at };
                self.coordinate(coordinator::Event::TimeTold(format!("a{node}"), told));
                self.send(node, || Word::Time { to: node, asked_at, at });
                self.lie(node, asked_at, at);
            }
            FromAgent::Leaves { why } if self.outcome.is_none() => {
                self.coordinate(coordinator::Event::Left(format!("a{node}"), why));
            }
            FromAgent::Leaves { .. } | FromAgent::Fetch { .. } | FromAgent::Stranger { .. } => {}
        }
    }

    /// The coordinator takes a piece of a record in, and lets the bus know.
    fn take(&mut self, number: usize) {
        let of = self.kept_pieces[number].of;
        let takes_part = self.coordinator.first_share(&format!("a{of}")).is_some();
        let (mut taken, own) = (Taken::Settled, self.clock.at(self.now));
        if takes_part {
            let dir = self.gathered_dir(of);
            let new = || Inbox::new(dir, &NAMES).expect("a folder");
            let Piece { place, bytes, .. } = &self.kept_pieces[number];
            taken = self.inboxes.entry(of).or_insert_with(new).take(own, place, bytes).expect("written");
        }
        let is_heard = self.is_there() && !self.chance(self.loss);
        let (now, piece) = (self.now, &mut self.kept_pieces[number]);
        match taken {
            Taken::Settled => piece.is_taken |= is_heard,
            Taken::Early(after) | Taken::Missing(after) => {
                piece.again_at = piece.again_at.min(now + after);
            }
        }
        if matches!(taken, Taken::Missing(_)) {
            self.coordinate(coordinator::Event::Missing);
        }
    }

    /// The bus passes on what it has kept and nobody has taken.
    pub(super) fn pass_on(&mut self) {
        if !self.is_there() || self.outcome.is_some() || !self.life.runs(self.now) {
            return;
        }
        for number in 0..self.kept_pieces.len() {
            let piece = &mut self.kept_pieces[number];
            if !piece.is_taken && !piece.is_gone && self.now >= piece.again_at {
                piece.again_at = self.now + AGAIN_AFTER;
                self.send_if(World::is_there, || Word::Passed(number));
            }
        }
    }

    /// A bus without a disk has nothing any more when it is back, and keeps nothing until a coordinator has noticed.
    pub(super) fn forget(&mut self) {
        let Some((from, to)) = self.bus_gone else { return };
        if self.now >= from && std::mem::take(&mut self.forgets) {
            let is_missed = |piece: &&Piece| !piece.is_taken;
            self.missed = self.kept_pieces.iter().filter(is_missed).count();
            self.kept_pieces.iter_mut().for_each(|piece| piece.is_gone = true);
            (self.keeps, self.noticed_at) = (false, to + self.random.next_u64() % (3 * SECOND / 2));
        }
        let notices = self.life.runs(self.now) && self.outcome.is_none();
        if !self.keeps && notices && self.is_there() && self.now >= self.noticed_at {
            self.keeps = true;
            self.coordinate(coordinator::Event::Forgotten);
        }
    }

    /// All that was kept is passed on again: to one that has nothing.
    pub(super) fn pass_on_anew(&mut self) {
        // What another one had gathered is there, and in every second world nowhere else any more.
        let resumed = |of: &usize| Inbox::resumed(self.gathered_dir(*of), &NAMES).expect("a folder");
        self.inboxes = self.inboxes.keys().map(|of| (*of, resumed(of))).collect();
        let has_let_go = self.seed.is_multiple_of(2);
        for piece in &mut self.kept_pieces {
            piece.is_gone |= piece.is_taken && has_let_go;
            (piece.is_taken, piece.again_at) = (false, 0);
        }
        // It has found another stream than the one that it was told of.
        self.noticed_at = self.now;
    }

    /// An agent passes on what is new of its record.
    pub(super) fn tell_record(&mut self, number: usize) {
        let (now, node) = (self.now, &mut self.nodes[number]);
        let every = if node.ended { 10 * TICK } else { LOOK_EVERY };
        let Some(record) = node.load.as_mut().map(|load| &mut load.record) else { return };
        let is_due = match &record.under_way {
            Some((.., again_at)) => now >= *again_at,
            None => now / every != node.looked_at / every,
        };
        if !is_due {
            return;
        }
        node.looked_at = now;
        let piece = record.outbox.piece(node.clock.at(now)).expect("readable");
        record.under_way = piece.as_ref().map(|(place, _)| (place.clone(), now + KEPT_WITHIN));
        let Some((place, bytes)) = piece else { return };
        self.send(number, || Word::Piece(number, place.clone(), bytes.clone()));
    }

    /// Where the record of an agent is gathered.
    pub(super) fn gathered_dir(&self, number: usize) -> PathBuf {
        self.place.as_ref().expect("not in a crowd without records").path().join(format!("share-{number}"))
    }
}
