"""What the Python adapters share: lines of JSON in and out, base64 (see test/compat/README.md)."""

import asyncio
import base64
import json
import sys
import time


def bytes_of(text):
    return None if text is None else base64.b64decode(text)


def base64_of(data):
    return None if data is None else base64.b64encode(bytes(data)).decode()


def failure(name, code, message):
    return {"name": name, "code": code, "message": str(message)}


def serve(declaration, adapter, failure_of):
    """Calls the method of the adapter that is named as the command, one after the other, until standard input ends.

    `failure_of` makes an error of the client into the answer; None for a mistake of the adapter, which ends it.
    """
    say(declaration)
    for line in sys.stdin:
        command = json.loads(line)
        method = getattr(adapter, command.pop("op"))
        try:
            say({"ok": method(**command)})
        except Exception as error:
            told = failure_of(error)
            if told is None:
                raise
            say({"error": told})


async def serve_async(declaration, adapter, failure_of):
    """The same for a client on asyncio, whose event loop goes on while no command is there."""
    say(declaration)
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        command = json.loads(line)
        method = getattr(adapter, command.pop("op"))
        try:
            say({"ok": await method(**command)})
        except Exception as error:
            told = failure_of(error)
            if told is None:
                raise
            say({"error": told})


def say(value):
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


class Deadline:
    def __init__(self, ms):
        self.at = time.monotonic() + ms / 1000

    @property
    def seconds(self):
        return max(0.0, self.at - time.monotonic())

    @property
    def is_over(self):
        return self.seconds == 0.0
