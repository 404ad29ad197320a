"""Trials of a machine, one after the other: as they are, or with the program broken on purpose.

Here: the order of things and what is printed. Not here: any trial, any sabotage (`broken.py`).
"""

import time
import traceback

from broken import SABOTAGE, Sabotage, wrapper
from emulator import Guest, Lab
from machines import MACHINES
from trials import TRIALS, Trial


def chosen(machine: str, word: str) -> list[Trial]:
    return [trial for trial in TRIALS if trial.machine == machine and word in trial.name]


def try_machine(name: str, word: str, lab: Lab) -> tuple[int, int]:
    """Runs a machine's trials; how many there were, and how many failed."""
    trials = chosen(name, word)
    if not trials:
        return 0, 0
    failed = 0
    with started(name, lab) as guest:
        for trial in trials:
            start = time.monotonic()
            error = failure(trial, guest)
            failed += error is not None
            verdict = "ok" if error is None else f"FAILED\n{indented(error)}"
            print(f"  {trial.name} ({time.monotonic() - start:.1f} s) ... {verdict}", flush=True)
    return len(trials), failed


def break_machine(name: str, word: str, lab: Lab) -> tuple[int, int]:
    """Runs a machine's trials with a program that was broken for each; how many there were, and how many still passed."""
    sabotages = [(trial, sabotage) for trial in chosen(name, word) for sabotage in SABOTAGE[trial.name]]
    if not sabotages:
        return 0, 0
    unnoticed = 0
    with started(name, lab) as guest:
        for trial, sabotage in sabotages:
            error = sabotaged(trial, sabotage, guest)
            unnoticed += error is None
            verdict = "NOT NOTICED" if error is None else f"noticed: {str(error).splitlines()[0][:160]}"
            print(f"  {trial.name}, when {sabotage.says} ... {verdict}", flush=True)
    return len(sabotages), unnoticed


def started(name: str, lab: Lab) -> Guest:
    start = time.monotonic()
    guest = Guest(MACHINES[name], lab)
    print(f"{name}: up after {time.monotonic() - start:.0f} s", flush=True)
    return guest


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
        guest.text("mv /bin/whole /bin/iodyno; killall -q -9 whole; iodyno tune undo --all >/dev/null; true")


def indented(error: Exception) -> str:
    if isinstance(error, AssertionError) and str(error):
        return f"    {error}"
    return "".join(f"    {line}" for line in traceback.format_exception(error))
