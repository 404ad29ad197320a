"""Screens of the guest, kept under `snapshots/lab` and compared with what is there now.

Here: what of a screen differs from one start to the next, and how it is blanked. Not here: which screens are looked at
(`trials/screens.py`).
"""

import difflib
import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "snapshots" / "lab"
FRAME = "│┌┐└┘├┤┬┴┼─\n"
# What curves, bars and maps are drawn with, in Unicode and in the VGA font.
CURVE = "⠀-⣿·█▉▊▋▌▍▎▏▁-▇▀▐■░▒▓"


def flat(line: str) -> str:
    """Without curves; an underscore beside a letter belongs to a word."""
    return re.sub("(?<![A-Za-z0-9])_+(?![A-Za-z0-9])", " ", re.sub(f"[{CURVE}]", " ", line))


def blank(text: str) -> str:
    """Only what is drawn as a frame stays."""
    return "".join(character if character in FRAME else " " for character in text)


def idle(screen: str) -> str:
    """A screen of a machine at rest: the kernel's version and the rows of the dstat strip vary, nothing else does."""
    lines = []
    strip = False
    for line in screen.splitlines():
        line = re.sub(r"Linux \d\S+( · \d+ drives)?(?= +LIVE)", r"Linux N\1", line)
        line = re.sub(r" +LIVE", " LIVE", line)
        if re.search(r"\bdstat  ", line):
            strip = True
            line = re.sub(r"(reads|writes) .*?(?=─)", r"\1 ", line)
            line = re.sub("─+", "─", line)
        elif re.search(r"\brun blk new", line):
            # The axis beside it has the unit that suits the rates.
            line = flat(re.sub(r"[\d.]", " ", re.sub(r"(?<=[\d.])[kM](?=┤)", " ", line)))
        elif re.search(r"\d +\d+ +\d+\| ", line):  # a row of the strip whose heading lies below a window
            line = blank(line)
        else:
            strip = strip and any(character in FRAME for character in line)
            line = blank(line) if strip else line
        lines.append(line.rstrip())
    return "\n".join(lines) + "\n"


def busy(screen: str) -> str:
    """A screen while a test runs: figures, curves, and what is concluded from them, vary too."""
    text = idle(screen)
    text = re.sub(r"(?ms)^(.*Bottleneck[^\n]*\n)(.*?)(?=^[^\n]*\bdstat )", lambda found: found[1] + blank(found[2]), text)
    text = re.sub(r"(2 Findings)(\(\d\+?\))? *", r"\1 ", text)
    text = flat(text)
    text = re.sub(r"(?<![\w.])[\d.]+( ?(k|M|G)\b)?( (ns|us|ms|s)\b)?(?![\w.])", "#", text)
    text = re.sub(r"# [kM]B/s", "# GB/s", text)
    # Which way of making calls wins is the machine's affair.
    text = text.replace(", spins", ", waits for #")
    text = re.sub(" +", " ", re.sub("─+", "─", text))
    # Rows of the map of latencies: only some are labelled.
    text = re.sub(r"││( #)? │ │$", "││ │", re.sub("││#", "││ #", text), flags=re.MULTILINE)
    return re.sub(" +$", "", text, flags=re.MULTILINE)


def path_of(name: str) -> Path:
    return FOLDER / f"{name}.txt"


def kept(name: str) -> str:
    path = path_of(name)
    return path.read_text() if path.exists() else ""


def keep(name: str, text: str) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    path_of(name).write_text(text)


def difference(name: str, text: str) -> str:
    lines = difflib.unified_diff(kept(name).splitlines(), text.splitlines(), str(path_of(name)), "now", lineterm="")
    return "\n".join([f"{name} looks different; if that is meant, tests/lab/run --accept", *lines])
