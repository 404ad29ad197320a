//! The CPU profile as lines and a table.

use super::{
    grid::{Cell, Grid, Mark, Row, number, word},
    lines::{Line, known, missing, unread},
};
use crate::{
    counters::{
        activity::Activity,
        profile::{Function, Profile, Word},
    },
    units::count,
};

/// Functions with less of the samples are noise, percent.
const LEAST: f64 = 0.5;
/// Likewise words in a line.
const LEAST_WORD: f64 = 1.0;

/// `1.20 k samples, 10 s, cost 0.12 % of a CPU`.
pub(crate) fn note(activity: &Activity) -> String {
    let Some(Ok(profile)) = &activity.profile else { return String::new() };
    let Some(cost) = profile.cost_percent() else {
        return "simulated: programs and kernel only".to_owned();
    };
    let seconds = profile.elapsed.as_secs_f64();
    format!("{}, {seconds:.0} s, cost {cost:.2} % of a CPU", samples(profile.busy()))
}

/// `1 sample`, `1.20 k samples`.
fn samples(number: u64) -> String {
    match number {
        1 => "1 sample".to_owned(),
        number => format!("{} samples", count(number as f64)),
    }
}

/// What busy CPUs do in words, most first, and what is not known.
pub(crate) fn lines(activity: &Activity) -> Vec<Line> {
    let profile = match &activity.profile {
        Some(Ok(profile)) => profile,
        Some(Err(problem)) => {
            return vec![missing("profile", &unread(problem))];
        }
        None => {
            let text = "sampling; first figures after 2 s".to_owned();
            return vec![Line { name: "profile", text, is_known: false, is_hot: false }];
        }
    };
    let mut lines = Vec::new();
    let words: Vec<String> =
        shares(profile, LEAST_WORD).map(|(word, share)| format!("{} {share:.0} %", word.name())).collect();
    if !words.is_empty() {
        lines.push(known("CPU time", words.join(", "), false));
    }
    if profile.lost > 0 {
        lines.push(known("lost", format!("{} found no room", samples(profile.lost)), true));
    }
    lines.extend(profile.problems.iter().map(|problem| missing("names", &unread(problem))));
    lines
}

/// Words with at least this share of busy CPU time in percent, most first.
fn shares(profile: &Profile, least: f64) -> impl Iterator<Item = (Word, f64)> {
    let all = profile.words().into_iter().map(|(word, count)| (word, profile.share(count)));
    all.filter(move |(_, share)| *share >= least)
}

/// Functions, most CPU time first, and how many of them are more than noise.
pub(crate) fn functions(activity: &Activity) -> (Grid, usize) {
    let columns = vec![
        number("%busy", 6, 0),
        word("spent on", 13, 0),
        word("function", 26, 0).up_to(44),
        word("in", 8, 1),
    ];
    let profile = activity.profile.iter().flatten();
    let all = profile.flat_map(|profile| {
        profile.functions.iter().map(|(function, count)| (function, profile.share(*count)))
    });
    let matter = all.clone().take_while(|(_, share)| *share >= LEAST).count();
    let rows = all.map(|(function, share)| function_row(function, share)).collect();
    (Grid { columns, rows }, matter)
}

fn function_row(function: &Function, share: f64) -> Row {
    // Functions of programs are not resolved: their file stands for them.
    let (name, place) = match function.word {
        Word::Programs => (function.object.as_ref(), "user"),
        _ => (function.name.as_ref(), function.object.as_ref().map_or("kernel", |module| module.as_str())),
    };
    let name = name.map_or_else(|| "not known".to_owned(), ToString::to_string);
    let cells =
        vec![Cell::Number(share, 1), Cell::text(function.word.name()), Cell::Text(name), Cell::text(place)];
    let mark = match function.word {
        Word::Programs => Mark::Plain,
        _ => Mark::Kernel,
    };
    Row { cells, mark }
}

