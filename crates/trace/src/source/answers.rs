//! Joins recorded answers with their requests by their ids, wherever in a bounded part of the file each stands.

use super::{Got, Seen};
use crate::Unreadable;
use crate::counts::AnswerIs;
use crate::entry::Entry;
use std::collections::{HashMap, VecDeque};

/// Records that wait for what belongs to them: an answer that stands further away from its request does not find it.
pub(crate) const HELD_MAX: usize = 1 << 13;
/// What they may hold together, about. Only hostile ones come near it.
const HELD_BYTES_MAX: usize = 1 << 25;
/// A longer id is none.
const ID_BYTES_MAX: usize = 64;
/// So much of a first line is enough to quote it.
const FIRST_BYTES_MAX: usize = 256;
/// One that holds more gives its memory back.
const SPARE_BYTES_MAX: usize = 1 << 12;

/// What a record is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Role {
    Request,
    /// How long it took to come, ns.
    Answer {
        length: Option<u64>,
    },
    /// Nothing that belongs to another one.
    #[default]
    Other,
}

/// A record that has been read.
pub(super) struct Record {
    pub(super) role: Role,
    pub(super) got: Result<Got, Unreadable>,
    pub(super) entry: Entry,
    first: Vec<u8>,
    id: Vec<u8>,
}

impl Default for Record {
    fn default() -> Record {
        Record {
            role: Role::Other,
            got: Ok(Got::Blank),
            entry: Entry::default(),
            first: Vec::new(),
            id: Vec::new(),
        }
    }
}

impl Record {
    /// Forgets the record before, but not its room. This one begins with `first`.
    pub(super) fn clear(&mut self, first: &[u8]) {
        self.entry.clear();
        self.id.clear();
        self.first.clear();
        self.first.extend_from_slice(&first[..first.len().min(FIRST_BYTES_MAX)]);
    }

    pub(super) fn set_id(&mut self, id: &[u8]) {
        if id.len() <= ID_BYTES_MAX {
            self.id.extend_from_slice(id);
        }
    }

    /// Memory that it takes, about.
    fn bytes(&self) -> usize {
        let Entry { method, target, query, login, address, headers, .. } = &self.entry;
        let texts = [method, target, query, login, address, &self.first, &self.id];
        let headers = headers.iter().map(|(name, value)| name.capacity() + value.capacity());
        size_of::<Record>() + texts.map(Vec::capacity).iter().sum::<usize>() + headers.sum::<usize>()
    }

    /// Takes over what its answer says.
    fn take(&mut self, answer: &Entry, length: Option<u64>) {
        self.entry.status = answer.status;
        // An answer to HEAD announces what it does not have.
        let has_body = self.entry.method != b"HEAD";
        self.entry.answer_bytes = if has_body { answer.answer_bytes } else { Some(0) };
        let end = answer.stamp.zip(length).and_then(|(at, length)| at.checked_add_unsigned(length));
        let took = end.zip(self.entry.stamp).and_then(|(end, start)| end.checked_sub(start));
        self.entry.took = took.and_then(|took| u64::try_from(took).ok());
    }
}

/// Records in the order of the file, each with its number.
#[derive(Default)]
pub(super) struct Waiting {
    held: VecDeque<Record>,
    /// The number of the first of these.
    first: u64,
    bytes: usize,
    /// By id, the number of a request that is held, and whether it has its answer.
    requests: HashMap<Vec<u8>, (u64, bool)>,
    /// Of an answer whose request has not come.
    answers: HashMap<Vec<u8>, u64>,
    spare: Record,
}

impl Waiting {
    /// Takes a record and leaves an empty one in its place; the oldest ones have waited long enough.
    pub(super) fn push<E>(
        &mut self,
        record: &mut Record,
        see: &mut impl FnMut(Seen<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let number = self.first + self.held.len() as u64;
        match record.role {
            _ if record.id.is_empty() => {}
            Role::Request => {
                let earlier = self.answers.remove(&record.id);
                if let Some(answer) = earlier.and_then(|number| self.held.get_mut(place(self.first, number)))
                    && let Role::Answer { length } = answer.role
                {
                    record.take(&answer.entry, length);
                    answer.got = Ok(Got::Answer(AnswerIs::Joined));
                }
                self.requests.insert(record.id.clone(), (number, earlier.is_some()));
            }
            Role::Answer { length } => {
                let is = match self.requests.get_mut(&record.id) {
                    Some((_, true)) => AnswerIs::Again,
                    Some((request, is_answered)) => {
                        *is_answered = true;
                        if let Some(request) = self.held.get_mut(place(self.first, *request)) {
                            request.take(&record.entry, length);
                        }
                        AnswerIs::Joined
                    }
                    None if self.answers.contains_key(&record.id) => AnswerIs::Again,
                    None => {
                        self.answers.insert(record.id.clone(), number);
                        AnswerIs::Stray
                    }
                };
                record.got = Ok(Got::Answer(is));
            }
            Role::Other => {}
        }
        let record = std::mem::replace(record, std::mem::take(&mut self.spare));
        self.bytes += record.bytes();
        self.held.push_back(record);
        while self.held.len() > HELD_MAX || self.bytes > HELD_BYTES_MAX {
            self.pass(see)?;
        }
        Ok(())
    }

    /// Nothing more comes.
    pub(super) fn finish<E>(&mut self, see: &mut impl FnMut(Seen<'_>) -> Result<(), E>) -> Result<(), E> {
        while !self.held.is_empty() {
            self.pass(see)?;
        }
        Ok(())
    }

    /// Hands the oldest one on.
    fn pass<E>(&mut self, see: &mut impl FnMut(Seen<'_>) -> Result<(), E>) -> Result<(), E> {
        let Some(mut record) = self.held.pop_front() else { return Ok(()) };
        self.bytes = self.bytes.saturating_sub(record.bytes());
        let number = self.first;
        self.first += 1;
        if self.requests.get(&record.id).is_some_and(|(request, _)| *request == number) {
            self.requests.remove(&record.id);
        }
        if self.answers.get(&record.id) == Some(&number) {
            self.answers.remove(&record.id);
        }
        see(Seen { got: record.got, entry: &mut record.entry, text: &record.first })?;
        if record.bytes() <= SPARE_BYTES_MAX {
            self.spare = record;
        }
        Ok(())
    }
}

/// Where the record of this number is held.
fn place(first: u64, number: u64) -> usize {
    number.saturating_sub(first) as usize
}
