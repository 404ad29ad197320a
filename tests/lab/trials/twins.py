"""Block devices that look alike: a change to one is undone on that one, and what somebody else did to its twin stays."""

import json

from emulator import Guest

from .registry import on, same

WANTED = "mq-deadline"


def twins(guest: Guest) -> list[str]:
    """The names of drives that have their model and serial number in common with another, as the kernel set them up; nothing
    is remembered of changes before.
    """
    reset = "echo none >$d/scheduler; echo 128 >$d/read_ahead_kb; echo 0 >$d/nomerges"
    guest.text(f"rm -rf /var/lib/iodyno; for d in /sys/block/*/queue; do {reset}; done")
    listed = json.loads(guest.iodyno("drives --json"))["drives"]
    alike: dict[tuple, list[str]] = {}
    for drive in listed:
        if drive["address"] and not drive["name"].startswith("sr"):
            alike.setdefault((drive["model"], drive["serial"]), []).append(drive["name"])
    found = [name for names in alike.values() if len(names) > 1 for name in names]
    assert len(found) > 1, f"no two drives look alike: {listed}"
    return found


def scheduler(guest: Guest, name: str) -> str:
    return guest.text(f"cat /sys/block/{name}/queue/scheduler").split("[")[1].split("]")[0]


def schedulers(guest: Guest, names: list[str]) -> dict[str, str]:
    return {name: scheduler(guest, name) for name in names}


@on("dual-port", "luns", "virtio")
def a_change_to_one_of_two_that_look_alike_is_undone_on_that_one(guest: Guest) -> None:
    names = twins(guest)
    before = schedulers(guest, names)
    for name in names:
        guest.iodyno(f"tune set {name} scheduler={WANTED}")
        same(f"only {name} is set", schedulers(guest, names), before | {name: WANTED})
        said = guest.iodyno("tune undo --all")
        same(f"after the undo of {name}", schedulers(guest, names), before)
        words = [line for line in said.splitlines() if "scheduler" in line]
        assert words and name in words[0] and "already" not in words[0], f"the undo of {name} says {said!r}"
        left = guest.iodyno("tune undo --all")
        same(f"after an undo with nothing to undo, which says {left!r}", schedulers(guest, names), before)


@on("dual-port", "luns", "virtio")
def what_an_admin_sets_on_the_twin_stays(guest: Guest) -> None:
    names = twins(guest)
    before = schedulers(guest, names)
    for changed in names[:2]:
        for twin in names:
            if twin == changed:
                continue
            guest.text(f"echo 640 >/sys/block/{twin}/queue/read_ahead_kb")
            guest.iodyno(f"tune set {changed} read_ahead_kb=1024")
            guest.text(f"echo 776 >/sys/block/{twin}/queue/read_ahead_kb")
            said = guest.run("iodyno tune undo --all").out
            ahead = [guest.text(f"cat /sys/block/{name}/queue/read_ahead_kb").strip() for name in (changed, twin)]
            guest.text(f"echo 128 | tee /sys/block/{changed}/queue/read_ahead_kb >/sys/block/{twin}/queue/read_ahead_kb")
            same(f"{changed} and what an admin set on {twin}, after an undo that says {said!r}", ahead, ["128", "776"])
    same("schedulers", schedulers(guest, names), before)


@on("dual-port", "luns", "virtio")
def changes_to_both_are_undone_on_each(guest: Guest) -> None:
    names = twins(guest)
    before = schedulers(guest, names)
    for name in names:
        guest.iodyno(f"tune set {name} scheduler={WANTED}")
    same("all are set", schedulers(guest, names), dict.fromkeys(names, WANTED))
    guest.iodyno(f"tune undo {names[-1]}")
    same(f"only {names[-1]} is undone", schedulers(guest, names), dict.fromkeys(names, WANTED) | {names[-1]: before[names[-1]]})
    guest.iodyno("tune undo --all")
    same("all are undone", schedulers(guest, names), before)


@on("dual-port", "luns", "virtio")
def a_dry_run_names_the_files_of_its_own_drive(guest: Guest) -> None:
    names = twins(guest)
    real = {name: guest.text(f"readlink -f /sys/block/{name}").strip() for name in names}
    for name in names:
        set_to = f"tune set {name} scheduler={WANTED}"
        said = {"tune set --dry-run": guest.iodyno(f"{set_to} --dry-run")}
        guest.iodyno(set_to)
        said["tune undo --dry-run"] = guest.iodyno("tune undo --all --dry-run")
        guest.iodyno("tune undo --all")
        for command, words in said.items():
            files = [other for other in names if real[other] in words or f"/sys/block/{other}/" in words]
            same(f"whose files `{command}` for {name} shows: {words!r}", files, [name])


