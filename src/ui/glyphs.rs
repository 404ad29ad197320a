//! Which characters a terminal can show: one table of the drawn glyphs in three sets, and the choice by locale and TERM.
//!
//! Screens are drawn with Braille and block elements. A drawn buffer is translated once at the end, so that no widget and
//! no outside text needs to know the set.

use std::fmt::{self, Write as _};

use ratatui::buffer::{Buffer, Cell};

/// Whether `TERM` is one of DEC's terminals, which have neither Unicode nor colours: `vt100`, `vt220-8bit`, `vt102-w`. The
/// vt525 has colours.
pub(super) fn is_dec_terminal(term: &str) -> bool {
    let number = term.split(['-', '+']).next().and_then(|name| name.strip_prefix("vt"));
    let is_number = |number: &str| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    number.is_some_and(|number| is_number(number) && number != "525")
}

/// Whether the first of the locale's variables that is set names UTF-8, or none is set.
fn is_utf8(variable: &dyn Fn(&str) -> Option<String>) -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| variable(name).filter(|value| !value.is_empty()));
    locale.is_none_or(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

/// The sign of degrees.
const DEGREES: char = '°';

/// A set of characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GlyphSet {
    /// All of Unicode: curves of Braille dots.
    #[default]
    Braille,
    /// Characters that the kernel's own font and the fonts of distributions share: the Linux console.
    Blocks,
    /// Printable ASCII.
    Ascii,
}

/// A drawn character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Glyph {
    /// As screens draw it.
    pub braille: char,
    /// On the Linux console.
    pub blocks: char,
    /// In ASCII.
    pub ascii: char,
    /// What it stands for.
    pub meaning: &'static str,
}

const fn glyph(braille: char, blocks: char, ascii: char, meaning: &'static str) -> Glyph {
    Glyph { braille, blocks, ascii, meaning }
}

/// Every character beyond ASCII that a screen or a report draws itself.
pub const GLYPHS: &[Glyph] = &[
    glyph('─', '─', '-', "line of a box"),
    glyph('│', '│', '|', "line of a box, guide of the tree"),
    glyph('┌', '┌', '+', "corner"),
    glyph('┐', '┐', '+', "corner"),
    glyph('└', '└', '`', "corner, last branch of the tree"),
    glyph('┘', '┘', '+', "corner"),
    glyph('├', '├', '|', "branch of the tree"),
    glyph('┤', '┤', '+', "mark on an axis"),
    glyph('┬', '┬', '+', "joint of lines"),
    glyph('┴', '┴', '+', "mark on an axis"),
    glyph('┼', '┼', '+', "joint of lines"),
    glyph('┈', '·', '.', "level of a limit"),
    glyph('━', '═', '=', "interval"),
    glyph('┣', '╠', '[', "lower end of an interval"),
    glyph('┫', '╣', ']', "upper end of an interval"),
    glyph('▆', '■', '#', "bar"),
    glyph('·', '·', '.', "empty part of a bar, separator"),
    glyph('█', '█', '#', "full cell"),
    glyph('▓', '▒', '=', "shade of a heat map"),
    glyph('▒', '░', '-', "shade of a heat map"),
    glyph('░', '·', '.', "shade of a heat map, margin"),
    glyph('▁', '_', '_', "height 1 of 8"),
    glyph('▂', '_', '_', "height 2 of 8"),
    glyph('▃', '░', '.', "height 3 of 8"),
    glyph('▄', '░', '-', "height 4 of 8"),
    glyph('▅', '▒', '=', "height 5 of 8"),
    glyph('▇', '█', '#', "height 7 of 8"),
    glyph('▌', '│', '|', "left half"),
    glyph('▏', '│', '_', "cursor of a text field"),
    glyph('▲', '^', '^', "finding, full place"),
    glyph('▼', 'V', 'V', "link downtrained, worse"),
    glyph('▽', '≤', 'n', "link limited by its slot"),
    glyph('●', '•', '*', "marked, in progress"),
    glyph('○', 'o', 'o', "partly marked, ignored"),
    glyph('▾', '-', '-', "unfolded row"),
    glyph('▸', '+', '+', "folded row, moved card"),
    glyph('◂', '<', '<', "card that gives way"),
    glyph('›', '»', '>', "cursor of a list"),
    glyph('‹', '«', '<', "more columns on the left"),
    glyph('✓', 'Y', 'Y', "done, better"),
    glyph('≈', '≈', '=', "adjusted by the kernel"),
    glyph('↩', '¬', 'u', "undone"),
    glyph('±', '±', '~', "half width of an interval"),
    glyph('°', '°', ' ', "degrees; ASCII has none, nor its blank"),
    glyph('…', '$', '$', "text that is cut"),
    glyph('→', '→', '>', "from one value to another"),
    glyph('←', '←', '<', "arrow key"),
    glyph('↑', '↑', '^', "arrow key, more above"),
    glyph('↓', '↓', 'v', "arrow key, more below"),
];

