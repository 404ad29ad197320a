"""The pull: what it says of a planted limit, and of a machine too slow for its drives.
"""

import json

from emulator import Guest
from machines import LANE_RATE

from .registry import on, same

SECONDS = 180


def pull(guest: Guest) -> dict:
    return json.loads(guest.iodyno("pull --json --yes", seconds=SECONDS))


@on("crowded")
def the_pull_names_the_hop_that_holds_three_drives_back(guest: Guest) -> None:
    document = pull(guest)
    headline = document["headline"]
    same("potential", round(headline["potential_bytes_per_second"] / LANE_RATE, 1), 4.0)
    measured = headline["measured_bytes_per_second"] / LANE_RATE
    assert 1.8 <= measured <= 2.1, f"measured {measured:.2f} times a lane: {headline}"
    lost = headline["lost_to"]
    same("what is lost to", [loss["finding"] for loss in lost], ["oversubscribed-hop"])
    assert "0000:2" in lost[0]["subject"], f"the subject is {lost[0]['subject']}"


@on("balanced")
def a_pull_of_drives_faster_than_the_processors_is_cpu_bound(guest: Guest) -> None:
    lines = pull(guest)["lines"]
    assert any("CPU-bound" in line for line in lines), lines
