//! Every table and line against known rates.

mod widths;

use std::time::Duration;

use serde_json::Value;

use super::*;
use crate::{
    counters::{
        CpuShares, Memory,
        activity::{ProcessRates, ThreadActivity, ThreadKind},
        profile::{Hardware, Profile},
    },
    report::json,
    source,
    text::Label,
};

fn machine() -> Machine {
    source::testing::demo("threadripper-before")
}

fn second(machine: &Machine) -> (Rates, Activity) {
    let shares = CpuShares {
        usr: 30.0,
        nice: 10.0,
        guest: 5.0,
        sys: 25.0,
        irq: 15.0,
        softirq: 10.0,
        wai: 5.0,
        stl: 1.0,
        idl: 39.0,
    };
    let disk = DiskRates {
        reads: 1000.0,
        read_bytes: 4_194_304.0,
        read_await_ms: Some(0.25),
        writes: 100.0,
        written_bytes: 10_485_760.0,
        reads_merged: 250.0,
        utilisation: 42.5,
        queue_depth: 1.5,
        discards: SideRates { ios: 30.0, merged: 10.0, bytes: 31_457_280.0, await_ms: Some(0.5) },
        flushes: SideRates { ios: 7.0, await_ms: Some(1.25), ..SideRates::default() },
        ..DiskRates::default()
    };
    let first = machine.hardware_drives().find(|drive| drive.nvme.is_some()).unwrap();
    let controller = first.nvme.as_ref().unwrap().controller.clone();
    let rates = Rates {
        elapsed: Duration::from_secs(1),
        cpu: Some(shares),
        cpus: [(0, CpuShares { idl: 100.0, ..CpuShares::default() }), (3, shares)].into(),
        columns: vec![0, 3],
        interrupts: vec![10.0, 900.0],
        all_interrupts: Some(910.0),
        disks: [(first.name.clone(), disk)].into(),
        vectors: [(Label::new(&format!("{controller}q4")), 550.0)].into(),
        vector_cpus: [(Label::new(&format!("{controller}q4")), vec![(3, 550.0)])].into(),
        ..Rates::default()
    };
    let kind = |state, command: &str, is_kernel, wchan: Option<&str>| ThreadKind {
        state,
        command: Label::new(command),
        is_kernel,
        syscall: wchan.map(|_| Label::new("read")),
        stack: None,
        wchan: wchan.map(Label::new),
    };
    let kinds = vec![
        (kind('D', "dd", false, Some("folio_wait_bit_common")), 0.75),
        (kind('R', "kswapd*", true, None), 0.5),
        (kind('S', "bash", false, Some("do_wait")), 4.0),
    ];
    let process = ProcessRates {
        pid: 42,
        has_ended: false,
        command: Label::new("dd"),
        read_bytes: Some(4_194_304.0),
        written_bytes: None,
        called_read: None,
        called_write: None,
        cpus: 0.25,
        is_nice: false,
        delayed: None,
        drives: None,
    };
    let activity = Activity {
        threads: Some(ThreadActivity { kinds, samples: 10, seen: 5, total: 8, ..ThreadActivity::default() }),
        processes: Some(vec![process]),
        ..Activity::default()
    };
    (rates, activity)
}