/// Characters beyond ASCII that a console has with each of four fonts: the kernel's own (code page 437), Debian's and
/// Ubuntu's (Lat15 and Uni2 of console-setup) and Fedora's (eurlatgr). Half blocks, triangles and circles are in some alone.
const CONSOLE: &str = "¡¢£¥§ª«¬°±²µ¶·º»¼½¿ÄÅÆÇÉÑÖÜßàáâäåæçèéêëìíîïñòóôö÷ùúûüÿƒπ•←↑→↓≈≤≥\
    ─│┌┐└┘├┤┬┴┼═║╒╓╔╕╖╗╘╙╚╛╜╝╞╟╠╡╢╣╤╥╦╧╨╩╪╫╬█░▒■";

/// Stands for a character that a set lacks.
const UNKNOWN: char = '?';

impl GlyphSet {
    /// All sets with the words that options and the configuration file take.
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::Braille, "braille"), (Self::Blocks, "blocks"), (Self::Ascii, "ascii")];

    /// The set of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, known)| *known == word).map(|(set, _)| set)
    }

    /// The set for a terminal: ASCII for terminals without line drawing and for locales other than UTF-8, blocks for the Linux
    /// console. Without any locale TERM alone decides.
    pub fn of_terminal(term: Option<&str>, variable: &dyn Fn(&str) -> Option<String>) -> Self {
        const PLAIN: [&str; 4] = ["", "ansi", "dumb", "unknown"];
        let term = term.unwrap_or_default();
        match term {
            _ if !is_utf8(variable) || PLAIN.contains(&term) || is_dec_terminal(term) => Self::Ascii,
            _ if term == "linux" || term.starts_with("linux-") => Self::Blocks,
            _ => Self::Braille,
        }
    }

    /// The set for a pipe or a file, which has no TERM: ASCII for locales other than UTF-8.
    pub fn of_pipe(variable: &dyn Fn(&str) -> Option<String>) -> Self {
        if is_utf8(variable) { Self::Braille } else { Self::Ascii }
    }

    /// Whether a terminal with this set shows a character.
    pub fn has(self, character: char) -> bool {
        match self {
            _ if (' '..='~').contains(&character) => true,
            Self::Braille => true,
            Self::Blocks => CONSOLE.contains(character),
            Self::Ascii => false,
        }
    }

    /// A character, or the one that stands for it.
    pub fn translate(self, character: char) -> char {
        if self == Self::Braille || (' '..='~').contains(&character) {
            return character;
        }
        if let Some(known) = GLYPHS.iter().find(|known| known.braille == character) {
            return if self == Self::Blocks { known.blocks } else { known.ascii };
        }
        if ('\u{2800}'..='\u{28ff}').contains(&character) {
            let dots = u32::from(character) - 0x2800;
            return if self == Self::Blocks { shades(dots) } else { strokes(dots) };
        }
        match character {
            _ if self.has(character) => character,
            '\u{a0}' => ' ',
            _ => letter(character),
        }
    }

    /// A text with every character translated, for a terminal that shows no other.
    pub fn text(self, text: &str) -> String {
        self.written(text, |c| !matches!(c, '\n' | '\t' | '\u{1b}'))
    }

    /// A text with the characters translated that iodyno draws: names in a pipe or a file stay as they are.
    pub fn drawn(self, text: &str) -> String {
        let is_braille = |c| ('\u{2800}'..='\u{28ff}').contains(&c);
        self.written(text, |c| {
            c == '\u{a0}' || is_braille(c) || GLYPHS.iter().any(|known| known.braille == c)
        })
    }

    fn written(self, text: &str, is_translated: impl Fn(char) -> bool + Copy) -> String {
        if self == Self::Ascii && text.contains(" → ") {
            let parts = text.split(" → ").map(|part| self.written(part, is_translated));
            return parts.collect::<Vec<_>>().join(" -> ");
        }
        let chars = text.chars().filter(|c| self != Self::Ascii || *c != DEGREES);
        chars.map(|c| if is_translated(c) { self.translate(c) } else { c }).collect()
    }

    /// Arrows up and down of marks and sentences as words where there are none: `^` is a finding.
    pub fn arrows(self, text: &str) -> String {
        match self {
            Self::Ascii => text.replace('↑', "Up").replace('↓', "Dn"),
            Self::Braille | Self::Blocks => text.to_owned(),
        }
    }

    /// Keys as a set without arrows names them: `↑↓` is `Up Dn`, since `^v` reads as Ctrl-V and `<` and `>` are keys themselves.
    pub fn keys(self, keys: &str) -> String {
        const ARROWS: [(char, &str); 4] = [('↑', "Up"), ('↓', "Dn"), ('←', "Lt"), ('→', "Rt")];
        if self != Self::Ascii {
            return keys.to_owned();
        }
        let mut words = String::new();
        let mut was_arrow = false;
        for key in keys.chars() {
            let arrow = ARROWS.iter().find(|(arrow, _)| *arrow == key);
            match arrow {
                Some((_, word)) => words.extend([if was_arrow { " " } else { "" }, word]),
                None => words.push(key),
            }
            was_arrow = arrow.is_some();
        }
        // Columns stay where they are as long as blanks follow.
        let longer = words.chars().count().saturating_sub(keys.chars().count());
        let blanks = words.len() - words.trim_end_matches(' ').len();
        words.truncate(words.len() - longer.min(blanks.saturating_sub(1)));
        words
    }

    /// Translates a drawn screen, cell by cell. A wide character becomes one of one column; the cell behind it stays blank.
    pub fn apply(self, buffer: &mut Buffer) {
        if self == Self::Braille {
            return;
        }
        if self == Self::Ascii {
            let width = usize::from(buffer.area.width).max(1);
            buffer.content.chunks_mut(width).for_each(without_marks);
        }
        for cell in &mut buffer.content {
            if cell.symbol().bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
                continue;
            }
            let first = cell.symbol().chars().next().unwrap_or(' ');
            cell.set_char(self.translate(first));
        }
    }
}

