//! Values as fio writes them: sizes with k = 1024, times, switches, lists.

use std::{path::PathBuf, time::Duration};

use super::{
    cpu_list::{cpu_list, parse_cpu_list},
    target::{EngineKind, Pattern},
};
use crate::units::{self, Bytes};

/// A value that an option does not accept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{wrong}; {fix}")]
pub struct ValueError {
    /// What is wrong with it.
    pub wrong: String,
    /// What to write.
    pub fix: String,
}

impl ValueError {
    pub(crate) fn new(wrong: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { wrong: wrong.into(), fix: fix.into() }
    }
}

type Parsed<T> = Result<T, ValueError>;

/// Text of values of one type.
pub(super) trait Codec<T> {
    /// Their kind, as `--help` names it.
    const METAVAR: &'static str;
    fn read(text: &str) -> Parsed<T>;
    /// The text that reads as this value; `None` where only leaving the option out does.
    fn text(value: &T) -> Option<String>;
}

/// The usual text of a type; nothing is the text of `None`.
pub(super) struct Plain;
/// A switch that turns something off.
pub(super) struct Inverse;
/// `shared` or `split`.
pub(super) struct Policy;
/// A time where zero means that it never ends.
pub(super) struct Endless;

macro_rules! codec {
    ($codec:ident, $type:ty, $metavar:literal, $read:expr, $text:expr) => {
        impl Codec<$type> for $codec {
            const METAVAR: &'static str = $metavar;
            fn read(text: &str) -> Parsed<$type> {
                $read(text)
            }
            fn text(value: &$type) -> Option<String> {
                $text(value)
            }
        }
    };
}

codec!(Plain, bool, "0|1", switch, |on: &bool| Some(u8::from(*on).to_string()));
codec!(Inverse, bool, "0|1", |text| switch(text).map(|on| !on), |on: &bool| Some(u8::from(!on).to_string()));
codec!(Policy, bool, "shared|split", policy, |split: &bool| {
    Some(if *split { "split" } else { "shared" }.to_owned())
});
codec!(Plain, u32, "N", number, |number: &u32| Some(number.to_string()));
codec!(Plain, u64, "N", number, |number: &u64| Some(number.to_string()));
codec!(Plain, Bytes, "SIZE", size, |size: &Bytes| Some(units::block_size(*size)));
codec!(Plain, Duration, "TIME", time, |time: &Duration| {
    let (ms, us) = (time.as_millis(), time.as_micros());
    Some(if us % 1000 == 0 { format!("{ms}ms") } else { format!("{us}us") })
});
codec!(Plain, Pattern, "PATTERN", pattern, |pattern: &Pattern| Some(pattern.name().to_owned()));
codec!(Plain, EngineKind, "ENGINE", engine, |engine: &EngineKind| Some(engine.name().to_owned()));
codec!(Plain, Vec<u32>, "LIST", numbers, |list: &Vec<u32>| {
    (!list.is_empty()).then(|| cpu_list(list.iter().copied()))
});
codec!(Plain, Vec<(Bytes, u8)>, "LIST", shares, |list: &Vec<(Bytes, u8)>| {
    let part = |(size, share): &(Bytes, u8)| format!("{}/{share}", units::block_size(*size));
    (!list.is_empty()).then(|| list.iter().map(part).collect::<Vec<_>>().join(":"))
});

impl<T> Codec<Option<T>> for Plain
where
    Self: Codec<T>,
{
    const METAVAR: &'static str = <Self as Codec<T>>::METAVAR;
    fn read(text: &str) -> Parsed<Option<T>> {
        if text.is_empty() { Ok(None) } else { Self::read(text).map(Some) }
    }
    fn text(value: &Option<T>) -> Option<String> {
        value.as_ref().and_then(Self::text)
    }
}

codec!(
    Endless,
    Option<Duration>,
    "TIME",
    |text| Plain::read(text).map(|time: Option<Duration>| time.filter(|time| !time.is_zero())),
    Plain::text
);