/// Words first, with `all` functions, then functions: for rows that follow each other.
pub(crate) fn rows(activity: &Activity) -> Grid {
    let (mut grid, matter) = functions(activity);
    grid.rows.truncate(matter);
    let profile = activity.profile.iter().flatten();
    let words = profile.flat_map(|profile| shares(profile, LEAST)).map(|(word, share)| Row {
        cells: vec![
            Cell::Number(share, 1),
            Cell::text(word.name()),
            Cell::Text("all".to_owned()),
            Cell::Unknown,
        ],
        mark: Mark::Plain,
    });
    grid.rows = words.chain(grid.rows).collect();
    grid
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        counters::profile::{Place, Samples},
        model::{Problem, ProblemKind},
        text::Label,
    };

    fn activity(hits: &[(Place, u64)]) -> Activity {
        let samples = Samples {
            hits: hits.iter().cloned().collect(),
            lost: 3,
            elapsed: Duration::from_secs(10),
            cost: Duration::from_millis(12),
            problems: Vec::new(),
        };
        Activity { profile: Some(Ok(Profile::of([&samples]))), ..Activity::default() }
    }

    fn texts(grid: &Grid) -> Vec<String> {
        let layout = grid.layout(56);
        grid.rows.iter().map(|row| grid.row(row, &layout)).collect()
    }

    #[test]
    fn a_profile_that_is_being_sampled_tells_how_long_that_takes() {
        let lines = lines(&Activity::default());
        assert_eq!((lines.len(), lines[0].text.as_str()), (1, "sampling; first figures after 2 s"));
    }

    #[test]
    fn functions_are_named_with_their_word_and_place() {
        let kernel = |name: &str, module: Option<&str>| Place::Kernel {
            function: Some(Label::new(name)),
            module: module.map(Label::new),
            by_idle_task: false,
        };
        let hits = [
            (kernel("_copy_to_iter", None), 600),
            (kernel("nvme_irq", Some("nvme")), 200),
            (Place::User(Some(Label::new("dd"))), 150),
            (Place::User(None), 46),
            (kernel("vfs_read", None), 4),
            (kernel("do_idle", None), 1000),
        ];
        let activity = activity(&hits);
        assert_eq!(
            texts(&rows(&activity)),
            [
                "  60.0 copying       all                        -",
                "  20.0 interrupts    all                        -",
                "  19.6 programs      all                        -",
                "  60.0 copying       _copy_to_iter              kernel",
                "  20.0 interrupts    nvme_irq                   nvme",
                "  15.0 programs      dd                         user",
                "   4.6 programs      not known                  user",
            ]
        );
        let (all, matter) = functions(&activity);
        assert_eq!((all.rows.len(), matter), (5, 4));
        let lines: Vec<_> = lines(&activity).into_iter().map(|line| (line.name, line.text)).collect();
        assert_eq!(
            lines,
            [
                ("CPU time", "copying 60 %, interrupts 20 %, programs 20 %".to_owned()),
                ("lost", "3 samples found no room".to_owned())
            ]
        );
        assert_eq!(note(&activity), "1.00 k samples, 10 s, cost 0.12 % of a CPU");
    }

    #[test]
    fn one_lost_sample_is_singular() {
        let profile = Profile { lost: 1, ..Profile::default() };
        let lines = lines(&Activity { profile: Some(Ok(profile)), ..Activity::default() });
        assert_eq!(lines.last().unwrap().text, "1 sample found no room");
    }

    /// linux-block 2025: direct reads into 1 GB pages contend for one reference count.
    #[test]
    fn contention_for_a_page_shows_as_memory_with_its_functions() {
        let kernel = |name: &str| Place::Kernel {
            function: Some(Label::new(name)),
            module: None,
            by_idle_task: false,
        };
        let activity = activity(&[
            (kernel("try_grab_folio_fast"), 300),
            (kernel("gup_fast_fallback"), 250),
            (kernel("unpin_user_page"), 150),
            (Place::User(Some(Label::new("postgres"))), 200),
            (kernel("nvme_irq"), 100),
        ]);
        assert_eq!(lines(&activity)[0].text, "memory 70 %, programs 20 %, interrupts 10 %");
        let most = &texts(&functions(&activity).0)[0];
        assert!(most.contains("memory") && most.contains("try_grab_folio_fast"), "{most}");
    }

    #[test]
    fn a_refusal_is_one_line_with_its_reason() {
        let problem = Problem::new(ProblemKind::Denied, "perf_event_open", "EACCES: Permission denied");
        let activity = Activity { profile: Some(Err(problem)), ..Activity::default() };
        let [line] = &lines(&activity)[..] else { panic!("one line") };
        assert_eq!(line.text, "not available here: EACCES: Permission denied (perf_event_open)");
        assert!(!line.is_known && functions(&activity).0.rows.is_empty() && note(&activity).is_empty());
    }
}
