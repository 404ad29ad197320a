//! What each column shows of the laptop's drives.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use ratatui::layout::{Position, Rect};

use super::{
    super::{Tree, choice::Choice},
    *,
};
use crate::{
    capacity,
    counters::{DiskRates, Rates},
    machine::{DriveKind, Machine},
    model::{DriveName, Reading, Severity},
    report::flatten::{self, Row, Sort},
    screens::Screen,
    source::{self, origin::Origin},
    ui::{Key, MachineRead, Mode, Shared},
};

/// The laptop: nvme0n1 has a downtrained link, nvme1n1 hangs on the chipset.
fn shared(change: impl Fn(&mut Machine)) -> Shared {
    let (mut machine, problems) = source::read_machine(&*Origin::Demo("laptop".to_owned()).open().unwrap());
    change(&mut machine);
    let limits = Arc::new(capacity::limits(&machine));
    let read = MachineRead { machine: Arc::new(machine), problems, limits };
    let mut shared = Shared::new(Mode::Live, read, (300, 100));
    shared.load.take_rates(&two_rates(), |_| true, Duration::from_secs(1));
    shared
}

/// What both drives do.
fn two_rates() -> Rates {
    let first = DiskRates {
        reads: 2000.0,
        read_bytes: 1.8e9,
        writes: 500.0,
        written_bytes: 0.36e9,
        read_await_ms: Some(0.25),
        write_await_ms: Some(12.5),
        utilisation: 87.0,
        queue_depth: 6.75,
        ..DiskRates::default()
    };
    let second =
        DiskRates { reads: 1000.0, read_bytes: 0.1e9, read_await_ms: Some(0.0), ..DiskRates::default() };
    let disks = [(DriveName::new("nvme0n1"), first), (DriveName::new("nvme1n1"), second)].into();
    Rates { disks, ..Rates::default() }
}

fn rows(shared: &Shared) -> Vec<Row> {
    let (toggled, value) = (BTreeSet::default(), |_: &Row| None);
    let machine = &shared.machine;
    let (everything, sort, height) = (true, Sort::Bus, 1000);
    flatten::Screen { machine, toggled: &toggled, everything, sort, value: &value, height, spacious: 0 }
        .rows()
}

fn of(shared: &Shared, name: &str, is_row: impl Fn(&Row) -> bool) -> (Cell, Option<f64>) {
    let rows = rows(shared);
    let row = rows.iter().find(|row| is_row(row)).unwrap();
    let figures = Figures::new(shared, row);
    let column = column(name).unwrap();
    ((column.cell)(&figures), (column.key)(&figures))
}

fn is_drive(name: &'static str) -> impl Fn(&Row) -> bool {
    move |row| row.drive().is_some_and(|drive| drive.as_str() == name)
}

fn figure(text: &str, meaning: Meaning) -> Cell {
    Cell::Figure(text.to_owned(), meaning)
}

