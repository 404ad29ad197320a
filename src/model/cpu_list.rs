//! The kernel's CPU lists: `0-3,8`.

use std::collections::BTreeSet;

/// The kernel's largest `NR_CPUS`.
pub const MOST_CPUS: u32 = 1 << 13;

/// Numbers as a kernel CPU list: sorted, each once, `0-3,8`.
pub fn cpu_list(cpus: impl IntoIterator<Item = u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for cpu in cpus.into_iter().collect::<BTreeSet<u32>>() {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(cpu) => *last = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let range = |(first, last): &(u32, u32)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    ranges.iter().map(range).collect::<Vec<_>>().join(",")
}

/// A kernel CPU list, `0-3,8,10-11`, as numbers.
///
/// # Errors
/// The offending part, quoted, when it is no list.
pub fn parse_cpu_list(text: &str) -> Result<Vec<u32>, String> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let bounds = first.trim().parse::<u32>().ok().zip(last.trim().parse::<u32>().ok());
        match bounds {
            // A list that repeats itself would have no end.
            Some((first, last)) if first <= last && last < MOST_CPUS && cpus.len() <= MOST_CPUS as usize => {
                cpus.extend(first..=last);
            }
            _ => return Err(format!("{part:?} is no CPU list")),
        }
    }
    Ok(cpus)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_list_written_is_read_as_the_same_numbers(cpus in prop::collection::btree_set(0_u32..300, 0..40)) {
            let text = cpu_list(cpus.iter().rev().copied());
            prop_assert_eq!(parse_cpu_list(&text).unwrap(), cpus.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_list_that_repeats_itself_or_names_impossible_cpus_is_refused() {
        assert!(parse_cpu_list(&"0-8191,".repeat(5000)).is_err());
        assert!(parse_cpu_list("0-8192").is_err());
        assert_eq!(parse_cpu_list("0-8191").map(|cpus| cpus.len()), Ok(8192));
    }

    #[test]
    fn neighbours_are_written_as_a_range() {
        assert_eq!(cpu_list([8, 2, 1, 0, 3, 8]), "0-3,8");
    }
}
