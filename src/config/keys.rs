//! [`KEYS`]: one row per key of the configuration file.

use std::fmt::Write as _;

use ratatui::style::Color;

use super::{
    AUTO, Config, Names,
    reader::{Item, Reader, Wrong, rounded, text_of},
};
use crate::{
    model::{Workload, options::OPTIONS},
    ui::{
        Key,
        glyphs::GlyphSet,
        theme::{Palette, Theme, color_word},
    },
    units::UnitSystem,
};

/// A key, or a table of keys.
pub struct ConfigKey {
    /// Its name; a table's in brackets.
    pub name: &'static str,
    /// What it sets, one line.
    pub help: &'static str,
    /// Its values, one line.
    pub values: &'static str,
    pub(super) read: fn(&mut Config, &Item<'_>, &mut Reader<'_>) -> Result<(), Wrong>,
    pub(super) print: fn(&Config) -> String,
}

/// Every key, in the order of `iodyno config`; plain keys come before tables, as TOML has it.
#[rustfmt::skip]
pub const KEYS: &[ConfigKey] = &[
    ConfigKey { name: "theme", help: "Colours.", values: "auto (chosen on the screen, else by TERM and background), 16, dark, light, console, high-contrast, plain, or the name of a table [themes.NAME]", read: theme, print: |config| plain("theme", config.theme.as_deref().unwrap_or(AUTO)) },
    ConfigKey { name: "glyphs", help: "Characters that curves, bars and boxes are drawn with.", values: "auto (by locale and TERM), braille, blocks, ascii", read: glyphs, print: |config| plain("glyphs", &config.glyphs.map_or_else(|| AUTO.to_owned(), |set| set.to_string())) },
    ConfigKey { name: "units", help: "Unit of rates.", values: "GB/s (powers of ten), GiB/s (powers of two)", read: units, print: |config| plain("units", config.units.giga_per_second()) },
    ConfigKey { name: "columns", help: "Columns of the tree in their order.", values: "names; +NAME is always shown, -NAME never, the others by width; [] is the choice made on the screen", read: columns, print: |config| format!("columns = [{}]\n", config.columns.iter().flat_map(|line| line.split_whitespace()).map(quoted).collect::<Vec<_>>().join(", ")) },
    ConfigKey { name: "sort", help: "Order of the rows of Machine: the tree, or one list of drives and devices.", values: "bus, load, name, a column's name (largest first), or - and the name (smallest first)", read: sort, print: |config| plain("sort", config.sort.as_deref().unwrap_or("bus")) },
    ConfigKey { name: "interval", help: "Seconds between two looks at the counters.", values: "0.2 to 3", read: interval, print: |config| format!("interval = {}\n", config.interval.as_secs_f64()) },
    ConfigKey { name: "[workload]", help: "The workload in the form of the Dyno screen at the start.", values: "options of `iodyno bench`, such as bs, iodepth, numjobs, rw, runtime", read: workload, print: |config| format!("[workload]\n{}", options(&config.workload)) },
    ConfigKey { name: "[profiles.NAME]", help: "Workloads with names, which P on the Dyno screen puts into the form.", values: "the same options", read: profiles, print: |config| tables("profiles", config.profiles.iter().map(|(name, work)| (name, options(work)))) },
    ConfigKey { name: "[keys]", help: "Keys of commands, instead of their usual ones.", values: "COMMAND = \"KEY\" or [\"KEY\", ..]; `iodyno config --defaults` lists all commands, keys as in `iodyno render --keys`; a key that is another command's only one needs that command here too", read: keys, print: print_keys },
    ConfigKey { name: "[themes.NAME]", help: "Themes of your own: base is a built-in theme, each colour replaces one of it.", values: "a name (red, light-red, dark-gray), \"#rrggbb\" or a number of 256; curves is a list", read: themes, print: |config| tables("themes", config.themes.iter().map(|(name, theme)| (name, painted(theme)))) },
];

