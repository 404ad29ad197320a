"""What follows from a machine's shape: limits of links that are real, none of links that are made up, and the same answers behind
VMD as beside it.
"""

import json
import subprocess
import tempfile
from pathlib import Path

import moving
import peers
from emulator import Guest

from .registry import Fields, name_of, on, same

FRAMING = 24  # bytes of a packet of memory writes that are not payload
LANE_BYTES = {2.5: 0.25e9, 5: 0.5e9, 8: 8e9 / 8 * 128 / 130, 16: 16e9 / 8 * 128 / 130, 32: 32e9 / 8 * 128 / 130}


def carries(speed: float, width: int, payload: int) -> float:
    """Bytes per second of a link, by its line coding and the share of its packets that is payload."""
    return LANE_BYTES[speed] * width * payload / (payload + FRAMING)


def limits(guest: Guest) -> dict[str, float | None]:
    nodes = peers.nodes(json.loads(guest.iodyno("tree --json")))
    return {node["address"]: node["limit"] and node["limit"]["bytes_per_second"] for node in nodes}


def compare(guest: Guest, expected: dict[str, float | None]) -> None:
    ours = limits(guest)
    fields = Fields(guest)
    for address, rate in expected.items():
        mine = ours[address]
        fields.field(f"limit of {address}, MB/s", mine and round(mine / 1e6), rate and round(rate / 1e6))
    fields.done()


@on("payload")
def an_uplink_carries_packets_of_the_size_its_drives_send(guest: Guest) -> None:
    """Switches do not merge packets: 512 B on the uplink change nothing for drives that send 128 B."""
    drive = carries(16, 4, 128)
    compare(guest, {"0000:21:00.0": carries(16, 8, 128), "0000:23:00.0": drive, "0000:24:00.0": drive})


@on("payload-even")
def packets_of_one_size_are_carried_at_that_size(guest: Guest) -> None:
    drive = carries(16, 4, 512)
    compare(guest, {"0000:21:00.0": carries(16, 8, 512), "0000:23:00.0": drive, "0000:24:00.0": drive})


@on("virtio")
def endpoints_of_a_virtual_machine_have_no_link_to_limit_them(guest: Guest) -> None:
    compare(guest, dict.fromkeys([f"0000:{bus:x}:00.0" for bus in (0x21, 0x22, 0x23, 0x24, 0x61, 0x62, 0x63)]))
    said = guest.iodyno("bench --filename /dev/nvme0n1:/dev/vda --runtime 2 --json")
    fields = Fields(guest)
    for job in json.loads(said)["jobs"]:
        expected = job["expected"]
        fields.field(f"what is expected of {job['jobname']}, by its link", (expected or {}).get("basis") == "link", False)
    fields.done()


@on("slow-ports", "slow-by-design", "narrow-switch", "wide-switch")
def links_of_drives_with_real_ids_are_limits(guest: Guest) -> None:
    x1, full = carries(2.5, 1, 128), carries(16, 4, 128)
    expected = {
        "slow-ports": {"0000:21:00.0": x1, "0000:61:00.0": carries(16, 1, 128), "0000:a1:00.0": full},
        "slow-by-design": {"0000:21:00.0": x1, "0000:22:00.0": x1, "0000:61:00.0": full, "0000:a1:00.0": full},
        "narrow-switch": {"0000:21:00.0": carries(8, 1, 128), "0000:23:00.0": carries(8, 1, 128), "0000:62:00.0": full},
        "wide-switch": {"0000:21:00.0": carries(16, 8, 128), "0000:23:00.0": full, "0000:62:00.0": full},
    }
    compare(guest, expected[name_of(guest)])


