//! Quoted-printable (RFC 2045, section 6.7).

/// Soft line breaks come behind at most 76 characters, and few programs break lines of less than 50.
const SOFT: std::ops::RangeInclusive<usize> = 50..=76;

/// Escapes in a text, for each `=` that begins none.
const ESCAPES: usize = 8;

/// Whether a text is quoted-printable: a mail declares it, or `=` begins escapes and ends lines, and stands nowhere else. A
/// plain listing has no `=3D` or `=A0`, but has `size=16M` and `secondary=05`.
pub(super) fn is_quoted_printable(text: &str) -> bool {
    /// Lines that are looked at, and those of a mail's head among them.
    const MOST: usize = 4000;
    const HEAD: usize = 200;
    let lines = || text.lines().take(MOST).map(str::trim_end);
    let is_declaration = |line: &str| {
        line.split_once(':').is_some_and(|(name, value)| {
            name.trim_start_matches(['>', ' ']).eq_ignore_ascii_case("content-transfer-encoding")
                && value.trim().eq_ignore_ascii_case("quoted-printable")
        })
    };
    if lines().take(HEAD).any(is_declaration) {
        return true;
    }
    let (mut soft, mut escapes, mut others, mut equals, mut blanks, mut wide) = (0, 0, 0, 0, 0, 0);
    for line in lines() {
        blanks += usize::from(line.ends_with("=20") || line.ends_with("=09"));
        blanks += usize::from(line.trim_start().starts_with("=09"));
        for (at, _) in line.match_indices('=') {
            let behind = &line.as_bytes()[at + 1..];
            match escape(behind) {
                Some(byte) => {
                    escapes += 1;
                    equals += usize::from(byte == b'=');
                    wide += usize::from(byte == 0xa0);
                }
                None if behind.is_empty() => soft += usize::from(SOFT.contains(&line.len())),
                None => others += 1,
            }
        }
    }
    others * ESCAPES <= escapes && (equals > 2 || wide > 2 || soft > 1 || blanks > 0)
}

/// The byte that two hexadecimal digits behind a `=` stand for; a text has no control characters but tabs and line breaks.
fn escape(behind: &[u8]) -> Option<u8> {
    let digits = std::str::from_utf8(behind.get(..2)?).ok()?;
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let byte = u8::from_str_radix(digits, 16).ok().filter(|_| is_hex)?;
    (byte >= b' ' || b"\t\r\n".contains(&byte)).then_some(byte)
}

/// A line with the characters that its escapes stand for.
pub(super) fn decoded(line: &str) -> String {
    let mut bytes = Vec::with_capacity(line.len());
    let mut rest = line.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        match escape(tail).filter(|_| *first == b'=') {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => bytes.push(*first),
        }
    }
    // Old mails are Latin-1, in which each byte is its character.
    String::from_utf8(bytes)
        .unwrap_or_else(|wrong| wrong.as_bytes().iter().map(|byte| char::from(*byte)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_with_other_equals_signs_is_not_encoded() {
        let folded = "\tBus: primary=00, secondary=05, subordinate=05, sec-latency=0\n\t\tL1SubCap: PCI-PM_L1.2+ PCI-PM_L1.1+ L1_PM_Substates+ PortTPowerOnTime=\n10us\n";
        assert!(!is_quoted_printable(&folded.repeat(3)));
        assert!(!is_quoted_printable(&format!("{folded}see https://example.org/?page=20\n")));
        let soft = "01:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe=\n SSD\n";
        assert!(is_quoted_printable(&soft.repeat(2)) && !is_quoted_printable(soft));
        let head =
            "Content-Type: text/plain; charset=\"utf-8\"\nContent-Transfer-Encoding: quoted-printable\n";
        assert!(is_quoted_printable(&format!("{head}\na =C2=A5\n")));
        assert_eq!(decoded("secondary=05, a=3Db, c=C3=A4"), "secondary=05, a=b, c\u{e4}");
    }
}
