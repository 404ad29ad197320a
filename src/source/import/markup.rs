//! Markup around listings: tags of HTML and BBCode, entities, escape sequences of colours.

use std::borrow::Cow;

/// Entities of HTML by name; those with numbers are decoded too.
const ENTITIES: [(&str, char); 8] = [
    ("gt", '>'),
    ("lt", '<'),
    ("quot", '"'),
    ("apos", '\''),
    ("nbsp", ' '),
    ("ndash", '\u{2013}'),
    ("mdash", '\u{2014}'),
    ("amp", '&'),
];

/// Elements that begin and end lines.
const BLOCKS: [&str; 9] = ["p", "br", "div", "li", "pre", "tr", "ul", "ol", "blockquote"];

/// Elements of HTML; `<access denied>` and `<ignored>` of lspci are none.
const ELEMENTS: [&str; 32] = [
    "html",
    "head",
    "body",
    "title",
    "meta",
    "pre",
    "code",
    "tt",
    "samp",
    "p",
    "br",
    "div",
    "span",
    "blockquote",
    "font",
    "b",
    "i",
    "u",
    "s",
    "em",
    "strong",
    "mark",
    "del",
    "table",
    "tbody",
    "tr",
    "td",
    "ul",
    "ol",
    "li",
    "details",
    "summary",
];

/// Tags of BBCode; `[AMD]` and `[1b]` are none.
const BOARD_TAGS: [&str; 17] = [
    "code",
    "quote",
    "spoiler",
    "font",
    "size",
    "color",
    "noparse",
    "tt",
    "pre",
    "plain",
    "mono",
    "hide",
    "b",
    "i",
    "u",
    "s",
    "highlight",
];

/// The first two bytes of a mark of a drawing (U+2500 to U+257F in UTF-8) in Windows-1252, Latin-1 and the code pages 850 and 437.
const LEADS: [&str; 4] = ["\u{e2}\u{201d}", "\u{e2}\u{94}", "\u{d4}\u{f6}", "\u{393}\u{f6}"];

/// The last byte of such a mark in these, and the mark.
const MARKS: [([char; 3], char); 4] = [
    (['\u{20ac}', '\u{80}', '\u{c7}'], '\u{2500}'),
    (['\u{201a}', '\u{82}', '\u{e9}'], '\u{2502}'),
    (['\u{201d}', '\u{94}', '\u{f6}'], '\u{2514}'),
    (['\u{153}', '\u{9c}', '\u{a3}'], '\u{251c}'),
];

/// With the marks of a drawing that was read in another character set.
fn redrawn(line: &str) -> String {
    let mut kept = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(letter) = rest.chars().next() {
        let behind = LEADS.iter().find_map(|lead| rest.strip_prefix(lead));
        let last = behind.and_then(|behind| behind.chars().next());
        let mark = MARKS.iter().find(|(forms, _)| last.is_some_and(|last| forms.contains(&last)));
        if let (Some(behind), Some(last), Some((_, mark))) = (behind, last, mark) {
            kept.push(*mark);
            rest = &behind[last.len_utf8()..];
        } else {
            kept.push(letter);
            rest = &rest[letter.len_utf8()..];
        }
    }
    kept
}

/// A line without tags, entities, non-breaking blanks and colours.
pub(super) fn without(line: Cow<'_, str>) -> Cow<'_, str> {
    let mut line = line;
    if !line.is_ascii() && LEADS.iter().any(|lead| line.contains(lead)) {
        line = Cow::Owned(redrawn(&line));
    }
    if line.contains('\u{1b}') {
        line = Cow::Owned(uncoloured(&line));
    }
    if line.contains('\u{a0}') {
        line = Cow::Owned(line.replace('\u{a0}', " "));
    }
    if line.contains(['<', '[']) {
        line = untagged(line);
    }
    if line.contains('&') && line.contains(';') {
        line = Cow::Owned(with_characters(&line));
    }
    line
}

/// With the characters that entities stand for.
fn with_characters(line: &str) -> String {
    let mut kept = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find('&') {
        kept.push_str(&rest[..at]);
        let (character, length) = entity(&rest[at..]).unwrap_or(('&', 1));
        kept.push(character);
        rest = &rest[at + length..];
    }
    kept.push_str(rest);
    kept
}

/// The character of `&gt;`, `&#39;` or `&#x7c;` at the beginning, and the length; control characters are none.
fn entity(text: &str) -> Option<(char, usize)> {
    const MOST: usize = 10;
    let end = text.bytes().take(MOST).position(|byte| byte == b';')?;
    let name = &text[1..end];
    let number = name.strip_prefix('#').map(|digits| match digits.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => digits.parse(),
    });
    let character = match number {
        Some(number) => char::from_u32(number.ok()?).filter(|character| !character.is_control())?,
        None => ENTITIES.iter().find(|(known, _)| *known == name)?.1,
    };
    Some((if character == '\u{a0}' { ' ' } else { character }, end + 1))
}

