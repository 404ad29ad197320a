"""Layers that the guest's kernel builds: an encrypted drive, whose key nothing reveals, an array that loses a member, slow devices."""

import json

from emulator import Guest

from .registry import on, same

KEY = "00112233445566778899aabbccddeeff" * 2
SECTORS = 131072
CRYPT = "modprobe -a dm_mod dm_crypt xts; echo 0 {sectors} crypt aes-xts-plain64 {key} 0 /dev/nvme0n1 0 {flags} | dmsetup {verb} --noudevsync"
ARRAY = """
modprobe -a loop md_mod raid456
echo 100 >/proc/sys/dev/raid/speed_limit_max
echo 100 >/proc/sys/dev/raid/speed_limit_min
for n in 1 2 3; do truncate -s 96M /tmp/member$n; losetup /dev/loop$n /tmp/member$n; done
mdadm --create /dev/md0 --run --metadata=1.2 --level=5 --raid-devices=3 --bitmap=internal /dev/loop1 /dev/loop2 /dev/loop3 2>&1
"""
# Below the file is a device in memory, of which no rate is published: an emulated drive is slower than its model.
BELOW = "modprobe -a dm_mod dm_crypt dm_delay xts ext4; modprobe null_blk nr_devices=1 memory_backed=1 gb=1"
MAPPED = """
echo '0 196608 {table}' | dmsetup create --noudevsync lab
echo 8192 >/sys/block/dm-0/queue/read_ahead_kb
mke2fs -F /dev/dm-0 98304 >/dev/null 2>&1; mkdir -p /mnt/why; mount -t ext4 /dev/dm-0 /mnt/why
dd if=/dev/urandom of=/mnt/why/file bs=1M count=48 2>&1; sync
"""
RELOAD = "dmsetup suspend --noflush lab; echo '0 196608 {table}' | dmsetup reload lab; dmsetup resume --noudevsync lab"
UNMAP = "umount /mnt/why; dmsetup remove --noudevsync lab"


def findings(guest: Guest) -> dict[str, dict]:
    return {finding["id"]: finding for finding in json.loads(guest.iodyno("check --json"))["findings"]}


def device(guest: Guest, name: str) -> dict:
    (found,) = [drive for drive in json.loads(guest.iodyno("drives --json"))["drives"] if drive["name"] == name]
    return found


@on("desktop")
def an_encrypted_drive_is_read_without_its_key(guest: Guest) -> None:
    guest.text(CRYPT.format(sectors=SECTORS, key=KEY, flags="", verb="create lab"))
    try:
        assert KEY in guest.text("dmsetup table --showkeys lab"), "the key is in the kernel's table"
        row = device(guest, "dm-0")
        targets = [{"kind": "crypt", "size_bytes": SECTORS * 512, "options": ["aes-xts-plain64"]}]
        same("the table", row["layer"]["dm"]["targets"], targets)
        same("what is below", row["layer"]["below"], ["nvme0n1"])
        assert "dm-crypt-workqueues" in findings(guest), "no dm-crypt-workqueues"
        told = guest.iodyno("capture - --with-serials") + guest.iodyno("capture -")
        told += "".join(guest.iodyno(words) for words in ("drives --json", "check --json", "sheet --format text --with-serials"))
        for at in range(0, len(KEY), 16):
            assert KEY[at : at + 16] not in told, "a part of the key was told"
        flags = "2 no_read_workqueue no_write_workqueue"
        guest.text("dmsetup suspend --noflush lab")
        guest.text(CRYPT.format(sectors=SECTORS, key=KEY, flags=flags, verb="reload lab"))
        guest.text("dmsetup resume --noudevsync lab")
        same("options", device(guest, "dm-0")["layer"]["dm"]["targets"][0]["options"][1:], flags.split()[1:])
        assert "dm-crypt-workqueues" not in findings(guest), "found without queues"
    finally:
        guest.text("dmsetup remove --noudevsync lab")


@on("desktop", core=())
def an_array_is_followed_from_recovery_to_a_failed_member(guest: Guest) -> None:
    guest.text(ARRAY)
    try:
        found = findings(guest)
        recovery = found["md-resync"]["title"]
        assert recovery.startswith("md0: recover "), recovery
        same("members", [row["name"] for row in device(guest, "md0")["layer"]["md"]["members"]], ["loop1", "loop2", "loop3"])
        same("bitmap", device(guest, "md0")["layer"]["md"]["bitmap"], guest.text("cat /sys/block/md0/md/bitmap/location").strip())
        test = guest.run("iodyno bench --filename /dev/md0 --runtime 2 --json")
        doubts = json.loads(test.out)["jobs"][0]["invalid_because"]
        assert any("synchronised meanwhile (md0: recover)" in doubt for doubt in doubts), f"doubts: {doubts}"
        guest.text("echo 1000000 >/proc/sys/dev/raid/speed_limit_max; mdadm --wait /dev/md0 || true")
        same("findings of a whole array", {"md-resync", "md-degraded"} & findings(guest).keys(), set())
        guest.text("mdadm /dev/md0 --fail /dev/loop2 2>&1")
        failed = findings(guest)["md-degraded"]
        same("severity", failed["severity"], "high")
        same("title", failed["title"], "md0: RAID5 with 2 of 3 members; loop2 failed")
    finally:
        guest.text("mdadm --stop /dev/md0 2>&1; for n in 1 2 3; do losetup -d /dev/loop$n; rm /tmp/member$n; done")


@on("narrow")
def a_slow_layer_below_a_file_is_named_first_by_why(guest: Guest) -> None:
    def named(planted: str, layer: str) -> None:
        """Drops the page cache, and looks at the verdict on the file."""
        guest.text("echo 1 >/proc/sys/vm/drop_caches")
        verdict = json.loads(guest.iodyno("why /mnt/why/file --runtime 4s --json"))["verdict"]
        same(f"layer with {planted}", verdict["layer"], layer)
        assert "dm-0 reads " in verdict["text"], f"device with {planted}: {verdict['text']}"

    guest.text(BELOW)
    try:
        # The file system is made without the delay: its many small reads would take a minute.
        guest.text(MAPPED.format(table="linear /dev/nullb0 0"))
        try:
            guest.text("echo 1 >/proc/sys/vm/drop_caches")
            verdict = json.loads(guest.iodyno("why /mnt/why/file --runtime 4s --json"))["verdict"]
            assert not verdict or "dm-0" not in verdict["text"], f"without a slow layer: {verdict}"
            guest.text(RELOAD.format(table="delay /dev/nullb0 0 50 /dev/nullb0 0 0"))
            named("a delay", "array")
        finally:
            guest.text(UNMAP)
        guest.text(MAPPED.format(table=f"crypt aes-xts-plain64 {KEY} 0 /dev/nullb0 0"))
        try:
            named("encryption", "crypt")
        finally:
            guest.text(UNMAP)
    finally:
        guest.text("modprobe -r null_blk")