impl fmt::Display for GlyphSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = Self::ALL.iter().find(|(set, _)| set == self).map_or("", |(_, word)| word);
        f.pad(word)
    }
}

/// A row for ASCII: `52 °C` is `52 C`, and ` → ` is ` -> `, or `-> ` without room, since `>` alone is the cursor of a list.
fn without_marks(row: &mut [Cell]) {
    let mut at = 0;
    while at < row.len() {
        match row[at].symbol() {
            "°" => {
                row[at].set_char(' ');
                // What follows closes up, as far as its column goes.
                let ends = |at: &usize| {
                    let is_blank = |at: usize| row.get(at).is_none_or(|cell| cell.symbol() == " ");
                    is_blank(*at) && is_blank(*at + 1) || "│┐┘┤".contains(row[*at].symbol())
                };
                let end = (at + 1..row.len()).find(ends).unwrap_or(row.len());
                row[at..end].rotate_left(1);
            }
            // Not where it begins a line or a column.
            "→" if at > 1 && row[at - 1].symbol() == " " && ![" ", "│"].contains(&row[at - 2].symbol()) =>
            {
                let is_blank = |at: usize| row.get(at).is_some_and(|cell| cell.symbol() == " ");
                let ends = |at: &usize| is_blank(*at) && is_blank(*at + 1);
                let edge = (at + 2..row.len()).find(|at| "│┐┘┤".contains(row[*at].symbol()));
                match (at + 2..edge.unwrap_or(row.len())).find(ends) {
                    // What follows moves on by a cell, as far as its column goes.
                    Some(end) => {
                        row[at + 1..=end].rotate_right(1);
                        row[at].set_char('-');
                        row[at + 1].set_char('→');
                        at += 1;
                    }
                    None => _ = row[at - 1].set_char('-'),
                }
            }
            _ => {}
        }
        at += 1;
    }
}

