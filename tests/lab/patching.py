"""Makes emulated devices say what QEMU has no option for, by changing the memory of a QEMU that has not started its guest.

Here: PCI ids, class, link capability (ASPM with it) and status in configuration space, model, firmware and format ratings in NVMe's
Identify data. Not here: what is said (`machines.py`).

A device's structure in QEMU begins with its object header; somewhere behind it are the pointer to its id (the one given
on the command line) and, at a distance that is the same for all PCI devices of one build, the pointer to its
configuration space. That distance is learnt from the devices themselves: it is the one at which all of them point to
something that looks like a configuration space. No symbols are needed. /proc/PID/mem of an own child needs no privileges
where ptrace_scope allows it, otherwise root.
"""

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass

SPEED_CODES = {2.5: 1, 5: 2, 8: 3, 16: 4, 32: 5, 64: 6}
EXPRESS = 0x10  # capability id
SLOT_IMPLEMENTED = 0x100  # of PCI Express Capabilities
FORMAT_ATTRIBUTES, FORMATS_ALL = 524, 1  # byte of Identify Controller (FNA), and its bit for "every namespace"
APST_SUPPORT = 265  # byte of Identify Controller: autonomous power state transitions
ASPM_SUPPORT, ASPM_L1 = 0xC00, 0x800  # of Link Capabilities
ASPM_CONTROL, ASPM_L1_ON = 0x3, 0x2  # of Link Control: as firmware leaves it, which Linux' default policy keeps to
KELVIN = 273
COLD_KELVIN = 0x143  # what QEMU's drives have until they are told otherwise
DRIVE_BYTES = 0x4000  # QEMU's structure of a drive has its temperature within these bytes of the pointer to its id
QEMU_VENDORS = {0x1B36, 0x104C, 0x8086, 0x1234, 0x1AF4}


class PatchError(Exception):
    """A device was not found in QEMU's memory: this QEMU is laid out in another way."""


@dataclass
class Patch:
    """What one device is to say; what is None stays as QEMU made it."""

    most: tuple[float, int] | None = None
    now: tuple[float, int] | None = None
    ids: tuple[int, ...] | None = None
    device_class: int | None = None
    sleeps: bool = False
    payload: tuple[int, int] | None = None  # bytes: in use, and the greatest supported
    has_slot: bool = True
    serial: str | None = None
    model: str | None = None
    firmware: str | None = None
    blocks: int | None = None  # namespace size in blocks, which finds its Identify data
    prefers_4096: bool = False
    formats_all: bool = False


class Memory:
    """The heap of a process, read once, written through: QEMU's devices are there, the guest's memory is not."""

    def __init__(self, pid: int, held: bool = True):
        self.file = open(f"/proc/{pid}/mem", "r+b", buffering=0)
        self.regions: list[tuple[int, bytes]] = []
        for line in open(f"/proc/{pid}/maps") if held else ():
            heap = re.match(r"(\w+)-(\w+) rw.*\[heap\]", line)
            if heap:
                start, end = (int(number, 16) for number in heap.groups())
                self.regions.append((start, self.read(start, end - start)))

    def read(self, at: int, size: int) -> bytes:
        self.file.seek(at)
        return self.file.read(size)

    def write(self, at: int, data: bytes) -> None:
        self.file.seek(at)
        self.file.write(data)

    def held(self, at: int, size: int) -> bytes | None:
        """Bytes as they were read at first, None where nothing was."""
        for start, data in self.regions:
            if start <= at and at + size <= start + len(data):
                return data[at - start : at - start + size]
        return None

    def pointer(self, at: int) -> int:
        data = self.held(at, 8)
        return struct.unpack("<Q", data)[0] if data else 0

    def find(self, pattern: bytes, alignment: int = 1):
        for start, data in self.regions:
            at = data.find(pattern)
            while at >= 0:
                if (start + at) % alignment == 0:
                    yield start + at
                at = data.find(pattern, at + 1)


def is_config_space(memory: Memory, at: int) -> bool:
    """A device of QEMU's, with a capability list that begins with a capability QEMU builds."""
    head = memory.held(at, 256)
    if head is None:
        return False
    vendor, capabilities = struct.unpack_from("<H", head)[0], head[0x34]
    return (
        vendor in QEMU_VENDORS
        and head[0x0E] & 0x7F in (0, 1)
        and head[0x06] & 0x10 != 0
        and 0x40 <= capabilities < 0x100
        and head[capabilities] in (1, 5, 0x09, 0x0D, 0x10, 0x11)
    )


@dataclass
class Place:
    """Where a device is in QEMU's memory: the pointer to its id, its configuration space, its temperature once known."""

    named: int
    config: int
    temperature: int | None = None


def places(memory: Memory, devices: list[str], distances: Sequence[int]) -> tuple[dict[str, Place], int]:
    """Where each device is, and how far behind its id: at the first of `distances` that does for all of them."""
    found: dict[str, dict[int, Place]] = {}
    for device in devices:
        at_distance = found.setdefault(device, {})
        for text in memory.find(device.encode() + b"\0", 16):
            for pointer in memory.find(struct.pack("<Q", text), 8):
                for distance in distances:
                    target = memory.pointer(pointer + distance)
                    if target and is_config_space(memory, target):
                        at_distance.setdefault(distance, Place(pointer, target))
        distances = sorted(at_distance)
        if not distances:
            raise PatchError(f"the configuration space of {device} was not found in QEMU's memory")
    return {device: at_distance[distances[0]] for device, at_distance in found.items()}, distances[0]


