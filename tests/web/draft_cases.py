"""Drafts as the page shows them, against the demo model; reports of tune; dark and light."""

import json
import re

from page_case import OPTIONS, LAST, ANSWER, SPEED, say, PageCase


class Drafts(PageCase):
    def test_a_tree_is_seen_with_who_drafted_what(self):
        self.open(self.scripted())
        self.browser.click("#colours")
        self.chat(say("Hello, world!"))
        self.assertEqual(self.browser.text(f"{LAST} .tokens").strip(), "Hello, world!")
        self.assertGreater(self.browser.count(f"{LAST} .tokens .d0"), 3)
        self.assertGreater(self.browser.count("#tree rect"), 2)
        self.browser.click(f"{LAST} .tokens span")
        self.assertIn("step 1 of", self.browser.text("#step-name"))
        self.assertIn("3 proposed, 2 accepted", self.browser.text("#step-name"))
        titles = self.browser.js("return [...document.querySelectorAll('#tree title')].map(t => t.textContent)")
        self.assertIn('"z": EAGLE3, SUFFIX, chance 0.25, not accepted', titles)
        self.assertIn('"H": EAGLE3, chance 0.50, accepted', titles)
        self.browser.click("#step-on")
        self.assertIn("step 2 of", self.browser.text("#step-name"))
        self.assertIn("EAGLE3", self.browser.text("#legend"))
        length = re.search(r"accept length [\d.]+", self.browser.text(SPEED))[0]
        self.assertIn(length, self.browser.text("#legend"), "one number for one answer")
        self.look("tree_scripted")

    def test_the_text_is_the_same_without_drafts(self):
        self.excused = ["network"]  # 503, where the page comes before the model
        self.open(self.serve(
            OPTIONS.program, "serve", "--model", str(OPTIONS.models / "demo"), "--port", "0",
            "--speculative-algorithm", "EAGLE3+SUFFIX", "--speculative-draft-model-path",
            str(OPTIONS.models / "demo-eagle3")))
        self.browser.until_text("#model", "demo")
        self.browser.js("document.querySelector('[data-field=temperature]').value = '0'")  # the same answer each time
        self.browser.click("#colours")
        self.chat("List 3 countries and their capitals.")
        self.browser.until_text(SPEED, "accept length")
        self.assertTrue(self.browser.is_shown("#tree svg"))
        length = re.search(r"accept length [\d.]+", self.browser.text(SPEED))[0]
        self.assertIn(length, self.browser.text("#legend"))
        drafted = self.browser.text(f"{LAST} .tokens")
        self.look("tree_demo")
        self.browser.click(f"{LAST} .actions button:nth-of-type(3)")
        self.browser.until_text(f"{LAST} .actions", "the same text")
        self.look("compared")
        self.browser.click("#drafts")
        self.browser.click("#colours")
        self.chat("And one more?")
        self.assertIn("drafts off", self.browser.text(SPEED))
        self.browser.click("#show-server")
        self.browser.until_text("#drafters", "EAGLE3")
        self.browser.until_text("#flags", "speculative_algorithm")
        self.assertIn("accept length", self.browser.text("#gauges"))
        self.browser.type("#flag-filter", "chunked_prefill_size")
        self.assertEqual(self.browser.count("#flags tbody tr"), 1)
        self.look("server")
        self.assertTrue(drafted.strip())

    def test_a_report_of_tune_is_read(self):
        def result(size, pace, speedup):
            return {"batch_size": size, "steps": 10, "rows": 52, "accept_length": 2.5, "tokens_per_second": pace,
                    "speedup": speedup}
        drafted = "<b>EAGLE3</b> 3/2/8"
        report = {
            "version": 1, "model": "m", "draft": "d", "algorithm": "EAGLE3", "backend": "cpu avx2", "temperature": 0,
            "texts": 2, "tokens": 64,
            "best": [{"batch_size": 1, "setting": drafted, "flags": "--speculative-num-steps 3",
                      "tokens_per_second": 30.04, "speedup": 1.5}],
            "settings": [{"name": "plain", "flags": [], "results": [result(1, 20, 1), result(4, 60, 1)]},
                         {"name": drafted, "flags": ["--speculative-num-steps", "3"],
                          "results": [result(1, 30.04, 1.5), result(4, 48, 0.8)]}],
            "checks": [{"setting": drafted, "batch_size": 1, "accept_length": 2.4, "predicted_accept_length": 2.5,
                        "tokens_per_second": 29, "predicted_tokens_per_second": 30, "speedup": 1.45,
                        "predicted_speedup": 1.5}]}
        self.open(self.scripted())
        self.browser.click("#show-server")
        self.give("report-file", json.dumps(report))
        self.browser.until_text("#report", "--speculative-num-steps 3")
        first = "#report label + div tbody tr:first-child"
        self.assertIn(drafted, self.browser.text(first))
        self.assertIn("1.50 ×", self.browser.text(first))
        self.assertIn("1.45 ×", self.browser.text("#report h3 + .table"))
        self.look("report")
        self.browser.js("""
            const choice = document.querySelector('#report select');
            choice.value = '4';
            choice.dispatchEvent(new Event('change'));""")
        self.assertIn("plain", self.browser.text("#report label + div tbody tr:first-child"))
        plain = report["settings"][0]
        for fault, damaged in {
                "it is no JSON": "{", "it is no report of foretoken tune": "null", "it is of version 2": {**report, "version": 2},
                "a setting in it is damaged: name is no text": {**report, "settings": [{}]},
                "a setting in it is damaged.": {**report, "settings": [None]},
                "lacks its results": {**report, "settings": [{"name": "x"}]},
                "a result in it is damaged: steps is no number":
                    {**report, "settings": [{**plain, "results": [{**result(1, 20, 1), "steps": "q"}]}]},
                "a best setting in it is damaged": {**report, "best": [None]},
                "a check in it is damaged": {**report, "checks": [{"setting": None}]},
                "it is damaged: model is no text": {"version": 1, "settings": [], "best": [], "checks": []}}.items():
            self.give("report-file", damaged if isinstance(damaged, str) else json.dumps(damaged))
            self.browser.until_text("#report-note", "cannot be read")
            self.assertIn(fault, self.browser.text("#report-note"))
            self.assertEqual(self.browser.text("#report"), "")
            self.browser.js("document.getElementById('report-note').textContent = ''")

    def test_dark_is_as_readable_as_light(self):
        self.open(self.scripted())
        self.browser.click("#colours")
        self.chat(say("Some text.\n\n```\ncode\n```"))
        back = "return getComputedStyle(document.body).backgroundColor"
        light = self.browser.js(back)
        self.browser.click("#theme")
        self.assertNotEqual(self.browser.js(back), light)
        self.look("dark_tree")
        self.browser.ask("POST", "/refresh")
        self.browser.until_text(ANSWER, "Some text.")
        self.assertNotEqual(self.browser.js(back), light, "it is remembered")
        self.look("dark")
