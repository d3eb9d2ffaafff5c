//! Tokens of partition keys, as Cassandra's `Murmur3Partitioner` has them (`MurmurHash.hash3_x64_128` of Apache Cassandra).

/// The token of a key, which is the bytes of its only value, or those that [`put_part`] has put together.
pub(super) fn token(key: &[u8]) -> i64 {
    // No key has the least of all tokens.
    match hash(key) as i64 {
        i64::MIN => i64::MAX,
        token => token,
    }
}

/// Appends one of several values that are the key together.
pub(super) fn put_part(value: &[u8], key: &mut Vec<u8>) {
    key.extend_from_slice(&(value.len() as u16).to_be_bytes());
    key.extend_from_slice(value);
    key.push(0);
}

const C1: u64 = 0x87c3_7b91_1142_53d5;
const C2: u64 = 0x4cf5_ad43_2745_937f;

/// The first half of MurmurHash3 (x64, 128 bits, seed 0), but that the bytes behind the last block are signed there.
fn hash(key: &[u8]) -> u64 {
    let (mut h1, mut h2) = (0u64, 0u64);
    let (blocks, tail) = key.as_chunks::<16>();
    for block in blocks {
        let both = u128::from_le_bytes(*block);
        h1 ^= mixed_1(both as u64);
        h1 = h1.rotate_left(27).wrapping_add(h2).wrapping_mul(5).wrapping_add(0x52dc_e729);
        h2 ^= mixed_2((both >> 64) as u64);
        h2 = h2.rotate_left(31).wrapping_add(h1).wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    let signed = |bytes: &[u8]| {
        let each = bytes.iter().enumerate();
        each.fold(0u64, |all, (place, &byte)| all ^ ((i64::from(byte as i8) as u64) << (8 * place)))
    };
    let (low, high) = tail.split_at(tail.len().min(8));
    h2 ^= mixed_2(signed(high));
    h1 ^= mixed_1(signed(low));
    h1 ^= key.len() as u64;
    h2 ^= key.len() as u64;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    (h1, h2) = (scattered(h1), scattered(h2));
    h1.wrapping_add(h2)
}

fn mixed_1(k: u64) -> u64 {
    k.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2)
}

fn mixed_2(k: u64) -> u64 {
    k.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1)
}

fn scattered(mut k: u64) -> u64 {
    k = (k ^ (k >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    k = (k ^ (k >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    k ^ (k >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `Murmur3Partitioner` of Cassandra 5.0.9 says.
    #[test]
    fn tokens_are_those_of_cassandra() {
        for (key, expected) in [
            (&b"test"[..], -6_017_608_668_500_074_083),
            (b"xd", 4_507_812_186_440_344_727),
            (b"primary_key", -1_632_642_444_691_073_360),
            ("kremówki".as_bytes(), 4_354_931_215_268_080_151),
        ] {
            assert_eq!(token(key), expected, "{key:?}");
        }
        // Of each length up to two blocks, of bytes from both halves.
        let expected = [
            1_630_654_183_249_558_740,
            7_032_681_412_641_458_151,
            -7_880_529_341_098_651_320,
            2_812_180_408_845_162_907,
            2_059_963_915_170_383_011,
            5_339_732_365_971_297_908,
            -539_830_428_754_983_821,
            6_212_083_870_339_776_974,
            -1_902_411_566_466_753_272,
            -7_104_457_902_343_117_807,
            -2_240_590_314_670_100_055,
            7_028_390_764_800_178_969,
            -8_413_334_079_193_196_681,
            4_603_266_893_460_147_241,
            -3_773_768_412_357_793_534,
            -8_120_053_421_748_341_306,
            1_142_955_082_659_782_795,
            -931_306_557_574_451_624,
            8_567_040_535_755_925_128,
            -6_435_550_661_614_270_212,
            1_055_479_309_857_896_668,
            -5_377_198_789_435_475_459,
            3_606_453_126_440_644_898,
            -4_944_792_540_584_662_743,
            -7_869_122_368_429_319_270,
            -7_899_797_402_715_728_402,
            -2_366_640_549_468_584_339,
            3_751_707_563_368_639_903,
            5_972_121_285_430_524_231,
            -1_602_976_026_974_458_634,
            3_911_771_459_830_426_608,
            -8_020_572_888_750_622_460,
        ];
        for (length, expected) in (1u8..).zip(expected) {
            let key: Vec<u8> = (0..length).map(|i| 255u8.wrapping_sub(i * 7).wrapping_sub(length)).collect();
            assert_eq!(token(&key), expected, "{key:?}");
        }
    }

    #[test]
    fn values_of_a_key_stand_behind_their_lengths() {
        let mut key = Vec::new();
        put_part(b"ab", &mut key);
        put_part(b"", &mut key);
        assert_eq!(key, b"\0\x02ab\0\0\0\0");
    }
}
