"""How the program is broken to see that a trial notices: every trial has its own ways.

Here: shell that stands in front of the program. Not here: when it is put there (`session.py`).
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Sabotage:
    """What is wrong, the shell that makes it so (`$real` is the program, `$*` what it was asked), and what the trial says."""

    says: str
    shell: str
    because: str  # a regular expression: a trial that fails for any other reason has not noticed
    deaf: bool = False  # nothing happens to the hardware when it is told to
    spoils: bool = False  # the machine is another one afterwards

    def noticed(self, error: Exception | None) -> bool:
        return isinstance(error, AssertionError) and re.search(self.because, str(error)) is not None

    def verdict(self, error: Exception | None) -> str:
        if error is None:
            return "NOT NOTICED"
        first = (str(error) or repr(error)).splitlines()[0][:160]
        return f"noticed: {first}" if self.noticed(error) else f"FAILED FOR ANOTHER REASON: {first}"


def wrapper(sabotage: Sabotage) -> str:
    return f'#!/bin/sh\nreal=/bin/whole\n{sabotage.shell}\nexec $real "$@"\n'


def answer(command: str, says: str, edit: str, because: str) -> Sabotage:
    """What a command answers is edited by sed."""
    return Sabotage(says, f"""[ "$1" = {command} ] && {{ $real "$@" | sed '{edit}'; exit 0; }}""", because)


def option(says: str, edit: str, because: str) -> Sabotage:
    """Options are edited by sed before the program sees them."""
    return Sabotage(says, f"set -- $(echo \"$@\" | sed '{edit}')", because)


def nothing_set(because: str) -> Sabotage:
    return Sabotage("nothing is set", '[ "$1 $2" = "tune set" ] && exit 0', because)


def nothing_undone(because: str) -> Sabotage:
    return Sabotage("nothing is undone", '[ "$1 $2" = "tune undo" ] && exit 0', because)


def other_screen(because: str) -> Sabotage:
    return Sabotage("the screen is another machine's", "[ $# = 0 ] && exec $real --demo laptop", because)


def frozen_screen(because: str, spoils: bool = False) -> Sabotage:
    return Sabotage("the screen is never read again", FROZEN, because, spoils=spoils)


def nothing_happens(because: str) -> Sabotage:
    return Sabotage("nothing happens", "", because, deaf=True)


UNKNOWN_CONSOLE = "[ $# = 0 ] && mount -o bind /dev/null /proc/consoles"
# A capture is read once.
FROZEN = "[ $# = 0 ] && { $real capture --with-serials /tmp/frozen; exec $real --open /tmp/frozen; }"
# Each digit of the count twice, so that it is wrong whatever it is.
MISCOUNT = r's/"total_ios": \([0-9]\)/"total_ios": \1\1/'
NO_ERRORS = answer("bench", "errors are not counted", r's/"errors": [0-9]*/"errors": 0/', "errors counted")
NOBODY_NAMED = answer("bench", "the first error is not told", r's/"first_error": "[^"]*"/"first_error": ""/', "is not named in ''")


def miscount(because: str) -> Sabotage:
    return answer("bench", "reads are counted wrong", MISCOUNT, because)


LIMITS = r's/"bytes_per_second": [0-9]*/"bytes_per_second": 1000000/'
NOTHING_FOUND = "s/^[0-9].* \\(high\\|warning\\).*/no limiting findings/"
CAPTURE_WITHOUT_PLACES = (
    '[ "$1" = capture ] && '
    '{ $real "$@"; for f; do [ -f "$f" ] && sed -i "/^link .sys.bus.pci.devices.0000:[e2]/d" $f; done; exit 0; }'
)

SABOTAGE: dict[str, tuple[Sabotage, ...]] = {
    "tree has the devices links and ids of lspci": (
        answer("tree", "widths are others", r's/"width": [0-9]*/"width": 3/', "link now: "),
        answer("tree", "drivers are not read", r's/"driver": "nvme"/"driver": null/', "driver: "),
    ),
    "drives are those of nvme cli field by field": (
        answer("drives", "ratings are others", r's/"relative_performance": [0-9]*/"relative_performance": 3/', "formats: "),
        answer("drives", "it is always cool", r's/"temperature_celsius": [0-9.]*/"temperature_celsius": 20/', "temperature: "),
    ),
    "check finds what was put there and nothing else above information": (
        answer("check", "all is a warning", 's/"severity": "info"/"severity": "warning"/', "not put there: .*warning"),
    ),
    "a capture opens outside as the same machine": (
        Sabotage(
            "captures hold other widths",
            '[ "$1" = capture ] && { $real "$@"; for f; do [ -f "$f" ] && sed -i "/current_link_width/s/4$/2/" $f; done; exit 0; }',
            "^(check|tree) --json: ",
        ),
        option("serials are kept", "s/^capture -$/capture - --with-serials/", "a serial number is in a capture"),
    ),
    "one drive reads what diskstats counts": (miscount("diskstats counted"),),
    "eight drives read what diskstats counts": (miscount("diskstats counted"),),
    "one and eight drives are read as often as by fio": (miscount("blocks read by iodyno"),),
    "figures follow from each other as fios do": (
        miscount("reads a second: "),
        answer("bench", "latencies are in microseconds", r's/\("mean": [0-9]*\)[0-9][0-9][0-9]\./\1./', "reads under way: "),
    ),
    "writes move a drives row its root complex and its queues": (
        answer("stat", "writes are not counted", r's/"write":{"bytes_per_second":[0-9.]*/"write":{"bytes_per_second":0/g', "write: "),
        answer("stat", "interrupts are of another queue", r's/"queue":[0-9]*/"queue":77/g', "interrupts by queue and CPU: "),
    ),
    "polled completions take no interrupts": (option("--hipri is ignored", "s/--hipri//", "interrupts with --hipri"),),
    "passthrough reads past the block layer": (option("the ring reads instead", "s/io_uring_cmd/io_uring/", "engine: "),),
    "what takes no commands is read in another way and says why": (
        option("it is not tried", "s/io_uring_cmd/io_uring/", "nothing is said"),
    ),
    "an experiment with schedulers answers and puts everything back": (
        Sabotage(
            "an arm's setting stays",
            '[ "$1" = experiment ] && { $real "$@"; echo mq-deadline >/sys/block/nvme0n1/queue/scheduler; exit 0; }',
            "settings after it: ",
        ),
    ),
    "an experiment with polling answers and puts everything back": (
        answer("experiment", "no arm is polled", 's/"hipri": true/"hipri": false/', "polled arms: "),
    ),
    "an experiment killed is named by what reads and undone by the next change": (
        Sabotage("nothing is looked for at the start", '[ "$1 $2" = "tune set" ] && IODYNO_STATE_DIR=$(mktemp -d) exec $real "$@"', "after the next change: "),
    ),
    "read errors are counted and named": (NO_ERRORS, NOBODY_NAMED),
    "bad blocks of a null drive are counted and named": (NO_ERRORS, NOBODY_NAMED),
    "read errors show on the screen": (other_screen("not on the screen"),),
    "a drive pulled during a test ends its workers only": (NOBODY_NAMED,),
    "a drive pulled from its slot ends its workers only": (nothing_happens("not on the screen"),),
    "a drive plugged in appears on the screen and can be read": (
        nothing_happens("CT2000T705SSD3 .*not on the screen"),
        frozen_screen("CT2000T705SSD3 .*not on the screen", spoils=True),
    ),
    "an encrypted drive is read without its key": (
        answer("drives", "the target's type is another one", 's/"kind": *"crypt"/"kind": "linear"/', "the table: "),
        Sabotage("the key is in captures", '[ "$1" = capture ] && { dmsetup table --showkeys lab; exit 0; }', "a part of the key was told"),
    ),
    "an array is followed from recovery to a failed member": (
        answer("drives", "members are lost", 's/"loop2"/"loop9"/', "members: "),
        answer("bench", "no doubt is told", "s/synchronised meanwhile/idle/", "doubts: "),
    ),
    "a slow layer below a file is named first by why": (
        answer("why", "another layer is named", 's/"layer": "array"/"layer": "mmap"/', "layer with a delay: "),
        answer("why", "another device is named", "s/dm-0/nullb0/", "device with a delay: "),
    ),
    "a link that trains again shows within two seconds": (
        nothing_happens("Gen3 x2 .*not on the screen within"),
        frozen_screen("Gen3 x2 .*not on the screen within"),
    ),
    "a drive that gets hot is told": (
        nothing_happens("temperature: "),
        answer("check", "the finding is missing", "s/drive-hot/drive-warm/", "no drive-hot among"),
    ),
    "machine and findings over a serial line": (other_screen("990 PRO: not on the screen"),),
    "the screen is whole again after kernel messages": (
        other_screen("990 PRO: not on the screen"),
        Sabotage("no console is known", UNKNOWN_CONSOLE, "no lab: a drive does not answer", spoils=True),
    ),
    "a setting is staged applied and undone by keys": (
        other_screen("tune__desktop__80x24 looks different"),
        Sabotage("settings are a folder's", "[ $# = 0 ] && exec $real --sysroot /", "looks different"),
    ),
    "a test runs on the screen and leaving asks": (other_screen("looks different"),),
    "every queue setting is written read back and undone": (
        nothing_set("^scheduler: "),
        nothing_undone("after the undo of scheduler: "),
    ),
    "settings of a drives function are written read back and undone": (
        nothing_set("^aspm: "),
        nothing_undone("after the undo of aspm: "),
    ),
    "settings that reset each other are set at once and undone": (
        nothing_set("all at once: "),
        nothing_undone("after the undo: "),
    ),
    "a tuner killed at any moment can be undone": (nothing_set("no kill came after a write"), nothing_undone("undone after a kill")),
    "nothing is written by a dry run": (option("--dry-run is ignored", "s/--dry-run//", "queue: "),),
    "poll queues come and go while another drive is read": (
        nothing_set("io_poll: "),
        Sabotage(
            "a controller is reset",
            '[ "$1 $2" = "tune set" ] && { $real "$@"; echo 1 >/sys/class/nvme/${3%n1}/reset_controller; exit 0; }',
            "a controller was reset",
        ),
    ),
    "a drive killed on its way through its driver comes back": (
        nothing_undone("its driver, after a kill|the parameter after a kill"),
    ),
    "a drive in use keeps its driver": (
        Sabotage("it is not refused", '[ "$1 $2" = "tune set" ] && exit 0', "the status when it is mounted"),
    ),
    "every field of the tree is that of lspci and sysfs": (
        answer("tree", "widths are others", r's/"width": [0-9]*/"width": 3/', "fields differ: .* width: "),
        answer("tree", "drives hang nowhere", r's/"nvme[0-9]*n1"/""/', "fields differ: .* drives: "),
    ),
    "every field of the drives is that of lsblk and sysfs": (
        answer("drives", "sizes are others", r's/"size_bytes": /"size_bytes": 1/', "fields differ: .* size: "),
        answer("drives", "serials are not read", r's/"serial": "[^"]*"/"serial": null/', "fields differ: .* serial: "),
    ),
    "every field of nvme drives is that of nvme cli": (
        answer("drives", "ratings are others", r's/"relative_performance": [0-9]*/"relative_performance": 3/', " rating: "),
    ),
    "drives are counted as the controllers they are": (
        answer("check", "one more is counted", r"s/· [0-9]* drives\{0,1\}$/· 99 drives/", "drives in .*99 drives"),
    ),
    "an uplink carries packets of the size its drives send": (
        answer("tree", "limits are others", LIMITS, "limit of 0000:21:00.0"),
    ),
    "packets of one size are carried at that size": (answer("tree", "limits are others", LIMITS, "limit of 0000:21:00.0"),),
    "endpoints of a virtual machine have no link to limit them": (
        answer("tree", "all have one", r's/"limit": null/"limit": {"bytes_per_second": 211e6}/', "limit of 0000:21:00.0"),
    ),
    "links of drives with real ids are limits": (answer("tree", "limits are others", LIMITS, "limit of 0000:"),),
    "a result above a limit refutes it": (
        Sabotage("nothing is remembered", 'export IODYNO_STATE_DIR=$(mktemp -d)', "the limit stays"),
    ),
    "a machine with something planted gets no clean bill": (
        answer("check", "nothing is found", NOTHING_FOUND, "no limiting findings"),
    ),
    "a healthy machine gets a clean bill": (
        answer("check", "something is found", "s/no limiting findings/1 warning/", "1 warning"),
    ),
    "a root complex behind vmd gets the answers it gets beside it": (
        Sabotage("captures lack the places of devices", CAPTURE_WITHOUT_PLACES, "the root complex behind VMD: "),
    ),
    "users of drives are those that lsblk and losetup list": (
        answer("drives", "nobody uses anything", "s#/mnt/[a-z]*##", "/mnt/"),
    ),
    "no format is printed for a drive in use": (
        answer("check", "a format of one in use", r"s#nvme format\([^\"]*\)/dev/nvme0n1#nvme format\1/dev/nvme6n1#", "in use"),
    ),
    "a drive below any layer keeps its driver": (
        Sabotage("it is not refused", '[ "$1 $2" = "tune set" ] && exit 0', "the status for nvme"),
    ),
    "looking opens no drive exclusively": (
        Sabotage("it holds one", "[ $1 = check ] && { mkswap /dev/nvme0n1; swapon /dev/nvme0n1; sleep 3; swapoff -a; }", "refusals"),
    ),
    "a change to one of two that look alike is undone on that one": (
        nothing_set("only .* is set: "),
        nothing_undone("after the undo of "),
    ),
    "what an admin sets on the twin stays": (nothing_undone("what an admin set on"),),
    "changes to both are undone on each": (nothing_set("all are set: "), nothing_undone("is undone: ")),
    "a dry run names the files of its own drive": (
        answer("tune", "names are others", "s#/block/[a-z0-9]*/#/block/other/#; s#/[a-z0-9]*/queue#/other/queue#", "whose files"),
    ),
    "an experiment killed is undone on its own drive": (nothing_undone("after the undo"),),
    "what an admin wrote since an undo is what the next undo gives back": (nothing_undone("after the first undo"),),
    "paths are tuned and undone": (nothing_set("the paths are set"), nothing_undone("the paths are as they were")),
    "a head of two paths keeps its driver": (
        Sabotage("it is not refused", '[ "$1 $2" = "tune set" ] && exit 0', "the status: "),
    ),
    "both paths have their place on the tree": (answer("tree", "drives have no names", "s/nvme[0-9].*//", "no drive on the row"),),
}
