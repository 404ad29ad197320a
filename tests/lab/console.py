"""The guest's serial console as a terminal: what stands on it, and the keys that are pressed.

Here: bytes of one serial line. Not here: what has to be on the screen (`trials/`), what of it varies (`snapshots.py`).
"""

import contextlib
import re
import socket
import threading
import time
from collections.abc import Callable

try:
    import pyte
    import pyte.graphics
except ModuleNotFoundError:
    pass  # image.py says so before any terminal is made

KEYS = {  # as `iodyno render --keys` writes them
    "Enter": "\r",
    "Esc": "\x1b",
    "Tab": "\t",
    "Up": "\x1b[A",
    "Down": "\x1b[B",
    "Right": "\x1b[C",
    "Left": "\x1b[D",
    "C-c": "\x03",
    "C-u": "\x15",
}
LOOK_SECONDS = 0.02
KEY_SECONDS = 5


def sixteen_colours() -> set[str]:
    """Those every terminal has, as pyte names them: by name or, where a program gives their numbers, by its palette."""
    names = ("default", "black", "red", "green", "brown", "blue", "magenta", "cyan", "white")
    return {*names, *pyte.graphics.FG_BG_256[:16]}


class Terminal:
    """A terminal on a serial line. A thread of its own reads it, so that the guest never waits for the lab."""

    def __init__(self, line: socket.socket, patience: float):
        self.line = line
        self.patience = patience  # seconds until something counts as missing
        self.line.settimeout(None)
        self.lock = threading.Lock()
        self.resize(80, 24)
        threading.Thread(target=self.read, daemon=True).start()

    def resize(self, columns: int, rows: int) -> None:
        """An empty screen of another size; who writes to it learns the size from elsewhere."""
        with self.lock:
            self.screen = pyte.Screen(columns, rows)
            self.stream = pyte.ByteStream(self.screen)

    def read(self) -> None:
        while data := self.line.recv(65536):
            with self.lock:
                self.stream.feed(data)

    def text(self) -> str:
        with self.lock:
            return "\n".join(line.rstrip() for line in self.screen.display)

    def picture(self) -> str:
        """The screen with its colours, as a terminal would be told to show it."""
        with self.lock:
            lines = [[self.screen.buffer[row][column] for column in range(self.screen.columns)] for row in range(self.screen.lines)]
        return "".join("".join(map(painted, line)) + "\x1b[0m\n" for line in lines)

    def size(self) -> tuple[int, int]:
        return self.screen.columns, self.screen.lines

    def colours(self) -> set[str]:
        """Of everything on the screen, as pyte names them."""
        with self.lock:
            cells = [cell for row in self.screen.buffer.values() for cell in row.values()]
        return {colour.removeprefix("bright") for cell in cells for colour in (cell.fg, cell.bg)}

    def press(self, keys: str) -> None:
        """Keys in the notation of `iodyno render --keys`: `jj<Enter>`."""
        for name, character in re.findall(r"<([\w-]+)>|(.)", keys):
            self.line.sendall((KEYS[name] if name else character).encode())

    def wait(self, what: str, wanted: Callable[[str], object], seconds: float | None = None) -> float:
        """Until the screen's text is as wanted; how many seconds that took."""
        seconds = seconds or self.patience
        start = time.monotonic()
        while time.monotonic() - start < seconds:
            if wanted(self.text()):
                return time.monotonic() - start
            time.sleep(LOOK_SECONDS)
        raise AssertionError(f"{what}: not on the screen within {seconds} s:\n{self.text()}")

    def shows(self, pattern: str, seconds: float | None = None) -> float:
        """Until the screen's text matches a regular expression."""
        return self.wait(pattern, lambda text: re.search(pattern, text, re.MULTILINE), seconds)

    def lacks(self, pattern: str, seconds: float | None = None) -> float:
        """Until the screen's text does not match a regular expression any more."""
        return self.wait(f"no {pattern}", lambda text: not re.search(pattern, text, re.MULTILINE), seconds)

    def go_to(self, pattern: str, key: str) -> None:
        """Presses a key until the row with the cursor matches."""

        def row(text: str) -> list[str]:
            return [line for line in text.splitlines() if "›" in line or "»" in line]

        for _ in range(40):
            here = row(self.text())
            if any(re.search(pattern, line) for line in here):
                return
            self.press(key)
            # Between the two it may be on no row, or on both.
            moved = lambda text, here=here: len(row(text)) == len(here) and row(text) != here  # noqa: E731
            # A serial line may lose a key, or bring its bytes so late that it is another one.
            with contextlib.suppress(AssertionError):
                self.wait(f"the cursor moved by {key}", moved, seconds=KEY_SECONDS)
        raise AssertionError(f"{pattern}: not reached with {key}:\n{self.text()}")

    def leave(self) -> None:
        """Leaves the program by its key and waits for its status, which has to be 0."""
        self.press("q")
        self.shows("left with 0")


def painted(cell) -> str:
    """A cell as text with its colours; those with names are terminals' first sixteen."""
    names = ("black", "red", "green", "brown", "blue", "magenta", "cyan", "white")
    codes = ["0"]
    for ground, colour in ((30, cell.fg), (40, cell.bg)):
        plain = colour.removeprefix("bright")
        if plain in names:
            codes.append(str(ground + names.index(plain) + (60 if plain != colour else 0)))
        elif colour != "default":
            red, green, blue = (int(colour[at : at + 2], 16) for at in (0, 2, 4))
            codes.append(f"{ground + 8};2;{red};{green};{blue}")
    styles = (("1", cell.bold), ("4", cell.underscore), ("7", cell.reverse))
    codes += [code for code, on in styles if on]
    return f"\x1b[{';'.join(codes)}m{cell.data}"
