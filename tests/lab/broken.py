"""How the program is broken to see that a trial notices: every trial has its own ways.

Here: shell that stands in front of the program. Not here: when it is put there (`session.py`).
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sabotage:
    """What is wrong, and the shell that makes it so: `$real` is the program, `$*` what it was asked."""

    says: str
    shell: str = ""
    deaf: bool = False  # nothing happens to the hardware when it is told to


def wrapper(sabotage: Sabotage) -> str:
    return f'#!/bin/sh\nreal=/bin/whole\n{sabotage.shell}\nexec $real "$@"\n'


def answer(command: str, says: str, edit: str) -> Sabotage:
    """What a command answers is edited by sed."""
    return Sabotage(says, f"""[ "$1" = {command} ] && {{ $real "$@" | sed '{edit}'; exit 0; }}""")


def option(says: str, edit: str) -> Sabotage:
    """Options are edited by sed before the program sees them."""
    return Sabotage(says, f"set -- $(echo \"$@\" | sed '{edit}')")


NOTHING_SET = Sabotage("nothing is set", '[ "$1 $2" = "tune set" ] && exit 0')
NOTHING_UNDONE = Sabotage("nothing is undone", '[ "$1 $2" = "tune undo" ] && exit 0')
OTHER_SCREEN = Sabotage("the screen is another machine's", "[ $# = 0 ] && exec $real --demo laptop")
FROZEN_SCREEN = Sabotage("the screen is never read again", "[ $# = 0 ] && exec $real --sysroot /")
NOTHING_HAPPENS = Sabotage("nothing happens", deaf=True)
MISCOUNT = answer("bench", "a read counts ten times", r's/"total_ios": \([0-9]\)/"total_ios": \1\1/')
NO_ERRORS = answer("bench", "errors are not counted", r's/"errors": [0-9]*/"errors": 0/')
NOBODY_NAMED = answer("bench", "the first error is not told", r's/"first_error": "[^"]*"/"first_error": ""/')

SABOTAGE: dict[str, tuple[Sabotage, ...]] = {
    "tree has the devices links and ids of lspci": (
        answer("tree", "widths are others", r's/"width": [0-9]*/"width": 3/'),
        answer("tree", "drivers are not read", r's/"driver": "nvme"/"driver": null/'),
    ),
    "drives are those of nvme cli field by field": (
        answer("drives", "ratings are others", r's/"relative_performance": [0-9]*/"relative_performance": 3/'),
        answer("drives", "it is always cool", r's/"temperature_celsius": [0-9.]*/"temperature_celsius": 20/'),
    ),
    "check finds what was put there and nothing else above information": (
        answer("check", "all is a warning", 's/"severity": "info"/"severity": "warning"/'),
    ),
    "a capture opens outside as the same machine": (
        Sabotage(
            "captures hold other widths",
            '[ "$1" = capture ] && { $real "$@"; for f; do [ -f "$f" ] && sed -i "/current_link_width/s/4$/2/" $f; done; exit 0; }',
        ),
        option("serials are kept", "s/^capture -$/capture - --with-serials/"),
    ),
    "one drive reads what diskstats counts": (MISCOUNT,),
    "eight drives read what diskstats counts": (MISCOUNT,),
    "one and eight drives are read as often as by fio": (MISCOUNT,),
    "figures follow from each other as fios do": (
        MISCOUNT,
        answer("bench", "latencies are in microseconds", r's/\("mean": [0-9]*\)[0-9][0-9][0-9]\./\1./'),
    ),
    "polled completions take no interrupts": (option("--hipri is ignored", "s/--hipri//"),),
    "passthrough reads past the block layer": (option("the ring reads instead", "s/io_uring_cmd/io_uring/"),),
    "what takes no commands is read in another way and says why": (
        option("it is not tried", "s/io_uring_cmd/io_uring/"),
    ),
    "read errors are counted and named": (NO_ERRORS, NOBODY_NAMED),
    "bad blocks of a null drive are counted and named": (NO_ERRORS, NOBODY_NAMED),
    "read errors show on the screen": (OTHER_SCREEN,),
    "a drive pulled during a test ends its workers only": (NOBODY_NAMED,),
    "a drive pulled from its slot ends its workers only": (NOTHING_HAPPENS,),
    "a drive plugged in appears on the screen and can be read": (NOTHING_HAPPENS, FROZEN_SCREEN),
    "a link that trains again shows within two seconds": (NOTHING_HAPPENS, FROZEN_SCREEN),
    "a drive that gets hot is told": (
        NOTHING_HAPPENS,
        answer("check", "the finding is missing", "s/drive-hot/drive-warm/"),
    ),
    "machine and findings over a serial line": (OTHER_SCREEN,),
    "a setting is staged applied and undone by keys": (
        OTHER_SCREEN,
        Sabotage("settings are a folder's", "[ $# = 0 ] && exec $real --sysroot /"),
    ),
    "a test runs on the screen and leaving asks": (OTHER_SCREEN,),
    "every queue setting is written read back and undone": (NOTHING_SET, NOTHING_UNDONE),
    "settings that reset each other are set at once and undone": (NOTHING_SET, NOTHING_UNDONE),
    "a tuner killed at any moment can be undone": (NOTHING_SET, NOTHING_UNDONE),
    "nothing is written by a dry run": (option("--dry-run is ignored", "s/--dry-run//"),),
    "poll queues come and go while another drive is read": (
        NOTHING_SET,
        Sabotage(
            "a controller is reset",
            '[ "$1 $2" = "tune set" ] && { $real "$@"; echo 1 >/sys/class/nvme/nvme1/reset_controller; exit 0; }',
        ),
    ),
    "a drive in use keeps its driver": (
        Sabotage("it is not refused", '[ "$1 $2" = "tune set" ] && exit 0'),
    ),
}
