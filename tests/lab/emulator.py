"""A machine of the lab as a running QEMU: its command line, its start, and commands in its guest.

Here: QEMU. Not here: which machines there are (`machines.py`), what is tried in them (`trials.py`).
"""

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from machines import Display, Drive, Link, Machine, Switch
from patching import Patch, apply

BOOT_SECONDS = 120
GIGABYTE = 1 << 30
PORT_SPEEDS = {2.5: "2_5", 5: "5", 8: "8", 16: "16"}  # what QEMU's root ports can be told; faster ones are patched


class Board:
    """QEMU's arguments and patches for a machine, in the order its devices are listed."""

    def __init__(self, machine: Machine):
        self.arguments: list[str] = []
        self.patches: dict[str, Patch] = {}
        self.drives = 0
        self.chassis = 0
        for index, root in enumerate(machine.root_complexes):
            bus = "pcie.0"
            if root.bus:
                bus = f"root{index}"
                self.device(f"pxb-pcie,id={bus},bus=pcie.0,bus_nr={root.bus},numa_node={root.numa}")
            for number, port in enumerate(root.ports):
                slot = number if root.bus else number + 8
                self.put(self.root_port(bus, slot, port.link), port.link, port.device)

    def device(self, options: str) -> None:
        self.arguments += ["-device", options]

    def numbered(self, kind: str) -> str:
        self.chassis += 1
        return f"lab-{kind}-{self.chassis:02}"

    def root_port(self, bus: str, slot: int, link: Link) -> str:
        name = self.numbered("port")
        speed, width = PORT_SPEEDS.get(link[0], "16"), link[1]
        self.device(
            f"pcie-root-port,id={name},bus={bus},addr={slot:#x},chassis={self.chassis},port={self.chassis},"
            f"slot={self.chassis},x-speed={speed},x-width={width},io-reserve=0"
        )
        if link[0] not in PORT_SPEEDS:
            self.patches[name] = Patch(most=link)
        return name

    def put(self, port: str, slot: Link, device: Drive | Display | Switch | None) -> None:
        match device:
            case Drive():
                self.drive(port, slot, device)
            case Switch():
                self.switch(port, device)
            case Display():
                name = self.numbered("display")
                self.device(f"bochs-display,id={name},bus={port},romfile=")
                self.patches[name] = Patch(device.link, device.trained, device.ids, 0x030000)

    def switch(self, port: str, switch: Switch) -> None:
        ids = (0x1000, 0xC010)
        uplink = self.numbered("uplink")
        self.device(f"x3130-upstream,id={uplink},bus={port}")
        self.patches[uplink] = Patch(switch.link, switch.trained, ids)
        for slot, device in enumerate(switch.slots):
            name = self.numbered("downlink")
            self.device(
                f"xio3130-downstream,id={name},bus={uplink},addr={slot:#x},chassis={self.chassis},"
                f"port={self.chassis},slot={self.chassis}"
            )
            # The status of a port follows the device in it; an empty one says what QEMU left there.
            self.patches[name] = Patch(most=switch.slot_link, ids=ids)
            self.put(name, switch.slot_link, device)

    def drive(self, port: str, slot: Link, drive: Drive) -> None:
        number, name = self.drives, f"lab-drive-{self.drives:02}"
        self.drives += 1
        serial = f"LAB{number:05}"
        size = (64 + number) * GIGABYTE  # no two alike, so that each one's Identify data can be found
        backend = f"driver=null-co,node-name=null{number},size={size},read-zeroes=on"
        self.arguments += ["-blockdev", backend]
        if drive.bad_sector is not None:
            backend = (
                f"driver=blkdebug,node-name=bad{number},image=null{number},inject-error.0.event=none,"
                f"inject-error.0.iotype=read,inject-error.0.errno=5,inject-error.0.sector={drive.bad_sector},"
                "inject-error.0.once=off"
            )
            self.arguments += ["-blockdev", backend]
        node = f"null{number}" if drive.bad_sector is None else f"bad{number}"
        self.device(f"nvme,id={name},bus={port},serial={serial},max_ioqpairs=16")
        self.device(
            f"nvme-ns,drive={node},bus={name},nsid=1,logical_block_size={drive.lba},physical_block_size={drive.lba}"
        )
        model = drive.model
        trained = drive.trained or (min(model.link[0], slot[0]), min(model.link[1], slot[1]))
        self.patches[name] = Patch(
            most=model.link,
            now=trained,
            ids=model.ids,
            serial=serial,
            model=model.name,
            firmware=model.firmware,
            blocks=size // drive.lba,
            prefers_4096=drive.prefers_4096,
        )


