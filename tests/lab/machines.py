"""The machines of the lab, as data: what hangs where, what it says of itself, and what iodyno has to find there.

Here: descriptions only. Not here: how QEMU is told (`emulator.py`), how a device is made to say it (`patching.py`).
"""

from dataclasses import dataclass, field

Link = tuple[float, int]  # GT/s, lanes
Payload = tuple[int, int]  # bytes: the Max Payload Size in use, and the greatest supported


@dataclass(frozen=True)
class Model:
    """What a drive says it is: its strings, its PCI ids, and the best link it can do."""

    name: str
    firmware: str
    ids: tuple[int, int, int, int]  # vendor, device, subsystem vendor, subsystem device
    link: Link


PASCAL = Model("Samsung SSD 990 PRO 4TB", "4B2QJXD7", (0x144D, 0xA80C, 0x144D, 0xA801), (16, 4))
# A model whose own rate is published, 7.1 GB/s, on a link that could carry three times that.
ELDER = Model("Samsung SSD 980 PRO 1TB", "5B2QGXA7", (0x144D, 0xA80A, 0x144D, 0xA801), (32, 8))
BLACK = Model("WD_BLACK SN850X 4000GB", "624361WD", (0x15B7, 0x5030, 0x15B7, 0x5030), (16, 4))
CRUCIAL = Model("CT2000T705SSD3", "PACR5111", (0xC0A9, 0x5419, 0xC0A9, 0x5419), (32, 4))


@dataclass(frozen=True)
class Drive:
    """An NVMe drive. `trained` is its link now, where that is not what both ends can do.

    Drives of one `subsystem` are ports of one drive: they share its serial number and its namespaces, which the first of them
    lists. An `emulated` drive is QEMU's own, ids and link included.
    """

    model: Model = PASCAL
    lba: int = 512
    trained: Link | None = None
    prefers_4096: bool = False  # its 4096 B formats are rated "best", those of 512 B only "good"
    bad_sector: int | None = None  # a read that touches this sector of 512 B fails
    keeps: bool = False  # what is written to it; the others read as zeroes
    sleeps: bool = False  # its link offers ASPM L1, and it power states it enters by itself
    link: Link | None = None  # its best link, where it is not its model's
    payload: Payload | None = None
    namespaces: int = 1
    subsystem: str = ""
    formats_all: bool = False  # a format touches every namespace of the controller
    virtual_functions: int = 0  # that can be switched on
    emulated: bool = False
    throttle: str = ""  # the group of `Machine.throttles` whose rate it shares


@dataclass(frozen=True)
class Functions:
    """Drives that are functions of one PCI device: they share its link."""

    drives: tuple[Drive, ...]


@dataclass(frozen=True)
class VirtioDisk:
    """A virtio-blk disk."""

    serial: str = ""


@dataclass(frozen=True)
class VirtioScsi:
    """A virtio-scsi controller with disks: a LUN of target 0 for each serial number, which may be empty."""

    serials: tuple[str, ...]
    cdrom: bool = False


@dataclass(frozen=True)
class UsbStick:
    """A USB controller with a stick in it."""


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
    payload: Payload | None = None  # of all its ports


Device = Drive | Functions | Display | Switch | VirtioDisk | VirtioScsi | UsbStick


@dataclass(frozen=True)
class Port:
    """A root port: what its slot can do, and what is in it."""

    link: Link
    device: Device | None = None
    has_slot: bool = True  # its slot bit is set
    payload: Payload | None = None


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
    """A finding that has to be there: its id, its severity, and the PCI addresses its subjects are at.

    `loosely`: of several ids, severities and addresses one will do. A narrow hop may be named by itself or by the drives
    behind it.
    """

    id: str
    severity: str
    at: frozenset[str]
    loosely: bool = False

    def fits(self, seen: "Found") -> bool:
        if not self.loosely:
            return self == seen
        return seen.id in self.id.split() and seen.severity in self.severity.split() and bool(seen.at & self.at)


