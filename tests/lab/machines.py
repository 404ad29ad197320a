"""The machines of the lab, as data: what hangs where, what it says of itself, and what iodyno has to find there.

Here: descriptions only. Not here: how QEMU is told (`emulator.py`), how a device is made to say it (`patching.py`).
"""

from dataclasses import dataclass, field

Link = tuple[float, int]  # GT/s, lanes


@dataclass(frozen=True)
class Model:
    """What a drive says it is: its strings, its PCI ids, and the best link it can do."""

    name: str
    firmware: str
    ids: tuple[int, int, int, int]  # vendor, device, subsystem vendor, subsystem device
    link: Link


PASCAL = Model("Samsung SSD 990 PRO 4TB", "4B2QJXD7", (0x144D, 0xA80C, 0x144D, 0xA801), (16, 4))
BLACK = Model("WD_BLACK SN850X 4000GB", "624361WD", (0x15B7, 0x5030, 0x15B7, 0x5030), (16, 4))
CRUCIAL = Model("CT2000T705SSD3", "PACR5111", (0xC0A9, 0x5419, 0xC0A9, 0x5419), (32, 4))


@dataclass(frozen=True)
class Drive:
    """An NVMe drive with one namespace. `trained` is its link now, where that is not what both ends can do."""

    model: Model = PASCAL
    lba: int = 512
    trained: Link | None = None
    prefers_4096: bool = False  # its 4096 B formats are rated "best", those of 512 B only "good"
    bad_sector: int | None = None  # a read that touches this sector of 512 B fails
    keeps: bool = False  # what is written to it; the others read as zeroes
    sleeps: bool = False  # its link offers ASPM L1, and it power states it enters by itself


@dataclass(frozen=True)
class Display:
    """A graphics card whose link sleeps at 2.5 GT/s, as they do."""

    ids: tuple[int, int, int, int] = (0x10DE, 0x2684, 0x10DE, 0x167C)
    link: Link = (16, 16)
    trained: Link = (2.5, 16)


@dataclass(frozen=True)
class Switch:
    """A PCIe switch: its uplink's best and present link, and a device or nothing in each downstream slot."""

    link: Link
    trained: Link
    slots: tuple[Drive | None, ...]
    slot_link: Link = (16, 4)


@dataclass(frozen=True)
class Port:
    """A root port: what its slot can do, and what is in it."""

    link: Link
    device: Drive | Display | Switch | None = None


@dataclass(frozen=True)
class RootComplex:
    """A host bridge of its own, on a bus and a NUMA node; `bus` 0 is the machine's first, which always exists."""

    bus: int
    numa: int
    ports: tuple[Port, ...]


# What happens to a machine while it runs. Drives are numbered in the order they are listed, then as they are plugged in.


@dataclass(frozen=True)
class Retrain:
    """A drive's link comes up again, slower or narrower or as it was."""

    drive: int
    link: Link


@dataclass(frozen=True)
class Heat:
    """A drive says this temperature from now on."""

    drive: int
    celsius: int


@dataclass(frozen=True)
class Pull:
    """A drive is taken out: its slot says so, and the kernel lets it go."""

    drive: int


@dataclass(frozen=True)
class Plug:
    """A drive is put into a root port that had nothing in it, the `bay`th of those."""

    bay: int
    drive: Drive


Event = Retrain | Heat | Pull | Plug


@dataclass(frozen=True)
class Found:
    """A finding that has to be there: its id, its severity, and the PCI addresses its subjects are at."""

    id: str
    severity: str
    at: frozenset[str]


@dataclass(frozen=True)
class Machine:
    """A machine, and everything `iodyno check` has to say of it above information, and some of what is below."""

    says: str
    root_complexes: tuple[RootComplex, ...]
    above_info: frozenset[Found] = frozenset()
    information: frozenset[Found] = frozenset()
    kernel_arguments: str = ""
    fio: bool = False  # is there to compare with
    quiet_about: frozenset[str] = field(default_factory=frozenset)  # ids that must not appear at all


def found(id: str, severity: str, *addresses: str) -> Found:
    return Found(id, severity, frozenset(addresses))


