//! Lines of a terminal: none is wider than it, and all stand below their heading.

use unicode_width::UnicodeWidthStr;

use super::*;

const TABLES: [Table; 7] = [
    Table::Dstat,
    Table::Iostat,
    Table::Cpu,
    Table::Interrupts,
    Table::Threads,
    Table::Processes,
    Table::Profile,
];

const STACK: &str = "__iomap_dio_rw <- iomap_dio_rw <- ext4_file_read_iter <- vfs_read <- __x64_sys_pread64";

/// A drive's name, its rates as those of the first one.
fn named(name: &str) -> (Machine, Rates, Activity) {
    let mut machine = machine();
    let (mut rates, mut activity) = second(&machine);
    let disk = *rates.disks.values().next().unwrap();
    let drive = Drive { name: DriveName::new(name), ..machine.drives[0].clone() };
    rates.disks.insert(drive.name.clone(), disk);
    machine.drives.push(drive);
    let threads = activity.threads.as_mut().unwrap();
    for (kind, _) in &mut threads.kinds {
        kind.stack = Some(Label::new(STACK));
    }
    (machine, rates, activity)
}

#[test]
fn no_line_is_wider_than_its_terminal_and_cells_stand_below_their_headings() {
    for name in ["nvme10n1", "mmcblk0boot0", "nvme10c120n1"] {
        let (machine, rates, activity) = named(name);
        let interval = Interval::average(&machine, &rates, &activity);
        for (is_average, has_tenths) in [(true, false), (false, false), (true, true), (false, true)] {
            let interval = Interval { is_average, has_tenths, ..interval };
            for (table, width) in
                TABLES.iter().flat_map(|table| [80, 100, 120, 200].map(|width| (*table, width)))
            {
                let heading = interval.heading(table, width);
                let rows = interval.text(table, width);
                let lines: Vec<&str> = heading.lines().chain(rows.iter().map(String::as_str)).collect();
                assert!(lines.iter().all(|line| line.width() <= width), "{width}: {lines:#?}");
            }
        }
        for width in [80, ENDLESS] {
            let heading = interval.heading(Table::Iostat, width);
            let row = interval.text(Table::Iostat, width).into_iter().find(|row| row.contains(name)).unwrap();
            assert_eq!(row.len(), heading.len(), "%util is the last of both: {heading}\n{row}");
        }
    }
}

#[test]
fn an_average_without_room_behind_its_row_has_its_label_above_it() {
    let lines = with(|interval| interval.text(Table::Dstat, 80));
    assert_eq!(lines[0], "average of 1.0 s:");
    assert!(lines.len() == 2 && lines[1].len() < 80, "{lines:?}");
    let heading = with(|interval| interval.heading(Table::Dstat, 80));
    let bars = |line: &str| line.match_indices('|').map(|(at, _)| at).collect::<Vec<_>>();
    assert_eq!(bars(&lines[1]), bars(heading.lines().nth(1).unwrap()), "{heading}");
    let wide = with(|interval| interval.text(Table::Dstat, 88));
    assert!(wide.len() == 1 && wide[0].starts_with("average "), "{wide:?}");
}

#[test]
fn columns_without_room_have_names() {
    let left_out = |table, width| with(|interval| interval.left_out(table, width));
    assert_eq!(left_out(Table::Dstat, 80), ["time"]);
    assert_eq!(left_out(Table::Dstat, 70), ["used", "free", "buff", "cach"]);
    assert_eq!(left_out(Table::Iostat, 80)[..3], ["rrqm/s", "%rrqm", "rareq-sz"]);
    for table in TABLES {
        assert!(left_out(table, ENDLESS).is_empty(), "{table:?}");
    }
    let (machine, rates, activity) = named("vda");
    let interval = Interval::average(&machine, &rates, &activity);
    assert_eq!(interval.left_out(Table::Threads, 80), ["syscall", "wchan"]);
}

#[test]
fn a_stack_is_whole_in_the_lines_that_it_needs() {
    let (machine, rates, activity) = named("vda");
    let interval = Interval::average(&machine, &rates, &activity);
    let rows = interval.text(Table::Threads, 80);
    assert_eq!(
        rows[..4],
        [
            "average     0.75    62 D     dd                 __iomap_dio_rw <-",
            "                                                iomap_dio_rw <-",
            "                                                ext4_file_read_iter <-",
            "                                                vfs_read <- __x64_sys_pread64",
        ]
    );
    let whole = interval.text(Table::Threads, ENDLESS);
    assert!(whole.len() == 2 && whole.iter().all(|row| row.ends_with(STACK)), "{whole:?}");
}
