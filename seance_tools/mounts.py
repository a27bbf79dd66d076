"""The mounted filesystems, and which of them another machine may keep waiting."""

from __future__ import annotations

import os
import re

# Types of filesystems that another machine may keep waiting; those that begin with "fuse." may too.
NETWORK_TYPES = frozenset(
    (
        *("9p", "afs", "autofs", "ceph", "cifs", "coda", "davfs", "fuse", "gfs2", "glusterfs", "gpfs"),
        *("lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "smb3", "smbfs"),
    )
)
_MOST_LINKS = 40  # in a path, as the kernel has it


class Mounts:
    """The mounted filesystems of the moment it is made; asking it touches none but for `leads_away`.

    text: as in /proc/self/mountinfo (proc(5)), which is read by default. Raises OSError.
    """

    def __init__(self, text: str | None = None) -> None:
        if text is None:
            mountinfo = "/proc/self/mountinfo"
            with open(mountinfo, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
                text = file.read()
        self._types: dict[str, str] = {}
        for line in text.removesuffix("\n").split("\n"):
            left, _, right = line.partition(" - ")
            point = left.split(" ")[4]
            if "\\" in point:  # space, tab, newline, backslash
                point = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), point)
            self._types[point] = right.partition(" ")[0]

    def point(self, path: str) -> str:
        """Return where the filesystem of a path is mounted, as its text tells: links are not followed."""
        path = os.path.normpath(path)
        while path not in self._types and path not in ("/", ""):
            path = os.path.dirname(path)
        return path

    def is_network(self, path: str) -> bool:
        """Return whether a path is on a filesystem that another machine, or program, may keep waiting."""
        return self._is_far(self.point(path))

    def leads_away(self, path: str) -> bool:
        """Return whether a path leads over such a filesystem, links followed; nothing is asked of one."""
        here, parts, links = "/", [*path.split("/")[::-1], "."], 0
        while parts:
            here = os.path.normpath(os.path.join(here, parts.pop()))
            if self._is_far(here):
                return True
            try:
                target = os.readlink(here)
            except OSError:
                continue  # no link, or nothing there
            links += 1
            if links > _MOST_LINKS:
                return True
            parts += target.split("/")[::-1]
            here = "/" if target.startswith("/") else os.path.dirname(here)
        return False

    def _is_far(self, point: str) -> bool:
        kind = self._types.get(point, "")
        return kind in NETWORK_TYPES or kind.startswith("fuse.")
