//! How the page looks: the question or the answer above, the steps as bars, then the file and how rates were found.

use ratatui::layout::{Constraint, Layout, Rect};

use super::{WhyFile, lines};
use crate::{
    screens::widgets::{
        paint::{Brush, Piece, fit_end, inner, open_field, piece},
        scroll,
    },
    text::Label,
    ui::{Shared, theme::Meaning},
};

/// The head and the steps with their lines.
struct Areas {
    head: Rect,
    steps: Rect,
}

impl Areas {
    fn new(head: &[Vec<Piece>], has_steps: bool, shared: &Shared, area: Rect) -> Self {
        if !has_steps {
            return Self { head: area, steps: Rect::default() };
        }
        let frame = if shared.is_boxed() { 2 } else { 1 };
        let lines = u16::try_from(head.len()).unwrap_or(u16::MAX).saturating_add(frame);
        let high = lines.min(area.height / 2);
        let [head, steps] = Layout::vertical([Constraint::Length(high), Constraint::Min(0)]).areas(area);
        Self { head, steps }
    }
}

/// Lines of the head and of the steps, for their places.
fn content(page: &WhyFile, shared: &Shared, area: Rect) -> (Vec<Vec<Piece>>, Vec<Vec<Piece>>) {
    let width = inner(area, shared.is_boxed()).width;
    let mut head = lines::head(shared, page.field.is_some(), width);
    if let Some(input) = &page.field {
        head.push(vec![piece("File  ", Meaning::Quiet), open_field(input, width.saturating_sub(6))]);
    }
    (head, lines::steps(shared, width))
}

/// Lines of the steps, and rows for them.
pub(super) fn extent(page: &WhyFile, shared: &Shared, area: Rect) -> (usize, u16) {
    let (head, steps) = content(page, shared, area);
    let areas = Areas::new(&head, !steps.is_empty(), shared, area);
    (steps.len(), inner(areas.steps, shared.is_boxed()).height)
}

pub(super) fn draw(page: &WhyFile, shared: &Shared, area: Rect, brush: &mut Brush<'_>) {
    let (head, steps) = content(page, shared, area);
    let areas = Areas::new(&head, !steps.is_empty(), shared, area);
    let file = shared.inquiry.as_ref().map(|inquiry| Label::new(&inquiry.request.file.to_string_lossy()));
    let mut title = vec![piece("Why FILE", Meaning::Heading)];
    if let Some(file) = file {
        let room = area.width.saturating_sub(16);
        title.push(piece(format!("  {}", fit_end(file.as_str(), room)), Meaning::Quiet));
    }
    let inside = brush.panel(areas.head, &title, &[]);
    brush.lines(inside, &head, 0);
    if steps.is_empty() {
        return;
    }
    if let Some(share) = lines::progress(shared) {
        brush.bar(inside.x, inside.y + 1, inside.width, share, Meaning::Brand);
    }
    let title = [piece("Steps", Meaning::Heading), piece("  from the drive to a program", Meaning::Quiet)];
    let inside = brush.panel(areas.steps, &title, &[]);
    let hidden = brush.lines(inside, &steps, page.top);
    scroll::mark(brush, areas.steps, scroll::PAGES, hidden);
}
