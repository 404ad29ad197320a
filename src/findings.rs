//! What holds the machine back: `FINDINGS`, one row each, and the pure checks behind them.
//!
//! Not here: reading, drawing, applying remedies.
