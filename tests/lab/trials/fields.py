"""Every field that iodyno shares with lspci, nvme-cli, lsblk or sysfs, on the machines of rare shapes: all are compared, and all
that differ are told.
"""

import json
import re

import peers
from emulator import Guest
from machines import SHAPES

from .registry import Fields, name_of, on


@on(*SHAPES)
def every_field_of_the_tree_is_that_of_lspci_and_sysfs(guest: Guest) -> None:
    document = json.loads(guest.iodyno("tree --json"))
    devices = {node["address"]: node for node in peers.nodes(document) if node["kind"] != "root-complex"}
    theirs = peers.lspci_devices(guest.text("lspci -D -vvv -nn"))
    files = ("class", "vendor", "device", "numa_node", *peers.LINK_FILES)
    folders = peers.pci_folders(guest.text(peers.show("/sys/bus/pci/devices/*", files)))
    disks = peers.disks_by_function(guest.text("for d in /sys/block/*; do readlink -f $d; done"))
    fields = Fields(guest)
    fields.field("functions of lspci", sorted(devices), sorted(theirs))
    placed = [node["address"] for node in peers.nodes(document)]
    fields.field("order and places", placed, peers.lspci_tree(guest.text("lspci -tv")))
    fields.field("functions of sysfs", sorted(devices), sorted(folders))
    for address, node in devices.items():
        peer, folder = theirs[address], folders[address]
        link = node["link"] or {}
        for what, ours, other in (
            ("class", node["class"][:6], peer.ids[0]),
            ("vendor", node["vendor"], peer.ids[1]),
            ("device", node["device"], peer.ids[2]),
            ("driver", node["driver"], peer.driver),
            ("NUMA node", node["numa_node"], peer.numa_node),
            ("kind", node["kind"], peer.kind),
            ("parent", node["parent"], folder["parent"]),
            ("class in sysfs", node["class"], folder["class"]),
            ("vendor in sysfs", node["vendor"], folder["vendor"]),
            ("device in sysfs", node["device"], folder["device"]),
            ("speed", link.get("speed_gts"), peer.link and peer.link.now[0]),
            ("width", link.get("width"), peer.link and peer.link.now[1]),
            ("greatest speed", link.get("max_speed_gts"), peer.link and peer.link.most[0]),
            ("greatest width", link.get("max_width"), peer.link and peer.link.most[1]),
            ("drives", peers.heads(node["drives"]), peers.heads(disks.get(address, []))),
        ):
            fields.field(f"{address} {what}", ours, other)
        if peer.link:
            for what, name in zip(("speed_gts", "width", "max_speed_gts", "max_width"), peers.LINK_FILES, strict=True):
                fields.field(f"{address} {name}", link.get(what), peers.number(folder.get(name, "")))
    fields.done()


QUEUE_FILES = ("read_ahead_kb", "nr_requests", "max_sectors_kb", "nomerges", "rq_affinity", "iostats", "add_random")


@on(*SHAPES)
def every_field_of_the_drives_is_that_of_lsblk_and_sysfs(guest: Guest) -> None:
    listed = json.loads(guest.iodyno("drives --json"))["drives"]
    ours = {drive["name"]: drive for drive in listed if drive["address"]}
    theirs = peers.lsblk_disks(guest.text("lsblk -b -J -O"))
    sysfs = peers.disks(guest.text(peers.DISK_FACTS))
    nodes = peers.pci_folders(guest.text(peers.show("/sys/bus/pci/devices/*", ("numa_node",))))
    fields = Fields(guest)
    fields.field("drives", sorted(name for name in ours if not name.startswith("sr")), sorted(on_pci(theirs, sysfs)))
    for name in sorted(ours.keys() & theirs.keys()):
        drive, peer, disk = ours[name], theirs[name], sysfs[name]
        settings = drive["settings"]
        model = (peer["model"] or "").strip()
        node = int(nodes[drive["address"]]["numa_node"])
        for what, mine, other in (
            ("path", drive["path"], peer["path"]),
            ("size", drive["size_bytes"], peer["size"]),
            ("block size", drive["lba_bytes"], peer["log-sec"]),
            ("rotational", settings["rotational"], peer["rota"]),
            ("read ahead", settings["read_ahead_kb"], peer["ra"]),
            ("write cache", settings["write_cache"], disk.setting("write_cache")),
            ("its address among those it has", drive["address"] in disk.functions, True),
            ("NUMA node", drive["numa_node"], node if node >= 0 else None),
            ("serial", drive["serial"] or "", disk.serial()),
            ("lsblk's model in ours", model in (drive["model"] or ""), True),
        ):
            fields.field(f"{name} {what}", mine, other)
        if peer["rev"] is not None:
            fields.field(f"{name} firmware", drive["firmware"], peer["rev"].strip())
        if "queues" in disk.files:
            fields.field(f"{name} queues", drive["default_queues"] + drive["poll_queues"], int(disk.files["queues"]))
            fields.field(f"{name} scheduler", settings["scheduler"], peer["sched"])
        for setting in QUEUE_FILES:
            # The head of paths lacks some, which its paths have.
            if (value := disk.setting(setting)) is not None:
                fields.field(f"{name} {setting}", str(settings[setting]), value)
    fields.done()


