//! Values that kernels are known to make of another one. Any other value read back was set by another program.

/// The value is accepted unchanged, or refused.
pub(super) fn exact(_: &str, _: &str) -> bool {
    false
}

/// Drivers may make any value of it.
pub(super) fn unknown(_: &str, _: &str) -> bool {
    true
}

/// Whole pages, of 4 to 64 KiB: `queue_ra_store` in block/blk-sysfs.c.
pub(super) fn to_pages(asked: &str, now: &str) -> bool {
    numbers(asked, now).is_some_and(|(asked, now)| now % 4 == 0 && (0..64).contains(&(asked - now)))
}

/// At least four: `BLKDEV_MIN_RQ`.
pub(super) fn requests(asked: &str, now: &str) -> bool {
    numbers(asked, now).is_some_and(|(asked, now)| asked < 4 && now == 4)
}

/// A limit below it.
pub(super) fn limited(asked: &str, now: &str) -> bool {
    numbers(asked, now).is_some_and(|(asked, now)| now < asked)
}

/// Whole logical blocks of at most 64 KiB, or the default for 0: `blk_validate_limits` in block/blk-settings.c. What is larger
/// than the drive's own limit is clamped (`resets::clamped`).
pub(super) fn to_blocks(asked: &str, now: &str) -> bool {
    numbers(asked, now).is_some_and(|(asked, now)| asked == 0 || (0..64).contains(&(asked - now)))
}

/// The default for -1.
pub(super) fn to_default(asked: &str, _: &str) -> bool {
    asked == "-1"
}

fn numbers(asked: &str, now: &str) -> Option<(i64, i64)> {
    Some((asked.parse().ok()?, now.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_kernels_were_seen_to_make_of_values_is_theirs_and_nothing_else() {
        assert!(to_pages("4099", "4096") && to_pages("99999999", "99999996") && to_pages("100", "64"));
        assert!(!to_pages("512", "640") && !to_pages("512", "128") && !to_pages("x", "0"));
        assert!(requests("1", "4") && !requests("64", "32"));
        assert!(limited("5", "3") && !limited("0", "3"));
        assert!(
            to_blocks("0", "1280")
                && to_blocks("130", "128")
                && !to_blocks("512", "128")
                && !to_blocks("64", "128")
        );
        assert!(to_default("-1", "75000") && !to_default("500", "75000"));
    }
}
