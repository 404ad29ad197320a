//! [`Pace`]: when the next frame is drawn.

use std::time::Duration;

use super::clock::Clock;

/// Minimum time between two frames.
const FRAME: Duration = Duration::from_millis(33);
/// Longest wait without a change.
const REST: Duration = Duration::from_millis(990);

/// Times of the last frame and of the first change that is not drawn.
pub(super) struct Pace {
    clock: Clock,
    changed_at: Option<Duration>,
    drawn_at: Duration,
}

impl Pace {
    /// The first frame is drawn already; another one follows at once.
    pub const fn new(clock: Clock) -> Self {
        Self { clock, changed_at: Some(Duration::ZERO), drawn_at: Duration::ZERO }
    }

    /// Something is to be drawn, since now unless there was something already.
    pub fn change(&mut self) {
        self.changed_at.get_or_insert_with(|| self.clock.elapsed());
    }

    /// How long to wait for messages before the next step; zero where a frame may be drawn.
    pub fn wait(&self) -> Duration {
        match self.changed_at {
            Some(_) => (self.drawn_at + FRAME).saturating_sub(self.clock.elapsed()),
            None => REST,
        }
    }

    /// Whether to draw now, after a wait of `waited`. What has arrived meanwhile shares the frame, unless messages do not end.
    pub fn is_due(&self, waited: Duration, has_arrived: bool) -> bool {
        let is_old = |since| self.clock.elapsed() >= since + FRAME;
        waited.is_zero() && self.changed_at.is_some_and(|since| !has_arrived || is_old(since))
    }

    /// A frame was drawn, or dropped: then it is tried again.
    pub fn draw(&mut self, is_drawn: bool) {
        self.drawn_at = self.clock.elapsed();
        self.changed_at = (!is_drawn).then_some(self.drawn_at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn() -> (Clock, Pace) {
        let clock = Clock::counted();
        let mut pace = Pace::new(clock.clone());
        pace.draw(true);
        assert_eq!(pace.wait(), REST);
        (clock, pace)
    }

    #[test]
    fn messages_that_arrive_together_share_a_frame_after_a_long_wait() {
        let (clock, mut pace) = drawn();
        clock.pass(REST);
        // Two messages, one after the other, and then none.
        for _ in 0..2 {
            assert!(!pace.is_due(pace.wait(), true));
            pace.change();
            assert_eq!(pace.wait(), Duration::ZERO, "the last frame is old");
            clock.pass(Duration::from_millis(5));
        }
        assert!(pace.is_due(pace.wait(), false));
        pace.draw(true);
        assert!(!pace.is_due(pace.wait(), false));
    }

    #[test]
    fn messages_without_an_end_do_not_hold_frames_back_which_keep_their_distance() {
        let (clock, mut pace) = drawn();
        let mut frames = 0;
        for _ in 0..1000 {
            if pace.is_due(pace.wait(), true) {
                pace.draw(true);
                frames += 1;
            }
            pace.change();
            clock.pass(Duration::from_millis(1));
        }
        assert!((25..=30).contains(&frames), "{frames} a second");
    }

    #[test]
    fn a_dropped_frame_is_tried_again() {
        let (clock, mut pace) = drawn();
        pace.change();
        clock.pass(FRAME);
        pace.draw(false);
        assert_eq!(pace.wait(), FRAME);
        clock.pass(FRAME);
        assert!(pace.is_due(pace.wait(), false));
    }
}
