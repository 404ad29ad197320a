//! [`KEYS`]: one row per key of the configuration file.

use std::fmt::Write as _;

use ratatui::style::Color;

use super::{
    AUTO, Config, Names,
    reader::{Item, Reader, Wrong, rounded, text_of},
};
use crate::{
    model::{
        EngineKind, Workload,
        options::{OPTIONS, WorkloadOption},
    },
    text::{alike, is_harmless},
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
    ConfigKey { name: "units", help: "Unit of rates, and of the sizes of drives and files.", values: "GB/s (powers of ten), GiB/s (powers of two)", read: units, print: |config| plain("units", config.units.giga_per_second()) },
    ConfigKey { name: "columns", help: "Columns of the tree in their order.", values: "names; +NAME is always shown, -NAME never, the others by width; [] is the choice made on the screen", read: columns, print: |config| format!("columns = [{}]\n", config.columns.iter().flat_map(|line| line.split_whitespace()).map(quoted).collect::<Vec<_>>().join(", ")) },
    ConfigKey { name: "sort", help: "Order of the rows of Machine: the tree, or one list of drives and devices.", values: "bus, load, name, a column's name (largest first), or - and the name (smallest first)", read: sort, print: |config| plain("sort", config.sort.as_deref().unwrap_or("bus")) },
    ConfigKey { name: "interval", help: "Seconds between two looks at the counters.", values: "0.2 to 3", read: interval, print: |config| format!("interval = {}\n", config.interval.as_secs_f64()) },
    ConfigKey { name: "[workload]", help: "The workload in the form of the Dyno screen at the start.", values: "options of `iodyno bench`, such as bs, iodepth, numjobs, rw, runtime", read: workload, print: |config| format!("[workload]\n{}", options(&config.workload)) },
    ConfigKey { name: "[profiles.NAME]", help: "Workloads with names: P on the Dyno screen, or the name after :, puts one into the form.", values: "the same options", read: profiles, print: |config| tables("profiles", config.profiles.iter().map(|(name, work)| (name, profile(work)))) },
    ConfigKey { name: "[keys]", help: "Keys of commands, instead of their usual ones.", values: "COMMAND = \"KEY\" or [\"KEY\", ..], [] leaves it to the palette (not for quit, back and palette); `iodyno config --defaults` lists all commands, keys as in `iodyno render --keys`; a key that is another command's only one needs that command here too", read: keys, print: print_keys },
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

/// The options of a profile: it is known by its pattern, block size, depth and jobs, which are named as defaults too.
fn profile(work: &Workload) -> String {
    const NAMED: [&str; 4] = ["rw", "bs", "iodepth", "numjobs"];
    let usual = Workload::default();
    let named = OPTIONS
        .iter()
        .filter(|option| NAMED.contains(&option.name) || option.text(work) != option.text(&usual));
    named.map(|option| plain(option.name, &option.text(work))).collect()
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
    if item.is_table() {
        // A theme under the name of the key that chooses one.
        let members = item.members("")?;
        let named = members.iter().find(|member| member.is_table());
        let name = named.map_or("NAME", |member| member.own_name());
        return Err(item.wrong("not a text", format!("[themes.{name}]")));
    }
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
    const EXAMPLE: &str = "[\"link\", \"+temp\"]";
    let items = item.items(EXAMPLE)?;
    let words: Vec<&str> = items.iter().map(|item| item.text(EXAMPLE)).collect::<Result<_, Wrong>>()?;
    let bare = |word: &'_ str| word.strip_prefix(['+', '-']).unwrap_or(word).to_owned();
    let mut kept: Vec<&str> = Vec::new();
    for (item, word) in items.iter().zip(words) {
        let (name, known) = (bare(word), &reader.names.columns);
        let taken = if !known.contains(&&*name) {
            Err(item.wrong(format!("no column {name:?}"), known.join(", ")))
        } else if let Some(first) = kept.iter().find(|kept| bare(kept) == name) {
            Err(item.wrong(format!("{word:?} is the column of {first:?} again"), "each column once"))
        } else {
            Ok(word)
        };
        kept.extend(reader.keep(taken));
    }
    config.columns = (!kept.is_empty()).then(|| kept.join(" "));
    Ok(())
}

fn sort(config: &mut Config, item: &Item<'_>, reader: &mut Reader<'_>) -> Result<(), Wrong> {
    let word = item.text("\"bus\"")?;
    let column = word.strip_prefix('-').unwrap_or(word);
    let (names, others) = (reader.names, ["bus", "load", "name"]);
    if !others.contains(&word) && !names.columns.contains(&column) {
        return Err(if others.contains(&column) {
            let reversed = names.columns.first().map_or_else(String::new, |name| format!(" or \"-{name}\""));
            item.wrong(format!("{column} has no reverse order"), format!("\"{column}\"{reversed}"))
        } else {
            let known = format!("{}, {}", others.join(", "), names.columns.join(", "));
            item.wrong(format!("no column {column:?}"), known)
        });
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
    // `[profiles]` with an option in it lacks its name.
    let header = if named(item.own_name()).is_some() { "[profiles.NAME]".to_owned() } else { item.header() };
    let mut given = Vec::new();
    for value in item.members(&header)? {
        let taken = option(&value, &given);
        given.extend(reader.keep(taken).map(|option| (option, value)));
    }
    let without = |left_out: Option<&Item<'_>>| {
        let mut work = Workload::default();
        for (option, value) in &given {
            if left_out.is_none_or(|left_out| left_out.own_name() != value.own_name()) {
                option
                    .take(&mut work, &scalar(value, option)?)
                    .map_err(|why| value.said(&why.to_string()))?;
            }
        }
        Ok(work)
    };
    let mut work = without(None)?;
    for option in OPTIONS {
        let Err(why) = option.check(&work) else { continue };
        let is_own = |(given, _): &&(&WorkloadOption, Item<'_>)| given.name == option.name;
        let cures =
            |(_, value): &&(_, Item<'_>)| without(Some(value)).is_ok_and(|work| option.check(&work).is_ok());
        let at = given.iter().find(is_own).or_else(|| given.iter().rev().find(cures));
        let line = format!("{}; {}", why.wrong, in_file(&why.fix));
        return Err(at.map_or(item, |(_, value)| value).said(&line));
    }
    let is_ring = matches!(work.engine, EngineKind::IoUring | EngineKind::IoUringCmd);
    let polls = given.iter().find(|(option, _)| option.name == "hipri").filter(|_| work.hipri && !is_ring);
    if let Some((_, value)) = polls {
        let problem = format!("{} cannot poll for completions", work.engine.name());
        reader.keep::<()>(Err(value.wrong(problem, "ioengine = \"io_uring\", or leave hipri out")));
        (work.hipri, work.hybrid_poll) = (false, false);
    }
    Ok(work)
}

/// The option of that name or alias.
fn named(name: &str) -> Option<&'static WorkloadOption> {
    OPTIONS.iter().find(|option| option.name == name || option.aliases.contains(&name))
}

/// The option of a value that it takes; one of those before is not given again by its other name.
fn option(
    value: &Item<'_>,
    before: &[(&'static WorkloadOption, Item<'_>)],
) -> Result<&'static WorkloadOption, Wrong> {
    let Some(option) = named(value.own_name()) else {
        let known: Vec<&str> =
            OPTIONS.iter().filter(|option| option.form.is_some()).map(|option| option.name).collect();
        return Err(value.wrong("no such option", known.join(", ")));
    };
    if let Some((_, first)) = before.iter().find(|(known, _)| known.name == option.name) {
        return Err(value.wrong(format!("{} has another value above", first.own_name()), "one of both names"));
    }
    let taken = option.take(&mut Workload::default(), &scalar(value, option)?);
    taken.map(|()| option).map_err(|why| value.said(&why.to_string()))
}

/// The text or number of an option.
fn scalar(value: &Item<'_>, option: &WorkloadOption) -> Result<String, Wrong> {
    value.scalar().ok_or_else(|| value.said(&format!("not a text and not a number; {}", option.values())))
}

/// A fix for the command line as one for the file: `--direct 1` is `direct = 1`.
fn in_file(fix: &str) -> String {
    let mut words = fix.split(' ').peekable();
    let mut out = Vec::new();
    while let Some(word) = words.next() {
        let option = word.strip_prefix("--").and_then(named);
        let reads =
            |option: &WorkloadOption, value: &str| option.set(&mut Workload::default(), value).is_ok();
        let bare = |value: &&str| value.trim_end_matches(',').to_owned();
        let value = option.and_then(|option| words.next_if(|value| reads(option, &bare(value))));
        out.push(match (option, value) {
            (Some(option), Some(value)) => {
                let (value, end) = (bare(&value), &value[bare(&value).len()..]);
                let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
                format!("{} = {}{end}", option.name, if is_number { value } else { quoted(&value) })
            }
            (Some(option), None) => option.name.to_owned(),
            (None, _) => word.to_owned(),
        });
    }
    out.join(" ")
}

fn keys(config: &mut Config, item: &Item<'_>, reader: &mut Reader<'_>) -> Result<(), Wrong> {
    let members = item.members("[keys]")?;
    for value in &members {
        let keys = keys_of(config, value, reader.names);
        config.keys.extend(reader.keep(keys).map(|keys| (command_of(value, reader.names).to_owned(), keys)));
    }
    // A command whose keys are left out has its usual ones again, which another one may take from it.
    let names = reader.names;
    let robber = |config: &Config| {
        let mut bound = members
            .iter()
            .filter(|value| config.keys.iter().any(|(name, _)| name == command_of(value, names)));
        bound.find_map(|value| Some((value, robbed(config, names, command_of(value, names))?)))
    };
    while let Some((value, (key, loser))) = robber(config) {
        let fix = format!("another key, or bind {loser} too");
        reader.keep::<()>(Err(value.wrong(format!("{key} is the key of {loser}"), fix)));
        config.keys.retain(|(name, _)| name != command_of(value, names));
    }
    Ok(())
}

/// The command that a member of `[keys]` names, whose words it may join: `whatif`.
fn command_of<'a>(value: &'a Item<'_>, names: &'a Names) -> &'a str {
    let name = value.own_name();
    let is_joined = |command: &&&str| command.replace('-', "") == name;
    names
        .commands
        .iter()
        .find(is_joined)
        .filter(|_| !names.commands.contains(&name))
        .map_or(name, |name| name)
}