#[test]
fn every_column_shows_what_the_counters_say() {
    let shared = shared(|machine| {
        for drive in &mut machine.drives {
            drive.queue.hardware_queues = Reading::known(
                "queues",
                crate::machine::queue::HardwareQueues { default: 1, read: 0, poll: 0 },
            );
        }
        for node in &mut machine.pci.nodes {
            node.slot = Some(crate::text::Label::new("M.2_1"));
            let total = (crate::text::Label::new("TOTAL_ERR_COR"), 7);
            node.aer_correctable = Reading::known("aer", [total].into());
        }
    });
    let quiet = |text: &str| figure(text, Meaning::Quiet);
    let shown = |text: &str| figure(text, Meaning::Text);
    let expected: Vec<(&str, Cell, Option<f64>)> = vec![
        ("link", Cell::Text(Some('▼'), "Gen3 x4 < Gen4 x4".to_owned(), Meaning::Warning), None),
        ("read", figure("1.80", Meaning::Figure), Some(1.8e9)),
        ("write", figure("0.36", Meaning::Figure), Some(0.36e9)),
        ("limit", figure("3.60", Meaning::Warning), None),
        ("load", Cell::Blank, None),
        ("potential", figure("7.14", Meaning::Warning), None),
        ("r/s", shown("2.00k"), Some(2000.0)),
        ("w/s", shown("500"), Some(500.0)),
        ("r_await", shown("0.25"), Some(0.25)),
        ("w_await", shown("12.5"), Some(12.5)),
        ("aqu-sz", shown("6.8"), Some(6.75)),
        ("rareq-sz", shown("879"), Some(900_000.0)),
        ("wareq-sz", shown("703"), Some(720_000.0)),
        ("%util", shown("87"), Some(87.0)),
        ("temp", Cell::Blank, None),
        ("AER", figure("14", Meaning::Warning), Some(14.0)),
        ("slot", Cell::Text(None, "M.2_1".to_owned(), Meaning::Quiet), None),
        ("minute", Cell::Minute, Some(2.16e9)),
    ];
    assert_eq!(
        expected.iter().map(|row| row.0).collect::<Vec<_>>(),
        COLUMNS.iter().map(|c| c.name).collect::<Vec<_>>()
    );
    for (name, cell, key) in expected {
        let (seen, sorted_by) = of(&shared, name, is_drive("nvme0n1"));
        if name == "AER" {
            let rows = rows(&shared);
            let row = rows.iter().find(|row| is_drive("nvme0n1")(row)).unwrap();
            let facts = super::super::facts::of_row(&shared, row);
            let said = &facts.iter().find(|fact| fact.label == "AER").unwrap().value;
            assert!(said.starts_with("14 correctable errors: 7 at device 0000:"), "{said}");
            assert!(said.contains(", 7 at port 0000:"), "both ends, as the column: {said}");
        }
        match name {
            "load" => {
                let Cell::Bars([read, write]) = seen else { panic!("{seen:?}") };
                assert!((read.0 - 0.5).abs() < 0.01 && (write.0 - 0.1).abs() < 0.01, "{read:?} {write:?}");
                assert_eq!((read.1, write.1), (Meaning::Load, Meaning::Writes));
                assert!((sorted_by.unwrap() - 0.6).abs() < 0.01);
            }
            "temp" => {
                let heat = shared.machine.drives[0].temperature.as_ref().unwrap().now.get().unwrap();
                assert_eq!((seen, sorted_by), (shown(&format!("{heat:.0} °C")), Some(heat)));
            }
            _ => assert_eq!(seen, cell, "{name}"),
        }
        if key.is_some() {
            assert_eq!(sorted_by, key, "{name}");
        }
    }
    let (root, _) = of(&shared, "read", |row| row.depth == 0 && !row.drives.is_empty());
    assert_eq!(root, figure("1.90", Meaning::Figure), "a root complex is the sum of its drives");
    assert_eq!(of(&shared, "w_await", is_drive("nvme1n1")).0, quiet("-"), "it wrote nothing");
    assert_eq!(of(&shared, "r_await", is_drive("nvme1n1")).0, shown("<1"), "as the facts beside it");
}

#[test]
fn no_wait_of_an_io_is_written_as_nothing() {
    let shown = [0.0, 0.001, 0.004, 0.005, 0.25, 9.99, 12.5, 150.0].map(mean_wait);
    assert_eq!(shown, ["<1", "<0.01", "<0.01", "0.01", "0.25", "9.99", "12.5", "150"]);
}

#[test]
fn utilisation_is_shown_of_single_queues_alone() {
    let queues = |default| {
        shared(move |machine| {
            for drive in &mut machine.drives {
                drive.queue.hardware_queues = Reading::known(
                    "queues",
                    crate::machine::queue::HardwareQueues { default, read: 0, poll: 0 },
                );
            }
        })
    };
    assert_eq!(of(&queues(1), "%util", is_drive("nvme0n1")).0, figure("87", Meaning::Text));
    assert_eq!(of(&queues(24), "%util", is_drive("nvme0n1")), (figure("-", Meaning::Quiet), None));
}

