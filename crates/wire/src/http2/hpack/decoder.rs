//! Reads blocks of header fields (RFC 7541 §3 and §6).

use super::fields::{take_number, take_string};
use super::table::Table;
use crate::http2::fault::Fault;

/// How large the table may be (`SETTINGS_HEADER_TABLE_SIZE`); what a server may use unless it is told otherwise.
const TABLE_BYTES: usize = 4096;

/// What a server has said before on a connection.
#[derive(Debug)]
pub(in crate::http2) struct Decoder {
    table: Table,
    /// Counts the changes of the table.
    generation: u64,
}

/// Where a field is put together; used again.
#[derive(Debug, Default)]
pub(in crate::http2) struct Scratch {
    name: Vec<u8>,
    value: Vec<u8>,
}

impl Scratch {
    pub(in crate::http2) fn with_room(bytes: usize) -> Scratch {
        Scratch { name: Vec::with_capacity(bytes), value: Vec::with_capacity(bytes) }
    }
}

impl Decoder {
    pub(in crate::http2) fn new() -> Decoder {
        Decoder { table: Table::new(TABLE_BYTES), generation: 0 }
    }

    /// Of two blocks with the same bytes that are read in the same generation, which neither ends, the fields are the same.
    pub(in crate::http2) fn generation(&self) -> u64 {
        self.generation
    }

    /// Reads a whole block, field by field.
    ///
    /// # Errors
    /// What is wrong with it, or what `take` says. No other block of the connection can be read then.
    pub(in crate::http2) fn decode(
        &mut self,
        mut block: &[u8],
        scratch: &mut Scratch,
        mut take: impl FnMut(&[u8], &[u8]) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let mut is_begin = true;
        while let Some(&first) = block.first() {
            match first {
                0x80.. => {
                    let (name, value) = self.at(take_number(&mut block, 7)?)?;
                    take(name, value)?;
                }
                0x40.. => {
                    self.literal(&mut block, 6, scratch)?;
                    take(&scratch.name, &scratch.value)?;
                    self.table.insert(&scratch.name, &scratch.value);
                    self.generation += 1;
                }
                0x20.. => {
                    let size = take_number(&mut block, 5)?;
                    if !is_begin || size > TABLE_BYTES {
                        return Err(Fault::HpackTableSize);
                    }
                    self.table.resize(size);
                    self.generation += 1;
                    continue;
                }
                // Without indexing, or never indexed: the same to a reader.
                _ => {
                    self.literal(&mut block, 4, scratch)?;
                    take(&scratch.name, &scratch.value)?;
                }
            }
            is_begin = false;
        }
        Ok(())
    }

    fn literal(&self, block: &mut &[u8], prefix: u32, scratch: &mut Scratch) -> Result<(), Fault> {
        scratch.name.clear();
        scratch.value.clear();
        match take_number(block, prefix)? {
            0 => take_string(block, &mut scratch.name)?,
            index => scratch.name.extend_from_slice(self.at(index)?.0),
        }
        take_string(block, &mut scratch.value)
    }

    fn at(&self, index: usize) -> Result<(&[u8], &[u8]), Fault> {
        self.table.get(index).ok_or(Fault::HpackIndex)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
        digits
            .chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect()
    }

    fn read(decoder: &mut Decoder, hex: &str) -> Result<String, Fault> {
        let mut text = String::new();
        decoder.decode(&bytes(hex), &mut Scratch::default(), |name, value| {
            text += &format!("{}: {}\n", String::from_utf8_lossy(name), String::from_utf8_lossy(value));
            Ok(())
        })?;
        Ok(text)
    }

    /// RFC 7541 C.2: each form of a field by itself.
    #[test]
    fn fields_of_appendix_c() {
        for (hex, field, is_kept) in [
            (
                "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
                "custom-key: custom-header\n",
                true,
            ),
            ("040c 2f73 616d 706c 652f 7061 7468", ":path: /sample/path\n", false),
            ("1008 7061 7373 776f 7264 0673 6563 7265 74", "password: secret\n", false),
            ("82", ":method: GET\n", false),
        ] {
            let mut decoder = Decoder::new();
            assert_eq!(read(&mut decoder, hex).unwrap(), field);
            // The first index behind the fixed table.
            let kept = read(&mut decoder, "be");
            assert_eq!(kept.is_ok(), is_kept, "{field}");
            assert!(!is_kept || kept.unwrap() == field);
        }
    }

