//! The tables that header fields are referred to by (RFC 7541 §2.3).

use std::collections::VecDeque;

/// What an entry counts for beside its bytes (§4.1).
pub(super) const ENTRY_BYTES: usize = 32;

/// The same for everybody (appendix A); the first has the index 1.
pub(super) const STATIC: [(&str, &str); 61] = [
    (":authority", ""),
    (":method", "GET"),
    (":method", "POST"),
    (":path", "/"),
    (":path", "/index.html"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "200"),
    (":status", "204"),
    (":status", "206"),
    (":status", "304"),
    (":status", "400"),
    (":status", "404"),
    (":status", "500"),
    ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"),
    ("accept-language", ""),
    ("accept-ranges", ""),
    ("accept", ""),
    ("access-control-allow-origin", ""),
    ("age", ""),
    ("allow", ""),
    ("authorization", ""),
    ("cache-control", ""),
    ("content-disposition", ""),
    ("content-encoding", ""),
    ("content-language", ""),
    ("content-length", ""),
    ("content-location", ""),
    ("content-range", ""),
    ("content-type", ""),
    ("cookie", ""),
    ("date", ""),
    ("etag", ""),
    ("expect", ""),
    ("expires", ""),
    ("from", ""),
    ("host", ""),
    ("if-match", ""),
    ("if-modified-since", ""),
    ("if-none-match", ""),
    ("if-range", ""),
    ("if-unmodified-since", ""),
    ("last-modified", ""),
    ("link", ""),
    ("location", ""),
    ("max-forwards", ""),
    ("proxy-authenticate", ""),
    ("proxy-authorization", ""),
    ("range", ""),
    ("referer", ""),
    ("refresh", ""),
    ("retry-after", ""),
    ("server", ""),
    ("set-cookie", ""),
    ("strict-transport-security", ""),
    ("transfer-encoding", ""),
    ("user-agent", ""),
    ("vary", ""),
    ("via", ""),
    ("www-authenticate", ""),
];

/// What one side has said before on a connection, the latest last.
#[derive(Debug)]
pub(super) struct Table {
    /// Names and values, one after the other; those before `begin` are gone.
    bytes: Vec<u8>,
    begin: usize,
    entries: VecDeque<Entry>,
    size: usize,
    size_max: usize,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    name: u32,
    value: u32,
}

impl Entry {
    fn bytes(self) -> usize {
        self.name as usize + self.value as usize
    }
}

impl Table {
    pub(super) fn new(size_max: usize) -> Table {
        // All that it can take, so that nothing is allocated later.
        let (bytes, entries) =
            (Vec::with_capacity(2 * size_max), VecDeque::with_capacity(size_max / ENTRY_BYTES));
        Table { bytes, begin: 0, entries, size: 0, size_max }
    }

    /// The field at `index`, which counts from 1 over both tables.
    pub(super) fn get(&self, index: usize) -> Option<(&[u8], &[u8])> {
        let place = index.checked_sub(1)?;
        if let Some((name, value)) = STATIC.get(place) {
            return Some((name.as_bytes(), value.as_bytes()));
        }
        let from_end = place - STATIC.len();
        let mut end = self.bytes.len();
        // A table of 4 KiB has 128 entries at the most, and what comes often is near the end.
        for (i, entry) in self.entries.iter().rev().enumerate() {
            let at = end - entry.bytes();
            if i == from_end {
                return Some(self.bytes[at..end].split_at(entry.name as usize));
            }
            end = at;
        }
        None
    }

    /// Adds a field. Older ones make way; one that is larger than the table leaves it empty.
    pub(super) fn insert(&mut self, name: &[u8], value: &[u8]) {
        let size = ENTRY_BYTES + name.len() + value.len();
        self.shrink_to(self.size_max.saturating_sub(size));
        if size > self.size_max {
            return;
        }
        if self.begin > self.size_max {
            self.bytes.drain(..self.begin);
            self.begin = 0;
        }
        self.bytes.extend_from_slice(name);
        self.bytes.extend_from_slice(value);
        self.entries.push_back(Entry { name: name.len() as u32, value: value.len() as u32 });
        self.size += size;
    }

    /// Changes how large it may be.
    pub(super) fn resize(&mut self, size_max: usize) {
        self.size_max = size_max;
        self.shrink_to(size_max);
    }

    fn shrink_to(&mut self, size: usize) {
        while self.size > size {
            let Some(entry) = self.entries.pop_front() else { return };
            self.begin += entry.bytes();
            self.size -= ENTRY_BYTES + entry.bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_comes_first_and_the_oldest_makes_way() {
        let mut table = Table::new(3 * (ENTRY_BYTES + 2));
        for name in [b"a", b"b", b"c", b"d"] {
            table.insert(name, b"x");
        }
        let names: Vec<_> = (62..70).map_while(|i| Some(table.get(i)?.0[0])).collect();
        assert_eq!(names, *b"dcb");
        assert_eq!(table.get(0), None);
        assert_eq!(table.get(8), Some((&b":status"[..], &b"200"[..])));
        assert_eq!(table.get(61), Some((&b"www-authenticate"[..], &b""[..])));
        table.resize(ENTRY_BYTES + 2);
        assert_eq!((table.get(62), table.get(63)), (Some((&b"d"[..], &b"x"[..])), None));
        table.insert(b"long", b"er than all");
        assert_eq!(table.get(62), None);
    }

    #[test]
    fn memory_is_bounded_however_much_passes() {
        let mut table = Table::new(4096);
        for i in 0..10_000u32 {
            table.insert(&i.to_be_bytes(), &[b'v'; 100]);
            assert_eq!(table.get(62).map(|(name, _)| name.to_vec()), Some(i.to_be_bytes().to_vec()));
        }
        assert!(table.bytes.capacity() <= 2 * 4096, "{}", table.bytes.capacity());
    }
}
