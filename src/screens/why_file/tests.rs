use std::{path::PathBuf, sync::Arc};

use ratatui::{buffer::Buffer, layout::Rect};

use super::*;
use crate::{
    capacity,
    model::Failed,
    report::waterfall::Asked,
    screens::{Screen, widgets::paint::Brush},
    source::{self, origin::Origin},
    ui::{
        Ask, Effect, Key, MachineRead, Shared, SharedChange, Subject,
        inquiry::{FileAnswer, FileNews, FileRefusal, FileRequest, FileStep, Inquiry},
        key_names::KeyNames,
        picture::text,
        shared::Mode,
        theme::Theme,
    },
    waterfall::{Layer, Rate, Step, Waterfall, testing::measured},
};

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];

fn shared(mode: Mode, size: (u16, u16)) -> Shared {
    let (machine, problems) = source::read_machine(&*Origin::Demo("laptop".to_owned()).open().unwrap());
    let limits = Arc::new(capacity::limits(&machine));
    let mut shared = Shared::new(mode, MachineRead { machine: Arc::new(machine), problems, limits }, size);
    shared.keys = KeyNames::new([("back", "Esc"), ("measure again", "r"), ("why file", "y")].map(keyed));
    shared
}

fn keyed((command, key): (&'static str, &str)) -> (&'static str, String) {
    (command, key.to_owned())
}

fn request() -> FileRequest {
    FileRequest { file: PathBuf::from("/srv/models/model.gguf"), drop_cache: false }
}

fn path() -> Waterfall {
    let mut path = measured(&[
        (Layer::Drive, 7000.0),
        (Layer::Crypt, 6950.0),
        (Layer::FileSystem, 6900.0),
        (Layer::PageCache, 6800.0),
        (Layer::Direct, 6900.0),
        (Layer::Buffered, 6000.0),
        (Layer::Mmap, 1100.0),
    ]);
    path.facts.mmap_ahead = vec![4.3e9; 4];
    let link = Step {
        layer: Layer::Link,
        name: "nvme0n1".to_owned(),
        rate: Rate::Unknown("it has no PCIe link with a known speed".to_owned()),
        because: String::new(),
    };
    path.steps.insert(1, link);
    path
}

fn answer(path: Waterfall) -> FileAnswer {
    let asked = Asked {
        file: "/srv/models/model.gguf".to_owned(),
        bytes: 8 << 30,
        cached: Some(0),
        dropped: false,
        notes: vec!["extents unknown".to_owned()],
        stopped: false,
    };
    FileAnswer { asked, path }
}

fn ended(result: Result<FileAnswer, FileRefusal>, size: (u16, u16)) -> Shared {
    let mut shared = shared(Mode::Live, size);
    shared.inquiry = Some(Inquiry::new(request()));
    shared.inquiry.as_mut().unwrap().take(FileNews::Ended(result));
    shared
}

fn drawn(page: &WhyFile, shared: &Shared) -> String {
    let area = Rect::new(0, 0, shared.size.0, shared.size.1 - 8);
    let mut buffer = Buffer::empty(area);
    page.draw(shared, area, &mut Brush::new(&mut buffer, Theme::PLAIN, shared.is_boxed()));
    text(&buffer)
}

#[test]
fn the_answer_comes_first_and_every_step_has_its_row() {
    for size in SIZES {
        let shared = ended(Ok(answer(path())), size);
        let text = drawn(&WhyFile::default(), &shared);
        let line = |says: &str| text.lines().position(|line| line.contains(says));
        assert!(line("mmap reads 1.10 GB/s of 6.80 GB/s").unwrap() <= 1, "{text}");
        assert!(line("Remedy").unwrap() < line("from the drive to a program").unwrap(), "{text}");
        let rows =
            ["drive ", "link ", "crypt ", "file-system ", "page-cache ", "direct ", "buffered ", "mmap "];
        // Low screens have no row for what has no rate and no test.
        let has_row = |row: &&&str| shared.is_boxed() || **row != "link ";
        let places: Vec<_> = rows
            .iter()
            .filter(has_row)
            .map(|row| {
                text.lines()
                    .skip(5)
                    .position(|line| line.trim_start_matches(['│', ' ']).starts_with(row))
                    .unwrap_or_else(|| panic!("{row} in {text}"))
            })
            .collect();
        assert!(places.is_sorted(), "{places:?} {text}");
        assert_eq!(text.contains("not measured here: it has no PCIe link"), shared.is_boxed(), "{text}");
        assert!(text.lines().any(|line| line.contains("-84 %! ▆") && line.contains("mmap")), "{text}");
    }
}

#[test]
fn a_path_without_an_array_says_so_and_a_healthy_one_too() {
    let healthy = measured(&[(Layer::Drive, 1000.0), (Layer::FileSystem, 990.0), (Layer::Mmap, 980.0)]);
    let text = drawn(&WhyFile::default(), &ended(Ok(answer(healthy.clone())), SIZES[1]));
    assert!(text.contains("No step loses 15 %") && text.contains("no array or crypt device"), "{text}");
    assert!(!text.contains('!'), "{text}");
    let mut busy = healthy;
    busy.facts.others = vec![(Layer::Mmap, 0.9)];
    let text = drawn(&WhyFile::default(), &ended(Ok(answer(busy)), SIZES[1]));
    assert!(text.contains("Other programs used up to 90 % of the CPUs"), "{text}");
}

#[test]
fn a_stopped_measurement_names_no_step() {
    let mut stopped = answer(path());
    stopped.asked.stopped = true;
    let text = drawn(&WhyFile::default(), &ended(Ok(stopped), SIZES[1]));
    assert!(text.contains("Stopped: there is no answer") && text.contains("1.10 GB/s"), "{text}");
    assert!(!text.contains('!') && !text.contains("-5.70"), "{text}");
}

#[test]
fn a_measurement_in_progress_shows_its_test_and_the_rates_so_far() {
    let mut shared = shared(Mode::Live, SIZES[1]);
    shared.inquiry = Some(Inquiry::new(request()));
    let mut page = WhyFile::default();
    assert!(drawn(&page, &shared).contains("Looking at the file"));
    let mut so_far = path();
    so_far.steps[3].rate = Rate::Measured(Vec::new());
    let step = FileStep { layer: "mmap", done: 16, all: 28, path: so_far };
    shared.inquiry.as_mut().unwrap().take(FileNews::Step(step));
    let text = drawn(&page, &shared);
    assert!(text.contains("Measuring mmap: test 17 of 28") && text.contains("Esc stops"), "{text}");
    assert!(!text.contains('!'), "no verdict before the end: {text}");
    let asks = page.back(&shared).unwrap();
    assert!(matches!(&asks[..], [Ask::Change(SharedChange::StopFile), Ask::Effect(Effect::StopFile)]));
    shared.apply(SharedChange::StopFile);
    assert!(matches!(&page.back(&shared).unwrap()[..], [Ask::Show(..)]), "a second Esc leaves the page");
}

#[test]
fn a_demo_and_a_capture_say_that_nothing_is_measured_and_ask_for_nothing() {
    for (mode, says) in
        [(Mode::Demo("laptop".into()), "A demo has no files"), (Mode::Capture, "are not here")]
    {
        let shared = shared(mode, SIZES[0]);
        let mut page = WhyFile::default();
        page.take(&Subject::File(PathBuf::from("/srv/file"), ScreenId("machine")), &shared);
        assert!(page.field().is_none());
        assert!(drawn(&page, &shared).contains(says));
    }
}

#[test]
fn the_question_begins_the_measurement_and_a_folder_is_asked_again_with_its_largest_file() {
    let mut shared = shared(Mode::Live, SIZES[0]);
    let mut page = WhyFile::default();
    page.take(&Subject::File(PathBuf::from("/srv/models/"), ScreenId("dyno")), &shared);
    assert_eq!(page.field().map(|field| field.value().to_owned()).as_deref(), Some("/srv/models/"));
    assert!(drawn(&page, &shared).contains("/srv/models/"), "the field is shown");
    let asks = page.field_key(Some(Key::Enter), &shared);
    let [Ask::Change(SharedChange::BeginFile(request)), Ask::Effect(Effect::MeasureFile(_))] = &asks[..]
    else {
        panic!("{asks:?}")
    };
    assert_eq!(request.file, PathBuf::from("/srv/models/"));
    shared.apply(SharedChange::BeginFile(request.clone()));
    assert!(shared.measures_file());
    let why = Failed::new("/srv/models: is a directory; its largest file is /srv/models/big", None);
    let instead = Some(PathBuf::from("/srv/models/big"));
    let refusal = FileRefusal { why, is_cached: false, instead };
    shared.inquiry.as_mut().unwrap().take(FileNews::Ended(Err(refusal)));
    page.refresh(&shared, Rect::default());
    assert_eq!(page.field().map(|field| field.value().to_owned()).as_deref(), Some("/srv/models/big"));
    page.field_key(Some(Key::Esc), &shared);
    page.refresh(&shared, Rect::default());
    assert!(page.field().is_none(), "it is offered once");
    page.field = Some(TextField::default());
    assert!(
        matches!(&page.field_key(Some(Key::Enter), &shared)[..], [Ask::Notice(notice)] if notice.problem)
    );
    page.field = Some(TextField::new("//srv/models/big"));
    let asks = page.field_key(Some(Key::Enter), &shared);
    assert!(
        matches!(&asks[..], [Ask::Change(SharedChange::BeginFile(request)), ..] if request.file.as_os_str() == "/srv/models/big"),
        "{asks:?}"
    );
}

#[test]
fn a_cached_file_offers_to_drop_its_pages() {
    let why = Failed::new("/srv/file: 32 of 32 MiB are cached; d drops its pages", None);
    let shared = ended(Err(FileRefusal { why, is_cached: true, instead: None }), SIZES[0]);
    let mut page = WhyFile::default();
    assert!(page.offers("drop pages", &shared) && drawn(&page, &shared).contains("d drops its pages"));
    let asks = update::drop_pages(&mut page, &shared);
    assert!(matches!(&asks[0], Ask::Change(SharedChange::BeginFile(request)) if request.drop_cache));
    let uncached = ended(Ok(answer(path())), SIZES[0]);
    assert!(!page.offers("drop pages", &uncached) && page.offers("measure again", &uncached));
}
