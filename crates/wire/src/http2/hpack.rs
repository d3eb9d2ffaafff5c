//! Header compression (RFC 7541).

pub(super) mod decoder;
pub(super) mod encoder;
mod fields;
mod huffman;
pub(super) mod literal;
#[cfg(test)]
mod oracle;
mod table;
