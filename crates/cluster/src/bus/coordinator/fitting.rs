//! Whether what is to be said to agents goes into a message of the bus. What is larger the bus does not take, and agents would wait for
//! it until they are given up.

use super::super::BusError;
use crate::coordinator::{Coordinator, Task};
use crate::message::FromCoordinator;
use crate::record::PIECE_BYTES_MAX;
use crate::signed;
use nkeys::KeyPair;

/// What a message has around a piece of a file, or of a record: its place, and what a piece that does not shrink grows by.
const AROUND_PIECE: u64 = 256;
const AROUND_RECORD: u64 = 1024;

/// # Errors
/// An offer of this, or a piece of its files or records, may have more bytes than `max`.
pub(super) fn check(task: &Task, signer: &KeyPair, max: usize) -> Result<(), BusError> {
    let max = max as u64;
    // Who can't sign is told so where it is tried.
    let offer = signed::sign(&Coordinator::largest_offer(task), signer).map(FromCoordinator::Reply);
    let text = offer.ok().and_then(|offer| serde_json::to_vec(&offer).ok());
    let bytes = text.map_or(0, |text| text.len() as u64);
    if bytes > max {
        return Err(BusError::OfferTooLarge { bytes, max, files: task.files.len() });
    }
    let largest = task.files.iter().map(|file| file.bytes.min(PIECE_BYTES_MAX)).max();
    // In base64. Records travel as they are.
    let file = largest.map_or(0, |bytes| bytes.div_ceil(3) * 4 + AROUND_PIECE);
    let bytes = file.max(PIECE_BYTES_MAX + AROUND_RECORD);
    if bytes > max {
        return Err(BusError::PieceTooLarge { bytes, max });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coordinator::tests::task;
    use crate::message::OfferedFile;
    use crate::record::sha256;

    const MEBIBYTE: usize = 1024 * 1024;

    fn with_files(count: usize, bytes: u64) -> Task {
        let file = |number: usize| OfferedFile {
            name: format!("journeys/part-{number:05}.csv"),
            bytes,
            sha256: sha256(&number.to_be_bytes()),
        };
        Task { files: (0..count).map(file).collect(), ..task(1) }
    }

    /// A bus takes a mebibyte unless it was told otherwise.
    #[test]
    fn an_offer_that_no_message_takes_is_refused_before_agents_are_waited_for() {
        let signer = KeyPair::new_user();
        assert!(check(&with_files(1_000, 1), &signer, MEBIBYTE).is_ok());
        let refused = check(&with_files(10_000, 1), &signer, MEBIBYTE).expect_err("too many files");
        let text = refused.to_string();
        assert!(text.contains("of 10000 files") && text.contains("max_payload"), "{text}");
        assert!(check(&with_files(10_000, 1), &signer, 8 * MEBIBYTE).is_ok());
        let long = Task { arguments: vec!["x".repeat(MEBIBYTE)], ..task(1) };
        assert!(check(&long, &signer, MEBIBYTE).is_err());
    }

    /// No offer that is made is larger than the one that was measured.
    #[test]
    fn what_was_measured_is_the_largest() {
        let (task, signer) = (with_files(3, 1), KeyPair::new_user());
        let Err(BusError::OfferTooLarge { bytes, .. }) = check(&task, &signer, 0) else { panic!("it fits") };
        let made = crate::coordinator::tests::offered(task);
        assert!(!made.is_empty());
        for reply in made {
            let signed = signed::sign(&reply, &signer).expect("a private key");
            let text = serde_json::to_vec(&FromCoordinator::Reply(signed)).expect("a JSON");
            assert!(text.len() as u64 <= bytes && text.len() as u64 + 600 > bytes, "{} {bytes}", text.len());
        }
    }

    #[test]
    fn a_bus_of_small_messages_takes_no_piece_of_a_file_or_record() {
        let signer = KeyPair::new_user();
        let refused = check(&with_files(1, 10 << 20), &signer, MEBIBYTE / 2).expect_err("too small a bus");
        assert!(refused.to_string().contains("max_payload"), "{refused}");
        assert!(check(&with_files(1, 1_000), &signer, MEBIBYTE / 2).is_err(), "a record may have more");
        assert!(check(&with_files(1, 1_000), &signer, 600 * 1024).is_ok());
        assert!(check(&with_files(1, 10 << 20), &signer, 600 * 1024).is_err());
        assert!(check(&with_files(1, 10 << 20), &signer, MEBIBYTE).is_ok());
    }
}
