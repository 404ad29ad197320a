//! `iodyno stat`: rows of counters without a screen, until Ctrl-C.

use std::{collections::BTreeSet, io::IsTerminal as _, time::Duration};

use clap::Args;
use jiff::Timestamp;
use signal_hook::consts::SIGINT;

use super::{Complaint, Failure, Status, columns, print, print_text, say, signals::Signal};
use crate::{
    app::MachineRead,
    counters::{Counters, Rates, rates},
    machine::Machine,
    model::{DriveName, Problem},
    report::{
        self, json,
        stat::{Averages, Interval, Line, Table, Uncounted},
        why::lines as why,
    },
    runtime::{
        activity_sampler::{ActivitySampler, Profiling, Wanted},
        clock::Clock,
        startup,
    },
    source::{SysRoot, block, counters::CountersReader, origin::Origin},
};

#[derive(Debug, Clone, Args)]
#[expect(clippy::struct_excessive_bools, reason = "options of the command line")]
pub(super) struct StatArgs {
    /// Seconds between rows, as with iostat; the same as --interval
    #[arg(value_name = "INTERVAL", value_parser = interval, conflicts_with = "interval")]
    seconds: Option<Duration>,
    /// Intervals, as with iostat; the same as --count
    #[arg(value_name = "COUNT", value_parser = count, conflicts_with = "count")]
    intervals: Option<u64>,
    /// Seconds between rows
    #[arg(long, value_name = "S", default_value = "1", value_parser = interval)]
    interval: Duration,
    /// Stop after N intervals, with averages of more than one
    #[arg(long, value_name = "N", value_parser = count)]
    count: Option<u64>,
    /// Print CSV with one heading; takes one table
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
    /// Show drives with the columns and units of iostat -xm
    #[arg(long)]
    iostat: bool,
    /// Show each CPU with mpstat's columns
    #[arg(long, alias = "mpstat")]
    cpu: bool,
    /// Show interrupts by drive, queue and CPU
    #[arg(long)]
    interrupts: bool,
    /// Show threads by state, command, system call and wait channel
    #[arg(long)]
    threads: bool,
    /// Show threads with their kernel stacks; needs root
    #[arg(long)]
    stacks: bool,
    /// Show what each process reads and writes; MB is 2^20 bytes
    #[arg(long)]
    processes: bool,
    /// Show functions that CPUs execute, and what they are for; needs root
    #[arg(long)]
    profile: bool,
}

fn interval(text: &str) -> Result<Duration, String> {
    let seconds = text.trim_end_matches('s').parse::<f64>().ok().filter(|s| (0.1..=86_400.0).contains(s));
    seconds
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "is no interval; use seconds from 0.1 to 86400".to_owned())
}

fn count(text: &str) -> Result<u64, String> {
    let count = text.parse().ok().filter(|count| *count > 0);
    count.ok_or_else(|| "is no number of intervals; use 1 or more".to_owned())
}

impl StatArgs {
    fn interval(&self) -> Duration {
        self.seconds.unwrap_or(self.interval)
    }

    fn count(&self) -> Option<u64> {
        self.intervals.or(self.count)
    }

    fn tables(&self) -> Result<Vec<Table>, Complaint> {
        let options = [
            (self.iostat, Table::Iostat),
            (self.cpu, Table::Cpu),
            (self.interrupts, Table::Interrupts),
            (self.threads || self.stacks, Table::Threads),
            (self.processes, Table::Processes),
            (self.profile, Table::Profile),
        ];
        let tables: Vec<Table> =
            options.into_iter().filter(|(wanted, _)| *wanted).map(|(_, table)| table).collect();
        if self.csv && tables.len() > 1 {
            return Err(Complaint::new("--csv", "takes one table", "name one of them, or use --json"));
        }
        Ok(if tables.is_empty() { vec![Table::Dstat] } else { tables })
    }

    /// Whether threads are sampled; `--json` without a table has all.
    fn needs(&self, table: Table, tables: &[Table]) -> bool {
        tables.contains(&table) || (self.json && tables == [Table::Dstat])
    }
}

/// How soon a signal is seen.
const SLICE: Duration = Duration::from_millis(50);
/// Rows under one heading where there is no terminal.
const ROWS: usize = 22;

