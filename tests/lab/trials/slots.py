"""What happens to hardware while the program looks: links that train again, drives that come and go, heat.

Not here: how QEMU is made to do it (`emulator.py`, `patching.py`).
"""

import json
import time

from emulator import Guest
from machines import CRUCIAL, Drive, Heat, Plug, Pull, Retrain

from .registry import beside, drive, on, same
from .tests import ended_alone

WIDE = (132, 40)


@on("bays")
def a_link_that_trains_again_shows_within_two_seconds(guest: Guest) -> None:
    name = drive(guest, 0)["name"]
    start = time.monotonic()
    guest.iodyno("tree --json >/dev/null")
    allowed = 2 + 2 * (time.monotonic() - start)  # an emulated processor on a busy machine reads slowly
    assert allowed < 8, "a reading of the machine takes so long here that nothing can be said"
    with guest.screen((80, 24)) as screen:
        screen.shows(rf"{name} .* Gen4 x4 ")
        slow = "[▼V] Gen3 x2 < Gen4 x4", "[▼V] Gen4 x1 < Gen4 x4"
        for link, row in (((8, 2), slow[0]), ((16, 1), slow[1]), ((16, 4), " Gen4 x4 ")):
            guest.happen(Retrain(0, link))
            screen.shows(rf"{name} .*{row}", seconds=allowed)
            if row in slow:
                screen.shows(rf"{name}: its link runs at Gen\d x{link[1]} \({link[0]} GT/s\)")
        screen.lacks("[▼V] Gen")
        screen.leave()


@on("bays")
def a_drive_that_gets_hot_is_told(guest: Guest) -> None:
    hot = drive(guest, 1)
    same("temperature before", round(hot["temperature_celsius"]), 50)
    guest.happen(Heat(1, 75))
    same("temperature", round(drive(guest, 1)["temperature_celsius"]), 75)
    found = {finding["id"]: finding for finding in json.loads(guest.iodyno("check --json"))["findings"]}
    assert "drive-hot" in found, f"no drive-hot among {sorted(found)}"
    same("what is hot", [subject["name"] for subject in found["drive-hot"]["subjects"]], [hot["name"]])
    assert "drive-worn" not in found, "heat is no wear"
    with guest.screen(WIDE) as screen:
        screen.shows(rf"{hot['name']}: 75 °C of 70 °C")
        guest.happen(Heat(1, 50))
        screen.lacks("75 °C", seconds=15)
        screen.leave()


@on("bays")
def a_drive_plugged_in_appears_on_the_screen_and_can_be_read(guest: Guest) -> None:
    with guest.screen(WIDE) as screen:
        screen.shows("990 PRO")
        screen.shows("3 drives ")
        guest.happen(Plug(1, Drive(CRUCIAL, lba=4096)))
        screen.shows("CT2000T705SSD3[ .]+[▽∩≤] Gen3 x4 ")
        screen.shows("4 drives +LIVE")
        screen.leave()
    new = drive(guest, 3)
    same("where it is", new["address"], "0000:61:00.0")
    done = json.loads(guest.iodyno(f"bench --filename {new['path']} --runtime 1 --json"))["jobs"][0]
    assert done["errors"] == 0 and done["read"]["total_ios"] > 100, done


@on("bays")
def a_drive_pulled_from_its_slot_ends_its_workers_only(guest: Guest) -> None:
    goes, stays = drive(guest, 1), drive(guest, 0)
    whole = beside(guest, f"iodyno bench --filename {goes['path']}:{stays['path']} --runtime 12 --json")
    with guest.screen(WIDE) as screen:
        screen.shows(goes["name"])
        guest.happen(Pull(1))  # the kernel waits 5 s, as for a pressed button
        screen.lacks(rf"{goes['name']}  SN850X")
        screen.leave()
    gone, well = json.loads(whole())["jobs"]
    ended_alone(gone, well, goes["name"], 12000)
    assert goes["address"] not in guest.iodyno("tree"), "the tree still has it"