def express_capability(config: bytes) -> int:
    at = config[0x34]
    while at and config[at] != EXPRESS:
        at = config[at + 1]
    return at


def patch_config(memory: Memory, at: int, patch: Patch) -> None:
    """Slot Implemented, Max Payload Size, Link Capabilities, Link Control, Link Capabilities 2, target speed, Link Status
    (PCIe 7.5.3), ids and class (PCI 6.2).
    """
    express = express_capability(memory.read(at, 256))

    def change(offset: int, layout: str, mask: int, value: int) -> None:
        old = struct.unpack(layout, memory.read(at + offset, struct.calcsize(layout)))[0]
        memory.write(at + offset, struct.pack(layout, old & ~mask | value))

    if patch.most:
        speed, width = SPEED_CODES[patch.most[0]], patch.most[1]
        change(express + 0x0C, "<I", 0x3FF, speed | width << 4)
        change(express + 0x2C, "<I", 0xFE, (2 << speed) - 2)
        change(express + 0x30, "<H", 0x0F, speed)
    if not patch.has_slot:
        change(express + 0x02, "<H", SLOT_IMPLEMENTED, 0)
    if patch.payload:
        used, most = ((size // 128).bit_length() - 1 for size in patch.payload)
        change(express + 0x04, "<I", 0x07, most)
        change(express + 0x08, "<H", 0x07 << 5, used << 5)
    if patch.sleeps:
        change(express + 0x0C, "<I", ASPM_SUPPORT, ASPM_L1)
        change(express + 0x10, "<H", ASPM_CONTROL, ASPM_L1_ON)
    if patch.now:
        change(express + 0x12, "<H", 0x3FF, SPEED_CODES[patch.now[0]] | patch.now[1] << 4)
    if patch.ids:
        memory.write(at, struct.pack("<HH", *patch.ids[:2]))
        if len(patch.ids) == 4:
            memory.write(at + 0x2C, struct.pack("<HH", *patch.ids[2:]))
    if patch.device_class:
        memory.write(at + 0x09, patch.device_class.to_bytes(3, "little"))


def patch_identify(memory: Memory, device: str, patch: Patch) -> None:
    """Model, firmware, power states of its own choice and reach of a format (Identify Controller bytes 24 to 71, 265, 524),
    ratings of formats (Identify Namespace from byte 128).
    """
    strings = patch.serial.encode().ljust(20) + b"QEMU NVMe Ctrl".ljust(40)
    found = list(memory.find(strings))  # several where ports of one drive share its serial number
    if not found:
        raise PatchError(f"the Identify data of {device} was not found in QEMU's memory")
    for at in found:
        memory.write(at + 20, patch.model.encode().ljust(40) + patch.firmware.encode().ljust(8))
        memory.write(at - 4 + APST_SUPPORT, bytes([patch.sleeps]))
        if patch.formats_all:
            memory.write(at - 4 + FORMAT_ATTRIBUTES, bytes([FORMATS_ALL]))
    if patch.prefers_4096:
        rate_formats(memory, device, patch.blocks)


def rate_formats(memory: Memory, device: str, blocks: int) -> None:
    """Formats with 512 B are rated 2, "good"; those with 4096 B stay 0, "best". The namespace is found by its size."""
    format_sizes = [(metadata, power) for power in (9, 12) for metadata in (0, 8, 16, 64)]
    table = b"".join(struct.pack("<HBB", metadata, power, 0) for metadata, power in format_sizes)
    rated = b"".join(struct.pack("<HBB", metadata, power, 2 if power == 9 else 0) for metadata, power in format_sizes)
    places = [at for at in memory.find(table) if memory.held(at - 128, 8) == struct.pack("<Q", blocks)]
    if not places:
        raise PatchError(f"the Identify Namespace data of {device} was not found in QEMU's memory")
    for at in places:
        memory.write(at, rated)


def temperature(memory: Memory, device: str, place: Place) -> int:
    """Where the temperature of a drive that was never heated is: beside its critical warnings, of which it has none."""
    data = memory.held(place.named, DRIVE_BYTES) or b""
    cold = struct.pack("<HB", COLD_KELVIN, 0)
    found = [at for at in range(0, len(data), 2) if data.startswith(cold, at)]
    if len(found) != 1:
        raise PatchError(f"the temperature of {device} was found {len(found)} times in QEMU's memory")
    return place.named + found[0]


class Patcher:
    """Patches the devices of a running QEMU: all that a machine begins with, and later single ones."""

    def __init__(self, pid: int):
        self.pid = pid
        self.places: dict[str, Place] = {}
        self.distances: Sequence[int] = range(0x10, 0x300, 8)

    def apply(self, patches: dict[str, Patch]) -> None:
        """Before the guest sees the devices: QEMU was started with -S, or is stopped."""
        memory = Memory(self.pid)
        found, distance = places(memory, list(patches), self.distances)
        self.places |= found
        self.distances = [distance]
        for device, patch in patches.items():
            patch_config(memory, found[device].config, patch)
            if patch.model:
                patch_identify(memory, device, patch)

    def retrain(self, device: str, link: tuple[float, int]) -> None:
        """A link's speed and width from now on."""
        patch_config(Memory(self.pid, held=False), self.places[device].config, Patch(now=link))

    def heat(self, device: str, celsius: int) -> None:
        """The composite temperature of the SMART log (NVMe 5.16.1.3), in kelvin."""
        memory = Memory(self.pid)
        place = self.places[device]
        if place.temperature is None:
            place.temperature = temperature(memory, device, place)
        memory.write(place.temperature, struct.pack("<H", celsius + KELVIN))