pub(super) fn run(args: &StatArgs, origin: &Origin) -> Result<Status, Failure> {
    let tables = args.tables()?;
    if matches!(origin, Origin::Demo(_) | Origin::Capture(_)) {
        let (option, wrong) = match origin {
            Origin::Demo(_) => ("--demo", "a demo has no counters over time"),
            _ => ("--open", "a capture has no counters over time"),
        };
        let fix = "leave it out to watch this machine, or see a demo's load with `iodyno render why --demo --keys r`";
        return Err(Complaint::new(option, wrong, fix).into());
    }
    if args.profile && !origin.is_live() {
        let fix = "leave out --sysroot";
        return Err(Complaint::new("--profile", "a folder has no CPUs to sample", fix).into());
    }
    let root = origin.open()?;
    let signal = Signal::watch()?;
    let clock = Clock::real();
    let wanted = Wanted {
        threads: args.needs(Table::Threads, &tables),
        stacks: args.stacks,
        processes: args.needs(Table::Processes, &tables),
        workers: false,
        profile: if args.profile { Profiling::Interval } else { Profiling::Off },
        hardware: args.profile,
    };
    let mut activity = ActivitySampler::begin(wanted, &*root, &clock);
    activity.see_all(&*root, &clock);
    let sampler = Sampler { root: &*root, clock: &clock, counters: CountersReader::default(), activity };
    let output = Output::new(args, tables);
    watch(args, startup::read_or_refuse(&*root)?, sampler, output, &signal)
}

/// Prints a row for each interval, and averages on a signal or after the last of several intervals.
fn watch(
    args: &StatArgs,
    mut read: MachineRead,
    mut sampler: Sampler<'_>,
    mut output: Output<'_>,
    signal: &Signal,
) -> Result<Status, Failure> {
    let mut averages = Averages::default();
    let (mut before, mut after) = (Moment::default(), Moment::default());
    sampler.look(&mut before);
    let mut due = before.at;
    let mut printed = 0;
    // Devices that count and are no drives: partitions, and what was not there yet.
    let mut others = BTreeSet::new();
    while args.count().is_none_or(|count| printed < count) {
        // Late by whole intervals, it skips them.
        while due <= sampler.clock.elapsed() {
            due += args.interval();
        }
        sampler.wait(due, signal);
        let activity = sampler.activity.look(sampler.root, sampler.clock);
        sampler.look(&mut after);
        let time = Timestamp::now();
        let elapsed = after.at.saturating_sub(before.at);
        let rates = rates(&before.counters, &after.counters, elapsed);
        // A loop device has counters before it has a file.
        let now = unlisted(&read.machine, &rates);
        let is_other = after.counters.disks.keys().ne(before.counters.disks.keys());
        if is_other || !now.is_subset(&others) || block::has_other_iostats(sampler.root, &read.machine.drives)
        {
            read = startup::read(sampler.root);
            others.extend(now);
        }
        averages.add(&rates, &activity);
        std::mem::swap(&mut before, &mut after);
        if let Some(number) = signal.received() {
            // The terminal has written ^C on the line.
            if i32::from(number) == SIGINT && std::io::stdout().is_terminal() {
                print("\n")?;
            }
            output.print_means(averages, &read.machine, time)?;
            return Ok(Status::Stopped(number));
        }
        let (machine, rates, activity) = (&*read.machine, &rates, &activity);
        let has_tenths = output.has_tenths();
        output.print(&Interval { machine, rates, activity, time, is_average: false, has_tenths })?;
        printed += 1;
        // One interval is its own average.
        if printed > 1 && args.count() == Some(printed) {
            output.print_means(std::mem::take(&mut averages), &read.machine, time)?;
        }
    }
    Ok(Status::Done)
}

/// Devices that read or write, and that the machine does not have as drives.
fn unlisted(machine: &Machine, rates: &Rates) -> BTreeSet<DriveName> {
    let moving = rates.disks.iter().filter(|(_, disk)| disk.reads + disk.writes > 0.0);
    moving.filter(|(name, _)| machine.drive(name).is_none()).map(|(name, _)| name.clone()).collect()
}

struct Sampler<'a> {
    root: &'a dyn SysRoot,
    clock: &'a Clock,
    counters: CountersReader,
    activity: ActivitySampler,
}

#[derive(Default)]
struct Moment {
    counters: Counters,
    at: Duration,
}

impl Sampler<'_> {
    /// Replaces what a moment before contains.
    fn look(&mut self, moment: &mut Moment) {
        self.counters.read(self.root, false, &mut moment.counters);
        moment.at = self.clock.elapsed();
    }

    /// Waits until then or until a signal; samples threads meanwhile.
    fn wait(&mut self, until: Duration, signal: &Signal) {
        while signal.received().is_none() && self.clock.elapsed() < until {
            self.activity.pass_if_due(self.root, self.clock);
            let now = self.clock.elapsed();
            let due = self.activity.next_pass().map_or(until, |pass| until.min(pass));
            self.clock.pass(due.saturating_sub(now).min(SLICE));
        }
    }
}

