"""Tests of drives: what is counted, by whom, and what goes wrong on purpose.
"""

import json

import peers
from emulator import Guest

from .registry import drive, on, same, until


def bench(guest: Guest, drives: list[str], options: str) -> tuple[dict, dict[str, int]]:
    """A test's document, and the reads that diskstats counted for each drive meanwhile."""
    names = ":".join(f"/dev/{drive}" for drive in drives)
    return peers.counted(guest.text, f"iodyno bench --filename {names} {options} --json", drives)


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
def one_drive_reads_what_diskstats_counts(guest: Guest) -> None:
    document, counted = bench(guest, ["nvme0n1"], "--runtime 2 --iodepth 8")
    counted_alike(document, counted, 8)


@on("balanced")
def eight_drives_read_what_diskstats_counts(guest: Guest) -> None:
    drives = [f"nvme{number}n1" for number in range(8)]
    document, counted = bench(guest, drives, "--runtime 3 --iodepth 16 --bs 16k")
    assert len(document["jobs"]) == 8
    counted_alike(document, counted, 16)


@on("polled")
def polled_completions_take_no_interrupts(guest: Guest) -> None:
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
def passthrough_reads_past_the_block_layer(guest: Guest) -> None:
    def commands() -> int:
        return peers.host_reads(guest.text("nvme smart-log /dev/nvme0"))

    before = commands()
    document, counted = bench(guest, ["nvme0n1"], "--ioengine io_uring_cmd --runtime 2 --iodepth 8")
    same("engine", document["effective"]["engine"], "io_uring_cmd")
    same("fallbacks", document["effective"]["fallbacks"], [])
    job = document["jobs"][0]
    total = job["read"]["total_ios"]
    assert total > 1000 and job["errors"] == 0, job
    # The sampled blocks are read through the block layer, and the drive itself counts everything.
    assert counted["nvme0n1"] <= 128, f"diskstats counted {counted['nvme0n1']} reads"
    extra = commands() - before - total
    assert 0 <= extra <= 8 + 256, f"{total} reads, the drive counted {extra} more"


@on("polled")
def what_takes_no_commands_is_read_in_another_way_and_says_why(guest: Guest) -> None:
    ask = "--ioengine io_uring_cmd --size 1m --runtime 1 --json"
    guest.text("chmod 644 /dev/nvme0n1; dd if=/dev/zero of=/tmp/file bs=1M count=1 2>/dev/null")
    cases = {
        "a file": f"iodyno bench --filename /tmp/file {ask}",
        "somebody who may open the drive alone": (
            f"IODYNO_STATE_DIR=/tmp/nobody su -s /bin/sh nobody -c 'iodyno bench --filename /dev/nvme0n1 {ask}'"
        ),
    }
    for case, command in cases.items():
        document = json.loads(guest.text(command))
        same(f"engine for {case}", document["effective"]["engine"], "io_uring")
        assert document["effective"]["fallbacks"], f"{case}: nothing is said"
        assert document["jobs"][0]["read"]["total_ios"] > 100, document["jobs"][0]
    guest.text("chmod 600 /dev/nvme0n1; rm /tmp/file")


@on("polled")
def an_experiment_with_schedulers_answers_and_puts_everything_back(guest: Guest) -> None:
    polled = experiment(guest, "scheduler", ["none", "mq-deadline"])
    same("polled arms", polled, [])


@on("polled", core=())
def an_experiment_with_polling_answers_and_puts_everything_back(guest: Guest) -> None:
    polled = experiment(guest, "polled", ["interrupts", "polled"])
    same("polled arms", polled, ["polled"])


def experiment(guest: Guest, name: str, arms: list[str]) -> list[str]:
    """Runs an experiment that has these arms among its own; the arms that are polled."""
    before = settings(guest)
    limits = "--runtime 100ms --ramp_time 20ms --max-time 20s --iodepth 4"
    answer = guest.run(f"iodyno experiment run {name} --filename /dev/nvme0n1 {limits} --json").json()
    labels = [arm["label"] for arm in answer["arms"]]
    same(f"arms of {name}", [label for label in labels if label in arms], arms)
    for arm in answer["arms"]:
        assert arm["left_out"] is None and arm["runs"], f"{name}: {arm['label']} was not run: {arm['left_out']}"
        reads = [run["iops"] for run in arm["runs"]]
        assert min(reads) > 100, f"{name}: {arm['label']} read {reads} times a second"
    same(f"effects of {name}", [effect["arm"] for effect in answer["effects"]], labels[1:])
    for effect in answer["effects"]:
        assert effect["low"] <= effect["ratio"] <= effect["high"], effect
        same("verdict", effect["verdict"] in ("faster", "slower", "no-difference", "inconclusive"), True)
    same(f"{name} was restored, it says", answer["restored"], True)
    same("settings after it", settings(guest), before)
    return [arm["label"] for arm in answer["arms"] if arm["workload"]["hipri"]]


