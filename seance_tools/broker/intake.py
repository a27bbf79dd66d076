"""What ties the spool to the core: a file makes the call that a socket would, and goes once that is saved.

Every batch of files is one commit, and the commit holds the files' identities too: those that a killed broker
had taken, but not removed yet, are known after its restart and not taken twice. Where nothing can be saved,
reports are taken all the same, and their files kept until that works again.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from contextlib import suppress
from itertools import islice

from seance_tools import config, spoolfile
from seance_tools.broker.core import Core
from seance_tools.broker.reports import Reports
from seance_tools.methods import find
from seance_tools.names import LIMITS
from seance_tools.spool import BeingWritten, Content, Entry, OddFile, Spool, Unusable, Watch
from seance_tools.wire import WireError

log = logging.getLogger("seance-broker")
BATCH, BATCH_BYTES = 256, 8 << 20  # to a commit: some 20 ms
START_BATCHES = 2  # before the socket is served, which has to be within half a second
SLOW_SECONDS = 2.0  # between two looks where nothing tells of new files
# The kernel tells that a file was closed a moment before it is: looked at so often, so many seconds apart.
CLOSE_TRIES, CLOSE_SECONDS = 20, 0.01
STOP_TRIES, STOP_SECONDS = 25, 0.02  # for what is still being written when the broker stops
MARK = "spool"  # the counter row that holds the identities of the last batch, and of what is kept
COUNTERS = (
    "taken",
    "waiting",
    "kept",
    "dropped",
    "set_aside",
    "unreadable",
    "oversized",
    "malformed",
    "refused",
    "ended",
)
_FILE_BYTES = LIMITS["spool_body_bytes"] + spoolfile.HEADER_BYTES


class Intake:
    """Takes what comes into the spool at `path`. `link`: where a link to it has to be, "" for none.

    Counters and problems are in `core.spool`, for system.health.
    """

    def __init__(self, core: Core, path: str, link: str = "") -> None:
        self.core = core
        self.core.spool = {"path": path, "problem": None, "last_refusal": None, **dict.fromkeys(COUNTERS, 0)}
        self._counters = self.core.spool
        self._link = link
        self._spool: Spool | None = None
        self._watch: Watch | None = None
        self._pending: dict[str, int] = {}  # the oldest first: tries, 0 where no event says that it is closed
        self._kept: dict[Entry, None] = {}  # taken, but not saved yet
        self._unfinished = False  # whether some were being written at the last look
        self._spared: set[str] = set()  # of those, which are known to be no tool events
        self._reports = Reports(self._counters)
        self._next: asyncio.Handle | None = None
        self._look: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Make the spool, or take up the one of a broker that was killed, with all that waits in it."""
        if not self._open():
            return
        self._add(self._not_old(self._not_taken(self._entries())))
        if self._pending:
            self.core.configure(config.read(os.environ))  # it may switch an agent off
        for _ in range(START_BATCHES):
            self._take_batch()

    def watch(self) -> None:
        """Take files as they come, from now on. Needs the running loop."""
        if not self._spool:
            return
        try:
            self._watch = Watch(self._spool.path)
        except Unusable as error:
            self._problem(f"{error}; looking into the spool every {SLOW_SECONDS:.0f} s instead")
        else:
            asyncio.get_running_loop().add_reader(self._watch.fileno(), self._told)
        self._look_again()

    async def stop(self) -> None:
        """Take what is there and remove the spool, so that hooks do nothing without a broker."""
        if not self._spool:
            self._cancel()
            return
        self._unwatch()
        if self._link:
            with suppress(OSError):
                if os.readlink(self._link) == self._spool.path:
                    os.unlink(self._link)
        withdrawn = self._spool.withdraw()
        if self._kept and self.core.store.recover(self.core.tables):
            self._release()
        for _ in range(STOP_TRIES):
            self._scan()
            while self._pending:
                self._take_batch()
            if self._spool.finish():
                break
            if withdrawn and not self._unfinished:
                log.warning("spool: something stays in %s until the next start", self._spool.path)
                break
            await asyncio.sleep(STOP_SECONDS)
        else:
            log.warning("spool: %s stays, something is still being written there", self._spool.path)
        self._cancel()
        self._spool.close()
        self._spool = None

    def _cancel(self) -> None:
        for handle in (self._next, self._look):
            if handle:
                handle.cancel()

    def _open(self) -> bool:
        try:
            self._spool = Spool(self._counters["path"])
        except Unusable as error:
            self._problem(str(error))
            return False
        self._counters["problem"] = None
        try:
            self._spool.take_up()
        except OSError as error:
            self._problem(f"{self._spool.left} cannot be taken up: {error.strerror}")
        if self._link:
            self._make_link(self._spool.path)
        return True

    def _make_link(self, path: str) -> None:
        try:
            os.makedirs(os.path.dirname(self._link), mode=0o700, exist_ok=True)
            if os.path.islink(self._link):
                os.unlink(self._link)
            os.symlink(path, self._link)
        except OSError as error:
            self._problem(f"hooks look for the spool at {self._link}: no link can be made ({error.strerror})")

    def _problem(self, text: str) -> None:
        if self._counters["problem"] != text:
            log.warning("%s", text)
        self._counters["problem"] = text

    def _not_taken(self, entries: list[Entry]) -> list[Entry]:
        """Remove what the last run had taken and saved before it was killed; returns the rest."""
        row = self.core.tables.get("counter", MARK)
        taken = {tuple(identity) for identity in row["value"]} if row else set()
        self._remove([entry.name for entry in entries if tuple(entry) in taken])
        return [entry for entry in entries if tuple(entry) not in taken]

    def _not_old(self, entries: list[Entry]) -> list[Entry]:
        """Put aside what is too old to be of any use; returns the rest."""
        oldest = (time.time() - LIMITS["spool_age_seconds"]) * 1e9
        for entry in entries:
            if entry.modified < oldest:
                self._put_aside(entry.name, "older than a day", "set_aside")
        return [entry for entry in entries if entry.modified >= oldest]

    def _put_aside(self, name: str, reason: str, counter: str) -> None:
        assert self._spool
        self._counters[counter] += 1
        log.warning("spool: %a is now %a: %s", name, self._spool.put_aside(name), reason)

    def _remove(self, names: list[str]) -> None:
        assert self._spool
        for name in self._spool.remove(names):
            self._counters["unreadable"] += 1
            log.warning("spool: %a cannot be removed, and is passed over", name)

    def _told(self) -> None:
        """Take what inotify tells of."""
        assert self._watch
        names, lost, gone = self._watch.take()
        self._pending.update(dict.fromkeys(names, CLOSE_TRIES))
        if gone:
            self._begin_anew()
        elif lost:
            self._pending.clear()  # times tell the order; which of them are lost, nothing
            self._look_again()
        else:
            self._work()

    def _begin_anew(self) -> None:
        """Make the spool again: somebody has removed or moved it."""
        self._unwatch()
        if self._look:
            self._look.cancel()
        if self._spool:
            self._spool.close()
            self._spool = None
        self._pending.clear()
        self._kept.clear()
        if self._open():
            self.watch()
        else:
            self._look = asyncio.get_running_loop().call_later(SLOW_SECONDS, self._begin_anew)

    def _unwatch(self) -> None:
        if self._watch:
            asyncio.get_running_loop().remove_reader(self._watch.fileno())
            self._watch.close()
            self._watch = None

    def _look_again(self) -> None:
        """Look at what is there, and again later where nothing tells of it or something is being written."""
        if self._look:
            self._look.cancel()
            self._look = None
        if not self._spool:
            return
        if self._kept:
            self._release()
        self._scan()
        if not self._watch:
            self._look_later()
        self._work()

    def _look_later(self) -> None:
        if not self._look:
            self._look = asyncio.get_running_loop().call_later(SLOW_SECONDS, self._look_again)

    def _scan(self) -> None:
        self._unfinished = False
        self._add([entry for entry in self._entries() if entry not in self._kept])

    def _entries(self) -> list[Entry]:
        assert self._spool
        try:
            return self._spool.entries()
        except OSError as error:
            self._problem(f"the spool {self._spool.path} cannot be read: {error.strerror}")
            return []

    def _add(self, entries: list[Entry]) -> None:
        for entry in entries:
            self._pending.setdefault(entry.name, 0)
        self._bound()

    def _work(self) -> None:
        """Take a batch, and come back for the next one after the socket's requests."""
        if self._next:
            self._next.cancel()
            self._next = None
        self._bound()
        waiting = len(self._pending)
        self._take_batch()
        if self._pending:
            delay = 0.0 if len(self._pending) < waiting else CLOSE_SECONDS
            self._next = asyncio.get_running_loop().call_later(delay, self._work)

    def _bound(self) -> None:
        """Drop what is too much: the oldest tool events, then the oldest of the rest."""
        over = len(self._pending) - LIMITS["spool_files"]
        if over <= 0:
            return
        assert self._spool
        dropped: list[str] = []
        for name in self._pending:
            if len(dropped) == over:
                break
            if name in self._spared:
                continue
            with suppress(BeingWritten, OddFile, OSError):  # told when it is taken
                content = self._spool.read(name, 0)
                if content and spoolfile.is_tool_event(content.data):
                    dropped.append(name)
                    continue
            self._spared.add(name)
        dropped += islice((n for n in self._pending if n in self._spared), over - len(dropped))
        for name in dropped:
            del self._pending[name]
        self._spared &= self._pending.keys()
        self._remove(dropped)
        self._counters["dropped"] += len(dropped)
        log.warning("spool: dropped %d reports, more than %d waited", len(dropped), LIMITS["spool_files"])

    def _take_batch(self) -> None:
        """Do what the oldest files ask for, save that, and remove them."""
        taken: list[Entry] = []
        size = 0
        self._reports.forget()
        for name in list(islice(self._pending, BATCH)):
            if size >= BATCH_BYTES or not self._pending:
                break
            content = self._read(name)
            if content and self._take(content):
                taken.append(content.entry)
                size += len(content.data)
        self._spared &= self._pending.keys()
        self._counters["waiting"] = len(self._pending)
        if taken:
            self._save(taken)

    def _save(self, taken: list[Entry]) -> None:
        """Commit what files have changed, with what identifies them; then they can go."""
        self._kept.update(dict.fromkeys(taken))
        self.core.tables.set("counter", {"name": MARK, "value": [list(entry) for entry in self._kept]})
        try:
            self.core.commit()
        except Exception:
            self.core.counters["faults"] += 1
            log.exception("fault while saving what the spool held")
            for entry in taken:
                del self._kept[entry]
                self._put_aside(entry.name, "a fault of the broker", "unreadable")
            return
        self._counters["taken"] += len(taken)
        self._release()

    def _release(self) -> None:
        """Remove files whose effects are saved. While nothing can be saved they stay, for after a restart."""
        gone = list(self._kept)
        if self.core.store.degraded:
            gone = gone[: -LIMITS["spool_files"]]
            if gone:
                log.warning("spool: %d reports go before they are saved, too many are kept", len(gone))
            self._look_later()
        self._remove([entry.name for entry in gone])
        for entry in gone:
            del self._kept[entry]
        self._counters["kept"] = len(self._kept)

    def _read(self, name: str) -> Content | None:
        """Return what a file of those that wait holds, None where it cannot be taken, or only later."""
        assert self._spool
        tries = self._pending[name]
        try:
            content = self._spool.read(name, _FILE_BYTES, closed=tries > 0)
        except BeingWritten:
            if tries > 1:
                self._pending[name] = tries - 1
                return None
            self._unfinished = True  # the event of its close brings it back, or a look
            self._look_later()
            content = None
        except OddFile as error:
            self._put_aside(name, str(error), "unreadable")
            content = None
        except OSError as error:
            self._later(str(error.strerror))
            return None
        del self._pending[name]
        if content and not content.data:
            self._remove([name])
            self._counters["unreadable"] += 1
            log.warning("spool: %a is gone: it was empty", name)
            return None
        return content

    def _later(self, reason: str) -> None:
        """Leave all that waits for a later look: nothing can be taken at the moment."""
        log.warning("spool: no report can be taken at the moment: %s", reason)
        self._pending.clear()
        self._look_later()

    def _take(self, content: Content) -> bool:
        """Do what one file asks for; whatever is wrong with it is told and counted, and ends here.

        Returns whether the file is done with, so that it can go once that is saved.
        """
        name = content.entry.name
        try:
            report = self._reports.read(content)
            if report:
                self.core.call(report.request, find(report.request.method))
        except WireError as error:
            if error.code == "busy":
                self._later(error.message)
                return False
            self._counters["refused"] += 1
            self._counters["last_refusal"] = error.message
            log.warning("spool: %a is refused: %s", name, error.message)
        except OddFile as error:
            self._put_aside(name, str(error), "unreadable")
            return False
        except Exception:
            self.core.counters["faults"] += 1
            log.exception("fault while taking %a", name)
            self._put_aside(name, "a fault of the broker", "unreadable")
            return False
        return True