/// `4k`, `1M`, `64KiB`, `512`: powers of 1024 whatever the spelling, as fio counts by default. Of `read,write,trim` sizes
/// the first.
pub fn size(text: &str) -> Parsed<Bytes> {
    let first = text.split(',').next().unwrap_or_default().trim().to_ascii_lowercase();
    let digits = first.find(|c: char| !c.is_ascii_digit()).unwrap_or(first.len());
    let (number, unit) = first.split_at(digits);
    let unit = unit.strip_suffix("ib").or_else(|| unit.strip_suffix('b')).unwrap_or(unit);
    let power = ["", "k", "m", "g", "t", "p"].iter().position(|known| *known == unit);
    number
        .parse::<u64>()
        .ok()
        .zip(power)
        .and_then(|(number, power)| number.checked_mul(1_u64.checked_shl(10 * u32::try_from(power).ok()?)?))
        .map(Bytes)
        .ok_or_else(|| ValueError::new("not a size", "use 4k, 1m or 512"))
}

/// `30`, `30s`, `2m`, `1h`, `500ms`, `20us`: seconds without a unit.
pub fn time(text: &str) -> Parsed<Duration> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    // Within 32 bits nothing below overflows.
    let number = number.parse::<u32>().ok().map(u64::from);
    let duration = number.and_then(|number| match unit {
        "" | "s" | "sec" => Some(Duration::from_secs(number)),
        "us" | "usec" => Some(Duration::from_micros(number)),
        "ms" | "msec" => Some(Duration::from_millis(number)),
        "m" | "min" => Some(Duration::from_secs(number * 60)),
        "h" => Some(Duration::from_secs(number * 3600)),
        "d" => Some(Duration::from_secs(number * 86400)),
        _ => None,
    });
    duration.ok_or_else(|| ValueError::new("not a time", "use whole seconds or minutes: 30, 30s or 2m"))
}

/// `32` or `10k`; of `read,write,trim` numbers the first.
fn number<N: TryFrom<u64>>(text: &str) -> Parsed<N> {
    let number = size(text).ok().and_then(|number| N::try_from(number.0).ok());
    number.ok_or_else(|| ValueError::new("not a number", "use 32 or 10k"))
}

fn policy(text: &str) -> Parsed<bool> {
    match text {
        "shared" => Ok(false),
        "split" => Ok(true),
        _ => Err(ValueError::new("no such value", "use one of shared, split")),
    }
}

/// `0-3,8`.
fn numbers(text: &str) -> Parsed<Vec<u32>> {
    let list = parse_cpu_list(text).ok().filter(|list| !list.is_empty());
    list.ok_or_else(|| ValueError::new("not a list of numbers", "use 0-3,8"))
}

/// `1` or `0`, in fio's spellings.
pub fn switch(text: &str) -> Parsed<bool> {
    match text {
        "1" | "true" | "yes" | "on" => Ok(true),
        "0" | "false" | "no" | "off" => Ok(false),
        _ => Err(ValueError::new("not a switch", "use 1 or 0")),
    }
}

/// `4k/60:64k/40`; entries without a share divide what is left.
fn shares(text: &str) -> Parsed<Vec<(Bytes, u8)>> {
    let wrong = || ValueError::new("no list of sizes and shares", "use 4k/60:64k/40");
    // As for sizes: of read,write,trim lists the first.
    let list = text.split(',').next().unwrap_or_default();
    let mut entries = Vec::new();
    for entry in list.split(':') {
        let (bytes, share) = entry.split_once('/').unwrap_or((entry, ""));
        let share = if share.is_empty() { None } else { Some(share.parse::<u8>().map_err(|_| wrong())?) };
        entries.push((size(bytes).map_err(|_| wrong())?, share));
    }
    let given: u32 = entries.iter().filter_map(|(_, share)| share.map(u32::from)).sum();
    let open =
        u32::try_from(entries.iter().filter(|(_, share)| share.is_none()).count()).map_err(|_| wrong())?;
    let mut left =
        100_u32.checked_sub(given).ok_or_else(|| ValueError::new("more than 100 %", "lower the shares"))?;
    let mut unshared = open;
    let mut shares = Vec::new();
    for (bytes, share) in entries {
        let share = if let Some(share) = share {
            share
        } else {
            let part = left / unshared.max(1);
            left -= part;
            unshared -= 1;
            u8::try_from(part).map_err(|_| wrong())?
        };
        shares.push((bytes, share));
    }
    Ok(shares)
}