/// Standard output: headings that repeat, one heading of CSV, lines of JSON.
struct Output<'a> {
    args: &'a StatArgs,
    tables: Vec<Table>,
    /// Rows since the last heading; `None` before the first.
    rows: Option<usize>,
    /// Cells of the line before.
    width: Option<usize>,
    /// Whether the reasons of what is missing are printed.
    has_reasons: bool,
    /// Drives whose reason for missing rates is printed.
    uncounted: BTreeSet<DriveName>,
}

impl<'a> Output<'a> {
    fn new(args: &'a StatArgs, tables: Vec<Table>) -> Self {
        Self { args, tables, rows: None, width: None, has_reasons: false, uncounted: BTreeSet::new() }
    }

    /// Whether several intervals end within a second.
    fn has_tenths(&self) -> bool {
        self.args.interval() < Duration::from_secs(1)
    }

    fn print(&mut self, interval: &Interval<'_>) -> Result<(), Failure> {
        let printed = if self.args.json {
            print(&json::line(&Line::new(interval)))
        } else if self.args.csv {
            print(&self.csv(interval))
        } else {
            print_text(&self.text(interval, columns().unwrap_or(usize::MAX), screenful()))
        };
        printed.map(|_| ())
    }

    fn print_means(&mut self, averages: Averages, machine: &Machine, time: Timestamp) -> Result<(), Failure> {
        let Some((rates, activity)) = averages.means() else { return Ok(()) };
        let (rates, activity, has_tenths) = (&rates, &activity, self.has_tenths());
        self.print(&Interval { machine, rates, activity, time, is_average: true, has_tenths })
    }

    fn csv(&mut self, interval: &Interval<'_>) -> String {
        let mut lines = Vec::new();
        for table in &self.tables {
            if self.rows.is_none() {
                lines.push(interval.csv_heading(*table));
            }
            lines.extend(interval.csv(*table));
        }
        // CSV has no place for them.
        self.newly_uncounted(interval).iter().for_each(|line| say(line));
        self.rows = Some(0);
        joined(&lines)
    }

    /// The reasons of drives without rates, once as long as they have none.
    fn newly_uncounted(&mut self, interval: &Interval<'_>) -> Vec<String> {
        let now = interval.uncounted(&self.tables);
        let names: BTreeSet<DriveName> = now.iter().map(|one| one.drive.name.clone()).collect();
        let new = now.iter().filter(|one| !self.uncounted.contains(&one.drive.name));
        let lines = new.map(Uncounted::line).collect();
        self.uncounted = names;
        lines
    }

    /// Several tables each have their heading every time; one table has it once a screenful.
    fn text(&mut self, interval: &Interval<'_>, width: usize, screenful: usize) -> String {
        let noted = |words: &String| report::wrapped(&format!("{} ", interval.clock()), words, width);
        let mut lines = Vec::new();
        // Columns of another width are others.
        let is_resized = self.width.replace(width).is_some_and(|before| before != width);
        for table in &self.tables {
            let mut rows = interval.text(*table, width);
            if rows.is_empty() {
                rows = noted(&nothing(*table, interval));
            } else if *table == Table::Threads {
                rows.splice(..0, first_round(interval).iter().flat_map(noted));
            }
            let full = self.rows.is_none_or(|above| above + rows.len() + 1 > screenful);
            if full || is_resized || self.tables.len() > 1 {
                if self.rows.is_some() && *table != Table::Dstat {
                    lines.push(String::new());
                }
                lines.push(interval.heading(*table, width));
                self.rows = Some(0);
            }
            if !self.has_reasons {
                let left_out = left_out(&interval.left_out(*table, width), width);
                rows.extend(reasons(*table, interval).iter().chain(&left_out).flat_map(noted));
            }
            self.rows = self.rows.map(|above| above + rows.len());
            lines.extend(rows);
        }
        self.has_reasons = true;
        let uncounted: Vec<String> = self.newly_uncounted(interval).iter().flat_map(noted).collect();
        self.rows = self.rows.map(|above| above + uncounted.len());
        lines.extend(uncounted);
        joined(&lines)
    }
}

/// Which columns a terminal has no room for.
fn left_out(names: &[&str], width: usize) -> Option<String> {
    (!names.is_empty()).then(|| format!("{width} columns have no room for {}", names.join(", ")))
}

