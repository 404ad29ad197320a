//! Styles named by what they mean, and the themes that say how they look. No meaning rests on colour alone.

mod roles;

use ratatui::{
    buffer::Buffer,
    style::{Color, Modifier, Style},
};

pub use self::roles::{ROLES, Role, markdown};
use super::glyphs::{GlyphSet, is_dec_terminal};

/// Meaning of a style.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// Ordinary text.
    Text,
    /// Text that matters less: labels, models, explanations.
    Quiet,
    /// Lines of boxes, guides of the tree, empty parts of bars.
    Lines,
    /// Headings of panels.
    Heading,
    /// The name of the program, the tab shown.
    Brand,
    /// A number that matters.
    Figure,
    /// A drive's name.
    Drive,
    /// A key to press.
    Key,
    /// The selected row.
    Selected,
    /// Marked for the test.
    Marked,
    /// As good as it gets.
    Good,
    /// Carried load below the limit; of two directions, reads.
    Load,
    /// Carried writes below the limit.
    Writes,
    /// A shared place that is full, something slower than it could be.
    Warning,
    /// Something went wrong.
    Problem,
    /// A field that takes text.
    Field,
    /// The mode: live.
    Live,
    /// The mode: simulated, capture.
    NotLive,
    /// The n-th curve of several.
    Curve(usize),
}

/// How many curves have a colour of their own.
pub const CURVES: usize = 12;

/// A built-in set of colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Palette {
    /// The terminal's own sixteen colours.
    Sixteen,
    /// 256 colours on a dark background.
    Dark,
    /// 256 colours on a light background.
    Light,
    /// The bright ones of sixteen colours, and no text dim: the Linux console, whose dark blue and grey are hard to read.
    Console,
    /// The bright ones of sixteen colours on black.
    HighContrast,
    /// None.
    Plain,
}

impl Palette {
    /// All of them with their words, the default first.
    pub const ALL: [(Self, &'static str, &'static str); 6] = [
        (Self::Sixteen, "16", "the terminal's own sixteen colours"),
        (Self::Dark, "dark", "256 colours for dark backgrounds"),
        (Self::Light, "light", "256 colours for light backgrounds"),
        (Self::Console, "console", "bright colours for the Linux console"),
        (Self::HighContrast, "high-contrast", "bright colours on black, nothing dim"),
        (Self::Plain, "plain", "no colour: bold, dim and reversed text"),
    ];

    /// The palette of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, known, _)| *known == word).map(|(palette, _, _)| palette)
    }

    /// Its word.
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(palette, _, _)| *palette == self).map_or("", |(_, word, _)| word)
    }

    /// The palette for a terminal: none with `NO_COLOR` (no-color.org) and on terminals without colours, bright colours on the Linux
    /// console, dark or light where `COLORFGBG` (rxvt, Konsole) names the background and 256 colours are there, else the
    /// terminal's own sixteen.
    pub fn of_terminal(variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        // In terminfo the names of terminals without colours end in -m and -mono.
        let is_mono = |term: &str| term.split('-').skip(1).any(|part| matches!(part, "m" | "mono"));
        let has_none = |term: String| is_dec_terminal(&term) || is_mono(&term);
        if set("NO_COLOR").is_some() || set("TERM").is_some_and(has_none) {
            return Self::Plain;
        }
        if set("TERM").is_some_and(|term| term == "linux" || term.starts_with("linux-")) {
            return Self::Console;
        }
        let many = has_many(variable);
        let background = set("COLORFGBG").and_then(|pair| pair.rsplit(';').next()?.parse::<u8>().ok());
        match background {
            Some(7 | 15) if many => Self::Light,
            Some(0..=6 | 8) if many => Self::Dark,
            _ => Self::Sixteen,
        }
    }

    /// Whether the terminal may be asked for its background (OSC 11 of xterm): its environment does not name it, and there are
    /// 256 colours to choose from.
    pub fn asks_terminal(variable: &dyn Fn(&str) -> Option<String>) -> bool {
        Self::of_terminal(variable) == Self::Sixteen && has_many(variable)
    }
}

/// Whether a terminal has 256 colours.
fn has_many(variable: &dyn Fn(&str) -> Option<String>) -> bool {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    set("COLORTERM").is_some()
        || set("TERM").is_some_and(|term| term.contains("256color") || term.contains("direct"))
}

/// How styles look, and which characters are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    /// The palette it began with.
    pub palette: Palette,
    /// Colours of the rows of [`ROLES`]; `None` is the terminal's own.
    colours: [Option<Color>; ROLES.len()],
    curves: [Color; CURVES],
    /// Characters.
    pub glyphs: GlyphSet,
}

impl Theme {
    /// With the terminal's sixteen colours.
    pub const COLOUR: Self = Self::new(Palette::Sixteen);
    /// Without colour.
    pub const PLAIN: Self = Self::new(Palette::Plain);