/// The table for `docs/configuration.md`.
pub fn markdown() -> String {
    let mut text = String::from("| key | default | what it sets | values |\n|---|---|---|---|\n");
    let defaults = Config::default();
    for key in KEYS {
        let printed = (key.print)(&defaults);
        let default = printed.split_once(" = ").filter(|_| !key.name.starts_with('['));
        let default = default.map_or_else(String::new, |(_, value)| format!("`{}`", value.trim()));
        let _ = writeln!(text, "| `{}` | {default} | {} | {} |", key.name, key.help, key.values);
    }
    text
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let escaped = text.chars().map(|c| match c {
        '"' => "\\\"".to_owned(),
        '\\' => "\\\\".to_owned(),
        c if c.is_control() => format!("\\u{:04X}", u32::from(c)),
        c => c.to_string(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

fn plain(name: &str, value: &str) -> String {
    format!("{name} = {}\n", quoted(value))
}

fn tables<'a>(section: &str, rows: impl Iterator<Item = (&'a String, String)>) -> String {
    let name = |name: &str| {
        let is_bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
        if is_bare { name.to_owned() } else { quoted(name) }
    };
    let mut text = String::new();
    for (own, lines) in rows {
        let _ = write!(text, "[{section}.{}]\n{lines}", name(own));
    }
    if text.is_empty() { format!("# [{section}.NAME]\n") } else { text }
}

/// Options that differ from the default.
fn options(work: &Workload) -> String {
    let usual = Workload::default();
    let changed = OPTIONS.iter().filter(|option| option.text(work) != option.text(&usual));
    changed.map(|option| plain(option.name, &option.text(work))).collect()
}

fn print_keys(config: &Config) -> String {
    let mut text = "[keys]\n".to_owned();
    for (command, keys) in &config.keys {
        let keys: Vec<String> = keys.iter().map(|key| quoted(&key.notation())).collect();
        let _ = writeln!(text, "{} = [{}]", quoted(command), keys.join(", "));
    }
    text
}

fn painted(theme: &Theme) -> String {
    let mut text = plain("base", theme.palette.word());
    let (colours, curves) = theme.painted();
    for (role, colour) in colours {
        text.push_str(&plain(role, &color_word(colour)));
    }
    if !curves.is_empty() {
        let words: Vec<String> = curves.into_iter().map(|colour| quoted(&color_word(colour))).collect();
        let _ = writeln!(text, "curves = [{}]", words.join(", "));
    }
    text
}

fn theme(config: &mut Config, item: &Item<'_>, _: &mut Reader<'_>) -> Result<(), Wrong> {
    let name = item.text("\"dark\"")?;
    config.theme = (name != AUTO).then(|| name.to_owned());
    Ok(())
}

fn glyphs(config: &mut Config, item: &Item<'_>, _: &mut Reader<'_>) -> Result<(), Wrong> {
    let word = item.text("\"auto\"")?;
    config.glyphs = match GlyphSet::from_word(word) {
        None if word != AUTO => return Err(item.not_one_of("auto, braille, blocks or ascii")),
        set => set,
    };
    Ok(())
}

fn units(config: &mut Config, item: &Item<'_>, _: &mut Reader<'_>) -> Result<(), Wrong> {
    let word = item.text("\"GB/s\"")?;
    let all = [UnitSystem::Decimal, UnitSystem::Binary];
    let system = all.into_iter().find(|system| system.giga_per_second() == word);
    config.units = system.ok_or_else(|| item.not_one_of("\"GB/s\" or \"GiB/s\""))?;
    Ok(())
}

fn columns(config: &mut Config, item: &Item<'_>, reader: &mut Reader<'_>) -> Result<(), Wrong> {
    let mut words = item.texts("[\"link\", \"+temp\"]")?;
    words.retain(|word| {
        let name = word.strip_prefix(['+', '-']).unwrap_or(word);
        let known = &reader.names.columns;
        let known = known
            .contains(&name)
            .then_some(())
            .ok_or_else(|| item.wrong(format!("no column {name:?}"), known.join(", ")));
        reader.keep(known).is_some()
    });
    config.columns = (!words.is_empty()).then(|| words.join(" "));
    Ok(())
}

fn sort(config: &mut Config, item: &Item<'_>, reader: &mut Reader<'_>) -> Result<(), Wrong> {
    let word = item.text("\"bus\"")?;
    let column = word.strip_prefix('-').unwrap_or(word);
    let names = reader.names;
    if !["bus", "load", "name"].contains(&word) && !names.columns.contains(&column) {
        let known = format!("bus, load, name, {}", names.columns.join(", "));
        return Err(item.wrong(format!("no column {column:?}"), known));
    }
    config.sort = (word != "bus").then(|| word.to_owned());
    Ok(())
}

fn interval(config: &mut Config, item: &Item<'_>, _: &mut Reader<'_>) -> Result<(), Wrong> {
    let seconds = item.number("1")?;
    if !(0.2..=3.0).contains(&seconds) {
        return Err(item.wrong("out of range", "0.2 to 3 seconds"));
    }
    config.interval = std::time::Duration::from_millis(rounded(seconds * 1000.0));
    Ok(())
}

fn workload(config: &mut Config, item: &Item<'_>, reader: &mut Reader<'_>) -> Result<(), Wrong> {
    config.workload = work(item, reader)?;
    Ok(())
}

fn profiles(config: &mut Config, item: &Item<'_>, reader: &mut Reader<'_>) -> Result<(), Wrong> {
    for profile in item.members("[profiles.NAME]")? {
        let work = work(&profile, reader);
        config.profiles.extend(reader.keep(work).map(|work| (profile.own_name().to_owned(), work)));
    }
    Ok(())
}

/// The options of a table, on top of the defaults. Wrong ones are left out; options that contradict each other are no workload.
fn work(item: &Item<'_>, reader: &mut Reader<'_>) -> Result<Workload, Wrong> {
    let mut work = Workload::default();
    for value in item.members(&item.header())? {
        let taken = option(&mut work, &value);
        reader.keep(taken);
    }
    for option in OPTIONS {
        option.check(&work).map_err(|why| item.said(&format!("{}: {why}", option.name)))?;
    }
    Ok(work)
}

fn option(work: &mut Workload, value: &Item<'_>) -> Result<(), Wrong> {
    let name = value.own_name();
    let option = OPTIONS.iter().find(|option| option.name == name || option.aliases.contains(&name));
    let Some(option) = option else {
        let known: Vec<&str> =
            OPTIONS.iter().filter(|option| option.form.is_some()).map(|option| option.name).collect();
        return Err(value.wrong("no such option", known.join(", ")));
    };
    option.take(work, &value.scalar()?).map_err(|why| value.said(&why.to_string()))
}

fn keys(config: &mut Config, item: &Item<'_>, reader: &mut Reader<'_>) -> Result<(), Wrong> {
    let members = item.members("[keys]")?;
    for value in &members {
        let keys = keys_of(config, value, reader.names);
        config.keys.extend(reader.keep(keys).map(|keys| (value.own_name().to_owned(), keys)));
    }
    // A command whose keys are left out has its usual ones again, which another one may take from it.
    let names = reader.names;
    let robber = |config: &Config| {
        let mut bound =
            members.iter().filter(|value| config.keys.iter().any(|(name, _)| name == value.own_name()));
        bound.find_map(|value| Some((value, robbed(config, names, value.own_name())?)))
    };
    while let Some((value, (key, loser))) = robber(config) {
        let fix = format!("another key, or bind {loser} too");
        reader.keep::<()>(Err(value.wrong(format!("{key} is the key of {loser}"), fix)));
        config.keys.retain(|(name, _)| name != value.own_name());
    }
    Ok(())
}

/// The keys that a command gets.
fn keys_of(config: &Config, value: &Item<'_>, names: &Names) -> Result<Vec<Key>, Wrong> {
    let name = value.own_name();
    if !names.commands.contains(&name) {
        let near = nearest(name, &names.commands).join(", ");
        let fix = format!("{near} or another one that `iodyno config --defaults` lists");
        return Err(value.wrong("no such command", fix));
    }
    let mut own = Vec::new();
    for word in value.texts("\"p\" or [\"p\", \"<C-p>\"]")? {
        let parsed = crate::ui::key::parse_one(&word).map_err(|why| value.said(&why.to_string()))?;
        let key = parsed.ok_or_else(|| {
            value.wrong(format!("{word:?} is not one key"), "\"p\", \"<C-p>\", \"<F5>\" or \"<Enter>\"")
        })?;
        if key == Key::Ctrl('c') {
            return Err(value.wrong("Ctrl-C always quits", "another key"));
        }
        // A command of one screen may share its key with one of another; of the same name there is none.
        if let Some((other, _)) = config.keys.iter().find(|(_, keys)| keys.contains(&key)) {
            return Err(value.wrong(format!("{key} means {other} too"), "another key"));
        }
        own.push(key);
    }
    Ok(own)
}

/// A command that the keys of this one would leave without any, with its key.
fn robbed(config: &Config, names: &Names, command: &str) -> Option<(Key, &'static str)> {
    let keys = &config.keys.iter().find(|(name, _)| name == command)?.1;
    let on = names.keys.iter().find(|row| row.command == command).and_then(|row| row.screen);
    names.keys.iter().find_map(|other| {
        let is_bound = other.command == command || config.keys.iter().any(|(name, _)| name == other.command);
        let together = on.is_none() || other.screen.is_none() || on == other.screen;
        if is_bound || !together {
            return None;
        }
        let taken = other.keys.iter().find(|key| keys.contains(key))?;
        // A screen's own command hides one of every screen by its first key.
        let hides = on.is_some() && other.screen.is_none() && other.keys.first() == Some(taken);
        let is_last = other.keys.iter().all(|key| keys.contains(key));
        (hides || is_last).then_some((*taken, other.command))
    })
}

/// The three names that are most like a word.
pub(crate) fn nearest<'a>(word: &str, names: &[&'a str]) -> Vec<&'a str> {
    let mut names = names.to_vec();
    names.sort_by_key(|name| (!name.contains(word), strsim::levenshtein(word, name)));
    names.truncate(3);
    names
}