/// What a table cannot show and why, once.
fn reasons(table: Table, interval: &Interval<'_>) -> Vec<String> {
    let Interval { machine, activity, .. } = *interval;
    let missing = match table {
        Table::Threads => why::threads(machine, activity),
        Table::Processes => why::processes(machine, activity),
        _ => Vec::new(),
    };
    missing.into_iter().map(|line| line.text).collect()
}

/// The words of a table without rows.
fn nothing(table: Table, interval: &Interval<'_>) -> String {
    if let (Table::Profile, Some(Err(Problem { path, reason, .. }))) = (table, &interval.activity.profile) {
        return format!("not available here: {reason} ({path})");
    }
    if let (Table::Threads, Some(threads)) = (table, &interval.activity.threads) {
        let (seen, total) = (threads.seen, threads.total);
        return first_round(interval).map_or_else(
            || format!("no thread ran or waited for a device; {seen} of {total} seen"),
            |line| format!("{line}, none of them ran or waited for a device"),
        );
    }
    let words = match table {
        Table::Iostat if interval.machine.drives.is_empty() => "no drives",
        Table::Dstat | Table::Iostat | Table::Cpu => "no counters",
        Table::Interrupts => "no interrupts of drives",
        Table::Threads => "no thread ran or waited for a device",
        Table::Processes => "no process reads or writes",
        Table::Profile => "no CPU was busy",
    };
    words.to_owned()
}

/// Until each thread had its turn once: how many were seen.
fn first_round(interval: &Interval<'_>) -> Option<String> {
    let threads = interval.activity.threads.as_ref().filter(|threads| !threads.is_whole)?;
    Some(format!("first round not complete: {} of {} threads seen", threads.seen, threads.total))
}

fn joined(lines: &[String]) -> String {
    lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
}