def on_pci(disks: dict[str, dict], sysfs: dict[str, peers.Disk]) -> list[str]:
    return [name for name in disks if sysfs[name].functions]


@on(*(name for name in SHAPES if name != "luns"))
def every_field_of_nvme_drives_is_that_of_nvme_cli(guest: Guest) -> None:
    document = json.loads(guest.iodyno("drives --json"))["drives"]
    ours = {drive["name"]: drive for drive in document if drive["kind"] == "NVMe" and drive["address"]}
    listed = {device["DevicePath"]: device for device in json.loads(guest.text("nvme list -o json"))["Devices"]}
    tools = "nvme id-ns $d -o json; echo ==; nvme id-ctrl $d -o json; echo ==; nvme smart-log $d -o json"
    told = peers.sections(guest.text(f'for d in /dev/nvme*n?; do echo "== $d"; {tools}; done 2>/dev/null'))
    fields = Fields(guest)
    fields.field("drives", sorted(drive["path"] for drive in ours.values()), sorted(listed))
    for name, drive in ours.items():
        space, controller, smart = (json.loads(part) for part in told[drive["path"]].split("==\n"))
        peer = listed[drive["path"]]
        formats = drive["lba_formats"]
        used = space["flbas"] & 0xF
        fields.field(f"{name} formats", len(formats), space["nlbaf"] + 1)
        for ours_, theirs_ in zip(formats, space["lbafs"], strict=False):
            at = f"{name} format {ours_['index']}"
            fields.field(f"{at} data", ours_["data_bytes"], 1 << theirs_["ds"])
            fields.field(f"{at} metadata", ours_["metadata_bytes"], theirs_["ms"])
            fields.field(f"{at} rating", ours_["relative_performance"], theirs_["rp"])
            fields.field(f"{at} in use", ours_["in_use"], ours_["index"] == used)
        for what, mine, other in (
            ("size", drive["size_bytes"], space["nsze"] << space["lbafs"][used]["ds"]),
            ("block size", drive["lba_bytes"], 1 << space["lbafs"][used]["ds"]),
            ("serial", drive["serial"], controller["sn"].strip()),
            ("firmware", drive["firmware"], peer["Firmware"]),
            ("listed model", drive["model"], peer["ModelNumber"]),
            ("listed serial", drive["serial"], peer["SerialNumber"]),
            ("listed size", drive["size_bytes"], peer["PhysicalSize"]),
            ("can be formatted", drive["format_supported"], bool(controller["oacs"] & 2)),
            ("temperature", round(drive["temperature_celsius"]), round(smart["temperature"] - 273.15)),
        ):
            fields.field(f"{name} {what}", mine, other)
        if name_of(guest) != "virtual-functions":  # made by QEMU after the drives were told what to say
            fields.field(f"{name} model", drive["model"], controller["mn"].strip())
    fields.done()


@on(*SHAPES)
def drives_are_counted_as_the_controllers_they_are(guest: Guest) -> None:
    """The header's count is of drives: neither namespaces nor paths, neither DVDs nor what is made of drives."""
    disks = peers.disks(guest.text(peers.DISK_FACTS))
    counts = peers.drives_among(disks)
    cdroms = {name for name, disk in disks.items() if disk.is_cdrom()}
    first = guest.iodyno("check").splitlines()[0]
    shown = re.search(r"(\d+) drives?\b", first)
    fields = Fields(guest)
    fields.field(f"drives in {first!r}", bool(shown) and int(shown[1]) in counts, True)
    for finding in json.loads(guest.iodyno("check --json"))["findings"]:
        for number in re.findall(r"\b(\d+) drives\b", finding["title"]):
            fields.field(f"as many drives as there are in {finding['title']!r}", int(number) <= max(counts), True)
        names = {subject["name"] for subject in finding["subjects"]}
        fields.field(f"CD-ROMs among the subjects of {finding['id']}", sorted(names & cdroms), [])
    fields.done()
