//! Pseudonyms for serials, names and addresses: same length, stable within one file.
//!
//! Not here: deciding where a sheet or capture goes.