@dataclass(frozen=True)
class Machine:
    """A machine, and everything `iodyno check` has to say of it above information, and some of what is below."""

    says: str
    root_complexes: tuple[RootComplex, ...]
    above_info: frozenset[Found] = frozenset()
    information: frozenset[Found] = frozenset()
    kernel_arguments: str = ""
    setup: str = ""  # shell that makes it what it is, once it is up
    core: bool = True  # tried by `.ci/run` too
    fio: bool = False  # is there to compare with
    throttles: tuple[tuple[str, int], ...] = ()  # groups of drives with the bytes per second that they share
    quiet_about: frozenset[str] = field(default_factory=frozenset)  # ids that must not appear at all


def found(id: str, severity: str, *addresses: str) -> Found:
    return Found(id, severity, frozenset(addresses))


def near(ids: str, severities: str, *addresses: str) -> Found:
    """A finding by one of these ids about one of these places."""
    return Found(ids, severities, frozenset(addresses), loosely=True)


def slots(link: Link, *devices: Device) -> tuple[Port, ...]:
    return tuple(Port(link, device) for device in devices)


LINKS = frozenset({"link-downtrained", "slot-limited", "link-capped-by-software", "oversubscribed-hop"})

SMALL, LARGE = Drive(payload=(128, 128)), Drive(payload=(512, 512))

# A function gets its queues and is switched on by the drive it belongs to; then the driver takes it.
VIRTUAL_FUNCTIONS = """
at=0000:21:00.0
drive=/dev/$(ls /sys/bus/pci/devices/$at/nvme)
echo 2 >/sys/bus/pci/devices/$at/sriov_numvfs
for function in 1 2; do
  nvme virt-mgmt $drive -c $function -r 0 -n 3 -a 8 && nvme virt-mgmt $drive -c $function -r 1 -n 2 -a 8 &&
    nvme virt-mgmt $drive -c $function -a 9 && echo 0000:21:00.$function >/sys/bus/pci/drivers/nvme/bind
done
until [ -e /sys/block/nvme3n1 ]; do sleep 0.2; done
"""

# By drive: nvme6n1 has a file system on a loop device on a partition, nvme5n1 and nvme4n1 are an array with a file system,
# nvme3n1 is below device mapper with a file system, nvme2n1 has swap on a partition, nvme1n1 is held open by a process;
# nothing uses nvme0n1.
STACKS = """
set -e
exec >/dev/null 2>&1
modprobe -a loop dm_mod md_mod raid1 ext4
part() { printf 'n\\np\\n1\\n2048\\n+1G\\nw\\n' | fdisk $1; until [ -b ${1}p1 ]; do sleep 0.2; done; }
files() { mke2fs -F $1 16384; mkdir -p $2; mount -t ext4 $1 $2; }
part /dev/nvme6n1
losetup /dev/loop0 /dev/nvme6n1p1
files /dev/loop0 /mnt/loop
mdadm --create /dev/md0 --run --assume-clean --metadata=1.2 --level=1 --raid-devices=2 /dev/nvme5n1 /dev/nvme4n1
files /dev/md0 /mnt/array
echo 0 131072 linear /dev/nvme3n1 0 | dmsetup create --noudevsync lab
[ -e /dev/mapper/lab ] || { mkdir -p /dev/mapper; ln -s ../dm-0 /dev/mapper/lab; }
files /dev/dm-0 /mnt/mapped
part /dev/nvme2n1
mkswap /dev/nvme2n1p1
swapon /dev/nvme2n1p1
sleep 100000 </dev/nvme1n1 &
"""

