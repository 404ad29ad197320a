"""Tests of drives, against fio's of the same drives in the same guest.

Figures of speed are an emulated processor's and are not compared; what is counted, and how one figure follows from
another, is.
"""

import json

import peers
from emulator import Guest

from .registry import on, same

DEPTH = 8
COMMON = f"--ioengine=io_uring --direct=1 --rw=randread --bs=4k --iodepth={DEPTH}"
EIGHT = [f"nvme{number}n1" for number in range(8)]


def both(guest: Guest, drives: list[str], options: str) -> list[tuple[dict, dict[str, int]]]:
    """iodyno's document and fio's, each with what diskstats counted meanwhile."""
    paths = [f"/dev/{drive}" for drive in drives]
    jobs = " ".join(f"--name={path} --filename={path}" for path in paths)
    commands = (
        f"iodyno bench --filename={':'.join(paths)} {COMMON} {options} --json",
        f"fio --output-format=json --name=global --readonly {COMMON} {options} {jobs}",
    )
    return [peers.counted(guest.text, command, drives) for command in commands]


@on("switch")
def one_and_eight_drives_are_read_as_often_as_by_fio(guest: Guest) -> None:
    blocks = 2048
    for drives in (EIGHT[:1], EIGHT):
        for document, counted in both(guest, drives, f"--size={blocks * 4}k --runtime=0"):
            whose = document["fio version"].split("-")[0]
            same(f"jobs of {whose}", len(document["jobs"]), len(drives))
            for job, drive in zip(document["jobs"], drives, strict=True):
                same(f"error of {whose}", job["error"], 0)
                same(f"blocks read by {whose}", job["read"]["total_ios"], blocks)
                same(f"bytes read by {whose}", job["read"]["io_bytes"], blocks * 4096)
                # iodyno samples some blocks before, which no result counts.
                extra = counted[drive] - blocks
                assert 0 <= extra <= 128, f"diskstats counted {counted[drive]} reads of {drive} by {whose}"


@on("switch")
def figures_follow_from_each_other_as_fios_do(guest: Guest) -> None:
    (ours, _), (theirs, _) = both(guest, EIGHT[:1], "--runtime=2 --time_based=1 --size=1g")
    fields = set()
    for document in (ours, theirs):
        read = document["jobs"][0]["read"]
        latency = read["clat_ns"]
        seconds = read["runtime"] / 1000
        near("reads a second", read["iops"], read["total_ios"] / seconds, 0.02)
        near("bytes a second", read["bw_bytes"], read["iops"] * 4096, 0.02)
        near("KiB a second", read["bw"], read["bw_bytes"] / 1024, 0.02)
        # Little's law: what is under way is the rate times the time each takes; handing over takes its part of it.
        near("reads under way", read["iops"] * latency["mean"] / 1e9, DEPTH, 0.5)
        ascending = [latency["percentile"][key] for key in ("50.000000", "99.000000", "99.900000")]
        same("percentiles in order", ascending, sorted(ascending))
        assert latency["min"] <= ascending[0] <= latency["max"], latency
        fields = fields or set(kinds(ours["jobs"][0]["read"]))
    missing = fields - set(kinds(theirs["jobs"][0]["read"]))
    assert not missing, f"fio has no {sorted(missing)}"


def near(what: str, value: float, wanted: float, share: float) -> None:
    assert abs(value - wanted) <= share * wanted, f"{what}: {value}, not {wanted}"


def kinds(value: dict, prefix: str = "") -> list[tuple[str, str]]:
    """Every field of a document with the kind of its value; percentiles apart, which may be chosen."""
    listed = []
    for name, field in value.items():
        if isinstance(field, dict) and name != "percentile":
            listed += kinds(field, f"{prefix}{name}.")
        else:
            listed.append((prefix + name, "number" if isinstance(field, int | float) else type(field).__name__))
    return listed
