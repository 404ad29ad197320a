"""Loop devices of a trial's own, and the program in a terminal of the trial's own."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import threading
import time

SETTINGS = ("scheduler", "read_ahead_kb", "nr_requests", "max_sectors_kb", "nomerges", "rq_affinity", "iostats")
# Other values than a scheduler begins with. bfq's strict_guarantees raises slice_idle to 8, so it is written before it.
TUNABLES = {"read_expire": "1000", "async_depth": "40", "read_lat_nsec": "3000000", "strict_guarantees": "1",
            "slice_idle": "4"}
SEQUENCE = re.compile(rb"\x1b(?:\[([0-?]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()].|[=>78cDEHMNOZ])")


class Loop:
    """A loop device on a file of 64 MiB; its settings are put back when it is detached."""

    def __init__(self, folder, number):
        self.file = os.path.join(folder, f"backing{number}")
        with open(self.file, "wb") as out:
            out.truncate(64 << 20)
        made = subprocess.run(["losetup", "--find", "--show", self.file], stdout=subprocess.PIPE, check=True)
        self.path = made.stdout.decode().strip()
        self.name = os.path.basename(self.path)
        # Settings outlive what was attached: a trial that was killed may have left some.
        for name, value in (("scheduler", "none"), ("nomerges", "0"), ("rq_affinity", "1"), ("iostats", "1")):
            self.write(name, value)
        self.resize_tags()
        self.found, self.found_tags = self.settings(), self.tags()
        self.found_tunables = self.tunables()
        self.original = self.found

    def write(self, name, value):
        with open(f"/sys/block/{self.name}/queue/{name}", "w", encoding="ascii") as out:
            out.write(value)

    def resize_tags(self):
        """As many tags as nr_requests shows: a scheduler hides what was written before it (src/tune/tags.rs)."""
        for requests in ("127", "128"):
            self.write("nr_requests", requests)

    def tags(self):
        """The tags of the queue, in a name space of mounts of its own; None where debugfs cannot be mounted."""
        mount = f"mount -t debugfs none /sys/kernel/debug && cat /sys/kernel/debug/block/{self.name}/hctx0/tags"
        shown = subprocess.run(
            ["unshare", "--mount", "sh", "-c", mount], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
        )
        found = re.search(rb"^depth=(\d+)", shown.stdout, re.MULTILINE)
        return int(found.group(1)) if found else None

    def tunables(self):
        """Those of the queue's scheduler, by name."""
        folder, values = f"/sys/block/{self.name}/queue/iosched", {}
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            with open(os.path.join(folder, name), encoding="ascii") as file:
                values[name] = file.read().strip()
        return values

    def settings(self):
        values = {}
        for name in SETTINGS:
            with open(f"/sys/block/{self.name}/queue/{name}", encoding="ascii") as file:
                text = file.read().strip()
            chosen = re.search(r"\[(.*?)\]", text)
            values[name] = chosen.group(1) if chosen else text
        return values

    def changed(self):
        now = self.settings()
        return {name: now[name] for name in SETTINGS if now[name] != self.found[name]}

    def hidden(self):
        """What has changed and is not to be seen in the settings."""
        tags, tunables = self.tags(), self.tunables()
        changed = {} if tags == self.found_tags else {"tags": tags}
        return changed | {name: now for name, now in tunables.items() if now != self.found_tunables.get(name)}

    def put_back(self):
        found = self.found
        self.begin(found["scheduler"], found["nr_requests"])
        self.found = found
        for name in self.changed():
            self.write(name, found[name])

    def begin(self, scheduler, requests):
        """Other values to find than a new device has, as an administrator sets them."""
        self.write("scheduler", "none")
        self.resize_tags()
        self.write("scheduler", scheduler)
        self.write("nr_requests", requests)
        for name, value in TUNABLES.items():
            if name in self.tunables():
                self.write(f"iosched/{name}", value)
        self.found, self.found_tags, self.found_tunables = self.settings(), self.tags(), self.tunables()

    def schedulers(self):
        with open(f"/sys/block/{self.name}/queue/scheduler", encoding="ascii") as file:
            return [word.strip("[]") for word in file.read().split()]

    def detach(self):
        self.found = self.original
        self.put_back()
        subprocess.run(["losetup", "--detach", self.path], check=False)
        os.unlink(self.file)


