"""Which filesystems are another machine's, as the kernel's list of mounts tells."""

from __future__ import annotations

import pytest

from seance_tools.mounts import Mounts


def test_network_filesystems_are_told_by_their_type() -> None:
    mounts = Mounts(
        "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
        "30 22 0:40 / /home rw shared:1 - nfs4 server:/home rw\n"
        "31 30 8:2 / /home/me/local\\040disk rw master:2 shared:9 - btrfs /dev/sdb rw\n"
        "32 22 0:41 / /mnt/phone rw - fuse.sshfs phone: rw\n"
        "33 22 0:42 / /overlaid rw - nfs server:/x rw\n"
        "34 33 0:43 / /overlaid rw - tmpfs tmpfs rw\n"
    )
    far = ["/home", "/home/me/shop", "/home/me/local", "/mnt/phone/x", "/home/../home/x"]
    near = ["/", "/homes", "/home/me/local disk/shop", "/mnt", "/overlaid/x"]
    assert [path for path in far + near if mounts.is_network(path)] == far
    assert mounts.point("/home/me/local disk/shop") == "/home/me/local disk"
    assert Mounts().point("/proc/self") == "/proc"


@pytest.mark.parametrize(
    ("path", "remote"),
    [
        ("/home/ana/t", False),
        ("/net/ana/t", True),
        ("/net", True),
        ("/network/t", False),
        ("/home/../net/t", True),
        ("/home//./ana", False),
        ("/sshfs/t", True),
        ("/ntfs/t", False),
    ],
)
def test_the_way_to_another_machines_files_is_told(path: str, remote: bool) -> None:
    mounts = {"/": "ext4", "/net": "nfs4", "/sshfs": "fuse.sshfs", "/ntfs": "fuseblk", "/home": "btrfs"}
    text = "".join(f"1 1 0:1 / {point} rw - {kind} source rw\n" for point, kind in mounts.items())
    assert Mounts(text).leads_away(path) == remote


def test_a_mount_point_may_have_any_other_character_in_its_name() -> None:
    names = ["a\vb", "a\rb", "a\x85b", "a\u2028b"]
    mounts = Mounts("".join(f"1 1 0:1 / /{name} rw - nfs server:/ rw\n" for name in names))
    assert all(mounts.is_network(f"/{name}/shop") for name in names)
