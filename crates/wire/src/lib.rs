//! A sans-IO HTTP/1.1 client codec.