/// Commands that need a key: what has none is found in the palette, and this is how to get there, and out.
const KEYED: [&str; 3] = ["quit", "back", "palette"];

/// The keys that a command gets.
fn keys_of(config: &Config, value: &Item<'_>, names: &Names) -> Result<Vec<Key>, Wrong> {
    let name = command_of(value, names);
    if !names.commands.contains(&name) {
        let near = alike::nearest(name, &names.commands).join(", ");
        let fix = format!("{near} or another one that `iodyno config --defaults` lists");
        return Err(value.wrong("no such command", fix));
    }
    let mut own = Vec::new();
    let is_free = |key: &Key| {
        let usual = names.keys.iter().any(|row| row.command != name && row.keys.contains(key));
        !usual && config.keys.iter().all(|(_, keys)| !keys.contains(key))
    };
    let examples = free_keys(is_free);
    for value in value.items(&examples)? {
        let key = key_of(&value, value.text(&examples)?, &examples, is_free)?;
        // A command of one screen may share its key with one of another; of the same name there is none.
        if let Some((other, _)) = config.keys.iter().find(|(_, keys)| keys.contains(&key)) {
            return Err(value.wrong(format!("{key} means {other} too"), "another key"));
        }
        own.push(key);
    }
    if own.is_empty() && KEYED.contains(&name) {
        let usual = names.keys.iter().find(|row| row.command == name).and_then(|row| row.keys.first());
        let usual = usual.filter(|key| is_free(key)).map(|key| quoted(&key.notation()));
        return Err(value.wrong("needs a key", usual.unwrap_or(examples)));
    }
    Ok(own)
}

