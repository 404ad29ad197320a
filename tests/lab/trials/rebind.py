"""Poll queues on a running system: a drive leaves its driver and comes back, and never while something uses it."""

import json
import time

from emulator import Guest

from .registry import beside, drive, on, same, until

PARAMETER = "/sys/module/nvme/parameters/poll_queues"


def set_queues(name: str, queues: int) -> str:
    """The command that rebinds, with its question answered."""
    return f"echo {name} | iodyno tune set {name} poll_queues={queues} --rebind"


@on("desktop")
def poll_queues_come_and_go_while_another_drive_is_read(guest: Guest) -> None:
    moved, other = drive(guest, 1), drive(guest, 0)
    guest.text("dmesg -c >/dev/null")
    whole = beside(guest, f"iodyno bench --filename {other['path']} --runtime 20 --json")
    for queues in (2, 0):
        name = drive(guest, 1)["name"]
        guest.text(set_queues(name, queues))
        nothing_was_reset(guest)
        now = drive(guest, 1)
        same("where it is", now["address"], moved["address"])
        same("io_poll", guest.text(f"cat /sys/block/{now['name']}/queue/io_poll").strip(), "1" if queues else "0")
        same("poll queues", now["poll_queues"], queues)
        done = json.loads(guest.iodyno(f"bench --filename {now['path']} --hipri --runtime 1 --json"))
        same("completions", done["effective"]["completion"], "polled" if queues else "interrupts")
        assert done["jobs"][0]["errors"] == 0, done["jobs"][0]["first_error"]
    (well,) = json.loads(whole())["jobs"]
    assert well["errors"] == 0 and well["read"]["runtime"] >= 19900, well
    nothing_was_reset(guest)


def nothing_was_reset(guest: Guest) -> None:
    log = guest.text("dmesg")
    for word in ("reset", "timeout", "Abort"):
        assert word not in log, f"the kernel speaks of a {word}: {log}"
    # It may not: the driver names its queues at every start, and the function only when it takes it.
    starts, takes = log.count("default/read/poll queues"), log.count("pci function")
    assert starts == takes, f"a controller was reset: {log}"


@on("desktop")
def a_drive_in_use_keeps_its_driver(guest: Guest) -> None:
    used = drive(guest, 0)
    name, path = used["name"], used["path"]
    before = guest.text(f"cat {PARAMETER}")
    uses = {
        "mounted at /mnt": (
            f"modprobe ext4; mke2fs -F {path} 8192 >/dev/null; mkdir -p /mnt; mount -t ext4 {path} /mnt",
            "umount /mnt",
        ),
        "swap": (f"mkswap {path} >/dev/null; swapon {path}", f"swapoff {path}"),
        "sleep": (f"sleep 1000 <{path} & echo $! >/tmp/holder", "kill $(cat /tmp/holder)"),
    }
    for words, (begin, end) in uses.items():
        guest.text(begin)
        refused = guest.run(set_queues(name, 2))
        guest.text(end)
        same(f"the status with {words!r}", refused.status, 2)
        assert words in refused.err and name in refused.err, refused.err
        same("the parameter", guest.text(f"cat {PARAMETER}"), before)
        same("queues", drive(guest, 0)["default_queues"], used["default_queues"])
        same("where it is", drive(guest, 0)["address"], used["address"])


@on("desktop", core=())
def a_drive_killed_on_its_way_through_its_driver_comes_back(guest: Guest) -> None:
    home = drive(guest, 1)
    before = guest.text(f"cat {PARAMETER}")
    bound = f"[ -e /sys/bus/pci/drivers/nvme/{home['address']} ]"
    start = time.monotonic()
    guest.text(set_queues(home["name"], 2))
    whole = time.monotonic() - start
    guest.text("iodyno tune undo --all")
    gone = f"until [ ! -e /sys/bus/pci/drivers/nvme/{home['address']} ]; do :; done"
    lost = 0
    for moment in (gone, *(f"sleep {share * whole:.2f}" for share in (0.5, 0.6, 0.7, 0.8, 0.9)), gone):
        name = drive(guest, 1)["name"]
        guest.run(f"({set_queues(name, 2)}) >/dev/null 2>&1 & {moment}; killall -9 iodyno; wait")
        lost += guest.run(bound).status != 0
        guest.iodyno("tune undo --all")
        until(f"its driver, after a kill ({moment})", lambda: guest.run(bound).status == 0, guest)
        named = f"ls /sys/bus/pci/devices/{home['address']}/nvme/*/nvme*n1"
        until("its name", lambda named=named: guest.run(named).status == 0, guest)
        same(f"where it is after a kill ({moment})", drive(guest, 1)["address"], home["address"])
        same(f"the parameter after a kill ({moment})", guest.text(f"cat {PARAMETER}"), before)
    assert lost > 0, "no kill left the drive without its driver"
