"""The guest's kernel and its first file system, made from Debian packages and kept until something they are made of changes.

Here: what goes into the guest. Not here: what it does (`guest/init`).
"""

import glob
import hashlib
import importlib.util
import lzma
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "iodyno-test-lab"
KERNELS = ("linux-image-6.12-amd64", "linux-image-amd64")  # the first that apt knows
PACKAGES = {  # a program the lab needs: the Debian package it is in
    "qemu-system-x86_64": "qemu-system-x86",
    "busybox": "busybox-static",
    "cpio": "cpio",
    "modprobe": "kmod",
    "lspci": "pciutils",
    "nvme": "nvme-cli",
    "lsblk": "util-linux",
    "mdadm": "mdadm",
    "dmsetup": "dmsetup",
    "fio": "fio",
    "dpkg-deb": "dpkg",
    "apt-get": "apt",
}
INSTALL = f"apt-get install {' '.join(sorted({*PACKAGES.values(), 'python3-pyte'}))}"
GUEST_PROGRAMS = ("bash", "lspci", "nvme", "lsblk", "mdadm", "dmsetup")
MODULES = (
    *("nvme", "9p", "9pnet_virtio", "virtio_pci", "bfq", "kyber-iosched", "null_blk", "ext4", "crc32c_generic"),
    *("virtio_blk", "virtio_scsi", "sd_mod", "sr_mod", "xhci_pci", "usb_storage"),
    *("loop", "dm_mod", "md_mod", "raid1", "raid456", "dm_crypt", "dm_delay", "xts", "ecb", "aes_generic", "cryptomgr"),
)


class Impossible(Exception):
    """The lab cannot be built here; its text is the one line that says why and what to do."""


def program(name: str) -> str:
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if not path:
        raise Impossible(f"{name} is not installed; {INSTALL}")
    return path


def run(*command: str | Path, **options) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        raise Impossible(f"{Path(str(command[0])).name}: {reason}")
    return done.stdout


def kernel_tree() -> Path:
    """The unpacked kernel package: boot/vmlinuz-* and lib/modules/*."""
    tree = CACHE / "kernel"
    if glob.glob(f"{tree}/boot/vmlinuz-*"):
        return tree
    downloads = CACHE / "downloads"
    downloads.mkdir(parents=True, exist_ok=True)
    for name in KERNELS:
        try:
            depends = run("apt-cache", "depends", name)
        except Impossible:
            continue
        package = re.search(r"Depends: (linux-image-\S+)", depends)
        if package:
            run("apt-get", "download", package[1], cwd=downloads)
            run("dpkg-deb", "-x", sorted(glob.glob(f"{downloads}/{package[1]}_*.deb"))[-1], tree)
            return tree
    raise Impossible(f"no kernel package; apt-get update, so that apt knows {KERNELS[0]}")


def libraries(binary: str) -> set[str]:
    listed = subprocess.run(["ldd", binary], capture_output=True, text=True).stdout
    return set(re.findall(r"(/\S+)", listed))


def inputs_digest(kernel: Path) -> str:
    """Of all that the guest is made of: this folder's parts of it, the kernel's name, the programs and their versions."""
    digest = hashlib.sha256()
    for path in (HERE / "image.py", HERE / "guest" / "init"):
        digest.update(path.read_bytes())
    digest.update("".join(sorted(os.listdir(kernel / "boot"))).encode())
    for name in ("busybox", *GUEST_PROGRAMS, "fio", "modprobe"):
        entry = os.stat(program(name))
        digest.update(f"{name} {entry.st_size} {entry.st_mtime_ns}".encode())
    return digest.hexdigest()


def copy_program(root: Path, name: str) -> None:
    binary = os.path.realpath(program(name))
    shutil.copy(binary, root / "bin" / os.path.basename(binary))
    if os.path.basename(binary) != name:
        link(root / "bin" / name, os.path.basename(binary))
    for library in libraries(binary):
        place = root / library.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.exists():
            shutil.copy(library, place)