#[test]
fn an_idle_display_is_asleep_and_a_narrow_one_is_not() {
    let is_display = |shared: &Shared, row: &Row| {
        let node = row.node.map(|node| shared.machine.pci.node(node));
        row.drives.is_empty()
            && node.is_some_and(|node| node.class.get().is_some_and(|class| class >> 16 == 3))
    };
    let idle = shared(|_| {});
    let (cell, _) = of(&idle, "link", |row| is_display(&idle, row));
    assert_eq!(cell, Cell::Text(None, "Gen1 x16, idle".to_owned(), Meaning::Quiet));
    let narrow = shared(|machine| {
        for node in &mut machine.pci.nodes {
            let Some(link) = &mut node.link else { continue };
            if link.width.get() == Some(crate::units::Lanes(16)) {
                link.width = Reading::known(link.width.path(), crate::units::Lanes(8));
            }
        }
    });
    let (cell, _) = of(&narrow, "link", |row| is_display(&narrow, row));
    let Cell::Text(mark, text, Meaning::Warning) = cell else { panic!("{cell:?}") };
    assert_eq!((mark, text.as_str()), (Some(SLOW_MARK), "Gen1 x8 < x16, idle"));
}

#[test]
fn a_root_port_shows_the_limit_of_its_link() {
    let shared = shared(|_| {});
    let limit = |address: &str| {
        let node = shared.machine.pci.find(address.parse().unwrap());
        of(&shared, "limit", |row| row.node == node)
    };
    let chipset = figure("3.60", Meaning::Quiet);
    assert_eq!(limit("0000:00:01.2").0, chipset);
    assert_eq!(limit("0000:02:00.2").0, chipset, "the switch behind it");
}

fn tree(shared: &Shared, sort: Sort) -> Tree {
    let mut tree = Tree { sort, ..Tree::default() };
    refresh(&mut tree, shared);
    tree
}

fn refresh(tree: &mut Tree, shared: &Shared) {
    let area = Rect::new(0, 2, shared.size.0, shared.size.1 - 4);
    Screen::refresh(tree, shared, area);
}

#[test]
fn a_capture_is_in_bus_order_where_the_kept_order_goes_by_rates() {
    let mut shared = shared(|_| {});
    assert_eq!(tree(&shared, Sort::Column("read")).order(), Sort::Column("read"));
    shared.mode = Mode::Capture;
    for (kept, order) in [
        (Sort::Column("read"), Sort::Bus),
        (Sort::Load, Sort::Bus),
        (Sort::Reversed("temp"), Sort::Reversed("temp")),
        (Sort::Name, Sort::Name),
    ] {
        let tree = tree(&shared, kept);
        assert_eq!(tree.order(), order);
        let of_kept = tree.kept_line();
        assert_eq!(
            super::super::sort_of(of_kept.split("sort=").nth(1).unwrap()),
            kept,
            "it is kept for live starts"
        );
    }
    let mut tree = tree(&shared, Sort::Bus);
    tree.next_sort(&shared);
    assert_eq!(tree.sort, Sort::Name, "nothing is counted that it could be sorted by");
}

#[test]
fn a_column_that_an_order_needs_leaves_with_the_order() {
    let mut shared = shared(|_| {});
    // Names of the list, which have whole addresses, leave room for bars as those of the tree do.
    shared.size = (84, 24);
    let names = |tree: &Tree| -> Vec<&str> {
        tree.choice.shown(tree.room).iter().map(|column| column.name).collect()
    };
    let mut tree = tree(&shared, Sort::Bus);
    let before = names(&tree);
    assert!(!before.contains(&"temp"), "{before:?}");
    for leaves in [
        |tree: &mut Tree, shared: &Shared| _ = tree.next_sort(shared),
        |tree: &mut Tree, shared: &Shared| _ = tree.sort_by(shared, -1),
        |tree: &mut Tree, _: &Shared| tree.sort = Sort::Bus,
    ] {
        tree.by_temperature(&shared);
        refresh(&mut tree, &shared);
        assert_eq!(tree.sort, Sort::Column("temp"));
        assert!(names(&tree).contains(&"temp"), "{:?}", names(&tree));
        assert!(!tree.kept_line().contains("+temp"), "{}", tree.kept_line());
        leaves(&mut tree, &shared);
        refresh(&mut tree, &shared);
        assert_eq!(names(&tree), before);
    }
    // In the list a column of the order alone is taken out with the order.
    tree.by_temperature(&shared);
    refresh(&mut tree, &shared);
    tree.choose(&shared);
    tree.over_key(Key::Char('t'), None, &shared);
    tree.over_key(Key::Char(' '), None, &shared);
    refresh(&mut tree, &shared);
    assert_eq!((tree.sort, names(&tree)), (Sort::Bus, before));
}

