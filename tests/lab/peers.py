"""Reads what lspci, nvme-cli and the kernel say, and brings iodyno's JSON into the same form.

Here: parsing. Not here: what has to be equal (`trials.py`).
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class PeerLink:
    now: tuple[float, int]
    most: tuple[float, int]


@dataclass(frozen=True)
class PeerDevice:
    ids: tuple[str, str, str]  # class without interface, vendor, device
    driver: str | None
    numa_node: int | None
    link: PeerLink | None


def lspci_devices(text: str) -> dict[str, PeerDevice]:
    """`lspci -D -vv -nn` by address."""
    devices = {}
    for record in text.strip().split("\n\n"):
        first = record.splitlines()[0]
        address = first.split(" ")[0]
        device_class = re.search(r"\[([0-9a-f]{4})\]: ", first)[1]
        vendor, device = re.findall(r"\[([0-9a-f]{4}):([0-9a-f]{4})\]", first)[-1]
        driver = re.search(r"Kernel driver in use: (\S+)", record)
        node = re.search(r"NUMA node: (\d+)", record)
        devices[address] = PeerDevice(
            (f"0x{device_class}", f"0x{vendor}", f"0x{device}"),
            driver and driver[1],
            node and int(node[1]),
            lspci_link(record),
        )
    return devices


def lspci_link(record: str) -> PeerLink | None:
    most = re.search(r"LnkCap:.*Speed ([\d.]+)GT/s, Width x(\d+)", record)
    now = re.search(r"LnkSta:\s*Speed ([\d.]+)GT/s[^,]*, Width x(\d+)", record)
    if not most or not now:
        return None
    return PeerLink((float(now[1]), int(now[2])), (float(most[1]), int(most[2])))


def lspci_tree(picture: str) -> list[str]:
    """`lspci -tv` as addresses in its order, root complexes as `0000:20`."""
    addresses: list[str] = []
    buses: dict[int, str] = {}  # column where a bus's devices begin: `0000:20`
    for line in picture.splitlines():
        named = re.search(r"\.[0-7]  ", line)  # two blanks lead to the name
        drawn = line[: named.start() + 2] if named else line
        for match in re.finditer(r"\[(?:([0-9a-f]{4}):)?([0-9a-f]{2})(?:-[0-9a-f]{2})?\]|([0-9a-f]{2}\.[0-7])", drawn):
            domain, bus, function = match.groups()
            if function is None:
                owner = domain or addresses[-1].split(":")[0]
                for column in [column for column in buses if column > match.start()]:
                    del buses[column]
                buses[match.end()] = f"{owner}:{bus}"
                if domain:
                    addresses.append(f"{domain}:{bus}")
            else:
                column = max(column for column in buses if column <= match.start())
                addresses.append(f"{buses[column]}:{function}")
    return addresses


def nodes(document: dict) -> list[dict]:
    """All nodes of `tree --json`, parents before their children."""
    listed = []
    waiting = list(reversed(document["root_complexes"]))
    while waiting:
        node = waiting.pop()
        listed.append(node)
        waiting.extend(reversed(node["children"]))
    return listed


def our_addresses(document: dict) -> dict[str, str]:
    """PCI addresses of `drives --json` by drive name."""
    return {drive["name"]: drive["address"] for drive in document["drives"]}


def our_formats(drive: dict) -> list[tuple]:
    fields = ("index", "data_bytes", "metadata_bytes", "relative_performance", "in_use")
    return [tuple(entry[field] for field in fields) for entry in drive["lba_formats"]]


def sections(text: str) -> dict[str, str]:
    """Text in parts that begin with `== NAME`."""
    parts = re.split(r"^== (\S+)\n", text, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def nvme_formats(detail: str) -> list[tuple]:
    """`nvme id-ns -H`: index, data, metadata, relative performance, in use."""
    pattern = (
        r"^LBA Format\s+(\d+) : Metadata Size: (\d+)\s+bytes - Data Size: (\d+)\s+bytes - "
        r"Relative Performance: (0x?[0-9a-f]*) \w+\s*(\(in use\))?"
    )
    found = re.findall(pattern, detail, re.MULTILINE)
    assert found, "nvme id-ns lists no formats"
    return [(int(i), int(data), int(meta), int(rating, 16), bool(used)) for i, meta, data, rating, used in found]


def can_format(detail: str) -> bool:
    """Identify Controller OACS bit 1."""
    return int(re.search(r"^oacs\s*:\s*(0x[0-9a-f]+|0)", detail, re.MULTILINE)[1], 16) & 2 != 0


def temperature(detail: str) -> int:
    return int(re.search(r"^temperature\s*:\s*(-?\d+)\s*°?\s*C", detail, re.MULTILINE | re.IGNORECASE)[1])


def queue_setting(detail: str, setting: str) -> str:
    """A file of a queue's folder, from `grep . queue/*`."""
    return re.search(rf"/queue/{setting}:(.*)$", detail, re.MULTILINE)[1]


def reads_completed(diskstats: str) -> dict[str, int]:
    return {words[2]: int(words[3]) for words in map(str.split, diskstats.splitlines()) if len(words) > 3}


def counted(run: Callable[[str], str], command: str, drives: list[str]) -> tuple[dict, dict[str, int]]:
    """The JSON document of a command, and the reads that diskstats counted for each drive meanwhile."""
    before, document, after = run(f"cat /proc/diskstats; echo ==; {command}; echo ==; cat /proc/diskstats").split("==\n")
    assert document.startswith("{"), f"no document from `{command}`: {document[:200]!r}"
    counts = [reads_completed(text) for text in (before, after)]
    return json.loads(document), {drive: counts[1][drive] - counts[0][drive] for drive in drives}


def host_reads(smart_log: str) -> int:
    """Read commands that a drive counted (NVMe 5.16.1.3, Host Read Commands)."""
    return int(re.search(r"^host_read_commands\s*:\s*([\d,]+)", smart_log, re.MULTILINE)[1].replace(",", ""))


def queue_interrupts(interrupts: str, controller: str) -> int:
    """Interrupts of a controller's I/O queues, all CPUs; queue 0 is for commands of its administration."""
    total = 0
    for line in interrupts.splitlines():
        words = line.split()
        if words and re.fullmatch(rf"{controller}q[1-9]\d*", words[-1]):
            total += sum(int(word) for word in words[1:] if word.isdigit())
    return total