@on("polled")
def an_experiment_killed_is_named_by_what_reads_and_undone_by_the_next_change(guest: Guest) -> None:
    before = settings(guest)
    arms = '--arm "one: scheduler=mq-deadline nr_requests=64" --arm "two: scheduler=mq-deadline nomerges=2"'
    command = f"iodyno experiment run own --filename /dev/nvme0n1 --runtime 2 {arms} --json >/dev/null 2>&1"
    guest.text(f"{command} & echo $! >/tmp/victim")
    until("a setting changed", lambda: settings(guest) != before, guest)
    guest.text("kill -9 $(cat /tmp/victim)")
    same("changed when it was killed", settings(guest) != before, True)
    changed = settings(guest)
    named = guest.run("iodyno check")
    assert "nvme0n1 scheduler (was none)" in named.err and "`iodyno tune undo`" in named.err, named.err
    same("after a command that only reads", settings(guest), changed)
    guest.iodyno("tune set nvme0n1 nomerges=0")
    same("after the next change", settings(guest), before)


def settings(guest: Guest) -> str:
    return guest.text("cd /sys/block/nvme0n1/queue; grep . scheduler nr_requests nomerges read_ahead_kb wbt_lat_usec io_poll")


@on("bays")
def read_errors_are_counted_and_named(guest: Guest) -> None:
    bad, good = drive(guest, 2)["name"], drive(guest, 0)["name"]
    failing(guest, bad, good)


@on("bays", core=())
def bad_blocks_of_a_null_drive_are_counted_and_named(guest: Guest) -> None:
    folder = "/sys/kernel/config/nullb/nullb0"
    guest.text(
        "modprobe null_blk nr_devices=0; mount -t configfs none /sys/kernel/config\n"
        f"mkdir {folder}; echo 64 >{folder}/size; echo +64-71 >{folder}/badblocks; echo 1 >{folder}/power"
    )
    failing(guest, "nullb0", drive(guest, 0)["name"])
    guest.text(f"echo 0 >{folder}/power; rmdir {folder}; rmmod null_blk")


def failing(guest: Guest, bad: str, good: str) -> None:
    """Reads 64 KiB, of which the sector at 32 KiB fails, beside as much of a good drive."""
    command = f"iodyno bench --filename /dev/{bad}:/dev/{good} --size 64k --runtime 2 --json"
    failed, well = guest.run(command).json()["jobs"]
    assert failed["errors"] > 0 and failed["error"] != 0, f"{failed['errors']} errors counted, error {failed['error']}"
    named(f"/dev/{bad} at byte 32768", failed)
    assert not failed["valid"], "a test with errors counts as valid"
    assert well["errors"] == 0, f"{well['errors']} errors counted of the good one: {well['first_error']}"
    assert well["read"]["total_ios"] > 1000, f"{well['read']['total_ios']} reads of the good one"


def ended_alone(gone: dict, well: dict, name: str, milliseconds: int) -> None:
    """A drive's part of a test ended early, with its name and why; the other's took its time."""
    assert gone["error"] != 0, f"no error of {name}"
    named(name, gone)
    named("removed", gone)
    assert gone["read"]["runtime"] < milliseconds - 1000, f"it was read for {gone['read']['runtime']} ms"
    assert well["errors"] == 0, well["first_error"]
    assert well["read"]["runtime"] >= milliseconds - 100, f"the other was read for {well['read']['runtime']} ms"


def named(word: str, job: dict) -> None:
    assert word in job["first_error"], f"{word!r} is not named in {job['first_error']!r}"


@on("bays", core=())
def read_errors_show_on_the_screen(guest: Guest) -> None:
    bad = drive(guest, 2)["name"]
    with guest.screen((132, 40)) as screen:
        screen.shows(bad)
        screen.go_to(bad, "n")
        screen.press(" 4")
        screen.shows("[›»] filename")
        screen.go_to("[›»] size", "<Down>")
        screen.press("<Enter><C-u>64k<Enter>")
        screen.shows("size +64k")
        screen.press("r")
        screen.shows(rf"{bad}.*byte 32768")
        screen.shows(r"errors")
        screen.press("x")
        screen.lacks("[●•] running")
        screen.leave()


@on("balanced")
def a_drive_pulled_during_a_test_ends_its_workers_only(guest: Guest) -> None:
    drives = json.loads(guest.iodyno("drives --json"))["drives"]
    pulled, stays = drives[-1], drives[0]
    # A slow host starts the test late: the drive goes a second after its first read.
    answer = guest.run(
        f"(for i in $(seq 600); do read reads rest </sys/block/{pulled['name']}/inflight; [ \"$reads\" -gt 0 ] && break; "
        f"sleep 0.1; done; sleep 1; echo 1 > /sys/bus/pci/devices/{pulled['address']}/remove) &\n"
        f"iodyno bench --filename {pulled['path']}:{stays['path']} --runtime 5 --json; wait"
    )
    gone, well = json.loads(answer.out)["jobs"]
    ended_alone(gone, well, pulled["name"], 5000)
    assert pulled["address"] not in guest.iodyno("tree"), "the tree still has it"
    guest.text("echo 1 > /sys/bus/pci/rescan; sleep 2")
    assert pulled["address"] in guest.iodyno("tree"), "it came back, but not to the tree"