/// Dots 1 to 8 of a Braille cell by row: the bits of the left and of the right column.
const ROWS: [(u32, u32); 4] = [(0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80)];

/// How many rows of a column have a dot, of these rows.
fn filled(dots: u32, rows: std::ops::Range<usize>, left: bool) -> usize {
    let bit = |row: &(u32, u32)| if left { row.0 } else { row.1 };
    ROWS[rows].iter().filter(|row| dots & bit(row) != 0).count()
}

/// A Braille cell as a shade for how much of it is filled, lines as dots: no character of a frame.
fn shades(dots: u32) -> char {
    let [left, right] = [true, false].map(|left| {
        let rows = filled(dots, 0..4, left);
        (rows, rows == filled(dots, 4 - rows..4, left))
    });
    let stands = left.1 && right.1;
    match left.0 + right.0 {
        0 => ' ',
        8 => '█',
        5.. => '▒',
        3.. => '░',
        _ if stands => '_',
        _ => '·',
    }
}

/// A Braille cell as a stroke at its height.
fn strokes(dots: u32) -> char {
    let (left, right) = (filled(dots, 0..4, true), filled(dots, 0..4, false));
    let in_row = |row: usize| dots & (ROWS[row].0 | ROWS[row].1) != 0;
    match (left, right) {
        (0, 0) => ' ',
        (3.., 0) | (0, 3..) => '|',
        _ if left + right >= 5 => '#',
        _ => match (0..4).rev().find(|row| in_row(*row)) {
            Some(3) if in_row(2) || in_row(1) => '.',
            Some(3) => '_',
            Some(2) => '-',
            Some(1) => '"',
            _ => '\'',
        },
    }
}

/// An accented letter of Latin-1 without its accent.
fn letter(character: char) -> char {
    const PLAIN: [(&str, char); 16] = [
        ("àáâãäå", 'a'),
        ("ÀÁÂÃÄÅ", 'A'),
        ("ç", 'c'),
        ("Ç", 'C'),
        ("èéêë", 'e'),
        ("ÈÉÊË", 'E'),
        ("ìíîï", 'i'),
        ("ÌÍÎÏ", 'I'),
        ("ñ", 'n'),
        ("Ñ", 'N'),
        ("òóôõöø", 'o'),
        ("ÒÓÔÕÖØ", 'O'),
        ("ùúûü", 'u'),
        ("ÙÚÛÜ", 'U'),
        ("µμ", 'u'),
        ("×", 'x'),
    ];
    PLAIN.iter().find(|(accented, _)| accented.contains(character)).map_or(UNKNOWN, |(_, plain)| *plain)
}