/// Rows of the terminal at standard output below a heading.
fn screenful() -> usize {
    let rows = rustix::termios::tcgetwinsize(std::io::stdout()).map(|size| usize::from(size.ws_row));
    rows.ok().filter(|rows| *rows > 4).map_or(ROWS, |rows| rows - 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(words: &[&str]) -> Result<StatArgs, clap::Error> {
        use clap::FromArgMatches as _;
        let command = StatArgs::augment_args(clap::Command::new("stat"));
        StatArgs::from_arg_matches(&command.try_get_matches_from([&["stat"], words].concat())?)
    }

    #[test]
    fn interval_and_count_are_numbers_as_with_iostat() {
        let of = |words: &[&str]| args(words).map(|args| (args.interval().as_secs(), args.count())).ok();
        assert_eq!(of(&["2", "3"]), Some((2, Some(3))));
        assert_eq!(of(&["2"]), Some((2, None)));
        assert_eq!(of(&["--interval", "2", "--count", "3"]), Some((2, Some(3))));
        assert_eq!(of(&["2", "--count", "3"]), Some((2, Some(3))));
        assert_eq!(of(&[]), Some((1, None)));
        for twice in [&["2", "--interval", "2"][..], &["2", "3", "--count", "3"], &["2", "3", "4"]] {
            assert_eq!(of(twice), None, "{twice:?}");
        }
    }

    #[test]
    fn mpstat_is_the_table_of_cpus() {
        assert!(args(&["--mpstat"]).unwrap().cpu);
    }

    #[test]
    fn stacks_are_those_of_threads() {
        for words in [&["--stacks"][..], &["--stacks", "--threads"]] {
            let args = args(words).unwrap();
            let tables = args.tables().unwrap();
            assert!(tables == [Table::Threads] && args.needs(Table::Threads, &tables), "{words:?}");
        }
    }

    #[test]
    fn notes_break_between_words_behind_the_time() {
        use crate::counters::{
            Rates,
            activity::{Activity, ThreadActivity},
        };
        let machine = startup::read(&*Origin::Demo("laptop".to_owned()).open().unwrap()).machine;
        let threads =
            ThreadActivity { seen: 900, total: 10_000, is_whole: false, ..ThreadActivity::default() };
        let activity = Activity { threads: Some(threads), ..Activity::default() };
        let rates = Rates::default();
        let interval = Interval::average(&machine, &rates, &activity);
        let (args, tables) = (args(&["--iostat", "--threads"]).unwrap(), vec![Table::Iostat, Table::Threads]);
        let mut output = Output::new(&args, tables);
        let text = output.text(&interval, 80, 20);
        let notes: Vec<&str> = text.lines().filter(|line| line.starts_with("average  ")).collect();
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
        let (seen, rest) = ("first round not complete: 900 of 10000 threads seen", "or waited for a device");
        let first = format!("average  {seen}, none of them ran\n         {rest}\n");
        assert!(text.contains(&first), "{text}");
        assert!(
            notes.iter().any(|line| line.starts_with("average  80 columns have no room for rrqm/s")),
            "{text}"
        );
        let again = output.text(&interval, 80, 20);
        assert!(!again.contains("no room"), "once: {again}");
    }

    #[test]
    fn the_first_round_is_named_until_all_had_their_turn() {
        use clap::FromArgMatches as _;

        use crate::counters::{
            Rates,
            activity::{Activity, ThreadActivity, ThreadKind},
        };
        let machine = startup::read(&*Origin::Demo("laptop".to_owned()).open().unwrap()).machine;
        let running = ThreadKind {
            state: 'R',
            command: "fio".into(),
            is_kernel: false,
            syscall: None,
            wchan: None,
            stack: None,
        };
        let lines = |is_whole, kinds: &[(ThreadKind, f64)]| {
            let kinds = kinds.to_vec();
            let threads =
                ThreadActivity { seen: 900, total: 10_000, is_whole, kinds, ..ThreadActivity::default() };
            let activity = Activity { threads: Some(threads), ..Activity::default() };
            let rates = Rates::default();
            let interval = Interval::average(&machine, &rates, &activity);
            let command = StatArgs::augment_args(clap::Command::new("stat"));
            let args = StatArgs::from_arg_matches(&command.get_matches_from(["stat", "--threads"])).unwrap();
            let text = Output::new(&args, vec![Table::Threads]).text(&interval, 120, 20);
            text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
        };
        let seen = "average  first round not complete: 900 of 10000 threads seen";
        assert_eq!(lines(false, &[]), [format!("{seen}, none of them ran or waited for a device")]);
        assert_eq!(lines(true, &[]), ["average  no thread ran or waited for a device; 900 of 10000 seen"]);
        let kinds = [(running, 1.0)];
        let (first, later) = (lines(false, &kinds), lines(true, &kinds));
        assert_eq!((first[0].as_str(), &first[1..]), (seen, &later[..]), "above the rows, and no longer");
        assert!(later[0].contains("fio"), "{later:?}");
    }

    #[test]
    fn the_reason_of_what_cannot_be_read_follows_the_first_rows() {
        use clap::FromArgMatches as _;

        use crate::{
            counters::activity::{Activity, ThreadActivity},
            model::ProblemKind,
        };
        let read = startup::read(&*Origin::Demo("laptop".to_owned()).open().unwrap()).machine;
        let root = crate::model::Reading::known("/probe/euid", false);
        let mut machine = Machine::clone(&read);
        machine.host.root = root;
        let refused = "EACCES: permission denied; run as root";
        let problem = |path| Problem::new(ProblemKind::Denied, path, refused);
        let threads = ThreadActivity {
            problems: vec![problem("/proc/1/task/1/syscall")],
            seen: 9,
            refused: 5,
            is_whole: true,
            ..ThreadActivity::default()
        };
        let activity = Activity {
            threads: Some(threads),
            processes: Some(Vec::new()),
            hidden: 3,
            listed: 9,
            problems: vec![problem("/proc/1/io")],
            ..Activity::default()
        };
        let rates = Rates::default();
        let interval = Interval::average(&machine, &rates, &activity);
        let command = StatArgs::augment_args(clap::Command::new("stat"));
        let args = StatArgs::from_arg_matches(&command.get_matches_from(["stat"])).unwrap();
        let mut output = Output::new(&args, vec![Table::Threads, Table::Processes]);
        let mut reasons = || -> Vec<String> {
            let text = output.text(&interval, 200, 20);
            text.lines().filter(|line| line.contains("not available")).map(str::to_owned).collect()
        };
        assert_eq!(
            reasons(),
            [
                "average  not available here: syscall of 5 of 9 threads, EACCES (permission denied; run as root)",
                "average  not available here: 3 of 9 processes, EACCES: permission denied; run as root (/proc/1/io)",
            ]
        );
        assert_eq!(reasons().len(), 0, "once");
    }

    #[test]
    fn intervals_and_counts_are_checked() {
        assert_eq!(interval("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(interval("2s"), Ok(Duration::from_secs(2)));
        for wrong in ["0", "-1", "x", "nan", "inf", "1e9", ""] {
            assert!(interval(wrong).is_err(), "{wrong}");
        }
        assert_eq!(count("3"), Ok(3));
        assert!(count("0").is_err() && count("-1").is_err() && count("x").is_err());
    }
}