# One lane of the first generation with packets of 128 B: 250 MB/s, of which 128 of 152 B are payload.
LANE_RATE = 210_526_316
THROTTLED = LANE_RATE * 94 // 100  # a group may exceed its rate for a tenth of a second, and no limit is to be refuted
LANE = Drive(lba=4096, link=(2.5, 1), payload=(128, 128), throttle="uplink")

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
        core=False,
        quiet_about=LINKS,
    ),
    "balanced": Machine(
        says="eight drives, two under each of four root complexes, on 4096 B blocks: nothing is wrong",
        root_complexes=tuple(
            RootComplex(bus, numa, slots((16, 4), Drive(lba=4096), Drive(lba=4096)))
            for bus, numa in ((0x20, 0), (0x60, 0), (0xA0, 1), (0xE0, 1))
        ),
        core=False,
        quiet_about=LINKS | {"shared-root-complex", "lba-512"},
    ),
    "switch": Machine(
        says="four drives behind a narrow uplink, links trained too slow and too narrow, slots too slow for their drives",
        fio=True,
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
    "crowded": Machine(
        says="three drives behind an uplink of one lane, each of whose links is as fast, and a drive alone; read no faster than that",
        root_complexes=(
            RootComplex(
                0x20,
                0,
                slots((16, 4), Switch(link=(2.5, 1), trained=(2.5, 1), slots=(LANE, LANE, LANE), slot_link=(2.5, 1))),
            ),
            RootComplex(0x60, 1, slots((16, 4), Drive(lba=4096, link=(2.5, 1), throttle="alone"))),
        ),
        throttles=(("uplink", THROTTLED), ("alone", THROTTLED)),
        above_info=frozenset({found("oversubscribed-hop", "warning", "0000:21:00.0", *[f"0000:{bus:x}:00.0" for bus in range(0x23, 0x26)])}),
        core=False,
        quiet_about=frozenset({"shared-root-complex", "link-downtrained", "link-capped-by-software"}),
    ),
    "desktop": Machine(
        says="one root complex, one drive in a slot a generation too old for it, a graphics card",
        root_complexes=(
            RootComplex(0, 0, (Port((16, 4), Drive(keeps=True, sleeps=True)), Port((8, 4), Drive()), Port((16, 16), Display()))),
        ),
        information=frozenset({found("slot-limited", "info", "0000:02:00.0")}),
        quiet_about=frozenset({"shared-root-complex", "link-downtrained", "oversubscribed-hop"}),
    ),
    "narrow": Machine(
        says="a drive in a port of the first generation, another behind a switch in a slot of one lane, and a free slot",
        root_complexes=(
            RootComplex(
                0x20,
                0,
                (
                    Port((2.5, 1), Drive(lba=4096)),
                    Port((8, 1), Switch(link=(16, 4), trained=(8, 1), slots=(Drive(lba=4096),))),
                    Port((16, 4)),
                ),
            ),
        ),
        above_info=frozenset(
            {
                found("slot-limited", "high", "0000:21:00.0"),
                found("slot-limited", "high", "0000:22:00.0", "0000:24:00.0"),
            }
        ),
        core=False,
        quiet_about=frozenset({"shared-root-complex", "oversubscribed-hop", "link-downtrained", "link-capped-by-software"}),
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
    # From here on shapes that are rare: with a twin of each that has nothing wrong.
    "dual-port": Machine(
        says="a drive with two ports, which without multipath are two block devices with one serial number, and another drive",
        root_complexes=(
            RootComplex(0x20, 0, slots((16, 4), Drive(subsystem="dual"), Drive(BLACK))),
            RootComplex(0x60, 1, slots((16, 4), Drive(subsystem="dual"))),
        ),
        kernel_arguments="nvme_core.multipath=N",
        core=False,
        quiet_about=LINKS | {"shared-root-complex"},
    ),
    "multipath": Machine(
        says="a drive with two ports under one head, one path trained too slow, and another drive",
        root_complexes=(
            RootComplex(0x20, 0, slots((16, 4), Drive(subsystem="dual"), Drive(BLACK))),
            RootComplex(0x60, 1, slots((16, 4), Drive(subsystem="dual", trained=(8, 1)))),
        ),
        kernel_arguments="nvme_core.multipath=Y",
        above_info=frozenset({near("link-downtrained", "high warning", "0000:61:00.0")}),
        quiet_about=frozenset({"shared-root-complex", "oversubscribed-hop", "slot-limited"}),
        core=False,
    ),
    "multipath-healthy": Machine(
        says="a drive with two good ports under one head, and another drive",
        root_complexes=(
            RootComplex(0x20, 0, slots((16, 4), Drive(subsystem="dual"), Drive(BLACK))),
            RootComplex(0x60, 1, slots((16, 4), Drive(subsystem="dual"))),
        ),
        kernel_arguments="nvme_core.multipath=Y",
        core=False,
        quiet_about=LINKS | {"shared-root-complex"},
    ),
    "luns": Machine(
        says="two LUNs with one serial number, two without any, a DVD drive and a USB stick",
        root_complexes=(
            RootComplex(
                0x20,
                0,
                slots((16, 4), VirtioScsi(("TWIN", "TWIN"), cdrom=True), VirtioScsi(("", "")), UsbStick()),
            ),
        ),
        setup="modprobe -a virtio_scsi sd_mod sr_mod usb_storage xhci_pci; until [ -e /sys/block/sde ]; do sleep 0.2; done",
        core=False,
        quiet_about=LINKS | {"shared-root-complex", "lba-512"},
    ),
    "namespaces": Machine(
        says="a controller with four namespaces, of which a format touches all, and another with one",
        root_complexes=(
            RootComplex(0x20, 0, slots((16, 4), Drive(namespaces=4, formats_all=True))),
            RootComplex(0x60, 1, slots((16, 4), Drive(BLACK, lba=4096))),
        ),
        core=False,
        quiet_about=LINKS | {"shared-root-complex"},
    ),
    "namespaces-slow": Machine(
        says="a controller with four namespaces whose link is too slow: one drive, not four",
        root_complexes=(
            RootComplex(0x20, 0, slots((16, 4), Drive(namespaces=4, trained=(8, 4)))),
            RootComplex(0x60, 1, slots((16, 4), Drive(BLACK, lba=4096))),
        ),
        above_info=frozenset({found("link-downtrained", "high", "0000:21:00.0")}),
        core=False,
        quiet_about=frozenset({"shared-root-complex", "slot-limited", "oversubscribed-hop"}),
    ),
    "virtual-functions": Machine(
        says="a drive with two virtual functions, and another",
        root_complexes=(
            RootComplex(0x20, 0, slots((16, 4), Drive(virtual_functions=2))),
            RootComplex(0x60, 1, slots((16, 4), Drive(BLACK))),
        ),
        setup=VIRTUAL_FUNCTIONS,
        kernel_arguments="nvme_core.multipath=N",
        # Linux' choice for a function with one queue.
        above_info=frozenset({found("scheduler", "warning", "0000:21:00.1", "0000:21:00.2")}),
        core=False,
        quiet_about=frozenset({"shared-root-complex", "link-downtrained", "link-capped-by-software"}),
    ),
    "virtio": Machine(
        says="virtio disks and emulated NVMe drives behind root ports, whose links are made up",
        root_complexes=(
            RootComplex(
                0x20,
                0,
                slots((16, 4), VirtioDisk("VBLK"), VirtioDisk(), VirtioScsi(("SCSI",)), Drive(emulated=True)),
            ),
            RootComplex(0x60, 1, slots((2.5, 1), Drive(emulated=True), VirtioDisk("SLOW"), VirtioDisk())),
        ),
        setup="modprobe -a virtio_blk virtio_scsi sd_mod; until [ -e /sys/block/sda ]; do sleep 0.2; done",
        core=False,
        quiet_about=LINKS | {"shared-root-complex"},
    ),
    "slow-ports": Machine(
        says="a drive in a 2.5 GT/s port beside a free fast one, and one trained too narrow below a port without the slot bit",
        root_complexes=(
            RootComplex(0x20, 0, (Port((2.5, 1), Drive()), Port((16, 4)))),
            RootComplex(0x60, 0, (Port((16, 4), Drive(trained=(16, 1)), has_slot=False),)),
            RootComplex(0xA0, 1, slots((16, 4), Drive(BLACK))),
        ),
        above_info=frozenset(
            {near("slot-limited", "high", "0000:21:00.0"), found("link-downtrained", "high", "0000:61:00.0")}
        ),
        quiet_about=frozenset({"shared-root-complex", "oversubscribed-hop"}),
        core=False,
    ),
    "slow-by-design": Machine(
        says="slow drives in fast ports, a fast drive in a slow port with no free one, and a port without the slot bit",
        root_complexes=(
            RootComplex(0x20, 0, (Port((2.5, 1), Drive(keeps=True)), Port((16, 4), Drive(link=(2.5, 1))))),
            RootComplex(0x60, 0, (Port((16, 4), Drive(), has_slot=False),)),
            RootComplex(0xA0, 1, slots((16, 4), Drive(BLACK))),
        ),
        information=frozenset({near("slot-limited", "info", "0000:21:00.0")}),
        core=False,
        quiet_about=frozenset({"shared-root-complex", "oversubscribed-hop", "link-downtrained"}),
    ),
    "narrow-switch": Machine(
        says="a fast switch with a drive in an 8 GT/s x1 slot, beside a free slot that is wide enough",
        root_complexes=(
            RootComplex(0x20, 0, slots((8, 1), Switch((16, 16), (8, 1), (Drive(), None)))),
            RootComplex(0x60, 1, (Port((16, 8)), Port((16, 4), Drive(BLACK)))),
        ),
        above_info=frozenset({near("slot-limited oversubscribed-hop", "high", "0000:23:00.0", "0000:21:00.0", "0000:20:00.0")}),
        core=False,
        quiet_about=frozenset({"shared-root-complex", "link-downtrained"}),
    ),
    "wide-switch": Machine(
        says="the same switch in the wide slot",
        root_complexes=(
            RootComplex(0x20, 0, slots((16, 8), Switch((16, 16), (16, 8), (Drive(), None)))),
            RootComplex(0x60, 1, (Port((8, 1)), Port((16, 4), Drive(BLACK)))),
        ),
        core=False,
        quiet_about=frozenset({"shared-root-complex", "link-downtrained", "oversubscribed-hop"}),
    ),
    "functions": Machine(
        says="two drives that are functions of one card on one x4 link, and another drive",
        root_complexes=(
            RootComplex(0x20, 0, slots((16, 4), Functions((Drive(), Drive())))),
            RootComplex(0x60, 1, slots((16, 4), Drive(BLACK))),
        ),
        information=frozenset(
            {near("oversubscribed-hop slot-limited", "info warning high", "0000:21:00.0", "0000:21:00.1", "0000:20:00.0")}
        ),
        core=False,
        quiet_about=frozenset({"shared-root-complex", "link-downtrained"}),
    ),
    "functions-wide": Machine(
        says="two drives that are functions of one card on a link wide enough for both",
        root_complexes=(
            RootComplex(0x20, 0, slots((32, 8), Functions((Drive(ELDER), Drive(ELDER))))),
            RootComplex(0x60, 1, slots((16, 4), Drive(BLACK))),
        ),
        core=False,
        quiet_about=LINKS | {"shared-root-complex"},
    ),
    "payload": Machine(
        says="an uplink that takes packets of 512 B above drives that send 128 B",
        root_complexes=(
            RootComplex(
                0x20,
                0,
                (Port((16, 8), Switch((16, 8), (16, 8), (SMALL, SMALL), payload=(512, 512)), payload=(512, 512)),),
            ),
        ),
        core=False,
        quiet_about=LINKS | {"shared-root-complex", "payload-size"},
    ),
    "payload-even": Machine(
        says="the same with 512 B all the way",
        root_complexes=(
            RootComplex(
                0x20,
                0,
                (Port((16, 8), Switch((16, 8), (16, 8), (LARGE, LARGE), payload=(512, 512)), payload=(512, 512)),),
            ),
        ),
        core=False,
        quiet_about=LINKS | {"shared-root-complex", "payload-size"},
    ),
    "stacks": Machine(
        says="drives below loop devices, arrays, device mapper, swap and file systems, and one that nothing uses",
        root_complexes=(
            RootComplex(0x20, 0, slots((16, 4), *[Drive(keeps=True, prefers_4096=True)] * 4)),
            RootComplex(0x60, 1, slots((16, 4), *[Drive(keeps=True, prefers_4096=True)] * 3)),
        ),
        setup=STACKS,
        above_info=frozenset(
            {near("lba-512", "warning", *[f"0000:{bus:x}:00.0" for bus in (0x21, 0x22, 0x23, 0x24, 0x61, 0x62, 0x63)])}
        ),
        quiet_about=LINKS | {"shared-root-complex"},
        core=False,
    ),
    "vmd": Machine(
        says="a root complex that a capture moves behind VMD: a link trained too slow there, good ones beside it",
        root_complexes=(RootComplex(0xE0, 0, slots((16, 4), Drive(trained=(8, 4)), Drive(), Drive())),),
        above_info=frozenset({found("link-downtrained", "high", "0000:e1:00.0")}),
        core=False,
        quiet_about=frozenset({"shared-root-complex", "oversubscribed-hop", "slot-limited"}),
    ),
}

SHAPES = tuple(MACHINES)[tuple(MACHINES).index("dual-port") :]
