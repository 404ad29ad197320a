//! `ARCHITECTURE.md`, enforced: its tables are read, and the code is held against them.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not there")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// A source file as the rules see it: without comments and without its tests.
struct Source {
    /// Path below `src`: `engine/ring.rs`.
    path: String,
    code: String,
    whole: String,
}

impl Source {
    /// The top-level module it belongs to.
    fn module(&self) -> &str {
        self.path.split('/').next().unwrap_or_default().trim_end_matches(".rs")
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources() -> Vec<Source> {
    let mut folders = vec![root().join("src")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(source(&path));
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(found.len() > 40, "the sources are found");
    found
}

fn source(path: &Path) -> Source {
    let whole = fs::read_to_string(path).unwrap();
    let path = path.strip_prefix(root().join("src")).unwrap().to_str().unwrap();
    // A folder's head, whether it is in the folder or beside it.
    let path = path.replace("/mod.rs", ".rs");
    let is_test = path.ends_with("/tests.rs");
    let code = if is_test { String::new() } else { without_tests_and_comments(&whole) };
    Source { path, code, whole }
}

/// Tests stand at the end of their file, behind `#[cfg(test)]`; a comment is the rest of a line behind `//`.
fn without_tests_and_comments(whole: &str) -> String {
    let code = whole.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The rows of the table whose first heading is `heading`, cells without their code marks.
fn table(heading: &str) -> Vec<Vec<String>> {
    let document = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let cells = |line: &str| -> Vec<String> {
        line.trim().trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let rows: Vec<_> = document
        .lines()
        .skip_while(|line| !(line.starts_with('|') && cells(line)[0] == heading))
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(cells)
        .collect();
    assert!(!rows.is_empty(), "ARCHITECTURE.md has a table of {heading:?}");
    rows
}

/// The words in code marks of a cell.
fn marked(cell: &str) -> BTreeSet<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn one(cell: &str) -> String {
    marked(cell).into_iter().next().unwrap_or_default()
}

/// The top-level modules that code names: `crate::model::...`, and each branch of `crate::{model::..., text}`.
fn imports(code: &str) -> BTreeSet<String> {
    let word =
        |text: &str| -> String { text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect() };
    let mut found = BTreeSet::new();
    for after in code.split("crate::").skip(1) {
        let Some(group) = after.strip_prefix('{') else {
            found.insert(word(after));
            continue;
        };
        let mut depth = 0;
        let mut at_start = true;
        for (at, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => at_start = true,
                c if at_start && c.is_alphabetic() => {
                    found.insert(word(&group[at..]));
                    at_start = false;
                }
                _ => {}
            }
        }
    }
    found
}

#[test]
fn modules_import_only_what_the_table_allows() {
    let allowed: BTreeMap<String, BTreeSet<String>> =
        table("module").iter().map(|row| (one(&row[0]), marked(&row[2]))).collect();
    let library = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let declared: BTreeSet<String> = library
        .lines()
        .filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';').map(str::to_owned))
        .collect();
    assert_eq!(declared, allowed.keys().cloned().collect(), "the table has the modules of lib.rs");
    let mut broken = Vec::new();
    for source in sources() {
        let module = source.module();
        let Some(allowed) = allowed.get(module) else { continue };
        for import in imports(&source.code) {
            if import != module && declared.contains(&import) && !allowed.contains(&import) {
                broken.push(format!("src/{}: `{module}` may not import `{import}`", source.path));
            }
        }
    }
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}

#[test]
fn the_table_of_imports_has_no_circles() {
    let mut left: BTreeMap<String, BTreeSet<String>> =
        table("module").iter().map(|row| (one(&row[0]), marked(&row[2]))).collect();
    while let Some(free) = left.iter().find(|(_, imports)| imports.is_empty()).map(|(name, _)| name.clone()) {
        left.remove(&free);
        for imports in left.values_mut() {
            imports.remove(&free);
        }
    }
    assert!(left.is_empty(), "these import each other: {left:?}");
}

/// Every path that code names from `crate` or `super` on, braces expanded: `crate::model::Reading`.
fn paths(code: &str) -> Vec<String> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    let starts = ["crate::", "super::", "self::"];
    let mut at = 0;
    while let Some(offset) = starts.iter().filter_map(|word| code[at..].find(word)).min() {
        let start = at + offset;
        let is_inside = code[..start].ends_with(|c: char| is_name(c) || c == ':' || c == '$');
        let length = expand(&code[start..], "", &mut found);
        at = start + length.max(1);
        if is_inside {
            found.pop();
        }
    }
    found
}

/// Reads one path or a group of them; gives back how far it went.
fn expand(text: &str, before: &str, found: &mut Vec<String>) -> usize {
    let name = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let path =
        if before.is_empty() { text[..name].to_owned() } else { format!("{before}::{}", &text[..name]) };
    let Some(rest) = text[name..].strip_prefix("::") else {
        found.push(path);
        return name;
    };
    if !rest.starts_with('{') {
        return name + 2 + expand(rest, &path, found);
    }
    let mut at = 1;
    loop {
        at += rest[at..].find(|c: char| !c.is_whitespace() && c != ',').unwrap_or(rest.len() - at);
        if at >= rest.len() || rest[at..].starts_with('}') {
            return name + 3 + at;
        }
        at += expand(&rest[at..], &path, found).max(1);
    }
}

/// Files that import each other, directly or around several corners. A file and those of its own folder are one thing.
fn circles(imports: &BTreeMap<String, BTreeSet<String>>) -> Vec<BTreeSet<String>> {
    let reached = |from: &String| {
        let mut seen = BTreeSet::new();
        let mut next = vec![from];
        while let Some(file) = next.pop() {
            next.extend(imports.get(file).into_iter().flatten().filter(|file| seen.insert((*file).clone())));
        }
        seen
    };
    let reach: BTreeMap<&String, BTreeSet<String>> =
        imports.keys().map(|file| (file, reached(file))).collect();
    let mut found: Vec<BTreeSet<String>> = Vec::new();
    for (file, all) in &reach {
        let mutual = all.iter().filter(|other| reach.get(other).is_some_and(|back| back.contains(*file)));
        let circle: BTreeSet<String> = mutual.cloned().collect();
        if circle.len() > 1 && !found.contains(&circle) {
            found.push(circle);
        }
    }
    found
}

/// The file of the innermost module that a path names, `a/b.rs` for `crate::a::b::Item`.
fn file_of(path: &str, module: &[&str], files: &BTreeSet<String>) -> Option<String> {
    let mut at: Vec<&str> = module.to_vec();
    let mut names = path.split("::").peekable();
    match names.next()? {
        "crate" => at.clear(),
        "super" => drop(at.pop()),
        _ => {}
    }
    while names.next_if_eq(&"super").is_some() {
        at.pop();
    }
    for name in names {
        at.push(name);
        if !files.contains(&format!("{}.rs", at.join("/"))) {
            at.pop();
            break;
        }
    }
    (!at.is_empty()).then(|| format!("{}.rs", at.join("/")))
}

#[test]
fn no_files_import_each_other() {
    let sources = sources();
    let files: BTreeSet<String> = sources.iter().map(|source| source.path.clone()).collect();
    let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for source in &sources {
        let stem = source.path.trim_end_matches(".rs");
        let module: Vec<&str> = stem.split('/').collect();
        let all =
            paths(&source.code).iter().filter_map(|path| file_of(path, &module, &files)).collect::<Vec<_>>();
        let kin = |other: &str| {
            let other = other.trim_end_matches(".rs");
            other == stem || other.starts_with(&format!("{stem}/")) || stem.starts_with(&format!("{other}/"))
        };
        imports.insert(source.path.clone(), all.into_iter().filter(|other| !kin(other)).collect());
    }
    assert!(imports.values().map(BTreeSet::len).sum::<usize>() > 500, "imports are found");
    assert_eq!(circles(&imports), [] as [BTreeSet<String>; 0], "files that import each other");
}

#[test]
fn a_screen_names_neither_the_app_nor_another_screen() {
    let of = |path: &str| -> Option<String> {
        let name = path.strip_prefix("screens/")?.split(['/', '.']).next()?;
        (name != "widgets").then(|| name.to_owned())
    };
    let sources = sources();
    let screens: BTreeSet<String> = sources.iter().filter_map(|source| of(&source.path)).collect();
    assert!(screens.len() > 2, "screens are found");
    let files: BTreeSet<String> = sources.iter().map(|source| source.path.clone()).collect();
    let mut broken = Vec::new();
    for source in &sources {
        let Some(own) = of(&source.path) else { continue };
        let module: Vec<&str> = source.path.trim_end_matches(".rs").split('/').collect();
        for path in paths(&source.code) {
            let file = file_of(&path, &module, &files).unwrap_or_default();
            let is_other = of(&file).is_some_and(|other| other != own);
            if is_other || file.starts_with("app/") || file == "app.rs" {
                broken.push(format!("src/{}: {path}", source.path));
            }
        }
    }
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}

#[test]
fn circles_are_found() {
    let code = "use crate::{a::{B, c::D}, e};\nuse super::f;\nfn g() { crate::h::i() }";
    assert_eq!(paths(code), ["crate::a::B", "crate::a::c::D", "crate::e", "super::f", "crate::h::i"]);
    let files = ["a.rs", "a/c.rs", "a/f.rs"].map(str::to_owned).into();
    assert_eq!(file_of("crate::a::c::D", &[], &files).unwrap(), "a/c.rs");
    assert_eq!(file_of("super::f", &["a", "c"], &files).unwrap(), "a/f.rs");
    assert_eq!(file_of("crate::a::B", &["a", "c"], &files).unwrap(), "a.rs");
    let imports = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(from, to)| ((*from).to_owned(), BTreeSet::from([(*to).to_owned()]))).collect()
    };
    assert!(circles(&imports(&[("a", "b"), ("b", "c")])).is_empty());
    assert_eq!(circles(&imports(&[("a", "b"), ("b", "c"), ("c", "a")])).len(), 1);
}

