"""Two tabs of one browser; keys, lost servers, refusals."""

import json
import signal

from page_case import LAST, ANSWER, SPEED, say, PageCase


class Tabs(PageCase):
    """Two tabs of one browser on the same page."""

    def setUp(self):
        super().setUp()
        self.first = self.browser.ask("GET", "/window")
        self.second = self.browser.ask("POST", "/window/new", {"type": "tab"})["handle"]
        self.served = self.scripted()
        self.open(self.served)
        self.chat(say("from the first"))
        self.go(self.second)
        self.open(self.served)
        self.browser.until_text("#messages", "from the first")

    def tearDown(self):
        self.go(self.second)
        self.browser.ask("DELETE", "/window")
        self.go(self.first)
        super().tearDown()

    def go(self, tab):
        self.browser.ask("POST", "/window", {"handle": tab})

    def mute(self):
        """From now on this tab tells the other nothing."""
        self.browser.js("BroadcastChannel.prototype.postMessage = () => {}")

    def test_what_one_saves_the_other_shows(self):
        self.chat(say("from the second"))
        self.go(self.first)
        self.browser.until_text("#messages", "from the second")
        self.chat(say("and once more"))
        self.go(self.second)
        self.browser.until_text("#messages", "and once more")
        self.assertEqual(self.browser.count("#messages article"), 6)

    def test_one_that_heard_nothing_takes_over_before_it_sends(self):
        self.mute()
        self.chat(say("from the second"))
        self.until_kept("from the second")
        self.go(self.first)
        self.assertNotIn("from the second", self.browser.text("#messages"))
        self.chat(say("from the first again"))
        self.assertEqual(self.browser.count("#messages article"), 6)
        self.assertIn("from the second", self.browser.text("#messages"))

    def test_asking_again_cuts_nothing_that_was_not_seen(self):
        self.mute()
        self.chat(say("from the second"))
        self.until_kept("from the second")
        self.go(self.first)
        self.press_button("Again")
        self.browser.until_text("#note", "changed in another tab")
        self.done()
        self.assertEqual(self.browser.count("#messages article"), 4)
        self.assertIn("from the second", self.kept())

    def test_what_both_change_at_once_is_kept_twice(self):
        self.begin_endless()
        self.until_kept("on and on")
        self.go(self.first)
        self.browser.until_text(SPEED, "comes in another tab")
        self.chat(say("meanwhile"))
        self.go(self.second)
        self.browser.until_text("#note", "Both are kept")
        self.browser.click("#stop")
        self.done()
        self.assertEqual(self.browser.count("#conversations li"), 2)
        self.assertIn("(copy)", self.browser.text("#conversations"))
        self.assertNotIn("meanwhile", self.browser.text("#messages"))
        self.browser.until(lambda: len(json.loads(self.kept())) == 2, "two conversations")
        self.assertIn("meanwhile", self.kept())

    def test_what_one_deletes_the_other_does_not_bring_back(self):
        self.begin_endless()
        self.until_kept("on and on")
        self.go(self.first)
        self.browser.js("window.row = document.querySelector('#conversations li')")
        self.browser.until_text(SPEED, "comes in another tab")
        self.assertTrue(self.browser.js("return window.row === document.querySelector('#conversations li')"))
        for _ in range(2):
            self.browser.click("#conversations li:nth-of-type(1) button:nth-of-type(2)")
        self.go(self.second)
        self.browser.until_text("#note", "deleted in another tab")
        self.done()
        self.assertNotIn("on and on", self.kept())


class Faults(PageCase):
    def test_a_key_is_asked_for_and_kept_for_the_session_only(self):
        self.excused = ["network"]  # the answers 401
        self.open(self.scripted("--api-key", "secret"))
        self.browser.until(lambda: self.browser.is_shown("#key-dialog"), "the question")
        self.browser.type("#key", "wrong")
        self.browser.press("Enter")
        self.browser.until_text("#key-note", "does not take this key")
        self.look("key")
        self.browser.type("#key", "secret")
        self.browser.press("Enter")
        self.browser.until_text("#model", "scripted")
        self.chat(say("With a key."))
        self.assertIn("With a key.", self.browser.text(ANSWER))
        kept = self.browser.js("return JSON.stringify(localStorage) + document.cookie")
        self.assertNotIn("secret", kept)
        self.assertIn("secret", self.browser.js("return JSON.stringify(sessionStorage)"))
        self.browser.ask("POST", "/refresh")
        self.browser.until_text("#model", "scripted")

    def test_a_key_that_cannot_be_sent_is_refused(self):
        self.excused = ["network"]
        self.open(self.scripted("--api-key", "secret"))
        self.browser.until(lambda: self.browser.is_shown("#key-dialog"), "the question")
        self.browser.type("#key", "ключ€")
        self.browser.press("Enter")
        self.browser.until_text("#key-note", "cannot be sent")
        self.assertTrue(self.browser.is_shown("#key-dialog"))
        self.assertEqual(self.browser.js("return sessionStorage.length"), 0)
        self.browser.js("sessionStorage.setItem('foretoken-key', 'ключ')")
        self.reload_with_question()
        self.assertIn("cannot be sent", self.browser.text("#key-note"))
        self.browser.type("#key", "secret")
        self.browser.press("Enter")
        self.browser.until_text("#model", "scripted")
        self.chat(say("With a key."))
        self.assertIn("With a key.", self.browser.text(ANSWER))

    def reload_with_question(self):
        self.browser.ask("POST", "/refresh")
        self.browser.until(lambda: self.browser.is_shown("#key-dialog"), "the question")

    def test_who_gives_no_key_is_told(self):
        self.excused = ["network"]
        self.open(self.scripted("--api-key", "secret"))
        self.browser.until(lambda: self.browser.is_shown("#key-dialog"), "the question")
        self.browser.click("#key-cancel")
        self.browser.until_text("#model", "wants a key")

    def test_a_lost_server_is_told_and_the_page_goes_on_with_the_next(self):
        self.excused = ["network"]
        served = self.scripted()
        self.open(served)
        self.browser.type("#prompt", "<endless>")
        self.browser.press("Enter")
        self.browser.until_text(ANSWER, "on and on")
        served.end(signal.SIGKILL)
        self.browser.until_text(f"{LAST} .fault", "connection")
        self.done()
        self.browser.type("#prompt", say("again"))
        self.browser.press("Enter")
        self.browser.until_text(f"{LAST} .fault", "connection")
        self.look("lost")
        self.scripted("--port", str(served.port))
        self.browser.click(f"{LAST} .actions button:nth-of-type(2)")
        self.browser.until_text(ANSWER, "again")
        self.done()

    def test_a_refusal_is_told_in_the_servers_words(self):
        self.excused = ["network"]
        self.open(self.scripted())
        self.browser.click("#open-settings")
        self.browser.type("[data-field=temperature]", "-3")
        self.browser.click("#close-settings")
        self.chat("x")
        self.assertIn("temperature", self.browser.text(f"{LAST} .fault"))
