//! Words and numbers of the kernel's tables, parsed in place: tables read every second are not copied line by line.

/// The lines of a text, without their ends and without empty ones.
pub(super) fn lines(mut text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let next = move || {
        let end = memchr::memchr(b'\n', text).unwrap_or(text.len());
        let line = &text[..end];
        let is_over = text.is_empty();
        text = text.get(end + 1..).unwrap_or_default();
        (!is_over).then_some(line)
    };
    std::iter::from_fn(next).filter(|line| !line.is_empty())
}

/// The words of a line.
pub(super) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// A decimal number; `None` for anything else, and beyond 64 bits.
pub(super) fn number(word: &[u8]) -> Option<u64> {
    let digit = |number: u64, byte: &u8| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    };
    (!word.is_empty()).then(|| word.iter().try_fold(0, digit)).flatten()
}

/// The number behind the first line that begins with this word.
pub(super) fn value_of(text: &[u8], key: &[u8]) -> Option<u64> {
    let line = lines(text).find_map(|line| line.strip_prefix(key))?;
    number(words(line).next()?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_number_behind_a_key_is_found() {
        assert_eq!(value_of(b"rchar: 12\nread_bytes: 4096\n", b"read_bytes:"), Some(4096));
        assert_eq!(value_of(b"read_bytes: -1\n", b"read_bytes:"), None);
        assert_eq!(value_of(b"", b"x"), None);
    }

    proptest! {
        #[test]
        fn lines_are_those_of_the_standard_library(text in "[a\r\n]{0,40}") {
            let found: Vec<_> = lines(text.as_bytes()).collect();
            let expected: Vec<_> = text.split('\n').filter(|line| !line.is_empty()).map(str::as_bytes).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn a_word_is_the_number_that_the_standard_library_reads(word in "[0-9]{0,22}|[0-9+ x-]{0,6}") {
            let plain = word.bytes().all(|byte| byte.is_ascii_digit());
            prop_assert_eq!(number(word.as_bytes()), word.parse::<u64>().ok().filter(|_| plain));
        }

        #[test]
        fn words_are_those_of_the_standard_library(line in "[a-c \t]{0,40}") {
            let found: Vec<_> = words(line.as_bytes()).collect();
            let text: Vec<_> = line.split_ascii_whitespace().map(str::as_bytes).collect();
            prop_assert_eq!(found, text);
        }
    }
}
