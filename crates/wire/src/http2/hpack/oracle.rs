//! Held against another implementation, `fluke-hpack`: what either writes, the other reads.

use super::decoder::{Decoder, Scratch};
use super::encoder::{NO_TABLE, put_field, put_name, put_value};
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

    #[test]
    fn another_decoder_reads_our_blocks(fields in fields()) {
        // It takes no block without a field.
        prop_assume!(!fields.is_empty());
        let mut block = vec![NO_TABLE];
        for (i, (name, value)) in fields.iter().enumerate() {
            let (name, text) = (std::str::from_utf8(name).unwrap(), std::str::from_utf8(value).unwrap());
            if i % 2 == 0 {
                put_field(&mut block, name, text);
            } else {
                put_name(&mut block, name);
                put_value(&mut block, value);
            }
        }
        let read = fluke_hpack::Decoder::new().decode(&block);
        prop_assert_eq!(read.ok(), Some(fields));
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
