"""What cases of the page are made of: a browser, servers of their own, what a user does. Reads the command line."""

import argparse
import json
import pathlib
import re
import signal
import subprocess
import threading
import unittest

import browser as web

PARSER = argparse.ArgumentParser()
PARSER.add_argument("program")
PARSER.add_argument("scripted")
PARSER.add_argument("models", type=pathlib.Path)
PARSER.add_argument("--screenshots", type=pathlib.Path)
OPTIONS, REST = PARSER.parse_known_args()

LAST = "#messages article:last-of-type"
ANSWER = f"{LAST} .body"
SPEED = f"{LAST} .speed"
CALL = ('<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>')
TOOLS = json.dumps([{"type": "function", "function": {
    "name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}])


def say(text):
    return f"<say>{text}</say>"


class Served:
    """A server of its own, until it is left."""

    def __init__(self, *command):
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                self.port = int(found[1])
                break
        else:
            raise RuntimeError(f"{command[0]} did not start")
        self.url = f"http://127.0.0.1:{self.port}"
        self.reader = threading.Thread(target=self.process.stderr.read)  # or a full pipe would stop it
        self.reader.start()

    def end(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        self.process.wait()
        self.reader.join()
        self.process.stderr.close()


class PageCase(unittest.TestCase):
    """One browser for all cases; each has a server and a page of its own, which keep nothing of another."""

    @classmethod
    def setUpClass(cls):
        cls.browser = web.Browser()
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        self.browser.size(1200, 850)
        self.excused = []  # sources of faults that a case brings about

    def tearDown(self):
        faults = [one for one in self.browser.console() if one[0] == "SEVERE" and one[1] not in self.excused]
        self.assertEqual(faults, [])
        self.browser.open("about:blank")

    def serve(self, *command):
        served = Served(*command)
        self.addCleanup(served.end)
        return served

    def scripted(self, *words):
        return self.serve(OPTIONS.scripted, *words)

    def open(self, served):
        self.browser.open(served.url + "/")
        self.ready()

    def ready(self):
        self.browser.until(lambda: self.browser.js("return document.documentElement.dataset.ready"), "the page")

    def chat(self, text):
        self.paste(text)
        self.browser.click("#prompt")
        self.browser.press("Enter")
        self.done()

    def paste(self, text):
        self.browser.js("document.getElementById('prompt').value = arguments[0]", text)

    def press_button(self, text, within=LAST):
        self.browser.js("""
            [...document.querySelectorAll(arguments[0] + ' button')].find((one) => one.textContent === arguments[1]).click();
            """, within, text)

    def set(self, selector, text):
        """Types it in one go, and goes elsewhere."""
        self.browser.js("""
            const box = document.querySelector(arguments[0]);
            box.value = arguments[1];
            for (const kind of ['input', 'change']) box.dispatchEvent(new Event(kind, {bubbles: true}));""", selector, text)

    def reload(self):
        self.browser.ask("POST", "/refresh")
        self.ready()

    def begin_endless(self):
        self.paste("<endless>")
        self.browser.click("#prompt")
        self.browser.press("Enter")
        self.browser.until_text(ANSWER, "on and on")

    def until_kept(self, part):
        """Until the browser keeps a conversation that holds this text."""
        self.browser.until(lambda: part in self.kept(), f"{part!r} in what is kept")

    def kept(self):
        return self.browser.js("""
            return new Promise((resolve) => {
              const opened = indexedDB.open('foretoken');
              opened.onsuccess = () => {
                const all = opened.result.transaction('conversations').objectStore('conversations').getAll();
                all.onsuccess = () => {
                  opened.result.close();
                  resolve(JSON.stringify(all.result));
                };
              };
            });""")

    def watch_requests(self):
        """From now on, sent() tells the bodies of the requests for answers."""
        self.browser.js("""
            const before = window.fetch;
            window.sentBodies = [];
            window.fetch = (path, options) => {
              if (options?.body) window.sentBodies.push(options.body);
              return before(path, options);
            };""")

    def sent(self):
        return [json.loads(body) for body in self.browser.js("return window.sentBodies")]

    def done(self):
        self.browser.until(lambda: self.browser.is_shown("#send"), "the end of the answer")

    def give(self, id_of_input, text):
        """Chooses a file with this text."""
        self.browser.js("""
            const files = new DataTransfer(), input = document.getElementById(arguments[0]);
            files.items.add(new File([arguments[1]], 'x.json'));
            input.files = files.files;
            input.dispatchEvent(new Event('change'));""", id_of_input, text)

    def look(self, name):
        if OPTIONS.screenshots:
            OPTIONS.screenshots.mkdir(parents=True, exist_ok=True)
            self.browser.screenshot(OPTIONS.screenshots / f"{name}.png")
