"""Trials of a machine, one after the other: as they are, or with the program broken on purpose.

Here: the order of things and what is printed. Not here: any trial, any sabotage (`broken.py`).
"""

import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass

from broken import SABOTAGE, Sabotage, wrapper
from emulator import Guest, Lab, Silent
from machines import MACHINES
from trials import TRIALS, Trial


def chosen(machine: str, word: str, core: bool = False) -> list[Trial]:
    """The trials of a machine whose names have this word in them; of the core only those that `.ci/run` tries."""
    if core and not MACHINES[machine].core:
        return []
    named = (trial for trial in TRIALS if trial.machine == machine and word in trial.name)
    return [trial for trial in named if trial.core or not core]


def try_machine(seat: "Seat", trials: list[Trial], again: bool = False) -> tuple[int, int]:
    """Runs a machine's trials; how many there were, and how many failed: both times, where they are to be tried `again`."""
    failed = 0
    for trial in trials:
        error = tried(seat, trial)
        if error and again:
            print("  once more, on a machine that was just switched on:", flush=True)
            seat.off()
            error = tried(seat, trial)
        failed += error is not None
    return len(trials), failed


def tried(seat: "Seat", trial: Trial) -> Exception | None:
    guest = seat.up()
    start = time.monotonic()
    error = failure(trial, guest)
    verdict = "ok" if error is None else f"FAILED\n{indented(error)}"
    print(f"  {trial.name} ({time.monotonic() - start:.1f} s) ... {verdict}", flush=True)
    return error


def break_machine(seat: "Seat", trials: list[Trial]) -> tuple[int, int]:
    """Runs a machine's trials with a program that was broken for each; how many there were, and how many were not noticed."""
    sabotages = [(trial, sabotage) for trial in trials for sabotage in SABOTAGE[trial.name]]
    unnoticed = 0
    for trial, sabotage in sabotages:
        error = sabotaged(trial, sabotage, seat.up())
        unnoticed += not sabotage.noticed(error)
        if sabotage.spoils:
            seat.off()
        print(f"  {trial.name}, when {sabotage.says} ... {sabotage.verdict(error)}", flush=True)
    return len(sabotages), unnoticed


@dataclass
class Seat:
    """A machine of the lab: up whenever it is asked for, also when its guest went silent before."""

    name: str
    lab: Lab
    guest: Guest | None = None

    def on(self) -> Guest:
        """Switches it on, if it is off. It boots by itself."""
        self.guest = self.guest or Guest(MACHINES[self.name], self.lab)
        return self.guest

    def up(self) -> Guest:
        """A guest that came up: at the second attempt where one took too long, as on a host with much else to do."""
        if self.guest and self.guest.silent:
            self.off()
        try:
            return self.on().ready()
        except Silent as error:
            print(f"{self.name}: once more, {error}", flush=True)
            self.off()
            return self.on().ready()

    def off(self) -> None:
        if self.guest:
            self.guest.off()
        self.guest = None


def in_turn(names: list[str], lab: Lab, seconds: float) -> Iterator[Seat]:
    """Machines one after the other, each up, the next one booting meanwhile; no further one when the time is over."""
    end = time.monotonic() + seconds
    seats = [Seat(name, lab) for name in names]
    try:
        for seat, following in zip(seats, [*seats[1:], None], strict=True):
            if time.monotonic() > end:
                print(f"{seat.name}: not tried: {seconds:.0f} s are over", flush=True)
                continue
            start = time.monotonic()
            seat.up()
            print(f"{seat.name}: up after waiting {time.monotonic() - start:.0f} s", flush=True)
            if following:
                following.on()
            yield seat
            seat.off()
    finally:
        for seat in seats:
            seat.off()


def failure(trial: Trial, guest: Guest) -> Exception | None:
    try:
        trial.run(guest)
    except Exception as error:
        return error
    return None


def sabotaged(trial: Trial, sabotage: Sabotage, guest: Guest) -> Exception | None:
    """What a trial says of a broken program. The program is whole again afterwards, and nothing of it runs any more."""
    (guest.share / "wrapper").write_text(wrapper(sabotage))
    guest.text("mv /bin/iodyno /bin/whole; cp /host/wrapper /bin/iodyno; chmod 755 /bin/iodyno")
    guest.deaf = sabotage.deaf
    try:
        return failure(trial, guest)
    finally:
        guest.deaf = False
        if not guest.silent:
            guest.text("mv /bin/whole /bin/iodyno; killall -q -9 whole; iodyno tune undo --all >/dev/null; true")


def indented(error: Exception) -> str:
    if isinstance(error, AssertionError) and str(error):
        return f"    {error}"
    return "".join(f"    {line}" for line in traceback.format_exception(error))
