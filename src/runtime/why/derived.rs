//! Steps that follow from others.

use crate::waterfall::{Layer, Rate, Step};

/// Fills in the steps that follow from others.
pub(super) fn complete(steps: &mut [Step]) {
    cache_at_best(steps);
    let direct = steps.iter().position(|step| step.layer == Layer::Direct);
    let own = steps.iter().rposition(|step| step.layer == Layer::FileSystem);
    if let (Some(direct), Some(own)) = (direct, own) {
        // The same reads: a program that keeps as many in flight gets what the file system gives.
        steps[direct].rate = steps[own].rate.clone();
    }
}

/// The page cache gives what the best way through it gets in a round: blocks requested ahead, the kernel's readahead, mmap.
fn cache_at_best(steps: &mut [Step]) {
    let rates = |layer| steps.iter().find(|step| step.layer == layer).map(|step| step.rate.clone());
    let (Some(Rate::Measured(own)), Some(Rate::Measured(program))) =
        (rates(Layer::PageCache), rates(Layer::Buffered))
    else {
        return;
    };
    // mmap goes through the page cache too.
    let mapped = match rates(Layer::Mmap) {
        Some(Rate::Measured(mapped)) => mapped,
        _ => Vec::new(),
    };
    let mapped = mapped.into_iter().chain(std::iter::repeat(0.0));
    let best =
        own.iter().zip(&program).zip(mapped).map(|((own, program), mapped)| own.max(*program).max(mapped));
    if let Some(step) = steps.iter_mut().find(|step| step.layer == Layer::PageCache) {
        step.rate = Rate::Measured(best.collect());
    }
}
