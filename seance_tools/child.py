"""Processes around an agent's: find its program, leave a monitor behind, become it.

Imports hardly more than `os`, because the agent's start pays for every module.
"""

from __future__ import annotations

# The interpreter has this one loaded already; `signal` would bring `enum` with it (4 ms).
import _signal  # type: ignore[import-not-found]
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

WRAPPER_MARK = b"seance_tools.codebuff"  # what every installed copy of the wrapper imports
EXIT_CANNOT_RUN = 126  # as shells have it
EXIT_NOT_FOUND = 127
ENOEXEC = 8
PIDFD_OPEN = 434  # the system call's number, the same on every machine


def find_program(name: str, path: str, me: str, *, last: bool = False) -> str:
    """Return the first program `name` on `path` (or the last), "" where there is none.

    me: the wrapper's own file. It is passed over by inode, under whatever name or link, and so is any other
    copy of it. An empty entry of `path` is the current directory, as shells have it.
    """
    found = ""
    for directory in path.split(":"):
        candidate = os.path.join(directory or ".", name)
        if os.path.isfile(candidate) and os.access(candidate, os.X_OK) and not _is_wrapper(candidate, me):
            if not last:
                return candidate
            found = candidate
    return found


def _is_wrapper(candidate: str, me: str) -> bool:
    try:
        if os.path.samefile(candidate, me):
            return True
    except OSError:
        pass  # `me` need not be a file: `python -c` and the like
    try:
        with open(candidate, "rb", buffering=0) as file:
            return WRAPPER_MARK in file.read(1024)
    except OSError:
        return False  # a program may be executable and not readable


def same_file(one: str, other: str) -> bool:
    """Return whether two paths lead to one file."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def comes_from(pid: int) -> bool:
    """Return whether process `pid` is this one or an ancestor of it."""
    current = os.getpid()
    while current > 1 and current != pid:
        try:
            current = int(stat_fields(current)[1])
        except (OSError, ValueError, IndexError):
            return False
    return current == pid


def stat_fields(pid: int) -> list[bytes]:
    """Return the fields of /proc/PID/stat behind the name, the state first (proc(5)). Raises OSError."""
    with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
        return file.read(4096).rpartition(b") ")[2].split()


def original_environment() -> dict[str, str]:
    """Return the environment this process was started with.

    In the C locale the interpreter adds LC_CTYPE to its own (PEP 538); an agent must not see that.
    """
    environ = dict(os.environ)
    if environ.get("LC_CTYPE", "").lower() in ("c.utf-8", "c.utf8", "utf-8"):
        try:
            with open("/proc/self/environ", "rb", buffering=0) as file:
                if b"\0LC_CTYPE=" not in b"\0" + file.read():
                    del environ["LC_CTYPE"]
        except OSError:
            pass  # no /proc: the addition is harmless
    return environ


def plain_interrupts() -> None:
    """Let Ctrl-C end this process as it would end the agent: without a traceback; unless it is ignored."""
    if _signal.getsignal(_signal.SIGINT) is not _signal.SIG_IGN:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)


def become(program: str, argv: list[str], environ: dict[str, str]) -> tuple[int, str]:
    """Run `program` in this very process; returns only when that fails: (exit status, reason)."""
    for number in (_signal.SIGPIPE, _signal.SIGXFSZ):  # the interpreter ignores them, and exec keeps that
        _signal.signal(number, _signal.SIG_DFL)
    try:
        try:
            os.execve(program, argv, environ)  # noqa: S606 - becoming the agent is the point
        except OSError as error:
            if error.errno != ENOEXEC:  # a script without `#!`, which shells run by themselves
                raise
            os.execve("/bin/sh", ["sh", program, *argv[1:]], environ)  # noqa: S606 - as above
    except FileNotFoundError as error:
        return EXIT_NOT_FOUND, str(error.strerror)
    except OSError as error:
        return EXIT_CANNOT_RUN, str(error.strerror)


def open_pidfd(pid: int) -> int:
    """Return a descriptor that is readable once process `pid` has ended. Raises OSError if there is none."""
    if hasattr(os, "pidfd_open"):
        return os.pidfd_open(pid)
    # Some builds of the interpreter lack it, uv's until the summer of 2026 among them.
    try:
        import ctypes
    except ImportError as error:
        raise OSError(0, f"no pidfd_open, and {error}") from None
    descriptor: int = ctypes.CDLL(None, use_errno=True).syscall(PIDFD_OPEN, pid, 0)
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return descriptor


def leave_monitor(work: Callable[[int], None], pid: int = 0) -> None:
    """Fork a process away that calls work(pidfd) and ends; the pidfd outlives an exec.

    pid: of the process that the pidfd is of, 0 for this one.

    It has a session of its own, /dev/null for its standard streams and no other descriptor of ours, so
    that neither the terminal nor a pipe ever waits for it. Raises OSError when it cannot be forked, or
    there is no such process.
    """
    pidfd = open_pidfd(pid or os.getpid())
    try:
        middle = os.fork()
        if middle == 0:
            _detach(pidfd, work)
        try:
            status = os.waitpid(middle, 0)[1]
        except ChildProcessError:
            status = 0  # SIGCHLD is ignored: the kernel has cleared it away
    finally:
        os.close(pidfd)
    if status:
        raise OSError(0, "the monitor could not be forked away")


def _detach(pidfd: int, work: Callable[[int], None]) -> None:
    """Run `work` in a grandchild; never returns, whatever happens."""
    status = 1
    try:
        os.setsid()
        if os.fork():
            status = 0
            return
        while pidfd < 3:  # a standard stream was closed, and this took its place
            pidfd = os.dup(pidfd)
        null = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(null, stream)
        for descriptor in map(int, os.listdir("/proc/self/fd")):
            if descriptor > 2 and descriptor != pidfd:
                os.closerange(descriptor, descriptor + 1)  # minds none that is closed already
        os.chdir("/")
        work(pidfd)
        status = 0
    finally:
        os._exit(status)