@dataclass(frozen=True)
class Answer:
    """What a script in the guest wrote and returned."""

    status: int
    out: str
    err: str

    def json(self) -> dict:
        return json.loads(self.out)


class Guest:
    """A machine that runs. Use it as a context: it is switched off at the end."""

    def __init__(self, machine: Machine, kernel: Path, archive: Path, iodyno: Path):
        self.machine = machine
        self.folder = Path(tempfile.mkdtemp(prefix="iodyno-lab-"))
        self.share = self.folder / "share"
        self.share.mkdir()
        shutil.copy(iodyno, self.share / "iodyno")
        self.scripts = 0
        board = Board(machine)
        self.console = open(self.folder / "console", "wb")
        self.process = subprocess.Popen(
            self.command(machine, board, kernel, archive),
            stdin=subprocess.DEVNULL,
            stdout=self.console,
            stderr=subprocess.STDOUT,
        )
        try:
            self.control = self.connect("control")
            self.lines = self.connect("scripts").makefile("rw")
            self.qmp = self.control.makefile("rw")
            self.qmp.readline()
            self.order("qmp_capabilities")
            apply(self.process.pid, board.patches)
            self.order("cont")
            self.expect("ready", BOOT_SECONDS)
        except BaseException:
            self.__exit__()
            raise

    def command(self, machine: Machine, board: Board, kernel: Path, archive: Path) -> list[str]:
        memory = [("low", "0-1"), ("high", "2-3")]
        command = ["qemu-system-x86_64", "-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "4"]
        command += ["-m", "1536", "-nodefaults", "-display", "none", "-no-reboot", "-S"]
        command += ["-kernel", str(kernel), "-initrd", str(archive), "-append"]
        command += [
            f"console=ttyS0 panic=-1 rdinit=/init quiet lab.drives={board.drives} {machine.kernel_arguments}".strip()
        ]
        for node, (name, processors) in enumerate(memory):
            command += ["-object", f"memory-backend-ram,id={name},size=768M"]
            command += ["-numa", f"node,nodeid={node},memdev={name},cpus={processors}"]
        command += ["-serial", "stdio"]
        for name in ("scripts", "control"):
            command += ["-chardev", f"socket,id={name},path={self.folder / name},server=on,wait=off"]
        command += ["-serial", "chardev:scripts", "-mon", "chardev=control,mode=control"]
        command += ["-fsdev", f"local,id=share,path={self.share},security_model=none"]
        command += ["-device", "virtio-9p-pci,fsdev=share,mount_tag=host,bus=pcie.0"]
        return command + board.arguments

    def connect(self, name: str) -> socket.socket:
        for _ in range(500):
            try:
                line = socket.socket(socket.AF_UNIX)
                line.settimeout(BOOT_SECONDS)
                line.connect(str(self.folder / name))
                return line
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.02)
        self.console.flush()
        raise RuntimeError(f"QEMU did not start: {(self.folder / 'console').read_text(errors='replace')[-400:]}")

    def order(self, command: str, **arguments) -> dict:
        """A command of QEMU's monitor."""
        self.qmp.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self.qmp.flush()
        while True:
            answer = json.loads(self.qmp.readline())
            if "error" in answer:
                raise RuntimeError(f"{command}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]

    def expect(self, word: str, seconds: float) -> list[str]:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                words = self.lines.readline().split()
            except TimeoutError:
                break
            if words and words[0] == word:
                return words[1:]
        self.console.flush()
        console = (self.folder / "console").read_text(errors="replace")
        raise RuntimeError(f"no {word!r} from the guest in {seconds} s; its console ends: {console[-600:]}")

    def run(self, script: str, seconds: float = 90) -> Answer:
        """Runs a shell script in the guest as root, to its end."""
        self.scripts += 1
        name = f"script{self.scripts:03}"
        (self.share / name).write_text(script + "\n")
        self.lines.write(name + "\n")
        self.lines.flush()
        (status,) = self.expect(name, seconds)
        written = [(self.share / f"{name}.{kind}").read_text(errors="replace") for kind in ("out", "err")]
        return Answer(int(status), *written)

    def text(self, script: str, seconds: float = 90) -> str:
        """What a script writes; it has to end well."""
        answer = self.run(script, seconds)
        if answer.status != 0:
            raise AssertionError(f"`{script}` returned {answer.status}: {answer.err.strip() or answer.out.strip()}")
        return answer.out

    def iodyno(self, words: str, seconds: float = 90) -> str:
        return self.text(f"iodyno {words}", seconds)

    def __enter__(self) -> "Guest":
        return self

    def __exit__(self, *_) -> None:
        self.process.kill()
        self.process.wait()
        self.console.close()
        shutil.rmtree(self.folder, ignore_errors=True)
