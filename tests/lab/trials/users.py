"""Who uses a drive: every layer above it counts, and nothing that destroys data is printed for a drive in use."""

import json
import re

import peers
from emulator import Guest

from .registry import Fields, on, same

UNUSED = "nvme0n1"
HOLDER = ("nvme1n1", "sleep")


@on("stacks")
def users_of_drives_are_those_that_lsblk_and_losetup_list(guest: Guest) -> None:
    """Mount points and swap below each drive, through partitions, arrays, device mapper and loop devices."""
    ours = {drive["name"]: " ".join(drive["in_use_by"]) for drive in json.loads(guest.iodyno("drives --json"))["drives"]}
    expected = peers.uses(guest.text("lsblk -J -O"), guest.text("grep -H . /sys/block/loop*/loop/backing_file"))
    fields = Fields(guest)
    for drive, uses in expected.items():
        if drive == HOLDER[0]:
            uses = {HOLDER[1]}
        fields.field(f"{drive} is in use: {ours[drive]!r}", bool(ours[drive]), bool(uses))
        for use in uses:
            fields.field(f"{use} uses {drive}: {ours[drive]!r}", use in ours[drive], True)
    fields.field("what nothing uses", [drive for drive, uses in ours.items() if not uses and drive in expected], [UNUSED])
    fields.done()


@on("stacks")
def no_format_is_printed_for_a_drive_in_use(guest: Guest) -> None:
    said = guest.iodyno("check") + guest.iodyno("check --explain lba-512") + guest.iodyno("check --json")
    commands = re.findall(r"nvme format[^\n]*", said)
    named = {name for command in commands for name in re.findall(r"nvme\d+n?\d*", command)}
    used = {name for name in named if not UNUSED.startswith(name)}
    assert not used, f"a format of what is in use: {sorted(used)}: {commands}"
    assert named, "no format for the drive that nothing uses"


@on("stacks")
def a_drive_below_any_layer_keeps_its_driver(guest: Guest) -> None:
    """Whatever is above it. The one that nothing uses is let go by its driver."""
    names = [drive["name"] for drive in json.loads(guest.iodyno("drives --json"))["drives"] if drive["kind"] == "NVMe"]
    for name in names:
        if name != UNUSED:
            refused = guest.run(f"echo {name} | iodyno tune set {name} poll_queues=1 --rebind")
            same(f"the status for {name}, which says {refused.err!r}", refused.status, 2)
            assert name in refused.err, refused.err
    guest.text(f"echo {UNUSED} | iodyno tune set {UNUSED} poll_queues=1 --rebind")
    guest.iodyno("tune undo --all")


@on("stacks")
def looking_opens_no_drive_exclusively(guest: Guest) -> None:
    """Programs that want a drive for themselves find it free while iodyno looks at all of them over and over."""
    looks = "for i in 1 2 3; do iodyno check --json; iodyno drives --json; done >/dev/null"
    tries = f"while kill -0 $looks 2>/dev/null; do mke2fs -F /dev/{UNUSED} 1024 >/dev/null 2>&1 || echo refused; done"
    refused = guest.text(f"{looks} & looks=$!; {tries}; dd if=/dev/zero of=/dev/{UNUSED} bs=64k count=16 2>/dev/null")
    same("refusals", refused, "")