    /// RFC 7541 C.3: requests without Huffman coding.
    #[test]
    fn plain_requests_of_appendix_c() {
        let mut decoder = Decoder::new();
        let first = ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com\n";
        let hex = "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d";
        assert_eq!(read(&mut decoder, hex).unwrap(), first);
        let second = format!("{first}cache-control: no-cache\n");
        assert_eq!(read(&mut decoder, "8286 84be 5808 6e6f 2d63 6163 6865").unwrap(), second);
        let third = ":method: GET\n:scheme: https\n:path: /index.html\n:authority: www.example.com\n\
                     custom-key: custom-value\n";
        let hex = "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65";
        assert_eq!(read(&mut decoder, hex).unwrap(), third);
    }

    /// RFC 7541 C.6: answers with Huffman coding, in a table of 256 bytes that has to evict.
    #[test]
    fn coded_answers_of_appendix_c() {
        let mut decoder = Decoder::new();
        decoder.table.resize(256);
        let rest = "date: Mon, 21 Oct 2013 20:13:21 GMT\nlocation: https://www.example.com\n";
        let first = read(
            &mut decoder,
            "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 \
             63c7 8f0b 97c8 e9ae 82ae 43d3",
        );
        assert_eq!(first.unwrap(), format!(":status: 302\ncache-control: private\n{rest}"));
        let second = read(&mut decoder, "4883 640e ffc1 c0bf").unwrap();
        assert_eq!(second, format!(":status: 307\ncache-control: private\n{rest}"));
        let third = read(
            &mut decoder,
            "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 \
             b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07",
        );
        assert_eq!(
            third.unwrap(),
            ":status: 200\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:22 GMT\n\
             location: https://www.example.com\ncontent-encoding: gzip\n\
             set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1\n"
        );
    }

    /// RFC 7541 C.4: requests with Huffman coding.
    #[test]
    fn requests_of_appendix_c() {
        let mut decoder = Decoder::new();
        let first = ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com\n";
        assert_eq!(read(&mut decoder, "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff").unwrap(), first);
        let second = format!("{first}cache-control: no-cache\n");
        assert_eq!(read(&mut decoder, "8286 84be 5886 a8eb 1064 9cbf").unwrap(), second);
        let third = ":method: GET\n:scheme: https\n:path: /index.html\n:authority: www.example.com\n\
                     custom-key: custom-value\n";
        assert_eq!(
            read(&mut decoder, "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf").unwrap(),
            third
        );
        assert_eq!(decoder.generation(), 3);
    }

    /// RFC 7541 C.5: answers without Huffman coding, in a table of 256 bytes that has to evict.
    #[test]
    fn answers_of_appendix_c() {
        let mut decoder = Decoder::new();
        decoder.table.resize(256);
        let rest = "date: Mon, 21 Oct 2013 20:13:21 GMT\nlocation: https://www.example.com\n";
        let first = read(
            &mut decoder,
            "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 \
             474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        );
        assert_eq!(first.unwrap(), format!(":status: 302\ncache-control: private\n{rest}"));
        let second = read(&mut decoder, "4803 3330 37c1 c0bf").unwrap();
        assert_eq!(second, format!(":status: 307\ncache-control: private\n{rest}"));
        let third = read(
            &mut decoder,
            "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 \
             666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 \
             3630 303b 2076 6572 7369 6f6e 3d31",
        );
        let third = third.unwrap();
        assert!(
            third.starts_with(":status: 200\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:22 GMT\n")
        );
        assert!(third.ends_with("set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1\n"));
    }

    #[test]
    fn what_is_wrong_with_a_block() {
        for (hex, fault) in [
            ("80", Fault::HpackIndex),
            ("be", Fault::HpackIndex),
            ("ff80808080 8000", Fault::HpackInteger),
            ("ff", Fault::HpackTruncated),
            ("4003", Fault::HpackTruncated),
            ("0003 616263 05 61", Fault::HpackTruncated),
            ("0081 00 00", Fault::HpackHuffman),
            ("82 20", Fault::HpackTableSize),
            ("3fe2 1f", Fault::HpackTableSize),
        ] {
            assert_eq!(read(&mut Decoder::new(), hex), Err(fault), "{hex}");
        }
        // 4,096 is allowed, and so is another size right behind it.
        assert_eq!(read(&mut Decoder::new(), "3fe1 1f 20 82").as_deref(), Ok(":method: GET\n"));
        // An emptied table has no entry any more.
        let mut decoder = Decoder::new();
        assert_eq!(read(&mut decoder, "4001 61 01 62").as_deref(), Ok("a: b\n"));
        assert_eq!(read(&mut decoder, "20 be"), Err(Fault::HpackIndex));
    }
}
