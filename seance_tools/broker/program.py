"""The seance-broker program: options, detaching, signals, the log."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import logging.handlers
import os
import signal
import sys
import time
import uuid

import click

from seance_tools import __version__, names
from seance_tools.broker.companions import COMPANIONS
from seance_tools.broker.core import Core
from seance_tools.broker.intake import Intake
from seance_tools.broker.server import Server
from seance_tools.child import open_pidfd
from seance_tools.listen import Place, Refused, holder
from seance_tools.store import Store

PROGRAM = "seance-broker"
log = logging.getLogger(PROGRAM)
LOG_BYTES = 1 << 20
STOP_SECONDS = 5.0
LEFT_SECONDS = 2.5  # for what runs beside the requests; a terminal is not waited for longer anyway


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--socket",
    "path",
    metavar="PATH",
    help="Path of the socket (default: SEANCE_SOCKET_PATH, config.toml, …).",
)
@click.option("--foreground", is_flag=True, help="Stay in the foreground and log to standard error.")
@click.option("--stop", is_flag=True, help="Stop the broker that runs, and wait until it is gone.")
@click.version_option(__version__, prog_name=PROGRAM)
def broker(path: str | None, *, foreground: bool, stop: bool) -> None:
    """Own the state of all agents of this user, and serve it on a Unix socket.

    Without an option it goes to the background once it serves. Sidebar, ctl and wrappers start it by
    themselves where none runs.
    """
    try:
        if path:
            os.environ["SEANCE_SOCKET_PATH"] = path
        path = names.socket_path(os.environ)
        os.umask(0o077)  # whatever we make is ours alone
        if os.environ.get("SEANCE_LOG"):
            os.environ["SEANCE_LOG"] = os.path.abspath(os.environ["SEANCE_LOG"])
        if stop:
            _stop(path)
        elif foreground:
            logging.basicConfig(format="%(name)s: %(message)s", level=logging.INFO)
            _serve(Place(path), None)
        else:
            _detach(path)
    except (Refused, ValueError) as error:
        names.complain(PROGRAM, error)
        sys.exit(names.EXIT_REFUSED)


def _stop(path: str) -> None:
    pid = holder(path)
    if pid is None:
        names.complain(PROGRAM, f"no broker at {path}")
        sys.exit(names.EXIT_NO_BROKER)
    import select

    descriptor = open_pidfd(pid)
    os.kill(pid, signal.SIGTERM)

    if not select.select([descriptor], [], [], STOP_SECONDS)[0]:
        names.complain(PROGRAM, f"process {pid} does not stop")
        sys.exit(names.EXIT_TIMEOUT)


def _detach(path: str) -> None:
    """Go to the background; the process that was started ends once the broker serves, or says why not."""
    place = Place(path)  # refused here, the reason goes to the person's terminal
    read, write = os.pipe()
    if os.fork():
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            answer = pipe.read()
        if answer != b"serving":
            names.complain(PROGRAM, answer.decode() or "ended before it served")
            os._exit(names.EXIT_REFUSED)
        os._exit(names.EXIT_OK)
    os.setsid()
    if os.fork():
        os._exit(names.EXIT_OK)
    os.close(read)
    place.lock_is_mine()
    os.chdir("/")
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)
    _log_to_file()
    try:
        _serve(place, write)
    except Refused as error:
        os.write(write, str(error).encode())
    except Exception as error:
        log.exception("ended by a fault")
        with contextlib.suppress(OSError):  # closed once it served
            os.write(write, f"ended by a fault: {error!r}".encode())
        raise


def _log_to_file() -> None:
    default = os.path.join(names.state_directory(os.environ), "broker.log")
    target = os.environ.get("SEANCE_LOG") or default
    try:
        os.makedirs(os.path.dirname(target) or ".", mode=0o700, exist_ok=True)
        handler = logging.handlers.RotatingFileHandler(target, maxBytes=LOG_BYTES, backupCount=1)
    except OSError:
        return  # a disk that cannot be written is told by system.health, there is nobody to tell it here
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.INFO)


def _serve(place: Place, ready: int | None) -> None:
    try:
        asyncio.run(_run(place, ready))
    finally:
        place.release()


async def _run(place: Place, ready: int | None) -> None:
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, ended.set)
    store = Store(names.database_path(os.environ))
    server = Server(place.listen())
    server.core = core = Core(store, uuid.uuid4().hex[:16], server.publish)
    loop.set_exception_handler(core.fault)
    core.start()
    intake = Intake(core, names.spool_path(place.path), names.spool_link(os.environ, place.path))
    intake.start()
    server.start()
    loop.call_soon(core.watch_config)
    loop.call_soon(intake.watch)
    companions = [companion(core) for companion in COMPANIONS]
    for companion in companions:
        loop.call_soon(companion.start)
    log.info("serving at %s, version %s", place.path, __version__)
    if ready is not None:
        os.write(ready, b"serving")
        os.close(ready)
    began = time.monotonic()
    await ended.wait()
    place.withdraw()
    server.stop()
    await intake.stop()
    for companion in companions:
        await companion.stop()
    await core.settle(LEFT_SECONDS)
    core.stop()
    log.info("stopped after %.0f s", time.monotonic() - began)
