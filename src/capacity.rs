//! What each place of a machine can carry: payload limits of hops, paths, bridges, drives and processors, each with its
//! basis and its reason in words. Pure functions of a [`crate::machine::Machine`].
//!
//! Not here: judging (`findings`), reading (`source`).