#[test]
fn delete_in_the_list_restores_columns_and_order() {
    let shared = shared(|_| {});
    let mut tree = tree(&shared, Sort::Reversed("read"));
    tree.choose(&shared);
    tree.over_key(Key::Char(' '), None, &shared);
    assert_ne!(tree.choice, Choice::default());
    tree.over_key(Key::Delete, None, &shared);
    assert_eq!((&tree.choice, tree.sort), (&Choice::default(), Sort::Bus));
}

#[test]
fn the_width_from_which_the_list_says_a_column_is_shown_is_the_terminals() {
    let long = |machine: &mut Machine| {
        let name = crate::text::Label::new("a model of as many letters as fit");
        machine.drives[0].model = Reading::known("model", name);
    };
    let sizes = [(100, 50), (120, 40), (140, 30), (170, 60)];
    let both = [shared(|_| {}), shared(long)]
        .into_iter()
        .flat_map(|shared| sizes.map(|size| (shared.clone(), size)));
    for (mut shared, size) in both {
        shared.size = size;
        let mut open = tree(&shared, Sort::Bus);
        open.choose(&shared);
        let over = Screen::over(&open, &shared, size.0).unwrap();
        let lines =
            over.lines.iter().map(|line| line.iter().map(|(text, _)| text.as_str()).collect::<String>());
        let mut count = 0;
        for line in lines.filter(|line| line.contains("] ") && line.contains(" from width ")) {
            let words: Vec<&str> = line.split_whitespace().skip_while(|word| *word != "]").skip(1).collect();
            let (name, width) = (words[0], words[3].parse::<u16>().unwrap());
            let has = |shared: &Shared| {
                let tree = tree(shared, Sort::Bus);
                tree.choice.shown(tree.room).iter().any(|column| column.name == name)
            };
            shared.size.0 = width;
            assert!(has(&shared), "{size:?}: {line}");
            shared.size.0 = width - 1;
            assert!(!has(&shared), "{size:?}: {line}");
            shared.size.0 = size.0;
            count += 1;
        }
        assert!(count > 0 || size.0 >= 170, "{size:?}");
    }
}

#[test]
fn a_drive_that_is_not_counted_says_why() {
    let mut shared = shared(|machine| {
        let drive = machine.drives.iter_mut().find(|drive| drive.name.as_str() == "nvme1n1").unwrap();
        drive.queue.iostats = Reading::known("iostats", 0);
        let mut above = drive.clone();
        (above.name, above.kind, above.node) = (DriveName::new("loop0"), DriveKind::Loop, None);
        machine.drives.push(above);
    });
    let machine = Arc::clone(&shared.machine);
    let is_counted = |name: &DriveName| machine.drive(name).unwrap().is_counted();
    shared.load.take_rates(&two_rates(), is_counted, Duration::from_secs(2));
    for (width, whole) in [(80, "iostats 0"), (200, "not counted: iostats is 0")] {
        shared.size = (width, 100);
        let mut tree = Tree { everything: true, ..Tree::default() };
        refresh(&mut tree, &shared);
        let lines = drawn(&tree, &shared);
        // A limit leaves less room.
        for (name, reason) in [("nvme1n1", "iostats 0"), ("loop0", whole)] {
            let is_its = |line: &String| line.contains(name) && line.contains(reason);
            assert!(lines.iter().any(is_its), "{name}: {}", lines.join("\n"));
        }
        assert!(!lines.iter().any(|line| line.contains("nvme0n1") && line.contains("iostats 0")));
    }
    let rows = rows(&shared);
    let row = rows.iter().find(|row| is_drive("nvme1n1")(row)).unwrap();
    let facts = super::super::facts::of_row(&shared, row);
    assert!(facts.iter().any(|fact| fact.label == "rates" && fact.value == "not counted: iostats is 0"));
}

