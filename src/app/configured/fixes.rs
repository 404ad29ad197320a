//! Every fix that a mistake in the configuration file prints is a value that the file takes.

use crate::{app::names, config::read, model::options::OPTIONS};

/// Words of a fix that are no value.
const NO_VALUES: [&str; 2] = ["letters", "more"];

/// The values that a fix names.
fn values(fix: &str) -> Vec<String> {
    let fix = fix.rsplit_once("minutes: ").map_or(fix, |(_, values)| values);
    let fix = fix.strip_prefix("use ").unwrap_or(fix);
    let pieces = fix.split(", ").flat_map(|piece| piece.split(" or ")).flat_map(|piece| piece.split(" to "));
    let mut values = Vec::new();
    let mut list = String::new();
    for piece in pieces {
        // A list of the file has commas of its own.
        if !list.is_empty() || piece.starts_with('[') {
            let comma = if list.is_empty() { "" } else { ", " };
            list = format!("{list}{comma}{piece}");
            if list.ends_with(']') {
                values.push(std::mem::take(&mut list));
            }
            continue;
        }
        let piece = piece.trim_end_matches(" seconds").trim_end_matches(" for <");
        let after = ["such as ", "one of "];
        let piece = after.iter().fold(piece, |piece, word| piece.rsplit_once(word).map_or(piece, |(_, v)| v));
        let piece = piece.strip_prefix("or ").unwrap_or(piece);
        if !piece.contains(' ') && !NO_VALUES.contains(&piece) {
            values.push(piece.to_owned());
        }
    }
    values
}

/// The value as the file may take it: a number or a text.
fn written(value: &str) -> Vec<String> {
    if value.starts_with(['"', '[']) {
        return vec![value.to_owned()];
    }
    let number = value.parse::<f64>().is_ok().then(|| value.to_owned());
    number.into_iter().chain([format!("{value:?}")]).collect()
}

/// The values of the fix of the mistake in `wrong` that are mistakes as well.
fn not_taken(before: &str, key: &str, wrong: &str) -> Vec<String> {
    let with = |value: &str| read(&format!("{before}{key} = {value}\n"), &names()).1;
    let [mistake] = &with(wrong)[..] else { return vec![format!("{key} = {wrong}: {:?}", with(wrong))] };
    let said = mistake.to_string();
    let values = said.split_once("; ").map(|(_, fix)| values(fix)).unwrap_or_default();
    if values.is_empty() {
        return vec![format!("{key} = {wrong}: {said}: no value")];
    }
    let is_wrong = |value: &String| written(value).iter().all(|value| !with(value).is_empty());
    let wrong_too = values.iter().filter(|value| is_wrong(value));
    wrong_too.map(|value| format!("{key} = {wrong}: {said}: {value}")).collect()
}

#[test]
fn every_fix_of_a_wrong_value_is_taken() {
    let mut all = Vec::new();
    let theme = "[themes.mine]\nbase = \"dark\"\n";
    for (before, key, wrong) in [
        ("", "theme", "1"),
        ("", "theme", "\"pink\""),
        ("", "glyphs", "\"dots\""),
        ("", "glyphs", "3"),
        ("", "units", "\"MB\""),
        ("", "units", "[]"),
        ("", "columns", "[\"lynk\"]"),
        ("", "columns", "[3]"),
        ("", "columns", "3"),
        ("", "sort", "\"-bus\""),
        ("", "sort", "\"-name\""),
        ("", "sort", "\"-heat\""),
        ("", "sort", "\"heat\""),
        ("", "sort", "\"\""),
        ("", "sort", "3"),
        ("", "interval", "100"),
        ("", "interval", "\"fast\""),
        (theme, "warning", "[]"),
        (theme, "warning", "\"rad\""),
        (theme, "lines", "256"),
        (theme, "curves", "[[]]"),
        (theme, "curves", "\"rad\""),
        ("[themes.mine]\n", "base", "\"dork\""),
        ("[themes.mine]\n", "base", "1"),
    ] {
        all.extend(not_taken(before, key, wrong));
    }
    for wrong in
        ["\"<\"", "\"<Foo>\"", "\"<Enter\"", "\"ab\"", "\"\"", "\"<C-c>\"", "\"\\u001B\"", "3", "[3]"]
    {
        for command in ["pull", "quit", "units", "undo all", "paths", "theme"] {
            all.extend(not_taken("[keys]\n", &format!("{command:?}"), wrong));
        }
    }
    for command in ["quit", "back", "palette"] {
        all.extend(not_taken("[keys]\n", command, "[]"));
    }
    for wrong in ["\"<C-i>\"", "\"<C-m>\""] {
        all.extend(not_taken("[keys]\n", "pull", wrong));
    }
    assert!(all.is_empty(), "{all:#?}");
}

#[test]
fn every_fix_of_a_wrong_option_is_taken() {
    let (mut tried, mut all) = (0, Vec::new());
    for option in OPTIONS {
        let before = match option.name {
            "prefetch" => "rw = \"read\"\nioengine = \"mmap\"\n",
            "uncached" => "direct = 0\n",
            "hybrid_poll" => "hipri = 1\n",
            _ => "",
        };
        let before = format!("[workload]\n{before}");
        for wrong in [
            "[\"x\"]",
            "[1]",
            "{ x = 1 }",
            "\"?\"",
            "-1",
            "0",
            "\"0\"",
            "0x10",
            "1.5",
            "1000",
            "\"4g\"",
            "\"9e9\"",
        ] {
            if !read(&format!("{before}{} = {wrong}\n", option.name), &names()).1.is_empty() {
                all.extend(not_taken(&before, option.name, wrong));
                tried += 1;
            }
        }
    }
    assert!(all.is_empty(), "{all:#?}");
    assert!(tried > 4 * OPTIONS.len(), "{tried}");
}
