"""Captures of guests, with what others said in the same guest beside them, for tests that run without a guest.

Here: which, and how they are made. Not here: what they have to say (`tests/texts/lspci.rs`, `tests/commands/captures.rs`).
"""

from pathlib import Path

from emulator import Guest

FOLDER = Path(__file__).resolve().parents[1] / "fixtures"
KEPT = ("switch", "desktop")
COMMANDS = {
    "capture": "iodyno capture -",
    "check.json": "iodyno check --json",
    "lspci-tv.txt": "lspci -tv",
    "lspci-vvv-xxx.txt": "lspci -D -vvv -xxx",
}


def keep(name: str, guest: Guest) -> None:
    for ending, command in COMMANDS.items():
        (FOLDER / f"lab-{name}.{ending}").write_text(guest.text(command))
