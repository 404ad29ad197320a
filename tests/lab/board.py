"""A machine of the lab as QEMU's devices, and what each of them is to say.

Here: which devices QEMU is to make and on which bus. Not here: a QEMU that runs (`emulator.py`).
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from machines import Device, Display, Drive, Functions, Link, Machine, Port, Switch, UsbStick, VirtioDisk, VirtioScsi
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
    patch: Patch | None


def drive_parts(number: int, port: str, slot: Link, drive: Drive, folder: Path) -> DriveParts:
    """The `number`th drive of a machine, in a port with this link. A drive that keeps what is written does so in `folder`."""
    backends, size = store(number, drive, folder)
    device = controller(number, number, port, drive)
    device |= {"drive": backends[-1]["node-name"]} | block_sizes(drive)
    return DriveParts(backends, device, drive_patch(number, slot, drive, size // drive.lba))


def store(number: int, drive: Drive, folder: Path) -> tuple[list[Options], int]:
    """What a namespace reads from, and its size."""
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
    if drive.throttle:
        slow = {"driver": "throttle", "node-name": f"slow{number}", "throttle-group": drive.throttle, "file": node}
        backends.append(slow)
    return backends, size


def controller(number: int, serial: int, port: str, drive: Drive) -> Options:
    return {
        "driver": "nvme",
        "id": drive_name(number),
        "bus": port,
        "serial": drive_serial(serial),
        "max_ioqpairs": 16,
    }


def block_sizes(drive: Drive) -> Options:
    return {"logical_block_size": drive.lba, "physical_block_size": drive.lba}


def drive_patch(serial: int, slot: Link, drive: Drive, blocks: int) -> Patch | None:
    if drive.emulated:
        return None
    model = drive.model
    most = drive.link or model.link
    return Patch(
        most=most,
        now=drive.trained or (min(most[0], slot[0]), min(most[1], slot[1])),
        ids=model.ids,
        payload=drive.payload,
        serial=drive_serial(serial),
        model=model.name,
        firmware=model.firmware,
        blocks=blocks,
        prefers_4096=drive.prefers_4096,
        formats_all=drive.formats_all,
        sleeps=drive.sleeps,
    )


class Board:
    """QEMU's arguments and patches for a machine, in the order its devices are listed."""

    def __init__(self, machine: Machine, folder: Path):
        self.folder = folder
        self.arguments: list[str] = []
        self.patches: dict[str, Patch] = {}
        self.bays: list[tuple[str, Link]] = []  # root ports with nothing in them
        self.drives = 0
        self.disks = 0
        self.chassis = 0
        self.subsystems: dict[str, int] = {}  # the number of the first drive of each
        for group, rate in machine.throttles:
            options = {"qom-type": "throttle-group", "id": group, "x-bps-read": rate}
            self.arguments += ["-object", json.dumps(options)]
        for index, root in enumerate(machine.root_complexes):
            bus = "pcie.0"
            if root.bus:
                bus = f"root{index}"
                self.device(driver="pxb-pcie", id=bus, bus="pcie.0", bus_nr=root.bus, numa_node=root.numa)
            for number, port in enumerate(root.ports):
                slot = number if root.bus else number + 8
                self.put(self.root_port(bus, slot, port), port.link, port.device)

    def device(self, **options: object) -> None:
        self.arguments += ["-device", json.dumps(options)]

    def backend(self, backends: list[Options]) -> None:
        for backend in backends:
            self.arguments += ["-blockdev", json.dumps(backend)]

    def numbered(self, kind: str) -> str:
        self.chassis += 1
        return f"lab-{kind}-{self.chassis:02}"

    def root_port(self, bus: str, slot: int, port: Port) -> str:
        name, link = self.numbered("port"), port.link
        sleeps = isinstance(port.device, Drive) and port.device.sleeps
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
        if link[0] not in PORT_SPEEDS or sleeps or port.payload or not port.has_slot:
            self.patches[name] = Patch(most=link, sleeps=sleeps, payload=port.payload, has_slot=port.has_slot)
        return name

    def put(self, port: str, slot: Link, device: Device | None) -> None:
        match device:
            case None:
                self.bays.append((port, slot))
            case Drive():
                self.drive(port, slot, device)
            case Functions(drives):
                for function, drive in enumerate(drives):
                    self.drive(port, slot, drive, {"addr": f"0.{function}", "multifunction": function == 0})
            case Switch():
                self.switch(port, device)
            case Display():
                name = self.numbered("display")
                self.device(driver="bochs-display", id=name, bus=port, romfile="")
                self.patches[name] = Patch(device.link, device.trained, device.ids, 0x030000)
            case VirtioDisk(serial):
                self.device(driver="virtio-blk-pci", bus=port, serial=serial, drive=self.disk())
            case VirtioScsi():
                self.scsi(port, device)
            case UsbStick():
                name = self.numbered("usb")
                self.device(driver="qemu-xhci", id=name, bus=port)
                self.device(driver="usb-storage", bus=f"{name}.0", drive=self.disk(), serial="STICK")

    def switch(self, port: str, switch: Switch) -> None:
        uplink = self.numbered("uplink")
        self.device(driver="x3130-upstream", id=uplink, bus=port)
        self.patches[uplink] = Patch(switch.link, switch.trained, SWITCH_IDS, payload=switch.payload)
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
            self.patches[name] = Patch(most=switch.slot_link, ids=SWITCH_IDS, payload=switch.payload)
            if device is not None:
                self.put(name, switch.slot_link, device)

    def drive(self, port: str, slot: Link, drive: Drive, function: Options | None = None) -> None:
        number = self.drives
        self.drives += 1
        if drive.subsystem or drive.namespaces != 1 or drive.virtual_functions:
            self.many_spaced(number, port, slot, drive)
            return
        parts = drive_parts(number, port, slot, drive, self.folder)
        self.backend(parts.backends)
        self.device(**parts.device, **(function or {}))
        self.take(parts.device["id"], parts.patch)

    def take(self, name: str, patch: Patch | None) -> None:
        if patch:
            self.patches[name] = patch

    def many_spaced(self, number: int, port: str, slot: Link, drive: Drive) -> None:
        """A drive of a subsystem, which has its namespaces from the first that is listed."""
        subsystem = drive.subsystem or f"own{number}"
        is_first = subsystem not in self.subsystems
        first = self.subsystems.setdefault(subsystem, number)
        if is_first:
            self.device(driver="nvme-subsys", id=subsystem, nqn=f"nqn.2014-08.lab:{subsystem}")
        options = controller(number, first, port, drive) | {"subsys": subsystem}
        if drive.virtual_functions:
            count = drive.virtual_functions
            options |= {"sriov_max_vfs": count, "sriov_vq_flexible": 3 * count, "sriov_vi_flexible": 2 * count}
        self.device(**options)
        size = 0
        for space in range(1, drive.namespaces + 1) if is_first else ():
            backends, size = store(100 * (number + 1) + space, drive, self.folder)
            self.backend(backends)
            self.device(
                driver="nvme-ns", drive=backends[-1]["node-name"], bus=options["id"], nsid=space, **block_sizes(drive)
            )
        self.take(options["id"], drive_patch(first, slot, drive, size // drive.lba))

    def disk(self) -> str:
        """Something for a disk that is no NVMe drive to read from."""
        self.disks += 1
        node = f"disk{self.disks}"
        self.backend([{"driver": "null-co", "node-name": node, "size": self.disks * GIGABYTE, "read-zeroes": True}])
        return node

    def scsi(self, port: str, controller: VirtioScsi) -> None:
        name = self.numbered("scsi")
        self.device(driver="virtio-scsi-pci", id=name, bus=port)
        for lun, serial in enumerate(controller.serials):
            said = {"serial": serial} if serial else {}
            # The World Wide Name of a LUN is its own, whatever its serial number.
            wwn = 0x5000C50000000000 + self.disks
            self.device(
                driver="scsi-hd", bus=f"{name}.0", **{"scsi-id": 0}, lun=lun, drive=self.disk(), wwn=wwn, **said
            )
        if controller.cdrom:
            self.device(driver="scsi-cd", bus=f"{name}.0", **{"scsi-id": 1}, lun=0, drive=self.disk())