/// `read` or `randread`; everything else would write.
fn pattern(text: &str) -> Parsed<Pattern> {
    match text {
        "read" => Ok(Pattern::Sequential),
        "randread" => Ok(Pattern::Random),
        "write" | "randwrite" | "rw" | "readwrite" | "randrw" | "trim" | "randtrim" | "trimwrite" => {
            Err(ValueError::new("would write, and iodyno only reads", "use randread or read"))
        }
        _ => Err(ValueError::new("no such pattern", "use randread or read")),
    }
}

/// fio's name of an engine.
fn engine(text: &str) -> Parsed<EngineKind> {
    EngineKind::ALL.into_iter().find(|engine| engine.name() == text).ok_or_else(|| {
        let names = EngineKind::ALL.map(EngineKind::name);
        ValueError::new("no such engine", format!("use one of {}", names.join(", ")))
    })
}

/// `A:B`, with `\:` for a colon within a name.
pub fn names(text: &str) -> Vec<PathBuf> {
    let mut names = vec![String::new()];
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match (character, characters.peek(), names.last_mut()) {
            ('\\', Some(':'), Some(name)) => {
                characters.next();
                name.push(':');
            }
            (':', _, _) => names.push(String::new()),
            (other, _, Some(name)) => name.push(other),
            (_, _, None) => {}
        }
    }
    names.retain(|name| !name.is_empty());
    names.into_iter().map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sizes_are_powers_of_1024_in_every_spelling() {
        for (text, bytes) in [
            ("512", 512),
            ("4k", 4096),
            ("4K", 4096),
            ("4kb", 4096),
            ("4KiB", 4096),
            ("1m", 1 << 20),
            ("2G", 2 << 30),
        ] {
            assert_eq!(size(text), Ok(Bytes(bytes)), "{text}");
        }
        assert_eq!(size("4k,8k,8k"), Ok(Bytes(4096)));
        for text in ["", "k", "4x", "-1", "1.5k", "99999999999p", "4 k"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_are_seconds_unless_they_say_otherwise() {
        for (text, ms) in
            [("30", 30_000), ("30s", 30_000), ("2m", 120_000), ("500ms", 500), ("1h", 3_600_000)]
        {
            assert_eq!(time(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", "s", "-1", "1.5", "99999999999999", "3w"] {
            assert!(time(text).is_err(), "{text}");
        }
    }

    #[test]
    fn shares_left_out_divide_what_is_left() {
        let list = |text| shares(text).unwrap().iter().map(|(b, s)| (b.0, *s)).collect::<Vec<_>>();
        assert_eq!(list("4k/60:64k/40"), [(4096, 60), (65536, 40)]);
        assert_eq!(list("4k/50:8k/:16k"), [(4096, 50), (8192, 25), (16384, 25)]);
        assert_eq!(list("4k:8k:16k").iter().map(|(_, s)| u32::from(*s)).sum::<u32>(), 100);
        assert!(shares("4k/60:64k/60").is_err() && shares("4k/x").is_err() && shares("").is_err());
    }

    #[test]
    fn names_keep_escaped_colons() {
        assert_eq!(names(r"/dev/a:/mnt/b\:c::"), [PathBuf::from("/dev/a"), PathBuf::from("/mnt/b:c")]);
        assert!(names("").is_empty());
    }

    #[test]
    fn whatever_would_write_is_refused() {
        for text in ["write", "randwrite", "rw", "randrw", "trim"] {
            assert!(pattern(text).unwrap_err().wrong.contains("would write"), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in "\\PC{0,24}") {
            let wrong = [size(&text).err(), time(&text).err(), shares(&text).err(), switch(&text).err()];
            for wrong in wrong.iter().flatten().map(ToString::to_string) {
                prop_assert!(!wrong.is_empty() && !wrong.contains('\n'), "{wrong:?}");
            }
            prop_assert!(names(&text).len() <= text.matches(':').count() + 1);
        }
    }
}
