from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from seance_tools.listen import Place, Refused, holder

SERVE = """
import sys, time
from seance_tools.listen import Place, Refused
sys.stdin.readline()
try:
    place = Place(sys.argv[1])
    sock = place.listen()
except Refused as error:
    print(error, flush=True)
else:
    print("serving", flush=True)
    sys.stdin.readline()
    place.release()
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "run" / "seance.sock")


def test_modes_do_not_depend_on_the_umask(path: str) -> None:
    for mask in (0o000, 0o077, 0o777):
        old = os.umask(mask)
        try:
            place = Place(path)
            sock = place.listen()
        finally:
            os.umask(old)
        directory = os.path.dirname(path)
        assert os.stat(directory).st_mode & 0o777 == 0o700
        assert os.stat(path).st_mode & 0o777 == 0o600
        assert os.stat(f"{path}.lock").st_mode & 0o077 == 0
        sock.close()
        place.release()
        assert not os.path.exists(path)
        os.unlink(f"{path}.lock")
        os.rmdir(directory)


def test_one_owner_of_many_starters(path: str) -> None:
    for round_number in range(5):
        stale = socket.socket(socket.AF_UNIX)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        stale.bind(path) if not os.path.exists(path) else None
        stale.close()
        starters = [
            subprocess.Popen(
                [sys.executable, "-c", SERVE, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            for _ in range(8)
        ]
        for starter in starters:
            assert starter.stdin
            starter.stdin.write("go\n")
            starter.stdin.flush()
        said = [starter.stdout.readline().strip() for starter in starters if starter.stdout]
        for starter in starters:
            starter.communicate("end\n")
        assert said.count("serving") == 1, (round_number, said)
        assert said.count(f"already running at {path}") == 7, said


def make_file(path: Path) -> None:
    path.write_text("precious")


def make_directory(path: Path) -> None:
    path.mkdir()


def make_link(path: Path) -> None:
    path.symlink_to("/nowhere")


def make_fifo(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize("make", [make_file, make_directory, make_link, make_fifo])
def test_what_is_no_socket_is_left_alone(path: str, make: object) -> None:
    assert callable(make)
    os.makedirs(os.path.dirname(path), mode=0o700)
    make(Path(path))
    with pytest.raises(Refused, match="not a socket"):
        Place(path)
    assert os.path.lexists(path)
    assert holder(path) is None


def test_a_directory_open_to_others_is_refused(path: str) -> None:
    os.makedirs(os.path.dirname(path))
    os.chmod(os.path.dirname(path), 0o777)
    with pytest.raises(Refused, match="written by others"):
        Place(path)


def test_a_lock_that_is_a_link_is_refused(path: str, tmp_path: Path) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700)
    os.symlink(tmp_path / "elsewhere", f"{path}.lock")
    with pytest.raises(Refused):
        Place(path)
    assert not (tmp_path / "elsewhere").exists()


def test_release_leaves_another_ones_socket(path: str) -> None:
    place = Place(path)
    sock = place.listen()
    os.unlink(path)
    other = socket.socket(socket.AF_UNIX)
    other.bind(path)
    place.release()
    assert os.path.exists(path)
    sock.close()
    other.close()


def test_holder_is_the_process_with_the_lock(path: str) -> None:
    assert holder(path) is None
    place = Place(path)
    assert holder(path) == os.getpid()
    place.release()
    assert holder(path) is None


def test_the_longest_path_works(tmp_path: Path) -> None:
    directory = tmp_path / "d"
    directory.mkdir(mode=0o700)
    room = 107 - len(os.fsencode(directory)) - 1
    if room < 10:
        pytest.fail("the temporary directory's own path is too long for this test")
    path = str(directory / ("s" * room))
    place = Place(path)
    sock = place.listen()
    client = socket.socket(socket.AF_UNIX)
    client.connect(path)
    client.close()
    sock.close()
    place.release()
