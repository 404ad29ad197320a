"""What is tried in the guests, and what has to come of it.

Here: one function for each promise, named by it, and the machine it needs. Not here: how programs' output is read
(`peers.py`).
"""

import json
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import peers
from emulator import Guest
from machines import MACHINES, Found

QUEUE_CHANGES = {  # every queue setting of the tune table: a value it does not have in a fresh guest
    "scheduler": "mq-deadline",
    "read_ahead_kb": "512",
    "nr_requests": "64",
    "max_sectors_kb": "256",
    "nomerges": "2",
    "rq_affinity": "2",
    "wbt_lat_usec": "0",
    "iostats": "0",
    "add_random": "1",
}


@dataclass(frozen=True)
class Trial:
    name: str
    machine: str
    run: Callable[[Guest, Path], None]


TRIALS: list[Trial] = []


def on(*machines: str):
    """Registers a trial for each of these machines."""

    def register(function):
        for machine in machines:
            TRIALS.append(Trial(function.__name__.replace("_", " "), machine, function))
        return function

    return register


def same(what: str, ours, theirs) -> None:
    assert ours == theirs, f"{what}: iodyno says {ours!r}, the other {theirs!r}"


# What is read, against what others read in the same guest.


@on(*MACHINES)
def tree_has_the_devices_links_and_ids_of_lspci(guest: Guest, _iodyno: Path) -> None:
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


@on(*MACHINES)
def drives_are_those_of_nvme_cli_field_by_field(guest: Guest, _iodyno: Path) -> None:
    ours = {drive["path"]: drive for drive in json.loads(guest.iodyno("drives --json"))["drives"]}
    listed = {drive["DevicePath"]: drive for drive in json.loads(guest.text("nvme list -o json"))["Devices"]}
    same("drives", sorted(ours), sorted(listed))
    script = "for d in /dev/nvme*n1; do echo \"== $d\"; nvme id-ns -H $d; nvme id-ctrl $d; nvme smart-log $d; done"
    details = peers.sections(guest.text(script))
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
            now = guest.text(f"cat /sys/block/{drive['name']}/queue/{setting}").strip()
            same(f"{path} {setting}", str(drive["settings"][setting]), now)


@on(*MACHINES)
def check_finds_what_was_put_there_and_nothing_else_above_information(guest: Guest, _iodyno: Path) -> None:
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
    assert above == machine.above_info, (
        f"not found: {sorted(map(str, machine.above_info - above))}; "
        f"not put there: {sorted(map(str, above - machine.above_info))}"
    )
    missing = machine.information - seen
    assert not missing, f"not found: {sorted(map(str, missing))}"
    loud = {found.id for found in seen} & machine.quiet_about
    assert not loud, f"not true here: {sorted(loud)}"


@on("shared", "switch")
def a_capture_opens_outside_as_the_same_machine(guest: Guest, iodyno: Path) -> None:
    script = "iodyno capture --with-serials /host/machine.capture && iodyno check --json"
    inside = guest.text(script)
    commands = ("check", "tree", "drives")
    outside = {}
    for command in commands:
        run = [str(iodyno), command, "--json", "--open", str(guest.share / "machine.capture")]
        outside[command] = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    same("check --json", json.loads(outside["check"]), json.loads(inside))
    same("tree --json", json.loads(outside["tree"]), json.loads(guest.iodyno("tree --json")))
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "anonymous.capture"
        kept.write_text(guest.iodyno("capture -"))
        assert "LAB0" not in kept.read_text(), "a serial number is in a capture that was to have none"


# Tests: what is counted, by whom, and what goes wrong on purpose.


def bench(guest: Guest, drives: list[str], options: str) -> tuple[dict, dict[str, int]]:
    """A test's document, and the reads that diskstats counted for each drive meanwhile."""
    names = ":".join(f"/dev/{drive}" for drive in drives)
    out = guest.text(
        f"cat /proc/diskstats; echo ==; iodyno bench --filename {names} {options} --json; echo ==; cat /proc/diskstats"
    )
    before, document, after = out.split("==\n")
    counts = [peers.reads_completed(text) for text in (before, after)]
    return json.loads(document), {drive: counts[1][drive] - counts[0][drive] for drive in drives}


def counted_alike(document: dict, counted: dict[str, int], depth: int) -> None:
    for job in document["jobs"]:
        drive = job["job options"]["filename"].removeprefix("/dev/")
        total = job["read"]["total_ios"]
        assert total > 1000, f"{drive}: only {total} reads"
        # Beyond those counted: the reads still under way at the end, and the sampled blocks.
        extra = counted[drive] - total
        assert 0 <= extra <= depth + 128, f"{drive}: {total} reads, diskstats counted {counted[drive]}"
        assert job["errors"] == 0, job["first_error"]


@on("balanced")
def one_drive_reads_what_diskstats_counts(guest: Guest, _iodyno: Path) -> None:
    document, counted = bench(guest, ["nvme0n1"], "--runtime 2 --iodepth 8")
    counted_alike(document, counted, 8)


@on("balanced")
def eight_drives_read_what_diskstats_counts(guest: Guest, _iodyno: Path) -> None:
    drives = [f"nvme{number}n1" for number in range(8)]
    document, counted = bench(guest, drives, "--runtime 3 --iodepth 16 --bs 16k")
    assert len(document["jobs"]) == 8
    counted_alike(document, counted, 16)


