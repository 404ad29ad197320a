"""What is tried in the guests: one function for each promise, in files by subject."""

from . import fio, reading, rebind, screens, slots, tests, tuning
from .registry import TRIALS, Trial

__all__ = ["TRIALS", "Trial", "fio", "reading", "rebind", "screens", "slots", "tests", "tuning"]
