//! Arithmetic of whole numbers in job files, as bc computes it for fio: `2*$ncpus`.

/// The value of an expression of `+ - * / %` and parentheses; `None` for other text, division by zero and overflow.
pub(super) fn value(text: &str) -> Option<i64> {
    let mut rest = text;
    let value = sum(&mut rest, 0)?;
    rest.trim().is_empty().then_some(value)
}

/// Maximum nesting, as each level takes stack.
const DEEPEST: u8 = 32;

fn sum(rest: &mut &str, depth: u8) -> Option<i64> {
    let mut value = product(rest, depth)?;
    while let Some(sign) = operator(rest, &['+', '-']) {
        let other = product(rest, depth)?;
        value = if sign == '+' { value.checked_add(other)? } else { value.checked_sub(other)? };
    }
    Some(value)
}

fn product(rest: &mut &str, depth: u8) -> Option<i64> {
    let mut value = factor(rest, depth)?;
    while let Some(sign) = operator(rest, &['*', '/', '%']) {
        let other = factor(rest, depth)?;
        value = match sign {
            '*' => value.checked_mul(other)?,
            '/' => value.checked_div(other)?,
            _ => value.checked_rem(other)?,
        };
    }
    Some(value)
}

fn factor(rest: &mut &str, depth: u8) -> Option<i64> {
    if operator(rest, &['-']).is_some() {
        return factor(rest, depth.checked_add(1).filter(|depth| *depth < DEEPEST)?)?.checked_neg();
    }
    if operator(rest, &['(']).is_some() {
        let value = sum(rest, depth.checked_add(1).filter(|depth| *depth < DEEPEST)?)?;
        return operator(rest, &[')']).map(|_| value);
    }
    *rest = rest.trim_start();
    let digits = rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len());
    let (number, after) = rest.split_at(digits);
    *rest = after;
    number.parse().ok()
}

/// Takes one of these characters, if it is next.
fn operator(rest: &mut &str, known: &[char]) -> Option<char> {
    let next = rest.trim_start();
    let found = next.chars().next().filter(|character| known.contains(character))?;
    *rest = &next[found.len_utf8()..];
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_bind_before_sums_and_nonsense_has_no_value() {
        for (text, expected) in [
            ("2*3+4", 10),
            ("2+3*4", 14),
            ("(2+3) * 4", 20),
            ("24105/8", 3013),
            ("7-2-1", 4),
            ("-3+5", 2),
            ("7%4", 3),
        ] {
            assert_eq!(value(text), Some(expected), "{text}");
        }
        for text in [
            "",
            "2*",
            "1/0",
            "(1",
            "1)",
            "2k*2",
            "9223372036854775807+1",
            &"(".repeat(100_000),
            &"-".repeat(100_000),
        ] {
            assert_eq!(value(text), None, "{text:.20}");
        }
    }
}