def link(path: Path, target: str) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def copy_modules(root: Path, kernel: Path) -> None:
    (version,) = os.listdir(kernel / "lib/modules")
    run("/sbin/depmod" if os.path.exists("/sbin/depmod") else program("depmod"), "-b", kernel, version)
    source, target = kernel / "lib/modules" / version, root / "lib/modules" / version
    for module in MODULES:
        shown = subprocess.run(
            [program("modprobe"), "-d", kernel, "-S", version, "--show-depends", module], capture_output=True, text=True
        ).stdout
        for path in re.findall(r"insmod (\S+)", shown):
            place = target / os.path.relpath(path, source)
            place.parent.mkdir(parents=True, exist_ok=True)
            # Unpacked here: an emulated processor takes seconds for it, at every start.
            if path.endswith(".xz"):
                place.with_suffix("").write_bytes(lzma.decompress(Path(path).read_bytes()))
            else:
                shutil.copy(path, place)
    for name in ("modules.order", "modules.builtin", "modules.builtin.modinfo"):
        shutil.copy(source / name, target / name)
    run("/sbin/depmod" if os.path.exists("/sbin/depmod") else program("depmod"), "-b", root, version)


def build(kernel: Path, archive: Path) -> None:
    root = CACHE / "root"
    shutil.rmtree(root, ignore_errors=True)
    for folder in ("bin", "dev", "etc", "host", "lib", "proc", "root", "run", "sys", "tmp", "usr/lib", "usr/share/misc"):
        (root / folder).mkdir(parents=True)
    link(root / "sbin", "bin")
    shutil.copy(program("busybox"), root / "bin/busybox")
    for applet in run(program("busybox"), "--list").split():
        if applet not in ("busybox", "lspci"):
            link(root / "bin" / applet, "busybox")
    for name in (*GUEST_PROGRAMS, "modprobe"):
        (root / "bin" / name).unlink(missing_ok=True)
        copy_program(root, name)
    for library in ("libgcc_s.so.1", "libm.so.6", "libc.so.6"):
        (place,) = [found for found in glob.glob(f"/lib/*-linux-gnu/{library}")][:1]
        target = root / place.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(place, target)
    for names in ("/usr/share/misc/pci.ids",):
        if os.path.exists(names):
            shutil.copy(names, root / names.lstrip("/"))
    copy_modules(root, kernel)
    (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/tmp:/bin/sh\n")
    shutil.copy(HERE / "guest/init", root / "init")
    (root / "init").chmod(0o755)
    pack(root, archive)


def build_fio(archive: Path) -> None:
    """fio with its libraries, which are four times the rest: kept apart, for the guests that compare with it."""
    root = CACHE / "fio"
    shutil.rmtree(root, ignore_errors=True)
    (root / "bin").mkdir(parents=True)
    copy_program(root, "fio")
    pack(root, archive)


def pack_program(binary: Path, folder: Path) -> Path:
    """An archive with the program to be tried, to be appended to what a guest starts from."""
    root = folder / "root"
    (root / "bin").mkdir(parents=True)
    shutil.copy(binary, root / "bin" / "iodyno")
    archive = folder / "program.cpio"
    pack(root, archive)
    return archive


def pack(root: Path, archive: Path) -> None:
    """A folder as an archive of the kind that the kernel unpacks at its start; several may follow each other in a file."""
    names = subprocess.run(["find", "."], cwd=root, capture_output=True, check=True).stdout
    with open(archive, "wb") as out:
        subprocess.run([program("cpio"), "-o", "-H", "newc", "--quiet"], cwd=root, input=names, stdout=out, check=True)
    shutil.rmtree(root)


@dataclass(frozen=True)
class Image:
    """What guests start from: fio is there for some."""

    kernel: Path
    archive: Path
    fio: Path


def prepare() -> Image:
    """The kernel and the initramfs; the latter built where they are missing or older than their inputs."""
    for name in PACKAGES:
        program(name)
    if not importlib.util.find_spec("pyte"):
        raise Impossible(f"Python has no pyte; {INSTALL}")
    kernel = kernel_tree()
    archive, fio, stamp = CACHE / "guest.cpio", CACHE / "fio.cpio", CACHE / "guest.inputs"
    digest = inputs_digest(kernel)
    if not (archive.exists() and fio.exists() and stamp.exists() and stamp.read_text() == digest):
        stamp.unlink(missing_ok=True)
        # Renamed when they are whole: another run may be starting its guests.
        for make, place in ((lambda new: build(kernel, new), archive), (build_fio, fio)):
            new = place.with_suffix(".new")
            make(new)
            new.replace(place)
        stamp.write_text(digest)
    return Image(Path(sorted(glob.glob(f"{kernel}/boot/vmlinuz-*"))[-1]), archive, fio)
