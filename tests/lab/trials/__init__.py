"""What is tried in the guests: one function for each promise, in files by subject."""

# In this order: while the first are tried, the next machine boots, and they are the ones that take no notice of time; those
# that take drives away come last.
from . import reading, screens, tuning, fio, tests, rebind, slots  # isort: skip
from .registry import TRIALS, Trial

__all__ = ["TRIALS", "Trial", "fio", "reading", "rebind", "screens", "slots", "tests", "tuning"]