fn themes(config: &mut Config, item: &Item<'_>, reader: &mut Reader<'_>) -> Result<(), Wrong> {
    for table in item.members("[themes.NAME]")? {
        let Some(members) = reader.keep(table.members("[themes.NAME]")) else { continue };
        let base = members.iter().find(|member| member.own_name() == "base");
        let palette = base.and_then(|base| reader.keep(palette(base))).unwrap_or(Palette::Sixteen);
        let mut theme = Theme::new(palette);
        for member in members.iter().filter(|member| member.own_name() != "base") {
            let painted = paint(&mut theme, member);
            reader.keep(painted);
        }
        config.themes.push((table.own_name().to_owned(), theme));
    }
    Ok(())
}

fn palette(base: &Item<'_>) -> Result<Palette, Wrong> {
    let known = || base.not_one_of(&Palette::ALL.map(|(_, word, _)| word).join(", "));
    Palette::from_word(base.text("\"dark\"")?).ok_or_else(known)
}

/// Paints one colour of a theme, or its curves.
fn paint(theme: &mut Theme, member: &Item<'_>) -> Result<(), Wrong> {
    let role = member.own_name();
    if role == "curves" {
        let colours =
            member.items("[\"red\", 3]")?.iter().map(colour).collect::<Result<Vec<Color>, Wrong>>()?;
        theme.paint_curves(&colours);
        return Ok(());
    }
    if !theme.has_role(role) {
        let roles = crate::ui::theme::ROLES.iter().map(|row| row.name);
        let known = roles.collect::<Vec<_>>().join(", ");
        return Err(member.wrong("no such colour", format!("base, curves, {known}")));
    }
    theme.paint(role, colour(member)?);
    Ok(())
}

fn colour(item: &Item<'_>) -> Result<Color, Wrong> {
    let text = item.scalar()?;
    crate::ui::theme::color_of(&text).ok_or_else(|| {
        let text = text_of(&text, item.is_text());
        item.wrong(
            format!("{text} is no colour"),
            "a name such as red or light-red, \"#rrggbb\", or 0 to 255",
        )
    })
}
