//! What line coding and packet heads leave of a link for payload.

use crate::units::{BytesPerSecond, Lanes, TransferRate};

/// Bytes of a memory write's packet besides its payload: framing and sequence number 4 + 2, header with a 64-bit address
/// 16, link CRC and end 4, less what 128b/130b framing saves; 24 is what published figures bear out. Acknowledgements and
/// flow control take about another percent and are left out.
const PACKET_OVERHEAD: f64 = 24.0;

/// The same in a FLIT, whose framing and CRC the encoding's 236 of 256 already counts: the header alone.
const FLIT_OVERHEAD: f64 = 16.0;

/// Payload bytes per second of a link in one direction. Without a payload size, what the line coding leaves: more than
/// that no packet size carries.
pub fn payload_rate(speed: TransferRate, width: Lanes, payload: Option<u16>) -> BytesPerSecond {
    let line = speed.lane_bytes_per_second().0 * f64::from(width.0);
    let overhead = if speed.generation() >= 6 { FLIT_OVERHEAD } else { PACKET_OVERHEAD };
    let share = payload.map_or(1.0, |payload| f64::from(payload) / (f64::from(payload) + overhead));
    BytesPerSecond(line * share)
}