def slots(link: Link, *devices: Drive | Display | Switch) -> tuple[Port, ...]:
    return tuple(Port(link, device) for device in devices)


LINKS = frozenset({"link-downtrained", "slot-limited", "link-capped-by-software", "oversubscribed-hop"})

MACHINES = {
    "shared": Machine(
        says="two cards of four drives under one root complex, two drives under another, a sleeping graphics card on a third",
        root_complexes=(
            RootComplex(0x20, 0, slots((16, 4), *[Drive()] * 8)),
            RootComplex(0x60, 0, slots((16, 4), Drive(BLACK), Drive(BLACK))),
            RootComplex(0xA0, 1, slots((16, 16), Display())),
        ),
        above_info=frozenset(
            {found("shared-root-complex", "warning", "0000:20", *[f"0000:{bus:02x}:00.0" for bus in range(0x21, 0x29)])}
        ),
        quiet_about=LINKS,
    ),
    "balanced": Machine(
        says="eight drives, two under each of four root complexes, on 4096 B blocks: nothing is wrong",
        fio=True,
        root_complexes=tuple(
            RootComplex(bus, numa, slots((16, 4), Drive(lba=4096), Drive(lba=4096)))
            for bus, numa in ((0x20, 0), (0x60, 0), (0xA0, 1), (0xE0, 1))
        ),
        quiet_about=LINKS | {"shared-root-complex", "lba-512"},
    ),
    "switch": Machine(
        says="four drives behind a narrow uplink, links trained too slow and too narrow, slots too slow for their drives",
        root_complexes=(
            RootComplex(
                0x20,
                0,
                slots(
                    (16, 8),
                    Switch(
                        link=(16, 16),
                        trained=(16, 8),
                        slots=(Drive(), Drive(), Drive(lba=4096), Drive(trained=(16, 2)), None),
                    ),
                ),
            ),
            RootComplex(
                0x60,
                1,
                (
                    Port((16, 4), Drive(BLACK, trained=(8, 4))),
                    Port((16, 4), Drive(CRUCIAL, prefers_4096=True)),
                    Port((8, 2), Drive()),
                    Port((32, 4), Drive(CRUCIAL, lba=4096)),
                ),
            ),
            RootComplex(0xA0, 1, slots((16, 16), Display())),
        ),
        above_info=frozenset(
            {
                found("oversubscribed-hop", "warning", "0000:21:00.0", *[f"0000:{bus:x}:00.0" for bus in range(0x23, 0x27)]),
                found("link-downtrained", "warning", "0000:61:00.0"),
                found("link-downtrained", "warning", "0000:26:00.0"),
                found("lba-512", "warning", "0000:62:00.0"),
            }
        ),
        information=frozenset(
            {found("slot-limited", "info", "0000:62:00.0"), found("slot-limited", "info", "0000:63:00.0")}
        ),
        quiet_about=frozenset({"shared-root-complex", "link-capped-by-software"}),
    ),
    "desktop": Machine(
        says="one root complex, one drive in a slot a generation too old for it, a graphics card",
        root_complexes=(
            RootComplex(0, 0, (Port((16, 4), Drive(keeps=True, sleeps=True)), Port((8, 4), Drive()), Port((16, 16), Display()))),
        ),
        information=frozenset({found("slot-limited", "info", "0000:02:00.0")}),
        quiet_about=frozenset({"shared-root-complex", "link-downtrained", "oversubscribed-hop"}),
    ),
    "bays": Machine(
        says="three drives, one of which fails reads of a sector, and two empty slots that take drives while it runs",
        root_complexes=(
            RootComplex(0x20, 0, (*slots((16, 4), Drive(), Drive(BLACK), Drive(bad_sector=64)), Port((16, 4)))),
            RootComplex(0x60, 1, (Port((8, 4)),)),
        ),
        quiet_about=LINKS | {"shared-root-complex"},
    ),
    "polled": Machine(
        says="three drives with two poll queues each",
        root_complexes=(
            RootComplex(0, 0, slots((16, 4), Drive(), Drive(lba=4096), Drive())),
        ),
        kernel_arguments="nvme.poll_queues=2",
        quiet_about=LINKS | {"no-poll-queues", "shared-root-complex"},
    ),
}
