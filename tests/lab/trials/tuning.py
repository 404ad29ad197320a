"""Settings of real queues: written, read back, undone, also after a kill.
"""

import time

from emulator import Guest

from .registry import drive, on, same

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


def queue(guest: Guest, drive: str) -> dict[str, str]:
    names = " ".join(QUEUE_CHANGES)
    lines = guest.text(f"cd /sys/block/{drive}/queue; for f in {names}; do echo $f $(cat $f); done").splitlines()
    values = dict(line.split(" ", 1) for line in lines)
    values["scheduler"] = values["scheduler"].split("[")[1].split("]")[0]
    return values


@on("desktop")
def every_queue_setting_is_written_read_back_and_undone(guest: Guest) -> None:
    drive = "nvme0n1"
    found = queue(guest, drive)
    for setting, value in QUEUE_CHANGES.items():
        assert found[setting] != value, f"{setting} is {value} in a fresh guest"
        guest.iodyno(f"tune set {drive} {setting}={value}")
        same(setting, value, queue(guest, drive)[setting])
        guest.iodyno("tune undo --all")
        same(f"after the undo of {setting}", queue(guest, drive), found)


FUNCTION_CHANGES = {  # every live setting of a drive's function: its file, and a value it does not have in a fresh guest
    "aspm": ("/sys/bus/pci/devices/{address}/link/l1_aspm", "0"),
    "power_control": ("/sys/bus/pci/devices/{address}/power/control", "auto"),
    "latency_tolerance_us": ("/sys/bus/pci/devices/{address}/nvme/*/power/pm_qos_latency_tolerance_us", "25000"),
}


@on("desktop")
def settings_of_a_drives_function_are_written_read_back_and_undone(guest: Guest) -> None:
    mine = drive(guest, 0)
    files = {setting: path.format(**mine) for setting, (path, _) in FUNCTION_CHANGES.items()}

    def values() -> dict[str, str]:
        return {setting: guest.text(f"cat {path}").strip() for setting, path in files.items()}

    found = values()
    for setting, (_, value) in FUNCTION_CHANGES.items():
        assert found[setting] != value, f"{setting} is {value} in a fresh guest"
        guest.iodyno(f"tune set {mine['name']} {setting}={value}")
        same(setting, value, values()[setting])
        guest.iodyno("tune undo --all")
        same(f"after the undo of {setting}", values(), found)


@on("desktop")
def settings_that_reset_each_other_are_set_at_once_and_undone(guest: Guest) -> None:
    drive = "nvme1n1"
    found = queue(guest, drive)
    everything = " ".join(f"{setting}={value}" for setting, value in QUEUE_CHANGES.items())
    guest.iodyno(f"tune set {drive} {everything}")
    same("all at once", queue(guest, drive), QUEUE_CHANGES)
    guest.iodyno("tune undo --all")
    same("after the undo", queue(guest, drive), found)


@on("desktop")
def a_tuner_killed_at_any_moment_can_be_undone(guest: Guest) -> None:
    drive = "nvme0n1"
    found = queue(guest, drive)
    everything = " ".join(f"{setting}={value}" for setting, value in QUEUE_CHANGES.items())
    start = time.monotonic()
    guest.iodyno(f"tune set {drive} {everything}")
    whole = time.monotonic() - start
    guest.iodyno("tune undo --all")
    interrupted = 0
    for share in (0.2, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 1):
        moment = f"{share * whole:.2f}"
        guest.run(f"iodyno tune set {drive} {everything} >/dev/null & victim=$!; sleep {moment}; kill -9 $victim; wait")
        changed = queue(guest, drive)
        interrupted += changed not in (found, QUEUE_CHANGES)
        guest.iodyno("tune undo --all")
        same(f"undone after a kill at {moment} s, when it was {changed}", queue(guest, drive), found)
    assert interrupted or changed != found, "no kill came after a write: choose later moments"


@on("desktop")
def nothing_is_written_by_a_dry_run(guest: Guest) -> None:
    before = queue(guest, "nvme0n1")
    guest.iodyno("tune set nvme0n1 scheduler=mq-deadline --dry-run")
    same("queue", queue(guest, "nvme0n1"), before)