/// The table for the documents.
pub fn markdown() -> String {
    let mut text = String::from("| braille | blocks | ASCII | stands for |\n|---|---|---|---|\n");
    for glyph in GLYPHS {
        let ascii = match glyph.ascii {
            '|' => "vertical bar".to_owned(),
            '`' => "backquote".to_owned(),
            ' ' => "blank".to_owned(),
            other => other.to_string(),
        };
        let _ = writeln!(text, "| {} | {} | {ascii} | {} |", glyph.braille, glyph.blocks, glyph.meaning);
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ratatui::layout::Rect;

    use super::*;

    #[test]
    fn every_row_stays_within_its_set_and_stands_once() {
        for (at, one) in GLYPHS.iter().enumerate() {
            assert!(GlyphSet::Blocks.has(one.blocks), "{one:?}");
            assert!((' '..='~').contains(&one.ascii) && !one.braille.is_ascii(), "{one:?}");
            assert!(GLYPHS[at + 1..].iter().all(|other| other.braille != one.braille), "{one:?}");
        }
    }

    #[test]
    fn the_console_is_drawn_with_what_every_font_has() {
        // drivers/tty/vt/cp437.uni of Linux, without ASCII, controls and the blank.
        let kernel = "☺☻♥♦♣♠•◘○◙♂♀♪♫☼►◄↕‼¶§▬↨↑↓→←∟↔▲▼⌂ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐\
            └┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■";
        assert!(CONSOLE.chars().all(|c| kernel.contains(c)));
        // Lat15-Fixed16, Debian's default, lacks the first ones, eurlatgr of Fedora the others.
        assert!("√▀▄▌▐▓►◄○▲▼".chars().all(|c| kernel.contains(c) && !GlyphSet::Blocks.has(c)));
        let drawn = GLYPHS.iter().map(|glyph| glyph.blocks).chain((0..256).map(shades));
        assert!(drawn.into_iter().all(|c| GlyphSet::Blocks.has(c)));
        assert!((0..256).map(shades).all(|c| !"─│┌┐└┘├┤".contains(c)), "a curve is no frame");
        let ramp: String = "⠀⣀⣤⣶⣿".chars().map(|c| GlyphSet::Blocks.translate(c)).collect();
        assert_eq!(ramp, " _░▒█", "a curve's edge is shaded by its height");
    }

    #[test]
    fn locale_and_term_choose_the_set() {
        let set = |term: &str, set: &[(&str, &str)]| {
            let find = |name: &str| set.iter().find(|(key, _)| *key == name).map(|(_, v)| (*v).to_owned());
            GlyphSet::of_terminal(Some(term), &find)
        };
        let utf8 = [("LANG", "en_US.UTF-8")];
        assert_eq!(set("xterm-256color", &utf8), GlyphSet::Braille);
        assert_eq!(set("xterm-256color", &[]), GlyphSet::Braille, "no locale: TERM decides");
        assert_eq!(set("xterm-256color", &[("LANG", "C")]), GlyphSet::Ascii);
        assert_eq!(set("xterm-256color", &[("LANG", "C.utf8")]), GlyphSet::Braille);
        assert_eq!(set("xterm", &[("LC_ALL", "C"), ("LANG", "en_US.UTF-8")]), GlyphSet::Ascii);
        assert_eq!(set("xterm", &[("LC_ALL", ""), ("LANG", "en_US.UTF-8")]), GlyphSet::Braille);
        assert_eq!(set("linux", &utf8), GlyphSet::Blocks);
        assert_eq!(set("linux", &[("LANG", "POSIX")]), GlyphSet::Ascii);
        for term in ["vt100", "vt220", "ansi", ""] {
            assert_eq!(set(term, &utf8), GlyphSet::Ascii, "{term}");
        }
    }

    #[test]
    fn a_sign_of_a_screen_has_one_meaning() {
        // A screen with one of a pair has not the other: the cursor of a list and columns are on no slot, a moved card on slots alone.
        const APART: [&str; 2] = ["‹◂", "›→"];
        // Frames, curves and shades are pictures; arrows of keys are words (`keys`), those of lists stand before a count.
        let is_picture = |meaning: &str| {
            [
                "line",
                "corner",
                "branch",
                "joint",
                "axis",
                "interval",
                "bar",
                "cell",
                "shade",
                "height",
                "half",
                "limit",
                "cursor of a text",
                "arrow key",
            ]
            .iter()
            .any(|word| meaning.contains(word))
        };
        let signs: Vec<&Glyph> = GLYPHS.iter().filter(|one| !is_picture(one.meaning)).collect();
        for (at, one) in signs.iter().enumerate() {
            for other in &signs[at + 1..] {
                let is_apart =
                    APART.iter().any(|pair| pair.contains(one.braille) && pair.contains(other.braille));
                assert!(one.ascii != other.ascii || is_apart, "{one:?} {other:?}");
                assert!(one.blocks != other.blocks || is_apart, "{one:?} {other:?}");
            }
            // Signs that are ASCII in every set: a warning, a setting that is not the default, marks of links.
            assert!(!['!', '~', '*'].contains(&one.blocks) && one.ascii != '!', "{one:?}");
            assert!(!"←→↑↓".contains(one.blocks) || "←→↑↓".contains(one.braille), "{one:?}");
        }
        // In ASCII marks of lists and keys have words for arrows.
        assert_eq!(GlyphSet::Ascii.arrows("↑ 3  ↓ 5 more"), "Up 3  Dn 5 more");
        assert_eq!(GlyphSet::Blocks.arrows("↑ 3"), "↑ 3");
    }

    #[test]
    fn in_ascii_degrees_leave_no_hole_and_an_arrow_is_no_cursor() {
        let shown = |text: &str| {
            let mut buffer = Buffer::empty(Rect::new(0, 0, 30, 1));
            buffer.set_string(0, 0, text, ratatui::style::Style::new());
            GlyphSet::Ascii.apply(&mut buffer);
            buffer.content.iter().map(Cell::symbol).collect::<String>().trim_end().to_owned()
        };
        assert_eq!(shown("temp 46 °C, max 82 °C  │ next"), "temp 46 C, max 82 C    | next");
        assert_eq!(shown("│ 52 °C│"), "| 52 C |");
        assert_eq!(shown("› none → kyber"), "> none -> kyber");
        assert_eq!(shown("now 128 → 256 staged   before"), "now 128 -> 256 staged  before");
        assert_eq!(shown("│ → opens"), "| > opens");
        assert_eq!(GlyphSet::Ascii.text("46 °C, none → kyber"), "46 C, none -> kyber");
    }

    #[test]
    fn arrow_keys_have_names_where_there_are_no_arrows() {
        assert_eq!(GlyphSet::Ascii.keys("↑↓"), "Up Dn");
        assert_eq!(GlyphSet::Ascii.keys("←→"), "Lt Rt");
        assert_eq!(GlyphSet::Ascii.keys("↑ k      "), "Up k     ", "the text behind it stays in its column");
        assert_eq!(GlyphSet::Ascii.keys("< >"), "< >");
        assert_eq!(GlyphSet::Blocks.keys("↑↓"), "↑↓");
    }

    #[test]
    fn dots_become_shades_and_strokes() {
        for (dots, blocks, ascii) in [
            ('⠀', ' ', ' '),
            ('⣀', '_', '_'),
            ('⣤', '░', '.'),
            ('⣶', '▒', '#'),
            ('⠉', '·', '\''),
            ('⣿', '█', '#'),
            ('⡇', '░', '|'),
        ] {
            assert_eq!(GlyphSet::Blocks.translate(dots), blocks, "{dots}");
            assert_eq!(GlyphSet::Ascii.translate(dots), ascii, "{dots}");
        }
    }

    proptest! {
        #[test]
        fn whatever_was_drawn_stays_within_the_set(text in "\\PC{0,30}") {
            for (set, _) in GlyphSet::ALL {
                let mut buffer = Buffer::empty(Rect::new(0, 0, 40, 1));
                buffer.set_string(0, 0, &text, ratatui::style::Style::new());
                set.apply(&mut buffer);
                let mut shown = buffer.content.iter().flat_map(|cell| cell.symbol().chars());
                prop_assert!(shown.all(|c| set.has(c)), "{set}: {text:?}");
            }
        }
    }
}
