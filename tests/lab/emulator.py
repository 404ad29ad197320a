"""A machine of the lab as a running QEMU: its command line, its start, and commands in its guest.

Here: QEMU. Not here: which machines there are (`machines.py`), what is tried in them (`trials/`).
"""

import json
import os
import select
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from board import Board, drive_name, drive_parts
from console import Terminal
from image import Image
from machines import Drive, Event, Heat, Link, Machine, Plug, Pull, Retrain
from patching import Patcher

BOOT_SECONDS = 180  # on a machine that has much else to do; usually it is 10
SCRIPT_SECONDS = 180  # likewise; usually less than one
PANIC = "Kernel panic - not syncing"  # an emulated processor may never get past it
CLEAR = r"\033[2J\033[H"


class Silent(RuntimeError):
    """A guest that did not answer in time. It is of no use any more."""


@dataclass(frozen=True)
class Answer:
    """What a script in the guest wrote and returned."""

    status: int
    out: str
    err: str

    def json(self) -> dict:
        assert self.out.startswith("{"), f"no document, status {self.status}: {self.err.strip() or self.out[:200]}"
        return json.loads(self.out)


@dataclass(frozen=True)
class Lab:
    """What every guest is made of, and how its trials are to be judged."""

    image: Image
    iodyno: Path
    program: Path  # an archive of it, as initramfs are made of them
    accept: bool  # screens that differ from their snapshots become the snapshots
    patience: float  # seconds until what is waited for on a screen or in the guest counts as missing


