//! Held against another implementation, `fluke-hpack`: what either writes, the other reads.

use super::decoder::{Decoder, Scratch};
use super::encoder::Encoder;
use super::literal::{Part, Parts};
use crate::http2::fault::Fault;
use proptest::prelude::*;

type Fields = Vec<(Vec<u8>, Vec<u8>)>;

fn decoded(decoder: &mut Decoder, block: &[u8]) -> Result<Fields, Fault> {
    let mut fields = Vec::new();
    decoder.decode(block, &mut Scratch::default(), |name, value| {
        fields.push((name.to_vec(), value.to_vec()));
        Ok(())
    })?;
    Ok(fields)
}

/// Few names, so that tables are hit; values of all lengths, so that they are evicted.
fn fields() -> impl Strategy<Value = Fields> {
    let known = prop::sample::select(vec![":status", "date", "server", "x-a", "x-b", "content-type", "etag"]);
    let value = prop_oneof!["[a-c]{0,2}", "[ -~]{0,80}", "[ -~]{900,1200}"];
    let one = (known, value).prop_map(|(name, value)| (name.as_bytes().to_vec(), value.into_bytes()));
    prop::collection::vec(one, 0..12)
}

/// A name, a value, and whether the value is another each time.
type Asked = Vec<(&'static str, String, bool)>;

fn request() -> impl Strategy<Value = Asked> {
    let names = vec![
        ":method",
        ":path",
        ":authority",
        "authorization",
        "cookie",
        "content-length",
        "x-a",
        "x-b",
        "user-agent",
    ];
    let value = prop_oneof!["GET|/|[a-c]{0,2}", "[!-~]{1,60}", "[!-~]{300,1500}"];
    // A decoder of the oracle's kind takes no block without a field.
    prop::collection::vec((prop::sample::select(names), value, prop::bool::weighted(0.2)), 1..9)
}

/// What a server may say of its table.
fn limit() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0), 1u32..200, 200u32..4096, Just(4096), Just(65_536)]
}

fn rendered(fields: &Asked) -> Box<[Part]> {
    let mut parts = Parts::default();
    for (name, value, is_open) in fields {
        match is_open {
            true => parts.put_open(name),
            false => parts.put(name, value),
        }
    }
    parts.done()
}

proptest! {
    #[test]
    fn blocks_of_another_encoder_are_read(blocks in prop::collection::vec(fields(), 1..12)) {
        let mut encoder = fluke_hpack::Encoder::new();
        let mut decoder = Decoder::new();
        for fields in blocks {
            let block = encoder.encode(fields.iter().map(|(name, value)| (&name[..], &value[..])));
            prop_assert_eq!(decoded(&mut decoder, &block), Ok(fields));
        }
    }

    /// Requests in any order, with values that are another each time, while the server's limit goes up and down: two decoders
    /// read what was meant. One of them forgets what exceeds a limit as soon as that is set, as servers do.
    #[test]
    fn decoders_read_what_we_write(
        requests in prop::collection::vec(request(), 1..24),
        turns in prop::collection::vec((any::<prop::sample::Index>(), prop::collection::vec(limit(), 0..3)), 1..60),
    ) {
        let parts: Vec<Box<[Part]>> = requests.iter().map(rendered).collect();
        let (mut encoder, mut ours, mut theirs) = (Encoder::new(), Decoder::new(), fluke_hpack::Decoder::new());
        for (turn, (which, limits)) in turns.iter().enumerate() {
            for &limit in limits {
                encoder.set_limit(limit);
                theirs.set_max_allowed_table_size(limit as usize);
                theirs.set_max_table_size(4096.min(limit as usize));
            }
            let number = which.index(requests.len());
            let value = |name: &str| format!("{turn}-{name}");
            let open = requests[number].iter().filter(|(_, _, is_open)| *is_open);
            let values: Vec<String> = open.map(|(name, ..)| value(name)).collect();
            let fill = |value: &String, out: &mut Vec<u8>| out.extend_from_slice(value.as_bytes());
            let mut block = Vec::new();
            encoder.put_block(number as u32, (&parts[number], &values), &mut Vec::new(), fill, &mut block);
            let meant: Fields = requests[number]
                .iter()
                .map(|(name, text, is_open)| (name.to_string(), if *is_open { value(name) } else { text.clone() }))
                .map(|(name, value)| (name.into_bytes(), value.into_bytes()))
                .collect();
            prop_assert_eq!(decoded(&mut ours, &block), Ok(meant.clone()));
            prop_assert_eq!(theirs.decode(&block).ok(), Some(meant));
        }
    }

    /// Any bytes are read, or refused; what both accept, both read alike.
    #[test]
    fn any_bytes_end(block in prop::collection::vec(any::<u8>(), 0..60)) {
        let ours = decoded(&mut Decoder::new(), &block);
        let theirs = std::panic::catch_unwind(|| fluke_hpack::Decoder::new().decode(&block).ok());
        if let (Ok(ours), Ok(Some(theirs))) = (ours, theirs) {
            prop_assert_eq!(ours, theirs);
        }
    }
}
