"""What `iodyno stat` counts while a drive is written and read, against the kernel's own tables."""

import json
import re

from emulator import Guest

from .registry import beside, drive, on, same, until

SIZE = 16 << 20
LOAD = (
    f"dd if=/dev/zero of=/dev/{{name}} bs=64k count={SIZE >> 16} conv=fsync && echo 3 >/proc/sys/vm/drop_caches && "
    f"dd if=/dev/{{name}} of=/dev/null bs=64k count={SIZE >> 16}"
)
TABLES = "cat /proc/interrupts; grep -w {name} /proc/diskstats"
SECTOR = 512


@on("desktop")
def writes_move_a_drives_row_its_root_complex_and_its_queues(guest: Guest) -> None:
    found = drive(guest, 1)
    name, address = found["name"], found["address"]
    root = guest.text(f"readlink -f /sys/block/{name}").split("/pci")[1].split("/")[0]
    tables = TABLES.format(name=name)
    whole = beside(guest, "iodyno stat --json --interrupts --interval 1 --count 60")
    until("the first line", lambda: guest.run("test -s /tmp/beside").status == 0, guest)
    before = guest.text(tables)
    guest.text(LOAD.format(name=name))
    after = guest.text(tables)
    seen = rows_of_stat(guest)
    until("the second after the load", lambda: rows_of_stat(guest) > seen + 1, guest)
    # A program that was broken on purpose has a shell of the name `iodyno` before it.
    guest.text("killall -q -TERM whole || killall -TERM iodyno")
    lines = [line for line in map(json.loads, whole().splitlines()) if not line.get("average")]

    def total(of) -> int:
        return round(sum(of(line) * line["elapsed_seconds"] for line in lines))

    read, written = (grown(before, after, name, column) * SECTOR for column in (5, 9))
    assert read >= SIZE and written >= SIZE, f"{read} bytes were read and {written} written"
    for way, moved in (("read", read), ("write", written)):
        row = total(lambda line: one(line["drives"], "name", name)[way]["bytes_per_second"])
        same(f"bytes of {name}, {way}", row, moved)
        for hop in (root, address):
            same(f"bytes of {hop}, {way}", total(lambda line: one(line["hops"], "address", hop)[f"{way}_bytes_per_second"]), moved)
    theirs = {place: count - queues(before, name).get(place, 0) for place, count in queues(after, name).items()}
    ours = {
        (queue, cpu): total(lambda line: sum(each["per_second"] for each in line["interrupts"] if of(each, name, queue, cpu)))
        for queue, cpu in theirs
    }
    same("interrupts by queue and CPU", ours, theirs)
    assert sum(theirs.values()) > 0, "no interrupts of its queues"


def rows_of_stat(guest: Guest) -> int:
    return int(guest.text("wc -l </tmp/beside"))


def one(rows: list[dict], field: str, value: str) -> dict:
    """The row of that name; nothing moves where there is none."""
    nothing = {"bytes_per_second": 0}
    missing = {"read": nothing, "write": nothing, "read_bytes_per_second": 0, "write_bytes_per_second": 0}
    return next((row for row in rows if row[field] == value), missing)


def of(interrupt: dict, name: str, queue: int, cpu: int) -> bool:
    return (interrupt["drive"], interrupt["queue"], interrupt["cpu"]) == (name, queue, cpu)


def grown(before: str, after: str, name: str, column: int) -> int:
    """The growth of a column of /proc/diskstats, counted from 0."""
    rows = [re.search(rf"^ *\d+ +\d+ {name} .*$", table, re.MULTILINE)[0].split() for table in (before, after)]
    return int(rows[1][column]) - int(rows[0][column])


def queues(table: str, name: str) -> dict[tuple[int, int], int]:
    """Interrupts by I/O queue and CPU."""
    controller = name.split("n1")[0]
    cpus = [int(cpu) for cpu in re.findall(r"CPU(\d+)", table.splitlines()[0])]
    counts = {}
    for line in table.splitlines():
        queue = re.search(rf"\b{controller}q([1-9]\d*)\b", line)
        if queue:
            for cpu, count in zip(cpus, line.split()[1:], strict=False):
                counts[int(queue[1]), cpu] = int(count)
    return counts
