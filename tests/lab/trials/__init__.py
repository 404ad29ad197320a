"""What is tried in the guests: one function for each promise, in files by subject."""

# In this order: while the first are tried, the next machine boots, and they are the ones that take no notice of time; those
# that take drives away come last.
from . import reading, fields, shapes, users, layers, twins, screens, tuning, fio, monitor, tests, pulls, rebind, slots  # isort: skip
from .registry import TALLY, TRIALS, Trial

__all__ = ["TALLY", "TRIALS", "Trial", "fields", "fio", "layers", "monitor", "pulls", "reading", "rebind", "screens", "shapes", "slots", "tests", "tuning"]
__all__ += ["twins", "users"]
