//! Finds UUIDs, hexadecimal ids, MAC and IP addresses by their form, and known words.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    ops::Range,
};

use super::{
    Redactor,
    pseudonyms::{Pseudonyms, Shape},
};

/// Replaces `word` as a whole word: no letter or digit before or after it.
pub(super) fn replace_word(text: &str, word: &str, mut by: impl FnMut() -> String) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = None;
    while let Some(at) = rest.find(word) {
        let end = at + word.len();
        let previous = rest[..at].chars().next_back().or(before);
        let next = rest[end..].chars().next();
        let alone = ![previous, next].into_iter().flatten().any(char::is_alphanumeric);
        out.push_str(&rest[..at]);
        if alone {
            out.push_str(&by());
        } else {
            out.push_str(word);
        }
        before = word.chars().next_back();
        rest = &rest[end..];
    }
    out + rest
}

/// Replaces UUIDs and ids of 32 hexadecimal digits.
pub(super) fn ids(pseudonyms: &mut Pseudonyms, text: &str) -> String {
    replace_runs(text, |c| c.is_ascii_hexdigit() || c == '-', |run| replace_ids(pseudonyms, run))
}

/// Replaces MAC and IP addresses.
pub(super) fn addresses(pseudonyms: &mut Pseudonyms, text: &str) -> String {
    let is_part = |c: char| c.is_ascii_hexdigit() || matches!(c, ':' | '.' | '-');
    replace_runs(text, is_part, |run| {
        // `interface:10.0.0.2`: a part adjacent to a word does not belong to the address.
        let mut core = run.text;
        if !run.starts_alone {
            core = core.split_once(':').map_or("", |(_, rest)| rest);
        }
        if !run.ends_alone {
            core = core.rsplit_once(':').map_or("", |(rest, _)| rest);
        }
        let core = core.trim_matches(['.', '-']);
        let without_colons = core.strip_prefix(':').unwrap_or(core);
        let without_colons = without_colons.strip_suffix(':').unwrap_or(without_colons);
        for whole in [core, without_colons] {
            if let Some(replaced) = address(pseudonyms, whole) {
                return Some(run.text.replacen(whole, &replaced, 1));
            }
        }
        // `10.0.0.2:4420`, or the colon-separated fields of `ip=`.
        let mut replaced = run.text.to_owned();
        for field in core.split(':').filter(|field| field.parse::<Ipv4Addr>().is_ok()) {
            if let Some(other) = address(pseudonyms, field) {
                replaced = replaced.replacen(field, &other, 1);
            }
        }
        Some(replaced)
    })
}

/// The pseudonym if all of `text` is an address, except loopback, broadcast and unspecified ones.
pub(super) fn address(pseudonyms: &mut Pseudonyms, text: &str) -> Option<String> {
    if is_mac(text) {
        return Some(pseudonyms.of(text, Shape::Hex));
    }
    match text.parse::<IpAddr>().ok()? {
        IpAddr::V4(address) if is_everybodys(address) => None,
        IpAddr::V4(_) => Some(pseudonyms.of(text, Shape::Ipv4)),
        IpAddr::V6(address) if is_special(address) => None,
        // An embedded IPv4 address must keep its form.
        IpAddr::V6(_) if text.contains('.') => {
            let (head, tail) = text.rsplit_once(':')?;
            Some(format!("{head}:{}", pseudonyms.of(tail, Shape::Ipv4)))
        }
        IpAddr::V6(_) => Some(pseudonyms.of(text, Shape::Hex)),
    }
}

/// Replaces MAC and IP addresses, whose groups may be numbers, and what lies between them by `other`.
pub(super) fn apart(
    redactor: &mut Redactor,
    text: &str,
    mut other: impl FnMut(&mut Redactor, &str) -> String,
) -> String {
    let mut out = String::new();
    let mut rest = text;
    let find = |text: &str| {
        let grouped = grouped_address(text).map(|place| (place, Shape::Hex));
        let dotted = dotted_address(text).map(|place| (place, Shape::Ipv4));
        [grouped, dotted].into_iter().flatten().min_by_key(|(place, _)| place.start)
    };
    while let Some((place, shape)) = find(rest) {
        let found = &rest[place.clone()];
        let before = other(redactor, &rest[..place.start]);
        out.extend([before, redactor.pseudonyms.of(found, shape)]);
        rest = &rest[place.end..];
    }
    out + &other(redactor, rest)
}