    /// A built-in theme, with all characters.
    pub const fn new(palette: Palette) -> Self {
        let mut colours = [None; ROLES.len()];
        let mut at = 0;
        while at < ROLES.len() {
            colours[at] = ROLES[at].colour(palette);
            at += 1;
        }
        Self { palette, colours, curves: roles::curves(palette), glyphs: GlyphSet::Braille }
    }

    /// The same with another set of characters.
    #[must_use]
    pub const fn with_glyphs(self, glyphs: GlyphSet) -> Self {
        Self { glyphs, ..self }
    }

    /// The character of a bar. In ASCII, where colours may be few too, each meaning has its own.
    pub const fn bar(&self, meaning: Meaning) -> char {
        match (self.glyphs, meaning) {
            (GlyphSet::Ascii, Meaning::Writes) => '=',
            (GlyphSet::Ascii, Meaning::Good) => '+',
            (GlyphSet::Ascii, Meaning::Warning) => '%',
            (GlyphSet::Ascii, Meaning::Problem) => 'X',
            (GlyphSet::Ascii, _) => '#',
            _ => '▆',
        }
    }

    /// As the environment asks: `NO_COLOR` set to anything but nothing turns colour off (no-color.org).
    pub fn from_environment(no_color: Option<&std::ffi::OsStr>) -> Self {
        if no_color.is_some_and(|value| !value.is_empty()) { Self::PLAIN } else { Self::COLOUR }
    }

    /// Gives a role of [`ROLES`] another colour; false where it has no such role.
    pub fn paint(&mut self, role: &str, colour: Color) -> bool {
        let at = ROLES.iter().position(|row| row.name == role);
        if let Some(slot) = at.and_then(|at| self.colours.get_mut(at)) {
            *slot = Some(colour);
        }
        at.is_some()
    }

    /// Gives the first curves other colours.
    pub fn paint_curves(&mut self, colours: &[Color]) {
        for (slot, colour) in self.curves.iter_mut().zip(colours) {
            *slot = *colour;
        }
    }

    /// Whether there is a role of that name.
    pub fn has_role(&self, role: &str) -> bool {
        ROLES.iter().any(|row| row.name == role)
    }