/// The laptop with loop devices; of those in `blind` nothing is counted, and the others read 49 MB/s each.
fn with_loops(count: usize, blind: &[&str]) -> Shared {
    let mut shared = shared(|machine| {
        for at in 0..count {
            let mut above = machine.drives[0].clone();
            above.name = DriveName::new(&format!("loop{at}"));
            (above.kind, above.node) = (DriveKind::Loop, None);
            machine.drives.push(above);
        }
        for drive in machine.drives.iter_mut().filter(|drive| blind.contains(&drive.name.as_str())) {
            drive.queue.iostats = Reading::known("iostats", 0);
        }
    });
    let mut rates = two_rates();
    let each = DiskRates { reads: 1000.0, read_bytes: 49e6, ..DiskRates::default() };
    rates.disks.extend((0..count).map(|at| (DriveName::new(&format!("loop{at}")), each)));
    let machine = Arc::clone(&shared.machine);
    let is_counted = |name: &DriveName| machine.drive(name).unwrap().is_counted();
    shared.load.take_rates(&rates, is_counted, Duration::from_secs(2));
    shared
}

#[test]
fn a_sum_that_lacks_a_drive_is_marked_and_a_row_without_any_says_why() {
    let is_group = |row: &Row| matches!(row.kind, RowKind::Group(_));
    let sums = |shared: &Shared| ["read", "write", "r/s"].map(|name| of(shared, name, is_group).0);
    let quiet = |text: &str| figure(text, Meaning::Quiet);
    let text = |text: &str| figure(text, Meaning::Text);
    let whole = with_loops(3, &[]);
    assert_eq!(sums(&whole), [figure("0.15", Meaning::Figure), quiet("0.00"), text("3.00k")]);
    let mut part = with_loops(3, &["loop0", "nvme1n1"]);
    assert_eq!(sums(&part), [figure(">98M", Meaning::Figure), quiet(">0.00"), text(">2.00k")]);
    let (root, _) = of(&part, "read", |row| row.depth == 0 && row.node.is_some() && !row.drives.is_empty());
    assert_eq!(root, figure(">1.80", Meaning::Figure), "the root complex too");
    assert_eq!(of(&part, "read", is_drive("nvme0n1")).0, figure("1.80", Meaning::Figure), "not a drive");
    for width in [80, 120, 200] {
        part.size = (width, 24);
        let lines = drawn(&tree(&part, Sort::Bus), &part);
        for (row, sum) in [("root complex, 2 drives", ">1.80"), ("software drives  ", ">98M")] {
            let is_its = |line: &String| line.contains(row) && line.contains(&format!(" {sum} "));
            assert!(lines.iter().any(is_its), "{width} {row}: {}", lines.join("\n"));
        }
        let of_port = |line: &String| {
            line.contains("▾ 01.2 AMD") && line.contains("Gen3 x4 ") && line.contains(" iostats 0 ")
        };
        assert!(lines.iter().any(of_port), "{width}: {}", lines.join("\n"));
    }
    let rows = rows(&part);
    let row = rows.iter().find(|row| row.depth == 0 && row.node.is_some() && !row.drives.is_empty()).unwrap();
    let facts = super::super::facts::of_row(&part, row);
    let of_label = |label| facts.iter().find(|fact| fact.label == label).map_or("", |fact| &*fact.value);
    assert_eq!(of_label("rates"), "without nvme1n1: iostats is 0");
    assert!(of_label("reads").starts_with(">1.80 GB/s, >2.00 k IOPS"), "{}", of_label("reads"));
    for (count, blind) in [(1, &["loop0"][..]), (3, &["loop0", "loop1", "loop2"])] {
        let mut none = with_loops(count, blind);
        assert_eq!(of(&none, "read", is_group).0, Cell::Blank);
        none.size = (80, 24);
        let lines = drawn(&tree(&none, Sort::Bus), &none);
        let is_its = |line: &String| line.contains("software drives") && line.contains("iostats 0");
        assert!(lines.iter().any(is_its), "{}", lines.join("\n"));
    }
}

