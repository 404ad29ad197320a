"""The screen over the serial console, driven by keys and compared with snapshots.

Not here: what of a screen varies (`snapshots.py`), what happens to hardware meanwhile (`slots.py`).
"""

import json

import snapshots
from console import Terminal, sixteen_colours
from emulator import Guest

from .registry import on, same

SETTLED_SECONDS = 8  # a screen that is to be kept has come to rest by then
SIZES = ((80, 24), (132, 40))  # what serial consoles and terminals have had since the VT100


def look(guest: Guest, screen: Terminal, name: str, normalised=snapshots.idle) -> None:
    """Waits until the screen is the one that was kept."""
    columns, rows = screen.size()
    name = f"{name}__{columns}x{rows}"
    kept = snapshots.kept(name)
    seconds = SETTLED_SECONDS if guest.lab.accept else screen.patience
    try:
        screen.wait(name, lambda text: normalised(text) == kept, seconds)
    except AssertionError:
        text = normalised(screen.text())
        if not guest.lab.accept:
            raise AssertionError(snapshots.difference(name, text)) from None
        snapshots.keep(name, text)


@on("switch")
def machine_and_findings_over_a_serial_line(guest: Guest) -> None:
    for size in SIZES:
        with guest.screen(size) as screen:
            screen.shows("PCIe tree")
            screen.shows("990 PRO")
            look(guest, screen, "machine__switch")
            colours = screen.colours()
            assert len(colours) > 3, f"only {colours}"
            assert colours <= sixteen_colours(), f"a console of 16 colours is told {colours - sixteen_colours()}"
            screen.press("2")
            screen.shows("oversubscribed-hop")
            look(guest, screen, "findings__switch")
            screen.press("<Down><Down><Down>")
            screen.shows("link-downtrained")
            screen.press("<Enter>")
            screen.shows("PCIe tree")
            look(guest, screen, "machine__switch_at_a_downtrained_drive")
            screen.press("?")
            look(guest, screen, "help__switch")
            screen.press("<Esc>")
            screen.lacks("keys and marks")
            screen.leave()


@on("switch")
def the_screen_is_whole_again_after_kernel_messages(guest: Guest) -> None:
    with guest.screen(SIZES[0]) as screen:
        screen.shows("990 PRO")
        look(guest, screen, "machine__switch")
        # The lab keeps messages off the line otherwise. Three of them scroll the screen.
        guest.text("dmesg -n 4; for one in 1 2 3; do echo '<3>lab: a drive does not answer' >/dev/kmsg; done")
        screen.shows("lab: a drive does not answer")
        screen.lacks("lab: a drive does not answer")
        look(guest, screen, "machine__switch")
        screen.leave()
        guest.text("dmesg -n 1")


@on("desktop", core=())
def a_setting_is_staged_applied_and_undone_by_keys(guest: Guest) -> None:
    drives = json.loads(guest.iodyno("drives --json"))["drives"]
    first = min(drives, key=lambda drive: drive["address"])["name"]

    def scheduler() -> str:
        return guest.text(f"cat /sys/block/{first}/queue/scheduler").strip()

    for size in SIZES:
        before = scheduler()
        with guest.screen(size) as screen:
            screen.shows("PCIe tree")
            screen.press("3")
            screen.shows("scheduler")
            look(guest, screen, "tune__desktop")
            screen.press("+")
            look(guest, screen, "tune__desktop_staged")
            same("the scheduler while only staged", scheduler(), before)
            screen.press("a")
            look(guest, screen, "tune__desktop_review")
            screen.press("<Enter>")
            screen.wait("the scheduler written", lambda _: scheduler() != before)
            look(guest, screen, "tune__desktop_applied")
            screen.press("q")
            look(guest, screen, "quit__desktop_with_changes")
            screen.press("u")
            screen.shows("left with 0")
        same("the scheduler after the undo", scheduler(), before)


@on("desktop")
def a_test_runs_on_the_screen_and_leaving_asks(guest: Guest) -> None:
    for size in SIZES:
        with guest.screen(size) as screen:
            screen.shows("PCIe tree")
            screen.press("4")
            screen.shows("iodepth")
            look(guest, screen, "dyno__desktop")
            screen.go_to("[›»] runtime", "<Down>")
            screen.press("<Enter><C-u>120<Enter>")
            screen.shows("runtime +120s|runtime +2m")
            screen.press("r")
            screen.shows("running")
            screen.shows(r"total .* of .* k")
            look(guest, screen, "dyno__desktop_running", snapshots.busy)
            screen.press("q")
            screen.shows("A test is running")
            look(guest, screen, "quit__desktop_with_a_test", snapshots.busy)
            screen.press("y")
            screen.shows("left with 0")
        readers = guest.run("pidof iodyno").out.strip()
        same("processes left behind", readers, "")