/// Where the first IPv4 address is, also within a word: `req.10.0.0.2`. A version of four numbers has the same form.
pub(super) fn dotted_address(text: &str) -> Option<Range<usize>> {
    let is_part = |c: char| c.is_ascii_digit() || c == '.';
    let mut from = 0;
    while let Some(at) = text[from..].find(is_part) {
        let start = from + at;
        let run = &text[start..];
        let run = &run[..run.find(|c| !is_part(c)).unwrap_or(run.len())];
        from = start + run.len();
        let mut starts = std::iter::once(0).chain(run.match_indices('.').map(|(at, _)| at + 1));
        let place = starts.find_map(|first| {
            let end = run[first..].match_indices('.').nth(3).map_or(run.len(), |(at, _)| first + at);
            let address = run[first..end].parse().ok().filter(|address| !is_everybodys(*address));
            address.map(|_| start + first..start + end)
        });
        if place.is_some() {
            return place;
        }
    }
    None
}

/// Where the first MAC or IPv6 address is: hexadecimal groups with `:` or `-` between them, also between such groups.
pub(super) fn grouped_address(text: &str) -> Option<Range<usize>> {
    const SUFFIX: &str = ".ipv6-literal.net";
    let is_separator = |c: char| matches!(c, ':' | '-');
    let is_part = |c: char| c.is_ascii_hexdigit() || is_separator(c);
    let mut from = 0;
    while let Some(at) = text[from..].find(is_part) {
        let start = from + at;
        let end = text[start..].find(|c| !is_part(c)).map_or(text.len(), |length| start + length);
        let (run, after) = (&text[start..end], &text[end..]);
        from = end;
        if run.matches(is_separator).count() < 2 {
            continue;
        }
        // Windows' names have dashes for colons.
        if after.starts_with(SUFFIX) && run.replace('-', ":").parse::<Ipv6Addr>().is_ok() {
            return Some(start..end);
        }
        let is_open = text[..start].ends_with(|c: char| c.is_alphanumeric() || c == '.');
        let goes_on = after.starts_with(char::is_alphanumeric)
            || after.strip_prefix('.').is_some_and(|rest| rest.starts_with(char::is_alphanumeric));
        if let Some(place) = in_run(run, is_open, goes_on) {
            return Some(start + place.start..start + place.end);
        }
    }
    None
}

/// The first address in a run of groups; the outermost groups belong to a word beside the run where it is open or goes on.
fn in_run(run: &str, is_open: bool, goes_on: bool) -> Option<Range<usize>> {
    /// Groups of the longest address, with the empty ones beside `::`.
    const MOST: usize = 9;
    let separators = || run.match_indices([':', '-']).map(|(at, _)| at);
    let starts: Vec<usize> = std::iter::once(0).chain(separators().map(|at| at + 1)).collect();
    let ends: Vec<usize> = separators().chain([run.len()]).collect();
    for (first, start) in starts.into_iter().enumerate().skip(usize::from(is_open)) {
        let last = (first + MOST).min(ends.len() - usize::from(goes_on));
        for end in (first + 2..last).rev() {
            let place = start..ends[end];
            let text = &run[place.clone()];
            let is_v6 = || text.parse::<Ipv6Addr>().is_ok_and(|address| !is_special(address));
            if is_mac(text) || is_v6() {
                return Some(place);
            }
        }
    }
    None
}

fn is_special(address: Ipv6Addr) -> bool {
    address.is_unspecified() || address.is_loopback()
}