/// The lines that the tags of blocks in a line make of it, without empty ones.
pub(super) fn rows(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(line);
    let mut any = false;
    std::iter::from_fn(move || {
        loop {
            let open = rest?;
            let (row, behind) = match block(open) {
                Some((at, length)) => (&open[..at], Some(&open[at + length..])),
                None => (open, None),
            };
            rest = behind;
            // A line of tags alone is an empty one.
            if !row.trim().is_empty() || rest.is_none() && !any {
                any = true;
                return Some(row);
            }
        }
    })
}

/// Where the first tag of a block is, and its length.
fn block(line: &str) -> Option<(usize, usize)> {
    line.match_indices('<').find_map(|(at, _)| {
        let length = tag(&line[at..])?;
        let inside = line[at + 1..at + length].trim_start_matches('/');
        let name = &inside[..inside.bytes().take_while(u8::is_ascii_alphabetic).count()];
        BLOCKS.iter().any(|block| block.eq_ignore_ascii_case(name)).then_some((at, length))
    })
}

fn untagged(line: Cow<'_, str>) -> Cow<'_, str> {
    let mut kept = String::new();
    let mut rest = &*line;
    let mut any = false;
    while let Some(at) = rest.find(['<', '[']) {
        let is_start = kept.is_empty() && rest[..at].trim().is_empty();
        let is_size = rest[at..].starts_with("[size=") && (!is_start || is_region(&rest[at..]));
        if let Some(length) = tag(&rest[at..]).filter(|_| !is_size) {
            kept.push_str(&rest[..at]);
            if is_cell(&rest[at..at + length]) {
                begin_cell(&mut kept);
            }
            rest = &rest[at + length..];
            any = true;
        } else {
            kept.push_str(&rest[..=at]);
            rest = &rest[at + 1..];
        }
    }
    if !any {
        return line;
    }
    kept.push_str(rest);
    Cow::Owned(kept)
}

/// The size that lspci prints behind a region, `[size=16M]`: a mail program may have moved it to the beginning of a line.
fn is_region(text: &str) -> bool {
    let size = text.strip_prefix("[size=").and_then(|size| size.split_once(']'));
    size.is_some_and(|(size, _)| {
        let digits = size.trim_end_matches(['K', 'M', 'G', 'T']);
        digits.len() < size.len() && digits.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Whether a tag begins a cell of a table.
fn is_cell(tag: &str) -> bool {
    tag.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("<td"))
        && !tag[3..].starts_with(|c: char| c.is_alphabetic())
}

/// Parts a cell from those before it. A number alone is that of the line, as pages print it beside a text.
fn begin_cell(kept: &mut String) {
    let before = kept.trim();
    if !before.is_empty() && before.bytes().all(|byte| byte.is_ascii_digit()) {
        kept.clear();
    } else if !before.is_empty() && !kept.ends_with([' ', '\t']) {
        kept.push(' ');
    }
}

/// The length of the tag at the beginning: `<pre class="x">`, `[/code]`, `[quote=me]`.
fn tag(text: &str) -> Option<usize> {
    const MOST: usize = 200;
    let is_element = text.starts_with('<');
    let close = if is_element { '>' } else { ']' };
    // A tag has no other one within: no part of a long line is searched twice.
    let is_end = |byte: u8| byte == close as u8 || is_element && byte == b'<';
    let end = 1 + text.bytes().take(MOST).skip(1).position(is_end)?;
    if !text[end..].starts_with(close) {
        return None;
    }
    let inside = text[1..end].trim_start_matches('/');
    let length = inside.bytes().take_while(u8::is_ascii_alphabetic).count();
    let (name, attributes) = inside.split_at(length);
    let is_known = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
    let fits = if is_element {
        is_known(&ELEMENTS) && (attributes.is_empty() || attributes.starts_with([' ', '/']))
    } else {
        is_known(&BOARD_TAGS) && (attributes.is_empty() || attributes.starts_with('='))
    };
    fits.then_some(end + 1)
}

/// Without control sequences (ECMA-48, 5.4), as `ls --color` and terminals' recordings have them. An escape character that
/// begins none stays, and is shown as one.
fn uncoloured(line: &str) -> String {
    let mut kept = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find("\u{1b}[") {
        kept.push_str(&rest[..at]);
        let sequence = &rest[at + 2..];
        let end = sequence.bytes().take(64).position(|byte| (0x40..=0x7e).contains(&byte));
        if let Some(end) = end {
            rest = &sequence[end + 1..];
        } else {
            kept.push('\u{1b}');
            rest = &rest[at + 1..];
        }
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_and_colours_are_taken_away_and_words_in_brackets_kept() {
        for (line, plain) in [
            ("[QUOTE=foo][code]-+-[0000:60]-+-00.0", "-+-[0000:60]-+-00.0"),
            ("<html><body><pre class=\"x\">-[0000:00]-", "-[0000:00]-"),
            ("</pre></body>", ""),
            ("01.1-[1b]----00.0  Foo [AMD] [Code 43]", "01.1-[1b]----00.0  Foo [AMD] [Code 43]"),
            ("Capabilities: <access denied>", "Capabilities: <access denied>"),
            ("Latency L0s <1us, L1 <8us", "Latency L0s <1us, L1 <8us"),
            ("L1 &lt;8us &amp;", "L1 <8us &"),
            ("Speed [b]8GT/s[/b], Width [B][color=#ff0000]x8[/color][/B]", "Speed 8GT/s, Width x8"),
            ("Width <strong>x2</strong>", "Width x2"),
            ("<td class=\"ln\">12</td><td>00:1c.0 PCI</td>", "00:1c.0 PCI"),
            ("<td>nvme0n1</td><td>1T</td><TD>disk</TD>", "nvme0n1 1T disk"),
            ("[SIZE=2][size=2]00:00.0 Host[/SIZE]", "00:00.0 Host"),
            ("\tI/O ports at e000 [size=256]", "\tI/O ports at e000 [size=256]"),
            ("[size=2M]", "[size=2M]"),
            ("  [size=16K] [disabled]", "  [size=16K] [disabled]"),
            ("[size=4]", ""),
            ("\u{1b}[01;31m\u{1b}[K00:00.0\u{1b}[m Host", "00:00.0 Host"),
            ("\u{1b}]0;title", "\u{1b}]0;title"),
            ("\u{1b}[", "\u{1b}["),
            ("\u{e2}\u{201d}\u{201d}\u{e2}\u{201d}\u{20ac}sda1", "\u{2514}\u{2500}sda1"),
            ("\u{393}\u{f6}\u{a3}\u{393}\u{f6}\u{c7}sda1", "\u{251c}\u{2500}sda1"),
            ("\u{d4}\u{f6}\u{e9} \u{d4}\u{f6}", "\u{2502} \u{d4}\u{f6}"),
            ("5 \u{e2} \u{201d}", "5 \u{e2} \u{201d}"),
        ] {
            assert_eq!(without(Cow::Borrowed(line)), plain, "{line}");
        }
    }

    #[test]
    fn tags_of_blocks_end_lines() {
        for (line, lines) in [
            ("<pre>a<br>b<br/>c<BR />d</pre>", &["a", "b", "c", "d"][..]),
            ("<p>a</p><p class=\"x\">  b</p>", &["a", "  b"]),
            ("<div>a<b>b</b></div><ul><li>c</li></ul>", &["a<b>b</b>", "c"]),
            ("a<br><br>b", &["a", "b"]),
            ("<tr><td>1</td><td>0000:00:1c.0 PCI</td></tr>", &["<td>1</td><td>0000:00:1c.0 PCI</td>"]),
            ("<br></p>", &[""]),
            ("", &[""]),
            ("L1 <8us, <access denied> <branch>", &["L1 <8us, <access denied> <branch>"]),
        ] {
            assert_eq!(rows(line).collect::<Vec<_>>(), lines, "{line}");
        }
    }

    #[test]
    fn entities_are_their_characters_once() {
        for (line, plain) in [
            ("&#124;&#x2b;&#92;-01.1 &amp;lt; &#39;", "|+\\-01.1 &lt; '"),
            ("a&nbsp;b&#160;c &mdash;", "a b c \u{2014}"),
            (
                "&#27;[2J &#0; &#x9b; &#99999999; &# &foo; & ;",
                "&#27;[2J &#0; &#x9b; &#99999999; &# &foo; & ;",
            ),
        ] {
            assert_eq!(without(Cow::Borrowed(line)), plain, "{line}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_breaks_it(text in "[\\[\\]<>/a-c\u{1b}m;0é]{0,40}") {
            let kept = without(Cow::Borrowed(&text)).into_owned();
            proptest::prop_assert!(kept.len() <= text.len());
        }
    }
}
