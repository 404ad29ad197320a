"""A machine of the lab as QEMU's devices, and what each of them is to say.

Here: which devices QEMU is to make and on which bus. Not here: a QEMU that runs (`emulator.py`).
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from machines import Display, Drive, Link, Machine, Switch
from patching import Patch

GIGABYTE = 1 << 30
PORT_SPEEDS = {2.5: "2_5", 5: "5", 8: "8", 16: "16"}  # what QEMU's root ports can be told; faster ones are patched
SWITCH_IDS = (0x1000, 0xC010)

Options = dict[str, object]


def drive_name(number: int) -> str:
    return f"lab-drive-{number:02}"


def drive_serial(number: int) -> str:
    return f"LAB{number:05}"


@dataclass(frozen=True)
class DriveParts:
    """A drive as QEMU makes one, when it starts or later: what it reads from, itself, and what it is to say."""

    backends: list[Options]
    device: Options
    patch: Patch


def drive_parts(number: int, port: str, slot: Link, drive: Drive, folder: Path) -> DriveParts:
    """The `number`th drive of a machine, in a port with this link. A drive that keeps what is written does so in `folder`."""
    node, size = f"data{number}", (64 + number) * GIGABYTE  # no two alike, so that each one's Identify data can be found
    backends: list[Options] = [{"driver": "null-co", "node-name": node, "size": size, "read-zeroes": True}]
    if drive.keeps:
        file = folder / f"{node}.raw"
        file.touch()
        os.truncate(file, size)
        backends = [{"driver": "file", "node-name": node, "filename": str(file)}]
    if drive.bad_sector is not None:
        fault = {"event": "none", "iotype": "read", "errno": 5, "sector": drive.bad_sector, "once": False}
        backends.append({"driver": "blkdebug", "node-name": f"bad{number}", "image": node, "inject-error": [fault]})
    device = {
        "driver": "nvme",
        "id": drive_name(number),
        "bus": port,
        "serial": drive_serial(number),
        "max_ioqpairs": 16,
        "drive": backends[-1]["node-name"],
        "logical_block_size": drive.lba,
        "physical_block_size": drive.lba,
    }
    model = drive.model
    patch = Patch(
        most=model.link,
        now=drive.trained or (min(model.link[0], slot[0]), min(model.link[1], slot[1])),
        ids=model.ids,
        serial=drive_serial(number),
        model=model.name,
        firmware=model.firmware,
        blocks=size // drive.lba,
        prefers_4096=drive.prefers_4096,
        sleeps=drive.sleeps,
    )
    return DriveParts(backends, device, patch)


class Board:
    """QEMU's arguments and patches for a machine, in the order its devices are listed."""

    def __init__(self, machine: Machine, folder: Path):
        self.folder = folder
        self.arguments: list[str] = []
        self.patches: dict[str, Patch] = {}
        self.bays: list[tuple[str, Link]] = []  # root ports with nothing in them
        self.drives = 0
        self.chassis = 0
        for index, root in enumerate(machine.root_complexes):
            bus = "pcie.0"
            if root.bus:
                bus = f"root{index}"
                self.device(driver="pxb-pcie", id=bus, bus="pcie.0", bus_nr=root.bus, numa_node=root.numa)
            for number, port in enumerate(root.ports):
                slot = number if root.bus else number + 8
                sleeps = isinstance(port.device, Drive) and port.device.sleeps
                self.put(self.root_port(bus, slot, port.link, sleeps), port.link, port.device)

    def device(self, **options: object) -> None:
        self.arguments += ["-device", json.dumps(options)]

    def numbered(self, kind: str) -> str:
        self.chassis += 1
        return f"lab-{kind}-{self.chassis:02}"

    def root_port(self, bus: str, slot: int, link: Link, sleeps: bool) -> str:
        name = self.numbered("port")
        self.device(
            driver="pcie-root-port",
            id=name,
            bus=bus,
            addr=f"{slot:#x}",
            chassis=self.chassis,
            port=self.chassis,
            slot=self.chassis,
            **{"x-speed": PORT_SPEEDS.get(link[0], "16"), "x-width": str(link[1]), "io-reserve": 0},
        )
        if link[0] not in PORT_SPEEDS or sleeps:
            self.patches[name] = Patch(most=link, sleeps=sleeps)
        return name

    def put(self, port: str, slot: Link, device: Drive | Display | Switch | None) -> None:
        match device:
            case None:
                self.bays.append((port, slot))
            case Drive():
                self.drive(port, slot, device)
            case Switch():
                self.switch(port, device)
            case Display():
                name = self.numbered("display")
                self.device(driver="bochs-display", id=name, bus=port, romfile="")
                self.patches[name] = Patch(device.link, device.trained, device.ids, 0x030000)

    def switch(self, port: str, switch: Switch) -> None:
        uplink = self.numbered("uplink")
        self.device(driver="x3130-upstream", id=uplink, bus=port)
        self.patches[uplink] = Patch(switch.link, switch.trained, SWITCH_IDS)
        for slot, device in enumerate(switch.slots):
            name = self.numbered("downlink")
            self.device(
                driver="xio3130-downstream",
                id=name,
                bus=uplink,
                addr=f"{slot:#x}",
                chassis=self.chassis,
                port=self.chassis,
                slot=self.chassis,
            )
            # The status of a port follows the device in it; an empty one says what QEMU left there.
            self.patches[name] = Patch(most=switch.slot_link, ids=SWITCH_IDS)
            if device is not None:
                self.put(name, switch.slot_link, device)

    def drive(self, port: str, slot: Link, drive: Drive) -> None:
        parts = drive_parts(self.drives, port, slot, drive, self.folder)
        self.drives += 1
        for backend in parts.backends:
            self.arguments += ["-blockdev", json.dumps(backend)]
        self.device(**parts.device)
        self.patches[parts.device["id"]] = parts.patch
