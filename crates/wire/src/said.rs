//! What connections say of requests, as tests read it.

use crate::blank::Filler;
use crate::protocol::{Reply, Sink, Tag, Value, Violation};

/// A line for each thing that was said.
pub(crate) struct Said {
    pub(crate) lines: Vec<String>,
    code_name: fn(u16) -> &'static str,
}

impl Said {
    pub(crate) fn new(code_name: fn(u16) -> &'static str) -> Said {
        Said { lines: Vec::new(), code_name }
    }
}

impl Sink for Said {
    fn ready(&mut self) {}
    fn room(&mut self, _: u32) {}
    fn retired(&mut self) {}
    fn first(&mut self, tag: Tag) {
        self.lines.push(format!("first {}", tag.0));
    }
    fn head(&mut self, _: Tag, _: &[u8]) {}
    fn body(&mut self, _: Tag, _: &[u8]) {}
    fn value(&mut self, tag: Tag, Value { place, name, text }: Value<'_>) {
        let [name, text] = [name.unwrap_or_default(), text].map(String::from_utf8_lossy);
        let place = place.map_or("all".to_string(), |place| place.to_string());
        self.lines.push(format!("value {} {place} {name}={text}", tag.0));
    }
    fn left_open(&mut self, tag: Tag) {
        self.lines.push(format!("open {}", tag.0));
    }
    fn followed(&mut self, tag: Tag) {
        self.lines.push(format!("followed {}", tag.0));
    }
    fn prepared_again(&mut self, tag: Tag) {
        self.lines.push(format!("again {}", tag.0));
    }
    fn done(&mut self, tag: Tag, Reply { code, body_bytes, .. }: Reply) {
        self.lines.push(format!("done {} {} {body_bytes}", tag.0, (self.code_name)(code)));
    }
    fn lost(&mut self, _: Tag, _: Violation, _: bool) {}
}

/// Writes the same number into each place.
pub(crate) struct Number(pub(crate) &'static str);

impl Filler for Number {
    fn fill(&mut self, _: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0.as_bytes());
    }
}