class Guest:
    """A machine that was switched on; it can be spoken to once it is `ready`. Use it as a context: it is switched off at the
    end. `silent` when it did not answer in time.
    """

    def __init__(self, machine: Machine, lab: Lab):
        self.machine = machine
        self.lab = lab
        self.folder = Path(tempfile.mkdtemp(prefix="iodyno-lab-"))
        self.share = self.folder / "share"
        self.share.mkdir()
        self.initramfs = self.folder / "initramfs"
        parts = (lab.image.archive, *([lab.image.fio] if machine.fio else []), lab.program)
        with open(self.initramfs, "wb") as whole:
            for part in parts:
                with open(part, "rb") as archive:
                    shutil.copyfileobj(archive, whole)
        self.scripts = 0
        self.deaf = False
        self.silent = False
        self.is_ready = False
        board = Board(machine, self.folder)
        self.bays, self.drives = board.bays, board.drives
        self.said = open(self.folder / "qemu", "wb")
        self.process = subprocess.Popen(
            self.command(board),
            stdin=subprocess.DEVNULL,
            stdout=self.said,
            stderr=subprocess.STDOUT,
        )
        self.patcher = Patcher(self.process.pid)
        try:
            self.terminal = Terminal(self.connect("console"), lab.patience)
            self.serial = self.connect("scripts")
            self.heard = b""
            self.qmp = self.connect("control").makefile("rw")
            self.qmp.readline()
            self.order("qmp_capabilities")
            self.patcher.apply(board.patches)
            self.order("cont")
        except BaseException:
            self.off()
            raise

    def command(self, board: Board) -> list[str]:
        memory = [("low", "0-1"), ("high", "2-3")]
        command = ["qemu-system-x86_64", "-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "4"]
        command += ["-m", "1536", "-nodefaults", "-display", "none", "-no-reboot", "-S"]
        command += ["-kernel", str(self.lab.image.kernel), "-initrd", str(self.initramfs), "-append"]
        command += [f"console=ttyS0 no_timer_check panic=-1 rdinit=/init quiet {self.machine.kernel_arguments}".strip()]
        for node, (name, processors) in enumerate(memory):
            command += ["-object", f"memory-backend-ram,id={name},size=768M"]
            command += ["-numa", f"node,nodeid={node},memdev={name},cpus={processors}"]
        for name in ("console", "scripts", "control"):
            log = f",logfile={self.folder / 'console.log'}" if name == "console" else ""
            command += ["-chardev", f"socket,id={name},path={self.folder / name},server=on,wait=off{log}"]
        command += ["-serial", "chardev:console", "-serial", "chardev:scripts", "-mon", "chardev=control,mode=control"]
        # Slots are the kernel's to handle, as on a workstation, instead of the firmware's.
        command += ["-global", "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off"]
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
        raise RuntimeError(f"QEMU did not start: {(self.folder / 'qemu').read_text(errors='replace')[-400:]}")

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

    def ready(self) -> "Guest":
        """Waits until its kernel and its drives are there."""
        if not self.is_ready:
            self.expect("ready", BOOT_SECONDS)
            self.is_ready = True
            self.text(self.machine.setup)
        return self

    def expect(self, word: str, seconds: float) -> list[str]:
        """The rest of the line of the script port that begins with this word. No wait for a kernel that has stopped."""
        start = time.monotonic()
        while not self.silent and (spent := time.monotonic() - start) < seconds:
            line, newline, rest = self.heard.partition(b"\n")
            if newline:
                self.heard = rest
                words = line.decode(errors="replace").split()
                if words and words[0] == word:
                    return words[1:]
            elif select.select([self.serial], [], [], min(1, seconds - spent))[0]:
                more = self.serial.recv(4096)
                if not more:
                    break
                self.heard += more
            elif PANIC in self.console():
                break
        self.silent = True  # a late answer would be taken for that to the next script
        spent = time.monotonic() - start
        raise Silent(f"no {word!r} from the guest in {spent:.0f} s; its console ends: {self.console()[-600:]}")

    def console(self) -> str:
        """What the guest's kernel has written."""
        return (self.folder / "console.log").read_text(errors="replace")

    def run(self, script: str, seconds: float = SCRIPT_SECONDS) -> Answer:
        """Runs a shell script in the guest as root, to its end."""
        self.scripts += 1
        name = f"script{self.scripts:03}"
        (self.share / name).write_text(script + "\n")
        self.serial.sendall(f"{name}\n".encode())
        (status,) = self.expect(name, seconds)
        written = [(self.share / f"{name}.{kind}").read_text(errors="replace") for kind in ("out", "err")]
        return Answer(int(status), *written)

    def text(self, script: str, seconds: float = SCRIPT_SECONDS) -> str:
        """What a script writes; it has to end well."""
        answer = self.run(script, seconds)
        if answer.status != 0:
            raise AssertionError(f"`{script}` returned {answer.status}: {answer.err.strip() or answer.out.strip()}")
        return answer.out

    def iodyno(self, words: str, seconds: float = SCRIPT_SECONDS) -> str:
        return self.text(f"iodyno {words}", seconds)

    def happen(self, event: Event) -> None:
        """Lets something happen to the hardware. The kernel may take some seconds to deal with it."""
        if self.deaf:
            return
        match event:
            case Retrain(drive, link):
                self.patcher.retrain(drive_name(drive), link)
            case Heat(drive, celsius):
                self.patcher.heat(drive_name(drive), celsius)
            case Pull(drive):
                self.order("device_del", id=drive_name(drive))
            case Plug(bay, drive):
                self.plug(*self.bays[bay], drive)

    def plug(self, port: str, slot: Link, drive: Drive) -> None:
        parts = drive_parts(self.drives, port, slot, drive, self.folder)
        self.drives += 1
        for backend in parts.backends:
            self.order("blockdev-add", **backend)
        # The guest must not see the drive before it says what it is.
        self.order("stop")
        self.order("device_add", **parts.device)
        self.patcher.apply({parts.device["id"]: parts.patch})
        self.order("cont")

    @contextmanager
    def screen(self, size: tuple[int, int], words: str = "") -> Iterator[Terminal]:
        """iodyno's screen on the serial console, with a state folder of its own. Scripts can be run meanwhile."""
        columns, rows = size
        self.terminal.resize(columns, rows)
        # Not as its controlling terminal: the kernel would hang up the line, and drop what waits in it, at the end.
        script = f'echo $$ >/tmp/screen; iodyno {words}; printf "{CLEAR}left with %s\\n" $?'
        self.text(
            f"stty -F /dev/ttyS0 sane rows {rows} cols {columns}; export TERM=linux IODYNO_STATE_DIR=$(mktemp -d)\n"
            f"setsid sh -c '{script}' <>/dev/ttyS0 >&0 2>&0 &"
        )
        try:
            yield self.terminal
        finally:
            self.run("kill -9 -$(cat /tmp/screen)")

    def __enter__(self) -> "Guest":
        try:
            return self.ready()
        except BaseException:
            self.off()
            raise

    def __exit__(self, *_) -> None:
        self.off()

    def off(self) -> None:
        self.process.kill()
        self.process.wait()
        self.said.close()
        shutil.rmtree(self.folder, ignore_errors=True)