class Terminal:
    """A program with its output on a screen of 120x40, as far as text and cursor moves go."""

    def __init__(self, command, env, size=(40, 120)):
        self.size, self.cells, self.at, self.state = size, [], [0, 0], None
        self.clear()
        self.master, slave = pty.openpty()
        self.resize(*size)

        def own_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.child = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env=env, preexec_fn=own_terminal, close_fds=True
        )
        os.close(slave)
        # The last output, for a panic's message.
        self.reads, self.lock, self.rest, self.last = True, threading.Lock(), b"", b""
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def clear(self):
        self.cells = [[" "] * self.size[1] for _ in range(self.size[0])]

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.size = (rows, columns)
        self.clear()

    def read(self):
        while self.master is not None:
            if not self.reads:
                time.sleep(0.02)
                continue
            try:
                if not select.select([self.master], [], [], 0.05)[0]:
                    continue
                chunk = os.read(self.master, 1 << 16)
            except (OSError, TypeError, ValueError):
                return
            if not chunk:
                return
            with self.lock:
                self.draw(chunk)
                self.last = (self.last + chunk)[-16384:]

    def draw(self, chunk):
        data, at = self.rest + chunk, 0
        self.rest = b""
        while at < len(data):
            if data[at] == 0x1B:
                found = SEQUENCE.match(data, at)
                if not found:
                    if len(data) - at < 64:
                        self.rest = data[at:]
                        return
                    at += 1
                    continue
                self.obey(found.group(1), found.group(2))
                at = found.end()
                continue
            end = data.find(b"\x1b", at)
            end = len(data) if end < 0 else end
            text = data[at:end]
            if end == len(data):
                # A character may be cut.
                for cut in range(1, 4):
                    if len(text) >= cut and text[-cut] >= 0xC0:
                        self.rest, text = text[-cut:], text[:-cut]
                        break
            for character in text.decode("utf-8", "replace"):
                self.put(character)
            at = end

    def obey(self, numbers, final):
        if final == b"H":
            row, _, column = (numbers or b"1;1").partition(b";")
            # Of a frame that was dropped within a sequence nothing is known.
            if all(number.isdigit() for number in (row or b"1", column or b"1")):
                self.at = [int(row or 1) - 1, int(column or 1) - 1]
        elif final == b"J":
            self.clear()

    def put(self, character):
        row, column = self.at
        if character == "\r":
            self.at[1] = 0
        elif character == "\n":
            self.at[0] += 1
        elif row < self.size[0] and column < self.size[1]:
            self.cells[row][column] = character
            self.at[1] += 1

    def text(self):
        with self.lock:
            return "\n".join("".join(row) for row in self.cells)

    def press(self, keys):
        try:
            os.write(self.master, keys.encode())
        except OSError:
            pass  # It has ended.

    def wait_for(self, text, seconds=20.0):
        until = time.monotonic() + seconds
        while time.monotonic() < until and self.child.poll() is None:
            if text in self.text():
                return True
            time.sleep(0.01)
        return text in self.text()

    def signal(self, number):
        if self.child.poll() is None:
            os.kill(self.child.pid, number)

    def hang_up(self):
        """Closes the terminal, as a window that is closed or a connection that drops."""
        self.reads = False
        master, self.master = self.master, None
        self.reader.join()
        os.close(master)

    def end(self, seconds=60.0):
        """The exit status, or None for a program that did not end and was killed."""
        try:
            return self.child.wait(seconds)
        except subprocess.TimeoutExpired:
            with open(f"/proc/{self.child.pid}/stat", encoding="utf-8", errors="replace") as file:
                self.state = file.read().rpartition(")")[2].split()[0]
            self.signal(signal.SIGKILL)
            try:
                self.child.wait(5)
            except subprocess.TimeoutExpired:
                pass  # The kernel keeps a thread in a read that does not end.
            return None
        finally:
            if self.master is not None:
                self.hang_up()

    def to_setting(self, device):
        """Puts the cursor of the tune screen on the scheduler of a device."""
        if not self.wait_for("PCIe tree"):
            return False
        self.press("3")
        self.wait_for("Settings")
        for step in range(200):
            for _ in range(8):
                if f" {device}  scheduler" in self.text():
                    return True
                time.sleep(0.02)
            self.press("j" if step // 20 % 2 == 0 else "k")
        return False
