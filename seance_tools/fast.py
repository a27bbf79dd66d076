"""The fast way of seance-ctl: argv → one request → its answer, before any parser is imported.

Hooks and raw methods come this way; everything else is for `ctl`, which loads click. Imports
no more than a bare interpreter has, plus `_socket` and `_json`, the C halves of `socket` and `json` (8 ms
less than those); a test pins the list.
"""

from __future__ import annotations

import os
from _json import encode_basestring_ascii, make_scanner

from seance_tools import names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

PROGRAM = "seance-ctl"
HOOK_OPTIONS = ("--workspace", "--surface", "--socket", "--timeout")
MAX_INPUT = names.LIMITS["request_bytes"] - 4096  # leaves room for the rest of the request


class _Strict:
    """What json's C scanner asks for: RFC 8259 and nothing more."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int

    @staticmethod
    def parse_constant(name: str) -> NoReturn:
        raise ValueError(f"{name} is not JSON")


_SCAN: Any = make_scanner(_Strict)  # type: ignore[arg-type]  # any object with those members will do


class NothingThere(Exception):
    """Nobody listens at the path, so nothing was sent."""


class UsageError(Exception):
    """The command line or the standard input is wrong; nothing was sent."""


def wants(argv: list[str]) -> bool:
    """Return True if the command of `argv` is a hook or a method by its name."""
    words = _words(argv)
    asks = "--help" in argv or "-h" in argv
    return bool(words) and ("." in words[0] or words[0].endswith("-hook")) and not asks


def _words(argv: list[str]) -> list[str]:
    words = []
    skip = False
    for word in argv:
        if skip:
            skip = False
        elif word in HOOK_OPTIONS:
            skip = True
        elif not word.startswith("-"):
            words.append(word)
    return words


def parse(argv: list[str]) -> tuple[list[str], dict[str, str], bool]:
    """Return (words, options by name, whether JSON is wanted). Raises UsageError."""
    words: list[str] = []
    options: dict[str, str] = {}
    json_wanted = False
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if word == "--json":
            json_wanted = True
        elif name in HOOK_OPTIONS:
            if not equals:
                if not rest:
                    raise UsageError(f"{name} needs a value")
                value = rest.pop(0)
            options[name[2:]] = value
        elif word.startswith("-") and word != "-":
            raise UsageError(f"no option {word} here")
        else:
            words.append(word)
    for name in ("workspace", "surface"):
        if name in options:
            options[name] = _id(options[name])
            if not options[name]:
                raise UsageError(f"--{name} needs a number")
    return words, options, json_wanted


def _id(text: str) -> str:
    """Return an id as JSON has it (no leading zeros), "" where the text is none."""
    return str(int(text)) if text.isascii() and text.isdecimal() and len(text) < 18 else ""


def _seconds(text: str) -> float:
    """Return a time-out in seconds. Raises UsageError for what is none."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= names.LONGEST_TIMEOUT:
        raise UsageError(f"--timeout needs seconds, more than 0 and at most {names.LONGEST_TIMEOUT}")
    return seconds


def read_object() -> tuple[str, dict[str, Any]]:
    """Return the JSON object on standard input as one line of text and as a value; `{}` if there is none.

    A terminal is not waited for. Raises UsageError saying where the input is wrong.
    """
    try:
        data = b"" if os.isatty(0) else _read_all()
    except OSError:
        data = b""
    if len(data) > MAX_INPUT:
        raise UsageError(f"standard input is {len(data)} bytes, at most {MAX_INPUT} are allowed")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"standard input is not UTF-8 at byte {error.start}") from None
    text = text.strip(" \t\r\n")
    if not text:
        return "{}", {}
    try:
        value, end = _SCAN(text, 0)
    except StopIteration:
        raise UsageError(_why(text)) from None
    except (ValueError, RecursionError, SystemError):  # the last where json.decoder is not imported
        raise UsageError(_why(text)) from None
    if end != len(text):
        raise UsageError(_why(text))
    if type(value) is not dict:
        raise UsageError("standard input: a JSON object is needed")
    return text.replace("\n", " ").replace("\r", " "), value  # a raw newline is never inside a string


def _why(text: str) -> str:
    """Return what is wrong with a text that is not JSON, and where."""
    import json

    try:
        json.loads(text, parse_constant=_Strict.parse_constant)
    except json.JSONDecodeError as error:
        return f"standard input is not JSON: {error.msg} at line {error.lineno} column {error.colno}"
    except (ValueError, RecursionError) as error:
        return f"standard input is not JSON: {error}"
    return "standard input is not JSON"


def _read_all() -> bytes:
    chunks = []
    size = 0
    while size <= MAX_INPUT:
        chunk = os.read(0, 1 << 16)
        if not chunk:
            break
        chunks.append(chunk)
        size += len(chunk)
    return b"".join(chunks)


