"""A headless Chromium, driven over WebDriver with nothing but the standard library."""

import base64
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import urllib.request

PATIENCE = 120  # seconds until something that must come counts as lost; nothing is measured by it
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"Enter": "\ue007", "Tab": "\ue004", "Escape": "\ue00c", "Shift": "\ue008", "Space": " ", "End": "\ue010"}


def missing():
    """What a browser test needs and this machine lacks; empty: nothing."""
    names = {"FORETOKEN_CHROMIUM": "chromium", "FORETOKEN_CHROMEDRIVER": "chromedriver"}
    return [name for variable, name in names.items() if not shutil.which(os.environ.get(variable, name))]


class Browser:
    def __init__(self, width=1200, height=850, dark=False):
        driver = os.environ.get("FORETOKEN_CHROMEDRIVER", "chromedriver")
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.driver = subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                       text=True)
        port = None
        for line in self.driver.stdout:
            if found := re.search(r"started successfully on port (\d+)", line):
                port = found[1]
                break
        if port is None:
            raise RuntimeError("chromedriver did not start")
        self.url = f"http://127.0.0.1:{port}"
        options = {
            "binary": shutil.which(os.environ.get("FORETOKEN_CHROMIUM", "chromium")),
            "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--force-color-profile=srgb", f"--user-data-dir={self.profile.name}",
                     f"--window-size={width},{height}", *(["--force-dark-mode"] if dark else [])],
        }
        wanted = {"capabilities": {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options,
                                                   "goog:loggingPrefs": {"browser": "ALL"}}}}
        self.session = ""
        self.session = "/session/" + self.ask("POST", "/session", wanted)["sessionId"]

    def close(self):
        try:
            if self.session:
                self.ask("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()
            self.driver.stdout.close()
            self.profile.cleanup()

    def ask(self, method, path, body=None):
        data = None if body is None and method != "POST" else json.dumps(body or {}).encode()
        request = urllib.request.Request(self.url + self.session + path, data, {"Content-Type": "application/json"},
                                         method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
                return json.load(reply)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from None

    # ---- pages

    def open(self, address):
        self.ask("POST", "/url", {"url": address})

    def size(self, width, height):
        self.ask("POST", "/goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride", "params": {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}})

    def js(self, script, *arguments):
        return self.ask("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def text(self, selector):
        return self.js("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def count(self, selector):
        return self.js("return document.querySelectorAll(arguments[0]).length", selector)

    def is_shown(self, selector):
        return self.js("const e = document.querySelector(arguments[0]); return !!e && e.checkVisibility()", selector)

    def until(self, is_true, what):
        end = time.monotonic() + PATIENCE
        while not (value := is_true()):
            if time.monotonic() > end:
                raise AssertionError(f"never came: {what}")
            time.sleep(0.02)
        return value

    def until_text(self, selector, part):
        return self.until(lambda: part in self.text(selector), f"{part!r} in {selector}")

    # ---- hands

    def find(self, selector):
        found = self.ask("POST", "/element", {"using": "css selector", "value": selector})
        return "/element/" + found[ELEMENT]

    def click(self, selector):
        self.ask("POST", self.find(selector) + "/click")

    def type(self, selector, text):
        self.ask("POST", self.find(selector) + "/value", {"text": text})

    def press(self, *names):
        """Keys one after the other; "Shift+Tab" holds the first."""
        actions = []
        for name in names:
            *held, key = [KEYS.get(part, part) for part in name.split("+")]
            actions += [{"type": "keyDown", "value": one} for one in [*held, key]]
            actions += [{"type": "keyUp", "value": one} for one in [key, *held]]
        self.ask("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    # ---- eyes

    def screenshot(self, path):
        pathlib.Path(path).write_bytes(base64.b64decode(self.ask("GET", "/screenshot")))

    def console(self):
        """Messages since the last call, as (level, source, text)."""
        return [(one["level"], one["source"], one["message"])
                for one in self.ask("POST", "/se/log", {"type": "browser"})]
