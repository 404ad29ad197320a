"""The list of trials, how a function becomes one, and what several of them need.

Not here: any trial.
"""

import json
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from board import drive_serial
from emulator import Guest
from machines import MACHINES


@dataclass(frozen=True)
class Trial:
    """A promise, named by what it says, and the machine it is tried on."""

    name: str
    machine: str
    run: Callable[[Guest], None]
    core: bool = True  # tried by `.ci/run` too, where its machine is


TRIALS: list[Trial] = []


def on(*machines: str, core: Collection[str] | None = None):
    """Registers a trial for each of these machines; only on those of `core`, if given, is it of the core."""

    def register(function):
        for machine in machines:
            TRIALS.append(Trial(function.__name__.replace("_", " "), machine, function, core is None or machine in core))
        return function

    return register


def name_of(guest: Guest) -> str:
    return next(name for name, machine in MACHINES.items() if machine is guest.machine)


def same(what: str, ours, theirs) -> None:
    assert ours == theirs, f"{what}: iodyno says {ours!r}, the other {theirs!r}"


@dataclass
class Tally:
    """How many fields were compared with others', and how many of them agreed, on which machines."""

    compared: int = 0
    agreed: int = 0
    machines: set[str] = field(default_factory=set)


TALLY = Tally()


class Fields:
    """Fields compared one by one. All are looked at before those that differ are told."""

    def __init__(self, guest: Guest):
        self.different: list[str] = []
        TALLY.machines.add(name_of(guest))

    def field(self, what: str, ours, theirs) -> None:
        TALLY.compared += 1
        TALLY.agreed += ours == theirs
        if ours != theirs:
            self.different.append(f"{what}: iodyno says {ours!r}, the other {theirs!r}")

    def done(self) -> None:
        assert not self.different, f"{len(self.different)} fields differ: " + "; ".join(self.different[:12])


def drive(guest: Guest, number: int) -> dict:
    """A drive of the machine as iodyno lists it."""
    listed = json.loads(guest.iodyno("drives --json"))["drives"]
    (found,) = [drive for drive in listed if drive["serial"] == drive_serial(number)]
    return found


def beside(guest: Guest, command: str) -> Callable[[], str]:
    """Runs a command while the trial goes on; what it gives waits for the command's end, and is what that wrote."""
    guest.text(f"{command} >/tmp/beside 2>&1 & echo $! >/tmp/beside.pid")

    def whole() -> str:
        until(f"the end of `{command}`", lambda: guest.run("kill -0 $(cat /tmp/beside.pid)").status != 0, guest)
        return guest.text("cat /tmp/beside")

    return whole


def until(what: str, happened: Callable[[], bool], guest: Guest) -> None:
    """Waits for something in the guest."""
    end = time.monotonic() + guest.lab.patience
    while not happened():
        assert time.monotonic() < end, f"{what}: not within {guest.lab.patience} s"
        time.sleep(0.2)