/// Examples of keys that no command has.
fn free_keys(is_free: impl Fn(&Key) -> bool) -> String {
    let examples = [Key::Char('p'), Key::Ctrl('p'), Key::Function(5), Key::Enter];
    let functions = (6..=12).map(Key::Function);
    let free = examples.into_iter().chain(functions).filter(is_free).take(4);
    let mut free: Vec<String> = free.map(|key| quoted(&key.notation())).collect();
    let last = free.pop().unwrap_or_else(|| "another key".to_owned());
    if free.is_empty() { last } else { format!("{} or {last}", free.join(", ")) }
}

/// A key that a terminal sends and a person can press.
fn key_of(
    value: &Item<'_>,
    word: &str,
    examples: &str,
    is_free: impl Fn(&Key) -> bool,
) -> Result<Key, Wrong> {
    let parsed = crate::ui::key::parse_one(word).map_err(|bad| {
        let lt = if word == "<" && is_free(&Key::Char('<')) { ", \"<lt>\" for <" } else { "" };
        value.wrong(format!("{} is no key", bad.name()), format!("letters, {examples}{lt}"))
    })?;
    let key = parsed.ok_or_else(|| {
        // `Space` and `F5` are written in brackets.
        let bracketed = crate::ui::key::parse_one(&format!("<{word}>")).ok().flatten().filter(&is_free);
        let fix = bracketed.map_or_else(|| examples.to_owned(), |key| quoted(&key.notation()));
        value.wrong(format!("{word:?} is not one key"), fix)
    })?;
    // The control characters of both (ASCII).
    let sent = match key {
        Key::Ctrl('c') => return Err(value.wrong("Ctrl-C always quits", examples)),
        Key::Ctrl('i') => Key::Tab,
        Key::Ctrl('m') => Key::Enter,
        Key::Char(c) if !is_harmless(c) => {
            let problem = format!("U+{:04X} is a control or invisible character", u32::from(c));
            return Err(value.wrong(problem, examples));
        }
        _ => return Ok(key),
    };
    let fix =
        if is_free(&sent) { format!("{} or another key", sent.notation()) } else { examples.to_owned() };
    Err(value.wrong(format!("terminals send {sent} for {key}"), fix))
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
    let text = item.scalar();
    text.as_deref().and_then(crate::ui::theme::color_of).ok_or_else(|| {
        let text = text.map_or_else(|| "a list or table".to_owned(), |text| text_of(&text, item.is_text()));
        item.wrong(
            format!("{text} is no colour"),
            "a name such as red or light-red, \"#ff8000\", or 0 to 255",
        )
    })
}