@on("slow-by-design")
def a_result_above_a_limit_refutes_it(guest: Guest) -> None:
    """The link is made up and the drive is a file that was just written: it is faster than 2.5 GT/s x1."""
    address = "0000:21:00.0"
    before = limits(guest)[address]
    (name,) = [drive["name"] for drive in json.loads(guest.iodyno("drives --json"))["drives"] if drive["address"] == address]
    guest.text(f"tr '\\0' x </dev/zero | dd of=/dev/{name} bs=1M count=64 iflag=fullblock 2>/dev/null; sync")
    bench = f"iodyno bench --filename /dev/{name} --bs 1m --iodepth 8 --size 64m --runtime 3 --json"
    (job,) = json.loads(guest.text(bench))["jobs"]
    after = limits(guest)[address]
    guest.text("rm -rf /var/lib/iodyno")
    measured = job["read"]["bw_bytes"]
    assert job["valid"], job["invalid_because"]
    assert measured > 1.2 * before, f"{measured} B/s where {before} B/s are possible: too slow here to refute anything"
    assert after is None or after >= measured, f"the limit stays {after} B/s after {measured} B/s were measured"


@on("slow-ports", "narrow-switch", "multipath", "namespaces-slow", "vmd")
def a_machine_with_something_planted_gets_no_clean_bill(guest: Guest) -> None:
    said = guest.iodyno("check")
    assert "no limiting findings" not in said, said
    same("status of check --fail-on warning", guest.run("iodyno check --fail-on warning >/dev/null").status, 1)


@on("slow-by-design", "wide-switch", "functions-wide", "payload-even", "multipath-healthy", "namespaces", "virtio", "dual-port")
def a_healthy_machine_gets_a_clean_bill(guest: Guest) -> None:
    said = guest.iodyno("check")
    assert "no limiting findings" in said, said
    same("status of check --fail-on warning", guest.run("iodyno check --fail-on warning >/dev/null").status, 0)


@on("vmd", "bays")
def a_root_complex_behind_vmd_gets_the_answers_it_gets_beside_it(guest: Guest) -> None:
    """The same capture twice: as it was made, and with a root complex moved under a VMD device."""
    guest.text("iodyno capture --with-serials /host/plain.capture")
    plain = (guest.share / "plain.capture").read_text()
    bus = "e0" if name_of(guest) == "vmd" else "20"
    answers = []
    with tempfile.TemporaryDirectory() as folder:
        for text in (plain, moving.behind_vmd(plain, bus)):
            path = Path(folder) / "machine.capture"
            path.write_text(text)
            answers.append({command: outside(guest, command, path) for command in ("tree", "check", "drives")})
    beside, behind = answers
    fields = Fields(guest)
    rename = f"10000:{bus}"
    roots = {root["address"]: root for root in peers.nodes(behind["tree"]) if root["kind"] == "root-complex"}
    fields.field("the root complex behind VMD", rename in roots, True)
    fields.field("what it hangs under", roots.get(rename, {}).get("parent"), moving.VMD)
    fields.field("the one it was", f"0000:{bus}" in roots, False)
    drives = [{drive["name"]: drive["address"] for drive in answer["drives"]["drives"]} for answer in answers]
    for name, address in drives[0].items():
        fields.field(f"address of {name}", drives[1].get(name), moving.renamed(address, plain, bus))
    found = [findings(answer["check"]) for answer in answers]
    for key, gain in found[0].items():
        fields.field(f"gain of {key}", found[1].get(key), gain)
    fields.field("further findings", sorted(found[1].keys() - found[0].keys()), [("behind-vmd-or-raid", "info")])
    rates = [[node["limit"] for node in peers.nodes(answer["tree"]) if node["drives"]] for answer in answers]
    fields.field(
        "limits of drives",
        sorted(limit["bytes_per_second"] for limit in rates[1] if limit),
        sorted(limit["bytes_per_second"] for limit in rates[0] if limit),
    )
    fields.done()


def outside(guest: Guest, command: str, capture: Path) -> dict:
    run = [str(guest.lab.iodyno), command, "--json", "--open", str(capture)]
    return json.loads(subprocess.run(run, capture_output=True, text=True, check=True).stdout)


def findings(check: dict) -> dict[tuple[str, str], int | None]:
    """What a finding wins, by its id and severity."""
    return {
        (finding["id"], finding["severity"]): finding["gain"]["bytes_per_second"] and round(finding["gain"]["bytes_per_second"])
        for finding in check["findings"]
    }
