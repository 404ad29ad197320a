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
    kind: str


# The word of lspci for a device's place in the tree (PCIe 7.5.3.2), and iodyno's.
KINDS = {
    "Root Port": "root-port",
    "Upstream Port": "switch-upstream",
    "Downstream Port": "switch-downstream",
}


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
            lspci_kind(record, device_class),
        )
    return devices


def lspci_kind(record: str, device_class: str) -> str:
    express = re.search(r"Express \(v\d\) ([\w ]+?)(?: \(|,)", record)
    if express and express[1] in KINDS:
        return KINDS[express[1]]
    return "bridge" if device_class == "0604" else "endpoint"


LINK_FILES = ("current_link_speed", "current_link_width", "max_link_speed", "max_link_width")


def show(folders: str, files: tuple[str, ...]) -> str:
    """Shell that writes each folder's real path and what is in its files, for `pci_folders`."""
    return f'for d in {folders}; do echo "== $(readlink -f $d)"; cd $d; grep -sH . {" ".join(files)}; done; true'


def named_lines(text: str) -> dict[str, str]:
    """`FILE:LINE`, as grep writes them of files of one line."""
    return dict(line.partition(":")[::2] for line in text.splitlines())


def pci_folders(text: str) -> dict[str, dict[str, str]]:
    """The folders of PCI functions by address: what is in their files, and the address of what they hang under."""
    folders = {}
    for path, lines in sections(text).items():
        parent, address = path.split("/")[-2:]
        folders[address] = named_lines(lines) | {"parent": parent.removeprefix("pci")}
    return folders


def number(text: str) -> float | None:
    """`16.0 GT/s PCIe`, `4`; `Unknown` is none."""
    found = re.match(r"[\d.]+", text)
    return float(found[0]) if found else None


def functions(path: str) -> list[str]:
    return re.findall(r"/([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])(?=/)", path)


def disks_by_function(paths: str) -> dict[str, list[str]]:
    """Block devices by the PCI function they hang under, from their real paths; what is made of others hangs under none."""
    found: dict[str, list[str]] = {}
    for path in paths.split():
        for address in functions(path)[-1:]:
            found.setdefault(address, []).append(path.rsplit("/", 1)[1])
    return found


def head(name: str) -> str:
    """What one of multipath's hidden paths (nvme1c2n3) leads to; any other name as it is."""
    return re.sub(r"^(nvme\d+)c\d+(n\d+)$", r"\1\2", name)


def heads(names: list[str]) -> list[str]:
    return sorted({head(name) for name in names if not name.startswith("sr")})


# What the kernel says of every block device: where it hangs, its files, its serial number, its queues.
DISK_FACTS = """
for d in /sys/block/*; do
  cd $d
  echo "== ${d##*/}"
  echo path:$(readlink -f .)
  grep -sH . queue/* serial device/serial device/type device/subsysnqn
  [ -e mq ] && echo queues:$(ls mq | wc -l)
  [ -e device/vpd_pg80 ] && echo serial:$(tail -c +5 device/vpd_pg80 | tr -d '\\0')
done
true
"""
CDROM = "5"  # SCSI's peripheral device type


@dataclass(frozen=True)
class Disk:
    """A block device that may be opened: its files in sysfs, and the PCI functions it is reached through."""

    files: dict[str, str]
    functions: list[str]

    def is_cdrom(self) -> bool:
        return self.files.get("device/type") == CDROM

    def serial(self) -> str:
        return (self.files.get("serial") or self.files.get("device/serial", "")).strip()

    def setting(self, name: str) -> str | None:
        return self.files.get(f"queue/{name}")


def disks(text: str) -> dict[str, Disk]:
    """What `DISK_FACTS` writes. Multipath's hidden paths are no disks, but lead to one."""
    told = {name: named_lines(lines) for name, lines in sections(text).items()}
    reached: dict[str, list[str]] = {}
    for name, files in told.items():
        reached.setdefault(head(name), []).extend(functions(files["path"])[-1:])
    return {name: Disk(files, reached[name]) for name, files in told.items() if head(name) == name}


def drives_among(listed: dict[str, Disk]) -> set[int]:
    """How many drives these disks are: their controllers counted, or the NVMe subsystems that those belong to."""
    hardware = [(name, disk) for name, disk in listed.items() if disk.functions and not disk.is_cdrom()]
    controllers: set[str] = set()
    subsystems: set[str] = set()
    for name, disk in hardware:
        is_nvme = name.startswith("nvme")
        controllers |= set(disk.functions) if is_nvme else {name}
        subsystems.add(disk.files["device/subsysnqn"] if is_nvme else name)
    return {len(controllers), len(subsystems)}


def lsblk_disks(text: str) -> dict[str, dict]:
    """`lsblk -b -J -O`: what it calls a disk, DVDs left out, by name."""
    return {disk["name"]: disk for disk in json.loads(text)["blockdevices"] if disk["type"] == "disk"}


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


def uses(lsblk: str, backing: str) -> dict[str, set[str]]:
    """What each disk of `lsblk -J -O` is used for: mount points and swap of all that is above it. A loop device, which lsblk
    lists by itself, is above what `grep . /sys/block/loop*/loop/backing_file` says.
    """
    devices = {device["name"]: device for device in json.loads(lsblk)["blockdevices"]}
    above: dict[str, list[dict]] = {}
    for loop, file in re.findall(r"(loop\d+)/loop/backing_file:(\S+)", backing):
        above.setdefault(file.removeprefix("/dev/"), []).append(devices[loop])

    def of(device: dict) -> set[str]:
        found = {point for point in device["mountpoints"] if point}
        found = {"swap" if point == "[SWAP]" else point for point in found}
        for child in (*device.get("children", ()), *above.get(device["name"], ())):
            found |= of(child)
        return found

    return {name: of(device) for name, device in devices.items() if device["type"] == "disk"}