fn is_everybodys(address: Ipv4Addr) -> bool {
    address.is_loopback() || address.is_unspecified() || address.octets()[0] == 255
}

/// Six pairs of digits with one separator, neither all zeros nor broadcast.
fn is_mac(text: &str) -> bool {
    let separator = match text.as_bytes().get(2) {
        Some(b'-') => '-',
        _ => ':',
    };
    let pairs: Vec<&str> = text.split(separator).collect();
    let is_pair = |pair: &&str| pair.len() == 2 && pair.bytes().all(|digit| digit.is_ascii_hexdigit());
    pairs.len() == 6
        && pairs.iter().all(is_pair)
        && !pairs.iter().all(|pair| *pair == "00")
        && !pairs.iter().all(|pair| pair.eq_ignore_ascii_case("ff"))
}

/// A maximal run of matching characters.
struct Run<'a> {
    text: &'a str,
    /// No letter or digit precedes it.
    starts_alone: bool,
    /// No letter or digit follows it.
    ends_alone: bool,
}

/// Replaces every maximal run of matching characters by the result of `turn`.
fn replace_runs(
    text: &str,
    is_part: impl Fn(char) -> bool,
    mut turn: impl FnMut(&Run<'_>) -> Option<String>,
) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(&is_part) {
        let run = &rest[start..];
        let run = &run[..run.find(|c| !is_part(c)).unwrap_or(run.len())];
        let end = start + run.len();
        // Runs are maximal, so the previous run is not adjacent.
        let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let starts_alone = run.starts_with('-') || !is_word(rest[..start].chars().next_back());
        let ends_alone = run.ends_with('-') || !is_word(rest[end..].chars().next());
        out.push_str(&rest[..start]);
        match turn(&Run { text: run, starts_alone, ends_alone }) {
            Some(replaced) => out.push_str(&replaced),
            None => out.push_str(run),
        }
        rest = &rest[end..];
    }
    out + rest
}

const UUID_GROUPS: [usize; 5] = [8, 4, 4, 4, 12];

/// Replaces UUIDs in a run of hexadecimal digits and dashes.
fn replace_ids(pseudonyms: &mut Pseudonyms, run: &Run<'_>) -> Option<String> {
    let mut groups: Vec<String> = run.text.split('-').map(str::to_owned).collect();
    let mut changed = false;
    let mut at = 0;
    let count = groups.len();
    let alone = |first: usize, end: usize| (first > 0 || run.starts_alone) && (end < count || run.ends_alone);
    while at < count {
        let lengths = groups[at..].iter().take(5).map(String::len);
        if lengths.eq(UUID_GROUPS) && alone(at, at + 5) {
            let id = groups[at..at + 5].join("-");
            if !is_blank(&id) {
                let pseudonym = pseudonyms.of(&id, Shape::Hex);
                for (group, replaced) in groups[at..at + 5].iter_mut().zip(pseudonym.split('-')) {
                    replaced.clone_into(group);
                }
                changed = true;
            }
            at += 5;
            continue;
        }
        if groups[at].len() == 32 && alone(at, at + 1) && !is_blank(&groups[at]) {
            groups[at] = pseudonyms.of(&groups[at], Shape::Hex);
            changed = true;
        }
        at += 1;
    }
    changed.then(|| groups.join("-"))
}

