//! Payload rate of a link, after line coding and packet headers.

use crate::units::{BytesPerSecond, Lanes, TransferRate};

/// Bytes of a memory write's packet besides its payload: framing and sequence number 4 + 2, header with a 64-bit
/// address 16, link CRC and end 4, less the savings of 128b/130b framing. Published figures confirm 24.
/// Acknowledgements and flow control, about 1 %, are left out.
const PACKET_OVERHEAD: f64 = 24.0;

/// The same in a FLIT, where the encoding's 236 of 256 already counts framing and CRC: the header alone.
const FLIT_OVERHEAD: f64 = 16.0;

/// Payload bytes per second of a link in one direction. Without a payload size, the rate after line coding: no packet
/// size carries more.
pub fn payload_rate(speed: TransferRate, width: Lanes, payload: Option<u16>) -> BytesPerSecond {
    let line = speed.lane_bytes_per_second().0 * f64::from(width.0);
    let overhead = if speed.generation() >= 6 { FLIT_OVERHEAD } else { PACKET_OVERHEAD };
    let share = payload.map_or(1.0, |payload| f64::from(payload) / (f64::from(payload) + overhead));
    BytesPerSecond(line * share)
}
