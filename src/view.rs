//! The picture: a pure function of the state and the size.
//!
//! Not here: any change of state.