def caller_members(options: dict[str, str], environ: Any) -> list[str]:
    """Return the members of a request that tell the pane it comes from, as JSON texts."""
    members = []
    for name in ("surface", "workspace"):
        value = options.get(name) or _id(environ.get(f"SEANCE_{name.upper()}_ID", ""))
        if value:
            members.append(f'"{name}_id":{value}')
    known = names.place_of(environ)
    if known:
        texts = (f'"{name}":{encode_basestring_ascii(value)}' for name, value in known.items())
        members.append('"env":{' + ",".join(texts) + "}")
    if not (known.keys() - {"SEANCE_HOST"}) and not any(
        member.startswith('"surface_id"') for member in members
    ):
        terminal = _terminal()
        if terminal:
            members.append(f'"tty":{encode_basestring_ascii(terminal)},"tty_session":{os.getsid(0)}')
    return members


def _terminal() -> str:
    for descriptor in (2, 1, 0):
        try:
            return os.ttyname(descriptor)
        except OSError:
            continue
    return ""


def request(words: list[str], options: dict[str, str], environ: Any) -> str:
    """Return the request line for a hook or a raw method; reads standard input. Raises UsageError."""
    if words[0].endswith("-hook"):
        agent = words[0][: -len("-hook")]
        if len(words) != 2 or not agent:
            raise UsageError("usage: seance-ctl AGENT-hook EVENT [--workspace N] [--surface N] <<EOF … EOF")
        members = [
            f'"agent":{encode_basestring_ascii(agent)}',
            f'"event":{encode_basestring_ascii(words[1])}',
            *caller_members(options, environ),
        ]
        pid = _id(environ.get(f"SEANCE_{agent.upper().replace('-', '_')}_PID", ""))
        if pid:
            members.append(f'"pid":{pid}')
        text, value = read_object()
        if value:
            members.append(f'"payload":{text}')
        return '{"id":1,"method":"agent.hook","params":{' + ",".join(members) + "}}\n"
    if len(words) != 1:
        raise UsageError(f"{words[0]}: parameters go to standard input as JSON")
    text, value = read_object()
    members = [f'"{name}_id":{options[name]}' for name in ("workspace", "surface") if name in options]
    members = [member for member in members if member.split('"')[1] not in value]
    params = "{" + ",".join(members + [text[1:-1]] * bool(value)) + "}"
    caller = "{" + ",".join(caller_members({}, environ)) + "}"
    method = encode_basestring_ascii(words[0])
    return '{"id":1,"method":' + method + ',"params":' + params + ',"caller":' + caller + "}\n"


def exchange(path: str, line: str, timeout: float) -> bytes:
    """Send one request and return the line of its answer.

    Raises NothingThere when no broker listens, ConnectionError when it ends before it has answered (the
    request is not sent again: it may have been done), TimeoutError when it does not answer in time.
    """
    import _socket

    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
    try:
        sock.settimeout(timeout)
        try:
            sock.connect(path)
        except (BlockingIOError, TimeoutError):
            raise TimeoutError from None  # the queue of a broker that accepts nobody is full
        except OSError as error:
            raise NothingThere(error.strerror) from None
        sock.sendall(line.encode())
        answer = bytearray()
        while not answer.endswith(b"\n"):
            data = sock.recv(1 << 18)
            if not data:
                raise ConnectionError("the broker ended before it answered; it may have done it all the same")
            answer += data
        return bytes(answer)
    finally:
        sock.close()


def run(argv: list[str]) -> int:
    """Do one hook or raw method and return the exit code."""
    try:
        words, options, json_wanted = parse(argv)
        path = names.socket_path(os.environ, options.get("socket", ""))
        timeout = _seconds(options["timeout"]) if "timeout" in options else names.DEFAULT_TIMEOUT
        line = request(words, options, os.environ)
    except (UsageError, ValueError) as error:
        names.complain(PROGRAM, error)
        return names.EXIT_USAGE
    try:
        try:
            answer = exchange(path, line, timeout)
        except NothingThere:
            from seance_tools import client

            client.start_broker(path)
            answer = exchange(path, line, timeout)
    except TimeoutError:
        names.complain(PROGRAM, f"the broker does not answer within {timeout:g} s: {path}")
        return names.EXIT_TIMEOUT
    except Exception as error:  # noqa: BLE001 - NoBroker, without importing `client` on the fast way
        names.complain(PROGRAM, error)
        return names.EXIT_NO_BROKER
    return show(answer, words[0], json_wanted=json_wanted)


def show(answer: bytes, word: str, *, json_wanted: bool) -> int:
    """Print an answer: the reply that the agent expects for a hook, else the result; return the exit code."""
    text = answer.decode().rstrip("\n")
    value, _ = _SCAN(text, 0)
    if not value.get("ok"):
        error = value["error"]
        names.complain(PROGRAM, f"{word}: {error['message']}")
        return names.EXIT_REFUSED
    if json_wanted or not word.endswith("-hook"):
        start = text.index('"result":') + len('"result":')
        output = text[start:-1]
    else:
        output = value["result"].get("reply", "")
    try:
        if output:
            os.write(1, (output + "\n").encode())
    except BrokenPipeError:
        return names.EXIT_OK
    except OSError as error:
        names.complain(PROGRAM, f"cannot write: {error.strerror}")
        return names.EXIT_REFUSED
    return names.EXIT_OK