#[test]
fn words_with_a_home_stand_nowhere_else() {
    let mut broken = Vec::new();
    let sources = sources();
    for row in table("word") {
        let (word, homes) = (one(&row[0]), marked(&row[1]));
        assert!(!row[2].is_empty(), "{word} has its reason");
        for source in sources.iter().filter(|source| source.code.contains(&word)) {
            if !homes.contains(&source.path) && !homes.contains(source.module()) {
                broken.push(format!("src/{}: `{word}`, which belongs in {homes:?}", source.path));
            }
        }
        for home in homes {
            let used = sources.iter().any(|source| {
                (source.path == home || source.module() == home) && source.code.contains(&word)
            });
            if !used {
                broken.push(format!("`{word}` has a home in {home} and does not stand there"));
            }
        }
    }
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}

#[test]
fn unsafe_code_is_where_the_table_says_and_argued() {
    let listed: BTreeSet<String> = table("file").iter().map(|row| one(&row[0])).collect();
    let mut found = BTreeSet::new();
    for source in sources() {
        let blocks =
            source.code.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| *word == "unsafe");
        if blocks.count() == 0 {
            continue;
        }
        assert!(source.whole.contains("SAFETY:"), "src/{} argues for its unsafe code", source.path);
        let lifted = source.whole.contains("unsafe_code, reason = ");
        assert!(lifted, "src/{} lifts the lint with a reason", source.path);
        found.insert(source.path);
    }
    assert_eq!(found, listed, "files with unsafe code, and those ARCHITECTURE.md lists");
}

