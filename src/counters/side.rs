//! Discards and flushes, which the kernel counts beside reads and writes.

/// Discards or flushes of one disk since the system started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SideCounters {
    /// Requests completed.
    pub ios: u64,
    /// Requests merged with others before they were queued; the kernel counts none of flushes.
    pub merged: u64,
    /// Bytes discarded; none of flushes.
    pub bytes: u64,
    /// Milliseconds, summed over requests.
    pub ms: u64,
}

/// The same between two samples.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SideRates {
    /// Requests per second.
    pub ios: f64,
    /// Merged requests per second.
    pub merged: f64,
    /// Bytes per second.
    pub bytes: f64,
    /// Milliseconds per request (iostat's `d_await` and `f_await`); `None` without requests.
    pub await_ms: Option<f64>,
}

impl SideCounters {
    /// Rates of what was counted in `seconds` since `before`; `None` where a counter went back.
    pub(super) fn rates_since(&self, before: &Self, seconds: f64) -> Option<SideRates> {
        let ios = self.ios.checked_sub(before.ios)?;
        let waited = milliseconds(before.ms, self.ms)?;
        Some(SideRates {
            ios: ios as f64 / seconds,
            merged: self.merged.checked_sub(before.merged)? as f64 / seconds,
            bytes: self.bytes.checked_sub(before.bytes)? as f64 / seconds,
            await_ms: (ios > 0).then(|| waited as f64 / ios as f64),
        })
    }
}

/// The kernel counts milliseconds in 32 bits, which wrap within hours on a deep queue. A decrease by more than half the
/// range is a wrap, a smaller one a reset.
pub(super) fn milliseconds(before: u64, after: u64) -> Option<u64> {
    const RANGE: u64 = 1 << 32;
    let wrapped = before < RANGE && after < before && before - after > RANGE / 2;
    if wrapped { Some(after + RANGE - before) } else { after.checked_sub(before) }
}