    /// Roles and curves whose colours are not those of the palette.
    pub fn painted(&self) -> (Vec<(&'static str, Color)>, Vec<Color>) {
        let usual = Self::new(self.palette);
        let own = ROLES.iter().zip(self.colours).zip(usual.colours);
        let roles = own.filter(|((_, is), was)| is != was);
        let roles = roles.filter_map(|((row, is), _)| Some((row.name, is?))).collect();
        let last = (0..CURVES).rev().find(|at| self.curves[*at] != usual.curves[*at]);
        (roles, self.curves[..last.map_or(0, |last| last + 1)].to_vec())
    }

    /// The colour of a role, by name.
    fn colour(&self, role: &str) -> Option<Color> {
        let at = ROLES.iter().position(|row| row.name == role)?;
        self.colours[at]
    }

    /// Colour of text without a colour of its own, and of the background behind everything.
    pub fn ground(&self) -> (Option<Color>, Option<Color>) {
        (self.colour("text"), self.colour("background"))
    }

    /// The style of a meaning.
    pub fn style(self, meaning: Meaning) -> Style {
        if let Meaning::Curve(index) = meaning {
            let colour = self.curves[index % CURVES];
            return if self.palette == Palette::Plain { Style::new() } else { Style::new().fg(colour) };
        }
        let Some(at) = ROLES.iter().position(|row| row.meanings.contains(&meaning)) else {
            return Style::new();
        };
        let style = Style::new().add_modifier(ROLES[at].modifier(self.palette));
        match (meaning, self.colours[at]) {
            // Reversal must not depend on what was written below it.
            (Meaning::Selected, colour) => {
                style.fg(colour.unwrap_or(Color::Reset)).remove_modifier(Modifier::DIM | Modifier::BOLD)
            }
            (_, Some(colour)) => style.fg(colour),
            _ => style,
        }
    }

    /// The last step of a drawing: the theme's ground, and characters that the terminal has.
    pub fn finish(&self, buffer: &mut Buffer) {
        let (text, background) = self.ground();
        if text.is_some() || background.is_some() {
            for cell in &mut buffer.content {
                if let Some(text) = text.filter(|_| cell.fg == Color::Reset) {
                    cell.fg = text;
                }
                if let Some(background) = background.filter(|_| cell.bg == Color::Reset) {
                    cell.bg = background;
                }
            }
        }
        self.glyphs.apply(buffer);
    }
}

/// Names of the sixteen colours.
#[rustfmt::skip]
const NAMES: [(&str, Color); 16] = [
    ("black", Color::Black), ("red", Color::Red), ("green", Color::Green), ("yellow", Color::Yellow),
    ("blue", Color::Blue), ("magenta", Color::Magenta), ("cyan", Color::Cyan), ("gray", Color::Gray),
    ("dark-gray", Color::DarkGray), ("light-red", Color::LightRed), ("light-green", Color::LightGreen),
    ("light-yellow", Color::LightYellow), ("light-blue", Color::LightBlue),
    ("light-magenta", Color::LightMagenta), ("light-cyan", Color::LightCyan), ("white", Color::White),
];

/// The colour of a word: a name, `#rrggbb`, or a number of 256.
pub fn color_of(word: &str) -> Option<Color> {
    if let Some(hex) = word.strip_prefix('#') {
        let part = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
        let is_hex = hex.len() == 6 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        return is_hex.then(|| Some(Color::Rgb(part(0)?, part(2)?, part(4)?)))?;
    }
    let named = NAMES.iter().find(|(name, _)| *name == word).map(|(_, colour)| *colour);
    let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
    named.or_else(|| word.parse().ok().filter(|_| is_number).map(Color::Indexed))
}

/// The word of a colour.
pub fn color_word(colour: Color) -> String {
    match colour {
        Color::Rgb(red, green, blue) => format!("#{red:02x}{green:02x}{blue:02x}"),
        Color::Indexed(number) => number.to_string(),
        named => NAMES.iter().find(|(_, known)| *known == named).map_or("", |(name, _)| name).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_color_leaves_no_colour() {
        let theme = Theme::from_environment(Some("1".as_ref()));
        assert_eq!(theme, Theme::PLAIN);
        assert_eq!(Theme::from_environment(Some("".as_ref())), Theme::COLOUR);
        for meaning in ROLES.iter().flat_map(|row| row.meanings).chain(&[Meaning::Curve(7)]) {
            assert!(matches!(theme.style(*meaning).fg, None | Some(Color::Reset)), "{meaning:?}");
            assert_eq!(theme.style(*meaning).bg, None);
        }
    }

    #[test]
    fn the_background_chooses_where_the_terminal_names_it() {
        let palette = |set: &[(&str, &str)]| {
            let find = |name: &str| set.iter().find(|(key, _)| *key == name).map(|(_, v)| (*v).to_owned());
            Palette::of_terminal(&find)
        };
        let many = ("TERM", "xterm-256color");
        assert_eq!(palette(&[many]), Palette::Sixteen);
        assert_eq!(palette(&[many, ("COLORFGBG", "0;15")]), Palette::Light);
        assert_eq!(palette(&[many, ("COLORFGBG", "15;default;0")]), Palette::Dark);
        assert_eq!(palette(&[("TERM", "rxvt"), ("COLORFGBG", "0;15")]), Palette::Sixteen, "16 colours");
        let asks = |set: &[(&str, &str)]| {
            let find = |name: &str| set.iter().find(|(key, _)| *key == name).map(|(_, v)| (*v).to_owned());
            Palette::asks_terminal(&find)
        };
        assert!(asks(&[many]));
        for known in [("COLORFGBG", "0;15"), ("NO_COLOR", "1"), ("TERM", "linux")] {
            assert!(!asks(&[known, many]), "{known:?}");
        }
        for term in ["screen", "vt220"] {
            assert!(!asks(&[("TERM", term)]), "{term}: no light variant");
        }
        for term in ["vt100", "vt102-w", "vt220-8bit", "vt420", "xterm-mono", "ansi-m"] {
            assert_eq!(palette(&[("TERM", term)]), Palette::Plain, "{term} has no colours");
        }
        assert_eq!(palette(&[("TERM", "vt525")]), Palette::Sixteen);
        assert_eq!(palette(&[("TERM", "linux")]), Palette::Console);
        assert_eq!(palette(&[("TERM", "linux"), ("NO_COLOR", "1")]), Palette::Plain);
        assert_eq!(palette(&[many, ("COLORFGBG", "0;15"), ("NO_COLOR", "1")]), Palette::Plain);
    }

    #[test]
    fn a_role_of_ones_own_is_painted_and_an_unknown_one_refused() {
        let mut theme = Theme::new(Palette::Dark);
        assert!(theme.paint("warning", Color::Rgb(255, 128, 0)));
        assert_eq!(theme.style(Meaning::Warning).fg, Some(Color::Rgb(255, 128, 0)));
        assert!(!theme.paint("warming", Color::Red));
        theme.paint_curves(&[Color::Indexed(1)]);
        assert_eq!(theme.style(Meaning::Curve(0)).fg, Some(Color::Indexed(1)));
    }

    #[test]
    fn colours_are_words_and_back() {
        for word in ["red", "light-green", "#ff8000", "245", "0"] {
            assert_eq!(color_of(word).map(color_word).as_deref(), Some(word));
        }
        for wrong in ["rad", "#ff80", "#ff800é", "256", "-1", "+1", "", "#"] {
            assert_eq!(color_of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn high_contrast_has_a_ground_of_its_own_and_nothing_dim() {
        let theme = Theme::new(Palette::HighContrast);
        let mut buffer = Buffer::empty(ratatui::layout::Rect::new(0, 0, 2, 1));
        theme.finish(&mut buffer);
        assert_eq!((buffer.content[0].fg, buffer.content[0].bg), (Color::White, Color::Black));
        for row in ROLES {
            assert!(!row.modifier(Palette::HighContrast).contains(Modifier::DIM), "{}", row.name);
        }
    }
}
