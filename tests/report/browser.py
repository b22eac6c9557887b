"""Headless Chromium over two pipes: pages, real key presses, screenshots, and everything that it complains of.

``--remote-debugging-pipe`` speaks the DevTools protocol as JSON ended by NUL on descriptors 3 and 4: no port.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_CODES = {"Enter": ("\r", 13), "Escape": ("", 27), "Tab": ("", 9), "ArrowRight": ("", 39), "ArrowDown": ("", 40)}


def find() -> str | None:
    """The browser on PATH."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page. ``complaints`` gathers exceptions, console errors and refusals; ``requests`` what was asked for."""

    def __init__(self, program: str) -> None:
        self.profile = tempfile.mkdtemp(prefix="kubesched-chromium-")
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        flags = "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --mute-audio"
        command = (
            f'exec "$0" {flags} --user-data-dir="$1" --remote-debugging-pipe about:blank 3<&{theirs_in} 4>&{theirs_out}'
        )
        self.process = subprocess.Popen(
            ["bash", "-c", command, program, self.profile],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._buffer = b""
        self._number = 0
        self._session = ""
        self._loaded = False
        self.complaints: list[str] = []
        self.requests: list[str] = []
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._ask(f"{domain}.enable")

    def close(self) -> None:
        try:
            self._session = ""
            self._ask("Browser.close")
        except (OSError, TimeoutError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
        os.close(self._in)
        os.close(self._out)
        shutil.rmtree(self.profile, ignore_errors=True)

    def _ask(self, method: str, **params: Any) -> Any:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + 60
        while True:
            answer = self._next(until)
            if answer.get("id") == message["id"]:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]
            self._event(answer)

    def _next(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                raise TimeoutError("Chromium does not answer")
            got = os.read(self._in, 1 << 20)
            if not got:
                raise OSError("Chromium has ended")
            self._buffer += got
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message

    def _event(self, message: dict[str, Any]) -> None:
        params = message.get("params", {})
        match message.get("method"):
            case "Page.loadEventFired":
                self._loaded = True
            case "Runtime.exceptionThrown":
                self.complaints.append(json.dumps(params["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if params["type"] in ("error", "warning"):
                self.complaints.append(json.dumps(params["args"]))
            case "Log.entryAdded" if params["entry"]["level"] in ("error", "warning"):
                self.complaints.append(params["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])

    def open(self, path: Path, fragment: str = "") -> None:
        """Loads a file afresh and waits for its load event."""
        self._load("about:blank")  # from a page to a place in it there is no load
        self.complaints.clear()
        self.requests.clear()
        self._load(path.as_uri() + (f"#{fragment}" if fragment else ""))

    def _load(self, address: str) -> None:
        self._loaded = False
        self._ask("Page.navigate", url=address)
        until = time.monotonic() + 60
        while not self._loaded:
            self._event(self._next(until))

    def run(self, expression: str) -> Any:
        """The value of a JavaScript expression, run by the debugger: the page's policy does not bind it."""
        answer = self._ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, *keys: str) -> None:
        """Real key presses, one after another, by ``KeyboardEvent.key``."""
        for key in keys:
            text, code = _CODES.get(key, (key, ord(key[0].upper())))
            common = {"key": key, "windowsVirtualKeyCode": code, "code": key if len(key) > 1 else ""}
            kind = "keyDown" if text else "rawKeyDown"
            self._ask("Input.dispatchKeyEvent", type=kind, **common, **({"text": text} if text else {}))
            self._ask("Input.dispatchKeyEvent", type="keyUp", **common)

    def media(self, scheme: str, kind: str = "") -> None:
        """``light`` or ``dark``; ``kind`` may be ``print``."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._ask("Emulation.setEmulatedMedia", media=kind, features=features)

    def size(self, width: int, height: int) -> None:
        self._ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self._ask("Page.captureScreenshot")["data"]))

    def printed(self) -> bytes:
        """The page as PDF."""
        return base64.b64decode(self._ask("Page.printToPDF", printBackground=True)["data"])
