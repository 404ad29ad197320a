"""Moves a root complex of a capture under a VMD device, as the kernel shows it: QEMU has none."""

import re

VMD = "0000:00:0e.0"
DOMAIN = "10000"
FUNCTION = f"""file /sys/devices/pci0000:00/{VMD}/class 0x010400
file /sys/devices/pci0000:00/{VMD}/vendor 0x8086
file /sys/devices/pci0000:00/{VMD}/device 0x9a0b
link /sys/devices/pci0000:00/{VMD}/driver ../../../bus/pci/drivers/vmd
link /sys/bus/pci/devices/{VMD} ../../../devices/pci0000:00/{VMD}
"""


def buses(capture: str, bus: str) -> set[str]:
    """The bus of a root complex and those below it."""
    paths = re.findall(rf"/sys/devices/pci0000:{bus}/(\S+)", capture)
    return {bus, *(below for path in paths for below in re.findall(r"0000:([0-9a-f]{2}):", path))}


def renamed(address: str, capture: str, bus: str) -> str:
    """A device's address behind VMD, where it is moved there."""
    domain, rest = address.split(":", 1)
    return f"{DOMAIN if rest[:2] in buses(capture, bus) else domain}:{rest}"


def behind_vmd(capture: str, bus: str) -> str:
    """The capture of a machine whose root complex 0000:`bus` hangs under a VMD device, in a domain of its own."""
    moved = buses(capture, bus)
    text = re.sub(rf"(?<![0-9a-f])0000:(?=(?:{'|'.join(sorted(moved))}):)", f"{DOMAIN}:", capture)
    place, new = f"devices/pci0000:{bus}", f"devices/pci0000:00/{VMD}/pci{DOMAIN}:{bus}"
    # Links out of it climb two folders more.
    text = re.sub(rf"(?m)^(link /sys/{place}/\S+ )(?=(?:\.\./)+(?:bus|kernel|class)/)", r"\1../../", text)
    text = text.replace(f"\n  pci0000:{bus}\n", "\n").replace(place, new)
    text = text.replace(f"{new}/pci_bus/0000:{bus}", f"{new}/pci_bus/{DOMAIN}:{bus}")
    text = text.replace("\ndir /sys/bus/pci/devices\n", f"\ndir /sys/bus/pci/devices\n  {VMD}\n")
    return text + FUNCTION