/// All zeros or all ones: no id.
fn is_blank(id: &str) -> bool {
    let mut digits = id.chars().filter(char::is_ascii_hexdigit);
    let first = digits.next();
    matches!(first, Some('0' | 'f' | 'F')) && digits.all(|digit| Some(digit) == first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_addresses_are_found_by_their_form() {
        let replace = |text: &str| {
            let mut pseudonyms = Pseudonyms::default();
            let text = ids(&mut pseudonyms, text);
            addresses(&mut pseudonyms, &text)
        };
        for (text, expected) in [
            ("luks-6b1dcb5e-00aa-4d3c-9c1e-0123456789ab x", "luks-00000000-0000-0000-0000-000000000001 x"),
            (
                "interface-6b1dcb5e-00aa-4d3c-9c1e-0123456789ab",
                "interface-00000000-0000-0000-0000-000000000001",
            ),
            ("interface:10.0.0.2 interface:fe80::7", "interface:10.0.0.1 interface:0000::1"),
            ("addr:fe80::7, fe80::8:", "addr:0000::1, 0000::2:"),
            ("mac 52:54:00:12:34:5F.", "mac 00:00:00:00:00:01."),
            ("traddr=10.0.0.2,trsvcid=4420", "traddr=10.0.0.1,trsvcid=4420"),
            ("ip=10.0.0.9::10.0.0.254:255.255.255.0", "ip=10.0.0.1::10.0.0.102:255.255.255.0"),
            ("fe80::5054:ff:fe12:3456", "0000::0000:00:0000:0001"),
            ("0123456789abcdef0123456789abcdef", "00000000000000000000000000000001"),
        ] {
            assert_eq!(replace(text), expected);
        }
        for kept in [
            "0000:41:00.0 16.0 GT/s PCIe",
            "addr 127.0.0.1 :: ::1 0.0.0.0:2024",
            "6.18.44 pci0000:00 0-3,8-11 0x010802",
            "00000000-0000-0000-0000-000000000000",
            "12:34:56 deadbeef v1.2.3.4",
        ] {
            assert_eq!(replace(kept), kept);
        }
    }

    #[test]
    fn addresses_of_plain_numbers_are_found_between_other_words() {
        let found = |text: &'static str| grouped_address(text).map(|place| &text[place]);
        for (text, address) in [
            ("[2001:1234:5678::9012]:/export", "2001:1234:5678::9012"),
            ("fe80::21b:2134:5678:9012", "fe80::21b:2134:5678:9012"),
            ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"),
            ("::1:2:3:4:5:6:7", "::1:2:3:4:5:6:7"),
            ("eth-00:11:22:33:44:55-rx-0", "00:11:22:33:44:55"),
            ("mlx4-async@pci:00:11:22:33:44:56", "00:11:22:33:44:56"),
            ("m=52-54-00-12-34-56", "52-54-00-12-34-56"),
            ("2001-1234-5678--9012.ipv6-literal.net", "2001-1234-5678--9012"),
            ("beef:2001:1234::9", "beef:2001:1234::9"),
            ("fe80::1%eth0", "fe80::1"),
            ("at fe80::1.", "fe80::1"),
        ] {
            assert_eq!(found(text), Some(address), "{text}");
        }
        for text in [
            "0000:41:00.0 0::/user.slice ::1 :: 12:34:56 8:16 0-3,8-11",
            "ip=10.0.0.9::10.0.0.254",
            "00:00:00:00:00:00 ff:ff:ff:ff:ff:ff",
            "6b1dcb5e-00aa-4d3c-9c1e-0123456789ab",
            "",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }

    #[test]
    fn dotted_addresses_are_found_within_words() {
        let found = |text: &'static str| dotted_address(text).map(|place| &text[place]);
        for (text, address) in [
            ("Debian 192.168.7.14", "192.168.7.14"),
            ("req.10.0.0.2", "10.0.0.2"),
            ("eth0-10.0.0.2-rx", "10.0.0.2"),
            ("127.0.0.1,10.0.0.2.", "10.0.0.2"),
        ] {
            assert_eq!(found(text), Some(address), "{text}");
        }
        for text in ["24.04.1 6.18.44 0000:41:00.0", "127.0.0.1 0.0.0.0 255.255.255.0", "1.2.3.256", "..."] {
            assert_eq!(found(text), None, "{text}");
        }
    }

    #[test]
    fn words_are_replaced_where_they_stand_alone() {
        let replace = |text: &str| replace_word(text, "bob", || "xx1".to_owned());
        assert_eq!(replace("/home/bob/x bob-desk"), "/home/xx1/x xx1-desk");
        assert_eq!(replace("bobsled kabob bobbob"), "bobsled kabob bobbob");
    }
}