#[test]
fn a_find_opens_every_fold_that_hides_its_match() {
    let mut shared = with_loops(12, &[]);
    shared.size = (80, 24);
    let found = |tree: &Tree| (tree.row().and_then(Row::drive).map(ToString::to_string), tree.matches);
    let find = |tree: &mut Tree, word: &str| {
        tree.find = Some(crate::ui::TextField::default());
        for letter in word.chars() {
            Screen::field_key(tree, Some(Key::Char(letter)), &shared);
            refresh(tree, &shared);
        }
    };
    for word in ["loop7", "loop11"] {
        let mut tree = tree(&shared, Sort::Bus);
        let has_row =
            |tree: &Tree| tree.rows.iter().any(|row| row.drive().is_some_and(|name| name.as_str() == word));
        assert!(!has_row(&tree), "it is folded at first");
        tree.find = Some(crate::ui::TextField::default());
        find(&mut tree, word);
        assert_eq!(found(&tree), (Some(word.to_owned()), (1, 1)));
    }
    // A root complex that was folded by hand.
    let mut tree = tree(&shared, Sort::Bus);
    tree.select(0);
    tree.left();
    refresh(&mut tree, &shared);
    assert_eq!(tree.rows[0].open, Some(false));
    find(&mut tree, "nvme1");
    assert_eq!(found(&tree), (Some("nvme1n1".to_owned()), (1, 1)));
}

/// The lines of the screen.
fn drawn(tree: &Tree, shared: &Shared) -> Vec<String> {
    let (width, height) = shared.size;
    let area = Rect::new(0, 2, width, height - 4);
    let mut buffer = ratatui::buffer::Buffer::empty(area);
    let mut brush = crate::screens::widgets::paint::Brush::new(
        &mut buffer,
        crate::ui::theme::Theme::PLAIN,
        shared.is_boxed(),
    );
    Screen::draw(tree, shared, area, &mut brush);
    let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect();
    (area.y..area.bottom()).map(line).collect()
}

#[test]
fn a_closed_row_has_the_worst_mark_of_what_it_hides() {
    let mut shared = shared(|_| {});
    let at = |address: &str| shared.machine.pci.find(address.parse().unwrap()).unwrap();
    let marked = [(at("0000:04:00.0"), Severity::Warning), (at("0000:05:00.0"), Severity::High)];
    shared.findings.marked = marked.into();
    let mut tree = tree(&shared, Sort::Bus);
    let of = |tree: &Tree, name: &str| {
        let lines = drawn(tree, &shared).into_iter().enumerate();
        let (row, line) = lines.into_iter().find(|(_, line)| line.contains(name)).unwrap();
        (u16::try_from(row).unwrap() + 2, line.split(name).next().unwrap().to_owned())
    };
    let area = Rect::new(0, 2, shared.size.0, shared.size.1 - 4);
    for name in ["00.2 switch AMD 500", "01.2 AMD", "0000:00 root"] {
        let (row, before) = of(&tree, name);
        assert!(!before.contains('▲'), "{name} is open: {before}");
        for _ in 0..2 {
            tree.press(Position::new(10, row), &shared, area);
            refresh(&mut tree, &shared);
        }
        let (_, before) = of(&tree, name);
        assert!(before.contains('▲'), "{name} is closed: {before}");
    }
}

#[test]
fn the_first_width_is_found_in_few_steps() {
    for first in [0, 1, 98, 250, 399, 400] {
        let steps = std::cell::Cell::new(0);
        let has = |width| {
            steps.set(steps.get() + 1);
            width >= first
        };
        let found = super::super::first_width(1..400, has);
        assert_eq!(found, (first < 400).then_some(first.max(1)));
        assert!(steps.get() <= 9, "{first}: {}", steps.get());
    }
}