fn with<T>(show: impl FnOnce(&Interval<'_>) -> T) -> T {
    let machine = machine();
    let (rates, activity) = second(&machine);
    let time = Timestamp::from_millisecond(1_700_000_000_123).unwrap();
    show(&Interval { time, ..Interval::average(&machine, &rates, &activity) })
}

/// Heading and rows of a table, single blanks between cells.
fn shown(table: Table) -> Vec<String> {
    with(|interval| {
        let mut lines = vec![interval.heading(table, 240)];
        lines.extend(interval.text(table, 240));
        lines.iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    })
}

#[test]
fn iostat_has_sysstats_columns_and_units() {
    let lines = shown(Table::Iostat);
    assert_eq!(
        lines[0],
        "time Device r/s rMB/s rrqm/s %rrqm r_await rareq-sz w/s wMB/s wrqm/s %wrqm w_await wareq-sz d/s dMB/s drqm/s %drqm d_await dareq-sz \
         f/s f_await aqu-sz %util"
    );
    let row = lines[1].split_once(' ').unwrap().1.split_once(' ').unwrap().1;
    assert_eq!(
        row,
        "1000.00 4.00 250.00 20.00 0.25 4.10 100.00 10.00 0.00 0.00 0.00 102.40 30.00 30.00 10.00 25.00 0.50 1024.00 7.00 1.25 1.50 42.50"
    );
}

#[test]
fn sums_of_drives_count_zram_and_no_device_that_lies_on_drives() {
    use crate::{machine::DriveKind, ui::load::Load};
    let mut machine = machine();
    let base = machine.drives[0].clone();
    let drive = |(name, kind)| Drive { name: DriveName::new(name), kind, nvme: None, ..base.clone() };
    let drives = [
        ("nvme0n1", DriveKind::Nvme),
        ("zram0", DriveKind::Zram),
        ("nullb0", DriveKind::OtherSoftware),
        ("ram0", DriveKind::OtherSoftware),
        ("loop0", DriveKind::Loop),
        ("md0", DriveKind::Md),
        ("dm-0", DriveKind::Dm),
        ("bcache0", DriveKind::OtherSoftware),
        ("rambo", DriveKind::OtherSoftware),
    ];
    machine.drives = drives.map(drive).into();
    let bytes = |at: usize| f64::from(1_u32 << at);
    let disk = |at| DiskRates { read_bytes: bytes(at), reads: 1.0, ..DiskRates::default() };
    let disks = machine.drives.iter().enumerate().map(|(at, drive)| (drive.name.clone(), disk(at)));
    let rates = Rates { disks: disks.collect(), ..Rates::default() };
    let summed = bytes(0) + bytes(1) + bytes(2) + bytes(3);
    let row = dstat::Row::of_rates(&rates, &super::summed(&machine));
    assert_eq!((row.bytes, row.requests), (Some([summed, 0.0]), Some([4.0, 0.0])));
    let mut load = Load::default();
    load.take_rates(&rates, |_| true, Duration::from_secs(1));
    let curve = load.total(&machine).map(|flow| flow.read.bytes);
    assert_eq!(curve, Some(summed), "the curve has the same devices");
}

#[test]
fn a_process_that_moves_nothing_has_no_drives() {
    let of = |has_ended: bool, read: f64, names: Option<&[&str]>| {
        let (_, mut activity) = second(&machine());
        for process in activity.processes.iter_mut().flatten() {
            process.read_bytes = Some(read);
            process.drives = names.map(|names| names.iter().map(|name| DriveName::new(name)).collect());
            process.has_ended = has_ended;
        }
        tables::processes(&activity, (MEBI, ["read", "write"]), |_| true).rows[0].cells[6].clone()
    };
    let cell = |read, names| of(false, read, names);
    let names: Option<&[&str]> = Some(&["sda", "sdb"]);
    assert_eq!(cell(1e6, names), Cell::Drives(vec!["sda".to_owned(), "sdb".to_owned()]));
    assert_eq!(cell(1e6, None), Cell::Text("not known".to_owned()));
    assert_eq!(cell(0.0, names), Cell::Unknown);
    assert_eq!(of(true, 1e6, None), Cell::Text("ended".to_owned()), "its open files went with it");
}

#[test]
fn times_of_intervals_within_a_second_have_tenths_in_a_wider_column() {
    let lines = |table, width, has_tenths, is_average| {
        with(|interval| {
            let interval = Interval { is_average, has_tenths, ..*interval };
            let mut lines: Vec<String> = interval.heading(table, width).lines().map(str::to_owned).collect();
            lines.extend(interval.text(table, width));
            lines
        })
    };
    let seconds = |lines: &[String]| lines.last().unwrap().split(' ').next().unwrap().to_owned();
    for table in [Table::Dstat, Table::Iostat, Table::Cpu] {
        let (whole, tenths) = (lines(table, 300, false, false), lines(table, 300, true, false));
        assert!(seconds(&whole).ends_with(":20"), "{whole:#?}");
        assert!(seconds(&tenths).ends_with(":20.1"), "{tenths:#?}");
        // What follows keeps its columns below its heading.
        let behind = |lines: &[String], at: usize| lines.iter().map(|line| line[at..].to_owned()).collect();
        let [whole, tenths]: [Vec<String>; 2] = [behind(&whole, 8), behind(&tenths, 10)];
        assert_eq!(whole, tenths);
        let average = lines(table, 300, true, true);
        assert_eq!(behind(&average, 10), whole, "{average:#?}");
    }
    for table in [Table::Cpu, Table::Processes] {
        assert!(lines(table, 80, true, false).iter().all(|line| line.chars().count() <= 80));
    }
}

#[test]
fn ended_children_have_no_number_of_a_process_that_lives() {
    let machine = machine();
    let (rates, mut activity) = second(&machine);
    let process = &mut activity.processes.as_mut().unwrap()[0];
    (process.pid, process.command, process.has_ended) = (4711, Label::new("dd"), true);
    let interval = Interval::average(&machine, &rates, &activity);
    let rows = interval.text(Table::Processes, usize::MAX);
    let row = rows.iter().find(|row| row.contains("dd (ended)")).unwrap();
    assert!(!row.contains("4711") && row.contains(" - dd (ended)"), "{row}");
}

/// A terminal cuts a command; what is not written to one has no width.
#[test]
fn a_long_command_is_whole_where_the_output_has_no_width() {
    let machine = machine();
    let (rates, mut activity) = second(&machine);
    let process = &mut activity.processes.as_mut().unwrap()[0];
    (process.command, process.has_ended) = (Label::new("a child of python3.13"), true);
    let interval = Interval::average(&machine, &rates, &activity);
    let whole = "a child of python3.13 (ended)";
    for (width, is_whole) in [(usize::MAX, true), (80, false)] {
        let rows = interval.text(Table::Processes, width);
        assert_eq!(rows.iter().any(|row| row.contains(whole)), is_whole, "{width}: {rows:?}");
    }
}

#[test]
fn cpus_have_mpstats_columns_that_exclude_each_other() {
    let lines = shown(Table::Cpu);
    assert_eq!(lines[0], "time CPU %usr %nice %sys %iowait %irq %soft %steal %guest %idle intr/s");
    assert_eq!(lines[1], "average all 15.00 10.00 10.00 5.00 5.00 10.00 1.00 5.00 39.00 910");
    assert_eq!(lines[3], "average 3 15.00 10.00 10.00 5.00 5.00 10.00 1.00 5.00 39.00 900");
    assert_eq!(lines.len(), 4);
}

#[test]
fn interrupts_name_drive_queue_and_cpu_with_ios_for_each() {
    let lines = shown(Table::Interrupts);
    assert_eq!(lines[0], "time drive queue CPU intr/s I/O/intr %irq");
    assert!(lines[1].ends_with(" 4 3 550 2.07 15.0") && lines[1].contains("nvme"), "{lines:?}");
    let simulated = with(|interval| tables::interrupts(interval.machine, interval.rates, true));
    assert_eq!(simulated.rows[0].cells[5], Cell::Unknown, "no model has the time of interrupts");
}

#[test]
fn intervals_with_a_part_of_the_threads_are_not_in_the_averages() {
    let machine = machine();
    let (rates, activity) = second(&machine);
    let with = |is_whole, mean| {
        let mut activity = activity.clone();
        let threads = activity.threads.as_mut().unwrap();
        threads.is_whole = is_whole;
        threads.kinds.iter_mut().for_each(|kind| kind.1 = mean);
        activity
    };
    let mut averages = Averages::default();
    for (is_whole, mean) in [(false, 9.0), (true, 1.0), (true, 2.0)] {
        averages.add(&rates, &with(is_whole, mean));
    }
    let threads = averages.means().unwrap().1.threads.unwrap();
    let means: Vec<f64> = threads.kinds.iter().map(|(_, mean)| *mean).collect();
    assert_eq!(means, [1.5; 3]);
}

#[test]
fn threads_are_those_that_run_or_wait_and_kernel_threads_are_in_brackets() {
    assert_eq!(
        shown(Table::Threads),
        [
            "time threads %seen state command syscall wchan",
            "average 0.75 62 D dd read folio_wait_bit_common",
            "average 0.50 62 R [kswapd*] - -"
        ]
    );
}

#[test]
fn processes_have_shares_and_say_what_is_not_known() {
    assert_eq!(
        shown(Table::Processes),
        ["time PID command rMB/s wMB/s %share %CPU drives", "average 42 dd 4.00 - 100.0 25.0 not known"]
    );
}

#[test]
fn a_process_that_moved_nothing_has_no_row() {
    let machine = machine();
    let (rates, mut activity) = second(&machine);
    let process = activity.processes.as_ref().unwrap()[0].clone();
    let with = |command: &str, read_bytes| ProcessRates {
        command: Label::new(command),
        read_bytes,
        ..process.clone()
    };
    let idle = ProcessRates { written_bytes: Some(0.0), ..with("kworker/0:1", Some(0.0)) };
    let hidden = ProcessRates { written_bytes: None, ..with("sshd", None) };
    activity.processes.as_mut().unwrap().extend([idle, hidden]);
    let interval = Interval::average(&machine, &rates, &activity);
    let [text, csv] =
        [interval.text(Table::Processes, 100), interval.csv(Table::Processes)].map(|rows| rows.join("\n"));
    for rows in [text, csv] {
        assert!(rows.contains("dd") && rows.contains("sshd") && !rows.contains("kworker"), "{rows}");
    }
}

#[test]
fn csv_has_as_many_cells_as_headings_in_every_table() {
    let tables =
        [Table::Dstat, Table::Iostat, Table::Cpu, Table::Interrupts, Table::Threads, Table::Processes];
    for table in tables {
        let (heading, rows) = with(|interval| (interval.csv_heading(table), interval.csv(table)));
        let cells = heading.split(',').count();
        assert!(
            !rows.is_empty() && rows.iter().all(|row| row.split(',').count() == cells),
            "{heading}: {rows:?}"
        );
    }
    let time = with(|interval| Interval { is_average: false, ..*interval }.csv(Table::Dstat)[0].clone());
    assert!(time.starts_with("2023-11-14T22:13:20.123Z,"), "{time}");
}

#[test]
fn a_line_of_json_has_what_scripts_rely_on() {
    let line = with(|interval| json::line(&Line::new(interval)));
    assert_eq!(line.matches('\n').count(), 1);
    let line: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(line["schema"], 1);
    assert_eq!(line["time"], 1_700_000_000_123_000_000_i64);
    assert_eq!((&line["cpu"]["usr"], &line["cpu"]["softirq"]), (&Value::from(15.0), &Value::from(10.0)));
    assert_eq!(
        (&line["cpus"][1]["cpu"], &line["cpus"][1]["interrupts_per_second"]),
        (&Value::from(3), &Value::from(900.0))
    );
    let drive = line["drives"].as_array().unwrap().iter().find(|drive| drive["queue_depth"] == 1.5).unwrap();
    assert_eq!(drive["read"]["iops"], 1000.0);
    assert_eq!(drive["read"]["await_ns"], 250_000.0);
    assert_eq!(drive["write"]["request_bytes"], 104_857.6);
    assert_eq!(drive["write"]["await_ns"], Value::Null);
    assert_eq!(line["interrupts"][0]["queue"], 4);
    assert_eq!(line["interrupts"][0]["drive"], drive["name"]);
    assert_eq!(line["threads"][0]["count"], 0.75);
    assert_eq!(line["threads"].as_array().unwrap().len(), 3);
    assert_eq!(line["processes"][0]["write_bytes_per_second"], Value::Null);
}

#[test]
fn hops_add_up_to_the_drives_at_their_root_complexes() {
    let line: Value = serde_json::from_str(&with(|interval| json::line(&Line::new(interval)))).unwrap();
    let machine = machine();
    let roots: Vec<String> =
        machine.pci.roots().map(|root| machine.pci.node(root).address.to_string()).collect();
    let hops = line["hops"].as_array().unwrap();
    let at_roots = hops.iter().filter(|hop| roots.iter().any(|root| hop["address"] == *root.as_str()));
    let written: f64 = at_roots.map(|hop| hop["write_bytes_per_second"].as_f64().unwrap()).sum();
    let reading = hops.iter().filter(|hop| hop["read_bytes_per_second"] == 4_194_304.0).count();
    assert_eq!((written, reading >= 3), (10_485_760.0, true), "{hops:?}");
}

#[test]
fn averages_weigh_by_time_and_keep_what_ended() {
    let machine = machine();
    let (rates, activity) = second(&machine);
    let mut averages = Averages::default();
    assert!(Averages::default().means().is_none());
    averages.add(&rates, &activity);
    let levels = |running, used| Rates {
        running: Some(running),
        blocked: Some(0),
        memory: Some(Memory { used, ..Memory::default() }),
        ..Rates::default()
    };
    let rates = Rates { elapsed: rates.elapsed, disks: rates.disks, ..levels(9, 4096) };
    averages = Averages::default();
    averages.add(&rates, &activity);
    let quiet = Rates {
        elapsed: Duration::from_secs(3),
        disks: rates.disks.keys().map(|name| (name.clone(), DiskRates::default())).collect(),
        ..levels(1, 0)
    };
    let none = Activity {
        threads: Some(ThreadActivity { samples: 30, ..ThreadActivity::default() }),
        processes: Some(Vec::new()),
        ..Activity::default()
    };
    averages.add(&quiet, &none);
    let (mean, activity) = averages.means().unwrap();
    let reads = mean.disks.values().next().unwrap().reads;
    assert_eq!((mean.elapsed, reads), (Duration::from_secs(4), 250.0));
    assert_eq!((mean.running, mean.blocked), (Some(3), Some(0)), "9 in one second, 1 in three");
    assert_eq!(mean.memory.map(|memory| memory.used), Some(1024));
    let process = &activity.processes.unwrap()[0];
    assert_eq!((process.read_bytes, process.written_bytes, process.cpus), (Some(1_048_576.0), None, 0.0625));
    let threads = activity.threads.unwrap();
    assert_eq!((threads.kinds[0].1, threads.samples), (0.1875, 40));
}

#[test]
fn stacks_are_a_column_only_where_they_were_asked_for() {
    let machine = machine();
    let (rates, mut activity) = second(&machine);
    let heading = |activity: &Activity| {
        let interval = Interval { is_average: false, ..Interval::average(&machine, &rates, activity) };
        (interval.heading(Table::Threads, 200), interval.text(Table::Threads, 200).join("\n"))
    };
    assert!(!heading(&activity).0.contains("kernel stack"));
    let threads = activity.threads.as_mut().unwrap();
    threads.kinds[0].0.stack = Some(Label::new("folio_wait_bit_common <- filemap_read"));
    let (heading, rows) = heading(&activity);
    assert!(heading.ends_with("kernel stack"), "{heading}");
    assert!(rows.lines().next().unwrap().ends_with("folio_wait_bit_common <- filemap_read"), "{rows}");
}

#[test]
fn profiles_are_joined_and_cycles_weigh_by_time() {
    let interval = |seconds: u64, user_ms: u64, cycles: f64| {
        let rates = Rates { elapsed: Duration::from_secs(seconds), ..Rates::default() };
        let user = Duration::from_millis(user_ms);
        let profile = Profile::simulated(Label::new("fio"), user, Duration::from_millis(10));
        let hardware = Hardware { cycles, instructions: 2.0 * cycles };
        let (profile, hardware) = (Some(Ok(profile)), Some(Ok(hardware)));
        (rates, Activity { profile, hardware, ..Activity::default() })
    };
    let mut averages = Averages::default();
    for (rates, activity) in [interval(1, 20, 1e9), interval(3, 10, 5e9)] {
        averages.add(&rates, &activity);
    }
    let (_, activity) = averages.means().unwrap();
    assert_eq!(activity.hardware, Some(Ok(Hardware { cycles: 4e9, instructions: 8e9 })));
    let profile = activity.profile.unwrap().unwrap();
    let words: Vec<_> =
        profile.words().into_iter().map(|(word, count)| (word.name(), profile.share(count))).collect();
    assert_eq!(words, [("programs", 60.0), ("kernel", 40.0)]);
}

#[test]
fn cpus_and_processes_fit_into_80_columns() {
    let (mut rates, mut activity) = second(&machine());
    for shares in rates.cpus.values_mut() {
        shares.idl = 100.0;
    }
    for process in activity.processes.as_mut().unwrap() {
        (process.pid, process.cpus) = (4_194_303, 12.5);
        process.command = Label::new("kworker/u512:300-nvme-wq");
    }
    let machine = machine();
    let interval = Interval { is_average: false, ..Interval::average(&machine, &rates, &activity) };
    for table in [Table::Cpu, Table::Processes] {
        let mut lines = interval.text(table, 80);
        lines.push(interval.heading(table, 80));
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{lines:#?}");
        assert!(lines.last().unwrap().contains(if table == Table::Cpu { "%idle" } else { "%CPU" }));
    }
}

#[test]
fn a_kernel_worker_is_one_process_whatever_it_works_on() {
    let (rates, activity) = second(&machine());
    let mut averages = Averages::default();
    for name in ["kworker/u8:5-iou_exit", "kworker/u8:5+kvfree_rcu"] {
        let mut now = activity.clone();
        now.processes.as_mut().unwrap()[0].command = Label::new(name);
        averages.add(&rates, &now);
        let same = now.processes.as_ref().unwrap()[0].clone();
        assert_eq!(same.command.as_str(), name);
    }
    let (_, mean) = averages.means().unwrap();
    let all = mean.processes.unwrap();
    assert_eq!((all.len(), all[0].command.as_str(), all[0].cpus), (1, "kworker/u8:5", 0.25));
}

#[test]
fn a_drive_that_is_not_counted_has_a_reason_and_no_numbers() {
    let mut machine = machine();
    let (mut rates, activity) = second(&machine);
    let [first, second, third] = [0, 1, 2].map(|at| machine.hardware_drives().nth(at).unwrap().name.clone());
    for name in [&second, &third] {
        rates.disks.insert(name.clone(), DiskRates::default());
    }
    // The first one counted before its setting changed, the third is idle.
    for drive in machine.drives.iter_mut().filter(|drive| [&first, &second].contains(&&drive.name)) {
        drive.queue.iostats = crate::model::Reading::known("/sys/q/iostats", 0);
    }
    let shown = |rates: &Rates| {
        let interval = Interval { is_average: false, ..Interval::average(&machine, rates, &activity) };
        let json: Value = serde_json::from_str(&json::line(&Line::new(&interval))).unwrap();
        let reasons = |tables: &[Table]| -> Vec<String> {
            interval.uncounted(tables).iter().map(Uncounted::line).collect()
        };
        assert_eq!(reasons(&[Table::Dstat]), reasons(&[Table::Cpu, Table::Iostat]));
        assert!(reasons(&[Table::Cpu]).is_empty());
        (json, interval.csv(Table::Iostat), reasons(&[Table::Dstat]))
    };
    let (json, rows, reasons) = shown(&rates);
    assert_eq!(reasons, [format!("{second} not counted: iostats is 0 (/sys/q/iostats)")]);
    let drive = |name: &DriveName| {
        let drives = json["drives"].as_array().unwrap().clone();
        drives.into_iter().find(|drive| drive["name"] == name.as_str()).unwrap()
    };
    assert!(drive(&second)["read"]["iops"].is_null() && drive(&second)["utilisation"].is_null(), "{json}");
    assert!(drive(&first)["read"]["iops"] == 1000.0 && drive(&third)["read"]["iops"] == 0.0, "{json}");
    let problem = serde_json::json!({"path": "/sys/q/iostats", "reason": "not counted: iostats is 0", "kind": "absent"});
    assert!(json["problems"].as_array().unwrap().contains(&problem), "{json}");
    let row = |name: &DriveName| rows.iter().find(|row| row.contains(&format!(",{name},"))).unwrap();
    assert!(row(&second).ends_with(&format!("{second}{}", ",".repeat(22))), "{rows:?}");
    assert!(row(&third).contains(&format!(",{third},0,0,")), "{rows:?}");
    let controller = machine.drive(&third).unwrap().nvme.as_ref().unwrap().controller.clone();
    rates.vectors.insert(Label::new(&format!("{controller}q1")), 9e3);
    let bypass = format!("{third} not counted: NVMe commands bypass the block layer (/proc/diskstats)");
    assert!(shown(&rates).2.contains(&bypass));
}