@on("polled")
def polled_completions_take_no_interrupts(guest: Guest, _iodyno: Path) -> None:
    def interrupts(options: str) -> int:
        out = guest.text(
            f"cat /proc/interrupts; echo ==; iodyno bench --filename /dev/nvme0n1 --runtime 2 {options} --json;"
            " echo ==; cat /proc/interrupts"
        )
        before, document, after = out.split("==\n")
        assert json.loads(document)["jobs"][0]["read"]["total_ios"] > 1000
        return peers.queue_interrupts(after, "nvme0") - peers.queue_interrupts(before, "nvme0")

    with_interrupts, polled = interrupts(""), interrupts("--hipri")
    assert with_interrupts > 100, f"only {with_interrupts} interrupts without --hipri"
    # The sampled blocks are read without polling.
    assert polled <= 64, f"{polled} interrupts with --hipri"


@on("polled")
def read_errors_are_counted_and_named(guest: Guest, _iodyno: Path) -> None:
    drives = json.loads(guest.iodyno("drives --json"))["drives"]
    (bad,) = [drive["name"] for drive in drives if drive["address"] == "0000:04:00.0"]
    good = next(drive["name"] for drive in drives if drive["name"] != bad)
    out = guest.run(f"iodyno bench --filename /dev/{bad}:/dev/{good} --size 64k --runtime 2 --json").json()
    failed, well = out["jobs"]
    assert failed["errors"] > 0 and failed["error"] != 0, failed
    assert bad in failed["first_error"] and "byte 32768" in failed["first_error"], failed["first_error"]
    assert not failed["valid"], "a test with errors counts as valid"
    assert well["errors"] == 0 and well["read"]["total_ios"] > 1000, well["first_error"]


@on("balanced")
def a_drive_pulled_during_a_test_ends_its_workers_only(guest: Guest, _iodyno: Path) -> None:
    drives = json.loads(guest.iodyno("drives --json"))["drives"]
    pulled, stays = drives[-1], drives[0]
    answer = guest.run(
        f"(sleep 2; echo 1 > /sys/bus/pci/devices/{pulled['address']}/remove) &\n"
        f"iodyno bench --filename {pulled['path']}:{stays['path']} --runtime 5 --json; wait"
    )
    gone, well = json.loads(answer.out)["jobs"]
    assert gone["error"] != 0 and pulled["name"] in gone["first_error"], gone["first_error"]
    assert "gone" in gone["first_error"], gone["first_error"]
    assert gone["read"]["runtime"] < 4000, f"it was read for {gone['read']['runtime']} ms"
    assert well["errors"] == 0 and well["read"]["runtime"] >= 4900, well["read"]["runtime"]
    assert pulled["address"] not in guest.iodyno("tree"), "the tree still has it"
    guest.text("echo 1 > /sys/bus/pci/rescan; sleep 2")
    assert pulled["address"] in guest.iodyno("tree"), "it came back, but not to the tree"


# Settings of a real queue.


def queue(guest: Guest, drive: str) -> dict[str, str]:
    names = " ".join(QUEUE_CHANGES)
    lines = guest.text(f"cd /sys/block/{drive}/queue; for f in {names}; do echo $f $(cat $f); done").splitlines()
    values = dict(line.split(" ", 1) for line in lines)
    values["scheduler"] = values["scheduler"].split("[")[1].split("]")[0]
    return values


@on("desktop")
def every_queue_setting_is_written_read_back_and_undone(guest: Guest, _iodyno: Path) -> None:
    drive = "nvme0n1"
    found = queue(guest, drive)
    for setting, value in QUEUE_CHANGES.items():
        assert found[setting] != value, f"{setting} is {value} in a fresh guest"
        guest.iodyno(f"tune set {drive} {setting}={value}")
        same(setting, value, queue(guest, drive)[setting])
        guest.iodyno("tune undo --all")
        same(f"after the undo of {setting}", queue(guest, drive), found)


@on("desktop")
def settings_that_reset_each_other_are_set_at_once_and_undone(guest: Guest, _iodyno: Path) -> None:
    drive = "nvme1n1"
    found = queue(guest, drive)
    everything = " ".join(f"{setting}={value}" for setting, value in QUEUE_CHANGES.items())
    guest.iodyno(f"tune set {drive} {everything}")
    same("all at once", queue(guest, drive), QUEUE_CHANGES)
    guest.iodyno("tune undo --all")
    same("after the undo", queue(guest, drive), found)


@on("desktop")
def a_tuner_killed_at_any_moment_can_be_undone(guest: Guest, _iodyno: Path) -> None:
    drive = "nvme0n1"
    found = queue(guest, drive)
    everything = " ".join(f"{setting}={value}" for setting, value in QUEUE_CHANGES.items())
    interrupted = 0
    for hundredths in (4, 8, 12, 16, 20, 25, 30, 40):
        guest.run(
            f"iodyno tune set {drive} {everything} >/dev/null & victim=$!; sleep 0.{hundredths:02}; kill -9 $victim; wait"
        )
        changed = queue(guest, drive)
        interrupted += changed not in (found, QUEUE_CHANGES)
        guest.iodyno("tune undo --all")
        same(f"undone after a kill at {hundredths}0 ms, when it was {changed}", queue(guest, drive), found)
    assert interrupted or changed != found, "no kill came after a write: choose later moments"


@on("desktop")
def nothing_is_written_by_a_dry_run(guest: Guest, _iodyno: Path) -> None:
    before = queue(guest, "nvme0n1")
    guest.iodyno("tune set nvme0n1 scheduler=mq-deadline --dry-run")
    same("queue", queue(guest, "nvme0n1"), before)
