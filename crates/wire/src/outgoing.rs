//! What a connection has yet to write, where requests are written one behind the other and answers come in their order.

/// Memory for what is written, which the connections of a thread use in turn.
#[derive(Debug, Default)]
pub(crate) struct Spare(Vec<Vec<u8>>);

impl Spare {
    /// Memory with nothing in it.
    #[inline]
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.0.pop().unwrap_or_default()
    }

    /// What was taken.
    #[inline]
    pub(crate) fn give(&mut self, mut bytes: Vec<u8>) {
        if bytes.capacity() > 0 {
            bytes.clear();
            self.0.push(bytes);
        }
    }
}

/// A request that is written where it lies.
#[derive(Clone, Copy, Debug)]
struct Lying {
    number: u32,
    bytes: usize,
    written: usize,
}

/// Bytes to be written, in order.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    /// Before `out`: while nothing waits to be written, a request that is always the same is not copied.
    lying: Option<Lying>,
    out: Vec<u8>,
    written: usize,
}

impl Outgoing {
    /// What is written behind all else.
    #[inline]
    pub(crate) fn out(&mut self, spare: &mut Spare) -> &mut Vec<u8> {
        if self.out.capacity() == 0 {
            self.out = spare.take();
        }
        &mut self.out
    }

    /// The same before the connection has anything to share.
    pub(crate) fn greeting(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// Takes a request on: all of it if it is always the same, or else what `write` appends.
    #[inline]
    pub(crate) fn put(
        &mut self,
        spare: &mut Spare,
        number: u32,
        ready: Option<&[u8]>,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        match ready {
            Some(ready) if self.lying.is_none() && self.out.is_empty() => {
                self.lying = Some(Lying { number, bytes: ready.len(), written: 0 });
            }
            Some(ready) => self.out(spare).extend_from_slice(ready),
            None => write(self.out(spare)),
        }
    }

    /// In two pieces; `ready` gives what is always the same of the request with a number.
    #[inline]
    pub(crate) fn output<'a>(&'a self, ready: impl FnOnce(u32) -> Option<&'a [u8]>) -> [&'a [u8]; 2] {
        let lying = match self.lying {
            Some(Lying { number, written, .. }) => &ready(number).unwrap_or_default()[written..],
            None => &[],
        };
        match (lying, &self.out[self.written..]) {
            ([], out) => [out, &[]],
            both => both.into(),
        }
    }

    /// So many bytes were written.
    #[inline]
    pub(crate) fn wrote(&mut self, mut n: usize) {
        if let Some(Lying { bytes, written, .. }) = &mut self.lying {
            let of_it = n.min(*bytes - *written);
            *written += of_it;
            n -= of_it;
            if written == bytes {
                self.lying = None;
            }
        }
        self.written += n;
        if self.written == self.out.len() {
            self.out.clear();
            self.written = 0;
        }
    }

    /// An idle connection holds no memory for what it writes.
    #[inline]
    pub(crate) fn rest(&mut self, spare: &mut Spare) {
        if self.out.is_empty() {
            spare.give(std::mem::take(&mut self.out));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As requests number 0 and 1 lie.
    const READY: [&[u8]; 2] = [b"first", b"second"];

    fn taken(outgoing: &mut Outgoing, mut n: usize) -> String {
        let mut all = Vec::new();
        while n > 0 {
            let output = outgoing.output(|number| Some(READY[number as usize])).concat();
            let length = output.len().min(n).min(2);
            if length == 0 {
                break;
            }
            all.extend_from_slice(&output[..length]);
            outgoing.wrote(length);
            n -= length;
        }
        String::from_utf8(all).unwrap()
    }

    #[test]
    fn what_lies_ready_is_written_before_what_follows_it() {
        let (mut outgoing, mut spare) = (Outgoing::default(), Spare::default());
        outgoing.put(&mut spare, 0, Some(READY[0]), |_| panic!("it is ready"));
        assert!(outgoing.out.capacity() == 0, "it is not copied");
        assert_eq!(taken(&mut outgoing, 3), "fir");
        outgoing.put(&mut spare, 1, Some(READY[1]), |_| panic!("it is ready"));
        outgoing.put(&mut spare, 1, None, |out| out.extend_from_slice(b"filled"));
        assert_eq!(taken(&mut outgoing, 99), "stsecondfilled");
        assert_eq!(taken(&mut outgoing, 99), "");
    }

    #[test]
    fn memory_goes_from_one_connection_to_another() {
        let (mut one, mut other, mut spare) = (Outgoing::default(), Outgoing::default(), Spare::default());
        one.put(&mut spare, 0, None, |out| out.extend_from_slice(b"abc"));
        one.rest(&mut spare);
        assert_eq!(taken(&mut one, 99), "abc", "what is to be written is kept");
        one.rest(&mut spare);
        let at = spare.0[0].as_ptr();
        other.put(&mut spare, 0, None, |out| out.push(b'x'));
        assert!(spare.0.is_empty() && other.out.as_ptr() == at && one.out.capacity() == 0);
    }
}
