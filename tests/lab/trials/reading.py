"""What iodyno reads of a machine, against what others read in the same guest.

Not here: how programs' output is parsed (`peers.py`).
"""

import json
import subprocess
import tempfile
from pathlib import Path

import peers
from emulator import Guest
from machines import MACHINES, SHAPES, Found

from .registry import on, same

COMMON = tuple(name for name in MACHINES if name not in SHAPES)  # `fields.py` has the others


@on(*COMMON, core=("switch",))
def tree_has_the_devices_links_and_ids_of_lspci(guest: Guest) -> None:
    ours = {node["address"]: node for node in peers.nodes(json.loads(guest.iodyno("tree --json")))}
    devices = {address: node for address, node in ours.items() if node["kind"] != "root-complex"}
    theirs = peers.lspci_devices(guest.text("lspci -D -vv -nn"))
    same("addresses", sorted(devices), sorted(theirs))
    for address, node in devices.items():
        peer = theirs[address]
        same(f"{address} ids", (node["class"][:6], node["vendor"], node["device"]), peer.ids)
        same(f"{address} driver", node["driver"], peer.driver)
        same(f"{address} NUMA node", node["numa_node"], peer.numa_node)
        if peer.link is None:
            same(f"{address} link", node["link"], None)
        else:
            link = node["link"]
            same(f"{address} link now", (link["speed_gts"], link["width"]), peer.link.now)
            same(f"{address} link at most", (link["max_speed_gts"], link["max_width"]), peer.link.most)
    placed = peers.lspci_tree(guest.text("lspci -tv"))
    same("tree", [node["address"] for node in ours.values()], placed)


@on(*COMMON, core=("switch",))
def drives_are_those_of_nvme_cli_field_by_field(guest: Guest) -> None:
    ours = {drive["path"]: drive for drive in json.loads(guest.iodyno("drives --json"))["drives"]}
    listed = {drive["DevicePath"]: drive for drive in json.loads(guest.text("nvme list -o json"))["Devices"]}
    same("drives", sorted(ours), sorted(listed))
    tools = "nvme id-ns -H $d; nvme id-ctrl $d; nvme smart-log $d; grep . /sys/block/${d#/dev/}/queue/*"
    details = peers.sections(guest.text(f'for d in /dev/nvme*n1; do echo "== $d"; {tools} 2>/dev/null; done; true'))
    for path, drive in ours.items():
        peer, detail = listed[path], details[path]
        for field, name in (
            ("model", "ModelNumber"),
            ("serial", "SerialNumber"),
            ("firmware", "Firmware"),
            ("size_bytes", "PhysicalSize"),
            ("lba_bytes", "SectorSize"),
        ):
            same(f"{path} {field}", drive[field], peer[name])
        same(f"{path} formats", peers.our_formats(drive), peers.nvme_formats(detail))
        same(f"{path} can be formatted", drive["format_supported"], peers.can_format(detail))
        same(f"{path} temperature", round(drive["temperature_celsius"]), peers.temperature(detail))
        for setting in ("read_ahead_kb", "nr_requests", "max_sectors_kb", "nomerges", "rq_affinity", "iostats"):
            same(f"{path} {setting}", str(drive["settings"][setting]), peers.queue_setting(detail, setting))


@on(*MACHINES)
def check_finds_what_was_put_there_and_nothing_else_above_information(guest: Guest) -> None:
    name = peers.our_addresses(json.loads(guest.iodyno("drives --json")))
    findings = json.loads(guest.iodyno("check --json"))["findings"]
    seen = {
        Found(
            finding["id"],
            finding["severity"],
            frozenset(name.get(subject["name"], subject["name"]) for subject in finding["subjects"]),
        )
        for finding in findings
    }
    machine = guest.machine
    above = {found for found in seen if found.severity != "info"}
    missing = [planted for planted in machine.above_info if not any(map(planted.fits, above))]
    expected = machine.above_info | machine.information
    others = [found for found in above if not any(planted.fits(found) for planted in expected)]
    assert not missing and not others, f"not found: {sorted(map(str, missing))}; not put there: {sorted(map(str, others))}"
    missing = [planted for planted in machine.information if not any(map(planted.fits, seen))]
    assert not missing, f"not found: {sorted(map(str, missing))}"
    loud = {found.id for found in seen} & machine.quiet_about
    assert not loud, f"not true here: {sorted(loud)}"


@on("shared", "switch")
def a_capture_opens_outside_as_the_same_machine(guest: Guest) -> None:
    script = "iodyno capture --with-serials /host/machine.capture && iodyno check --json"
    inside = guest.text(script)
    commands = ("check", "tree", "drives")
    outside = {}
    for command in commands:
        run = [str(guest.lab.iodyno), command, "--json", "--open", str(guest.share / "machine.capture")]
        outside[command] = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    # Inside, a test could have begun.
    check = outside["check"].replace("only a test on that machine shows it", "no test is running")
    same("check --json", json.loads(check), json.loads(inside))
    same("tree --json", json.loads(outside["tree"]), json.loads(guest.iodyno("tree --json")))
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "anonymous.capture"
        kept.write_text(guest.iodyno("capture -"))
        assert "LAB0" not in kept.read_text(), "a serial number is in a capture that was to have none"