#[test]
fn files_are_short_and_say_what_lives_in_them() {
    for source in sources() {
        let lines = source.whole.lines().count();
        assert!(lines <= 600, "src/{} has {lines} lines", source.path);
        let has_head = source.whole.starts_with("//! ") || source.path.ends_with("/tests.rs");
        assert!(has_head, "src/{} begins with what lives there", source.path);
    }
}

#[test]
fn every_dependency_has_its_reason_and_is_used() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let section = |name: &str| -> BTreeSet<String> {
        manifest
            .lines()
            .skip_while(|line| *line != format!("[{name}]"))
            .skip(1)
            .take_while(|line| !line.starts_with('['))
            .filter_map(|line| line.split([' ', '=', '.']).next())
            .filter(|name| !name.is_empty() && !name.starts_with('#'))
            .map(str::to_owned)
            .collect()
    };
    let (shipped, tests) = (section("dependencies"), section("dev-dependencies"));
    let needed: BTreeSet<String> = shipped.union(&tests).cloned().collect();
    let explained: BTreeSet<String> = table("crate").iter().map(|row| one(&row[0])).collect();
    assert_eq!(explained, needed, "ARCHITECTURE.md explains the dependencies of Cargo.toml");
    let code: String = sources().into_iter().map(|source| source.code).collect();
    for name in shipped {
        let path = format!("{}::", name.replace('-', "_"));
        assert!(code.contains(&path), "{name} is used");
    }
}

#[test]
fn the_rules_are_read_as_they_are_written() {
    let code =
        "use crate::{\n    model::{Reading, PciAddress},\n    text,\n};\nfn f() { crate::units::Bytes(0) }";
    let words: Vec<String> = imports(code).into_iter().collect();
    assert_eq!(words, ["model", "text", "units"]);
    let file = "a // b\nc\n#[cfg(test)]\nmod tests {\n    d\n}\n";
    assert_eq!(without_tests_and_comments(file), "a \nc");
}