@on("dual-port")
def an_experiment_killed_is_undone_on_its_own_drive(guest: Guest) -> None:
    names = twins(guest)
    before = schedulers(guest, names)
    name = names[-1]
    arms = f'--arm "one: scheduler={WANTED}" --arm "two: scheduler={WANTED} nomerges=2"'
    command = f"iodyno experiment run own --filename /dev/{name} --runtime 2 {arms} --json >/dev/null 2>&1"
    moved = f"until grep -q '\\[{WANTED}\\]' /sys/block/{name}/queue/scheduler; do sleep 0.1; done"
    guest.text(f"{command} & victim=$!; {moved}; kill -9 $victim; wait; true")
    same(f"{name} is left changed", scheduler(guest, name), WANTED)
    # Who only reads may leave it to a start that changes something; asked for, it is undone.
    guest.run("iodyno tune undo --all")
    same("after the undo", schedulers(guest, names), before)


@on("dual-port")
def what_an_admin_wrote_since_an_undo_is_what_the_next_undo_gives_back(guest: Guest) -> None:
    twins(guest)
    file = "/sys/block/nvme1n1/queue/read_ahead_kb"
    guest.iodyno("tune set nvme1n1 read_ahead_kb=512")
    guest.iodyno("tune undo --all")
    same("after the first undo", guest.text(f"cat {file}").strip(), "128")
    guest.text(f"echo 776 >{file}")
    guest.iodyno("tune set nvme1n1 read_ahead_kb=64")
    said = guest.iodyno("tune undo --all")
    value = guest.text(f"cat {file}").strip()
    guest.text(f"echo 128 >{file}")
    same(f"after the second undo, which says {said!r}", value, "776")


PATHS = "cd /sys/block; ls -d nvme*c*n*"


@on("multipath")
def paths_are_tuned_and_undone(guest: Guest) -> None:
    paths = guest.text(PATHS).split()
    before = schedulers(guest, paths)
    head = paths[0].split("c")[0] + "n1"
    if guest.run(f"iodyno tune set {head} scheduler={WANTED}").status != 0:
        for path in paths:
            guest.iodyno(f"tune set {path} scheduler={WANTED}")
    same("the paths are set", schedulers(guest, paths), dict.fromkeys(paths, WANTED))
    guest.iodyno("tune undo --all")
    same("the paths are as they were", schedulers(guest, paths), before)
    mine = paths[-1]
    guest.iodyno(f"tune set {mine} scheduler={WANTED}")
    same("one path is set", schedulers(guest, paths), before | {mine: WANTED})
    guest.iodyno("tune undo --all")
    same("that path is as it was", schedulers(guest, paths), before)


@on("multipath")
def a_head_of_two_paths_keeps_its_driver(guest: Guest) -> None:
    paths = guest.text(PATHS).split()
    head = paths[0].split("c")[0] + "n1"
    bound = "ls /sys/bus/pci/drivers/nvme | grep :; ls /sys/block"
    before = guest.text(bound)
    refused = guest.run(f"echo {head} | iodyno tune set {head} poll_queues=2 --rebind")
    after = guest.text(bound)
    guest.run("iodyno tune undo --all")
    same("what the driver has", after, before)
    same("the status", refused.status, 2)
    controllers = guest.text("cd /sys/block; for p in nvme*c*n*; do basename $(readlink -f $p/..); done").split()
    functions = guest.text("cd /sys/block; for p in nvme*c*n*; do readlink -f $p/../../..; done").split()
    for path, controller, function in zip(paths, controllers, functions, strict=True):
        names = (path, controller, function.rsplit("/", 1)[1])
        assert any(name in refused.err for name in names), f"none of {names} is named: {refused.err!r}"


@on("multipath", "multipath-healthy")
def both_paths_have_their_place_on_the_tree(guest: Guest) -> None:
    text = guest.iodyno("tree")
    for address in ("0000:21:00.0", "0000:61:00.0"):
        (row,) = [line for line in text.splitlines() if address in line]
        assert "nvme" in row.replace("NVMe", ""), f"no drive on the row of {address}: {row!r}"
