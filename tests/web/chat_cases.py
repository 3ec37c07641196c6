"""A chat with a server whose model says what it is told."""

import json
import urllib.request

from page_case import LAST, ANSWER, SPEED, CALL, TOOLS, say, PageCase


class Chat(PageCase):
    def test_a_chat_keeps_what_was_said(self):
        self.open(self.scripted())
        self.browser.until_text("#model", "scripted")
        self.chat(say("Hello there."))
        self.assertEqual(self.browser.text(ANSWER).strip(), "Hello there.")
        self.chat(say("And again."))
        self.assertEqual(self.browser.count("#messages article"), 4)
        self.assertRegex(self.browser.text(SPEED), r"\d+ tokens")
        self.look("chat")
        self.browser.ask("POST", "/refresh")
        self.browser.until_text("#messages", "And again.")
        self.assertEqual(self.browser.count("#messages article"), 4)

    def test_markdown_becomes_elements_and_html_stays_text(self):
        self.open(self.scripted())
        text = ("# Title\n\nSome *soft* and **loud** `code` and <b>tags</b><img src=x onerror=alert(1)>.\n\n"
                "- one\n- two\n  - inner\n\n3. three\n\n```python\nprint(1 < 2)\n```\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n"
                "[link](https://example.org/x) [evil](javascript:alert(1)) https://example.com/y.\n\n> quoted\n")
        self.paste(say(text))
        self.browser.click("#send")
        self.done()
        for selector, expected in {"h3": "Title", "em": "soft", "strong": "loud", "p code": "code", "li li": "inner",
                                   "ol li": "three", "pre code": "print(1 < 2)", "td.right": "2",
                                   "blockquote": "quoted", "figcaption span": "python"}.items():
            self.assertEqual(self.browser.text(f"{ANSWER} {selector}").strip(), expected, selector)
        self.assertEqual(self.browser.count(f"{ANSWER} b, {ANSWER} img, {ANSWER} script"), 0)
        self.assertIn("<b>tags</b><img src=x", self.browser.text(ANSWER))
        links = self.browser.js("return [...document.querySelectorAll(arguments[0])].map(a => a.href)", f"{ANSWER} a")
        self.assertEqual(links, ["https://example.org/x", "https://example.com/y"])
        self.look("markdown")

    def test_markdown_that_models_write_now_and_then(self):
        self.open(self.scripted())
        text = ("Above\n===\n\nBelow\n---\n\n***both*** and **bold *soft***\n\n"
                "[wiki](https://en.wikipedia.org/wiki/C_(language)) [more](<https://e.org/a_(b)> \"a title\") "
                "(see https://e.org/C_(x).) [bad](java&#115;cript:alert(1)) https://e.org/y**\n\n"
                "&lt;b&gt; &amp;amp; &quot;&#39;&#x263A; &copy; `&lt;`\n\nمرحبا **بالعالم** abc\n\n- שלום\n")
        self.paste(say(text))
        self.browser.click("#send")
        self.done()
        for selector, expected in {"h3": "Above", "h4": "Below", "em > strong": "both", "strong > em": "soft"}.items():
            self.assertEqual(self.browser.text(f"{ANSWER} {selector}").strip(), expected, selector)
        links = self.browser.js("return [...document.querySelectorAll(arguments[0])].map(a => a.href)", f"{ANSWER} a")
        self.assertEqual(links, ["https://en.wikipedia.org/wiki/C_(language)", "https://e.org/a_(b)", "https://e.org/C_(x)",
                                 "https://e.org/y"])
        self.assertIn('(see https://e.org/C_(x).)', self.browser.text(ANSWER))
        self.assertIn('<b> &amp; "\'☺ &copy; &lt;', self.browser.text(ANSWER))
        self.assertEqual(self.browser.count(f"{ANSWER} b"), 0)
        directions = self.browser.js("""
            return ['h3', 'p:last-of-type', 'ul'].map((one) =>
              getComputedStyle(document.querySelector(arguments[0] + ' ' + one)).direction);
            """, ANSWER)
        self.assertEqual(directions, ["ltr", "rtl", "rtl"])
        self.look("markdown_more")

    def test_copy_says_so_for_a_while_only(self):
        self.open(self.scripted())
        self.chat(say("text"))
        said = self.browser.js("""
            const copy = document.querySelector(arguments[0]);
            const said = () => new Promise((resolve) => new MutationObserver((_, observer) => {
              observer.disconnect();
              resolve(copy.textContent);
            }).observe(copy, {childList: true}));
            const first = said();
            copy.click();
            return first.then(async (one) => {
              const second = said();
              copy.click();
              return [one, await second];
            });""", f"{LAST} .actions button")
        self.assertEqual(said, ["Copied", "Copied"])
        self.browser.until(lambda: self.browser.text(f"{LAST} .actions button") == "Copy", "the name of the button")

    def test_stop_ends_the_answer_in_the_middle(self):
        served = self.scripted()
        self.open(served)
        self.browser.type("#prompt", "<endless>")
        self.browser.press("Enter")
        self.browser.until_text(ANSWER, "on and on")
        self.browser.click("#stop")
        self.done()
        self.assertIn("stopped", self.browser.text(SPEED))
        length = len(self.browser.text(ANSWER))
        self.browser.until(lambda: self.load(served)["num_running_reqs"] == 0, "the end in the server")
        self.assertEqual(len(self.browser.text(ANSWER)), length)
        self.chat(say("Still here."))
        self.assertIn("Still here.", self.browser.text(ANSWER))

    @staticmethod
    def load(served):
        with urllib.request.urlopen(served.url + "/v1/loads") as reply:
            return json.load(reply)["loads"][0]

    def test_what_was_said_can_be_edited_and_asked_again(self):
        self.open(self.scripted())
        self.chat(say("first"))
        self.chat(say("second"))
        self.browser.click("#messages article:nth-of-type(1) .actions button:nth-of-type(2)")
        self.browser.js("document.querySelector('#messages textarea').value = arguments[0]", say("changed"))
        self.browser.click("#messages .actions button:nth-of-type(1)")
        self.browser.until_text(ANSWER, "changed")
        self.done()
        self.assertEqual(self.browser.count("#messages article"), 2)
        self.browser.click(f"{LAST} .actions button:nth-of-type(2)")
        self.browser.until(lambda: self.browser.is_shown("#send"), "the end")
        self.browser.until_text(ANSWER, "changed")
        self.assertEqual(self.browser.count("#messages article"), 2)

    def test_reasoning_is_folded_and_calls_are_shown(self):
        self.open(self.scripted())
        self.chat(say("<think>Let me see.</think>It is so."))
        self.assertEqual(self.browser.text(ANSWER).strip(), "It is so.")
        self.assertFalse(self.browser.js("return document.querySelector(arguments[0]).open", f"{LAST} details"))
        self.browser.click(f"{LAST} summary")
        self.assertIn("Let me see.", self.browser.text(f"{LAST} details"))
        self.browser.click("#open-settings")
        self.browser.type("#tools", TOOLS)
        self.chat(say(CALL))
        self.assertIn("Call of weather", self.browser.text(f"{LAST} .call"))
        self.assertIn('"city": "Oslo"', self.browser.text(f"{LAST} .call pre"))
        self.look("call")
        self.browser.type(f"{LAST} textarea", say("It rains."))
        self.browser.click(f"{LAST} textarea + button")
        self.browser.until_text(ANSWER, "It rains.")
        self.done()
        self.browser.js("document.getElementById('tools').value = '{'")
        self.browser.type("#prompt", "x")
        self.browser.press("Enter")
        self.browser.until_text("#settings-note", "no JSON list")

    def test_settings_that_cannot_be_sent_change_nothing(self):
        self.open(self.scripted())
        self.set("#tools", TOOLS)
        self.chat(say("one"))
        self.chat(say(CALL))
        before = self.kept()
        self.browser.type(f"{LAST} textarea", "It rains.")
        self.set("#tools", "{bad")
        self.paste("my text")
        self.browser.click("#send")
        self.browser.until_text("#settings-note", "no JSON list")
        self.assertEqual(self.browser.js("return document.getElementById('prompt').value"), "my text")
        for button, within in (("Send results", LAST), ("Again", LAST), ("Edit", "#messages article:nth-of-type(1)"),
                               ("Send again", "#messages article:nth-of-type(1)")):
            self.press_button(button, within)
            self.assertEqual(self.browser.count("#messages article"), 4, button)
            self.assertTrue(self.browser.is_shown("#send"), button)
        self.assertEqual(self.browser.js("return document.querySelector(arguments[0]).value", f"{LAST} textarea"), "It rains.")
        self.assertTrue(self.browser.is_shown("#messages article:nth-of-type(1) textarea"))
        self.assertEqual(self.kept(), before)
        self.set("#tools", "")
        self.browser.type("[data-field=top_p]", "1e")
        self.browser.click("#send")
        self.browser.until_text("#settings-note", "top_p is no number")
        self.assertEqual(self.browser.count("#messages article"), 4)

    def test_a_comparison_repeats_the_request_of_the_answer(self):
        self.open(self.scripted())
        self.set("#system", "Be brief.")
        self.set("#tools", TOOLS)
        self.set("[data-field=temperature]", "0.5")
        self.set("#stops", "never")
        self.watch_requests()
        self.chat(say("Let me see." + CALL))
        self.set("#system", "Be long.")
        self.set("#tools", "")
        self.set("[data-field=temperature]", "")
        self.set("#stops", "")
        self.press_button("Compare without drafts")
        self.browser.until_text(f"{LAST} .comparison", "the same text and calls")
        self.done()
        first, second = self.sent()
        self.assertEqual(first.pop("speculative")["enabled"], True)
        self.assertEqual(second.pop("speculative")["enabled"], False)
        self.assertEqual(first, second)
        self.assertEqual(first["messages"][0], {"role": "system", "content": "Be brief."})
        self.assertEqual((first["temperature"], first["stop"], len(first["tools"])), (0.5, ["never"], 1))
        self.reload()  # what was sent is kept
        self.watch_requests()
        self.press_button("Compare without drafts")
        self.browser.until(lambda: len(self.sent()) == 1, "the request")
        self.done()
        again = self.sent()[0]
        del again["speculative"]
        self.assertEqual(again, first)

    def test_an_imported_request_cannot_hold_more_than_the_page_writes(self):
        self.open(self.scripted())
        self.browser.until_text("#model", "scripted")
        evil = {"messages": [{"role": "user", "content": say("INJECTED")}], "n": 3, "model": "evil", "stream": False,
                "logit_bias": {"1": 5}, "temperature": 0.25, "seed": 7, "top_k": "x", "stop": ["a", 1], "max_tokens": None}
        answer = {"role": "assistant", "content": "hello", "stats": {"drafts": True}}
        for given, tools in (({"fields": {**evil, "tools": json.loads(TOOLS)}}, 1),
                             ({"sent": {**evil, "sampling": evil, "system": {}, "tools": [1], "model": "scripted"}}, 0)):
            self.give("import-file", json.dumps({"conversations": [
                {"title": {"toString": None}, "messages": [{"role": "user", "content": say("hello")}, {**answer, **given}]}]}))
            self.browser.until_text("#import-note", "1 conversation was added.")
            self.browser.js("document.getElementById('import-note').textContent = ''")
            self.watch_requests()
            self.press_button("Compare without drafts")
            self.browser.until_text(f"{LAST} .comparison", "the same text")
            self.done()
            body = self.sent()[0]
            self.assertEqual(len(body.pop("tools", [])), tools)
            self.assertEqual(body, {
                "temperature": 0.25, "seed": 7, "stop": ["a"], "model": "scripted", "stream": True,
                "stream_options": {"include_usage": True}, "speculative": {"enabled": False, "trace": False},
                "messages": [{"role": "user", "content": say("hello")}]})

    def test_an_answer_of_another_model_is_not_compared(self):
        self.open(self.scripted())
        self.browser.until_text("#model", "scripted")
        self.give("import-file", json.dumps({"conversations": [{"messages": [
            {"role": "user", "content": "x"}, {"role": "assistant", "content": "y", "sent": {"model": "other"}}]}]}))
        self.browser.until_text("#import-note", "1 conversation was added.")
        self.watch_requests()
        self.press_button("Compare without drafts")
        self.browser.until_text(f"{LAST} .comparison", "another model, other")
        self.assertEqual(self.sent(), [])

    def test_a_conversation_that_is_deleted_while_its_answer_comes_stays_deleted(self):
        self.open(self.scripted())
        self.chat(say("to keep"))
        self.browser.click("#new")
        self.begin_endless()
        self.until_kept("on and on")
        for _ in range(2):
            self.browser.click("#conversations li:nth-of-type(1) button:nth-of-type(2)")
        self.done()
        self.browser.until(lambda: "on and on" not in self.kept(), "the deletion")
        self.reload()
        self.assertEqual(self.browser.count("#conversations li"), 1)
        self.assertNotIn("on and on", self.kept())
        self.browser.until_text("#messages", "to keep")

    def test_an_answer_that_a_reload_cuts_is_kept(self):
        self.open(self.scripted())
        self.begin_endless()
        self.until_kept("on and on")
        self.reload()
        self.browser.until_text(ANSWER, "on and on")
        self.assertIn("stopped", self.browser.text(SPEED))
        self.assertFalse(self.browser.is_shown("#stop"))
        self.press_button("Again")
        self.browser.until(lambda: self.browser.is_shown("#stop"), "the new answer")
        self.browser.until_text(ANSWER, "on and on")
        self.browser.click("#stop")
        self.done()
        self.assertEqual(self.browser.count("#messages article"), 2)

    def test_the_end_of_an_answer_leaves_what_is_being_typed(self):
        self.open(self.scripted())
        self.begin_endless()
        self.press_button("Edit", "#messages article:nth-of-type(1)")
        box = "#messages article:nth-of-type(1) textarea"
        self.browser.js("document.querySelector(arguments[0]).value = 'my edit'", box)
        self.browser.click("#open-settings")
        self.browser.type("#system", "You are a pirate that")
        self.browser.press("Escape")
        self.done()
        self.browser.until_text(SPEED, "stopped")
        self.assertEqual(self.browser.js("return document.querySelector(arguments[0]).value", box), "my edit")
        self.assertEqual(self.browser.js("return document.getElementById('system').value"), "You are a pirate that")
        self.assertEqual(self.focus(), "system")
        self.press_button("Cancel", "#messages article:nth-of-type(1)")
        self.assertEqual(self.browser.text("#messages article .body"), "<endless>")

    def test_four_languages_and_emoji_arrive_as_they_were(self):
        self.open(self.scripted())
        text = "Grüße, 你好世界, Привет мир, مرحبا بالعالم 👩‍👩‍👧‍👦🏳️‍🌈🇳🇴 é"
        self.browser.click("#colours")
        self.paste(say(text))
        self.browser.click("#send")
        self.done()
        self.assertEqual(self.browser.text(f"{LAST} .tokens").strip(), text)
        self.browser.click("#colours")
        self.assertEqual(self.browser.text(ANSWER).strip(), text)
        self.look("languages")

    def test_a_message_of_200_kilobytes(self):
        self.open(self.scripted())
        self.paste("word " * 40_000 + say("Long, that was."))
        self.browser.click("#send")
        self.browser.until_text(ANSWER, "Long, that was.")
        self.done()
        self.browser.ask("POST", "/refresh")
        self.browser.until_text("#messages", "Long, that was.")

    def test_a_long_answer_of_hard_markdown(self):
        self.open(self.scripted())
        self.paste(say("*a " * 1600 + "\n\n" + "[" * 2000 + "\n\n" + "> " * 500 + "deep\n\n" + "`" * 999))
        self.browser.click("#send")
        self.done()
        self.assertIn("deep", self.browser.text(ANSWER))

    def test_conversations_are_several_and_can_be_exported_and_imported(self):
        self.open(self.scripted())
        self.chat(say("of the first"))
        self.browser.click("#new")
        self.chat(say("of the second"))
        self.assertNotIn("of the first", self.browser.text("#messages"))
        self.browser.click("#conversations li:nth-of-type(2) .open")
        self.browser.until_text("#messages", "of the first")
        exported = self.browser.js("""
            const kept = URL.createObjectURL, blobs = [];
            URL.createObjectURL = (blob) => { blobs.push(blob); return kept(blob); };
            document.getElementById('export').click();
            URL.createObjectURL = kept;
            return blobs[0].text();""")
        self.assertEqual(len(json.loads(exported)["conversations"]), 2)
        for _ in range(2):  # all of them
            self.browser.click("#conversations li:nth-of-type(1) button:nth-of-type(2)")
            self.browser.click("#conversations li:nth-of-type(1) button:nth-of-type(2)")
        self.assertEqual(self.browser.count("#messages article"), 0)
        self.give("import-file", exported)
        self.browser.until_text("#import-note", "2 conversations were added.")
        self.assertIn("of the", self.browser.text("#messages"))
        for damaged in ("{", "null", "[]", '{"conversations": 1}', '{"conversations": [null]}',
                        '{"conversations": [{"messages": [{"role": "x"}]}]}'):
            self.give("import-file", damaged)
            self.browser.until_text("#import-note", "This file cannot be read: ")
            self.assertRegex(self.browser.text("#import-note"), "no JSON|no conversations|is damaged")
            self.browser.js("document.getElementById('import-note').textContent = ''")

    def test_the_keyboard_is_enough(self):
        self.open(self.scripted())
        self.browser.press("Tab")
        self.assertEqual(self.focus(), "A")
        self.browser.press("Enter")
        self.browser.until(lambda: self.browser.js("return location.hash") == "#prompt", "the jump")
        self.browser.press("Tab")
        self.browser.press("Shift+Tab")
        self.reach("prompt", "Tab")
        self.browser.press(*say("by hand"), "Shift+Enter", "x", "Enter")
        self.browser.until_text(ANSWER, "by hand")
        self.done()
        self.assertEqual(self.focus(), "prompt")
        self.assertIn("\n", self.browser.text("#messages article .body"), "Shift+Enter is a new line")
        self.browser.press(*"<endless>", "Enter")
        self.browser.until_text(ANSWER, "on and on")
        self.browser.press("Escape")
        self.done()
        self.reach("open-settings", "Shift+Tab")
        self.browser.press("Enter")
        self.assertTrue(self.browser.is_shown("#settings"))
        self.browser.press("Escape")
        self.assertFalse(self.browser.is_shown("#settings"))
        self.assertEqual(self.focus(), "open-settings")

    def focus(self):
        return self.browser.js("const e = document.activeElement; return e.id || e.tagName")

    def reach(self, name, key):
        for _ in range(60):
            if self.focus() == name:
                return
            self.browser.press(key)
        self.fail(f"{key} never reaches {name}")

    def test_a_narrow_screen_shows_all_without_scrolling_sideways(self):
        self.browser.size(360, 640)
        self.open(self.scripted())
        self.browser.click("#colours")
        self.chat(say("A table:\n\n|a|b|c|d|e|f|g|h|\n|-|-|-|-|-|-|-|-|\n" + "|some long cell" * 8 + "|\n"))
        self.assertGreater(self.height("#messages"), self.height("#trace") + self.height("#composer"))
        self.assertLess(self.height("header"), 80, "two rows at most")
        self.look("narrow_tree")
        self.browser.click("#colours")
        wide = "return document.documentElement.scrollWidth"
        self.assertLessEqual(self.browser.js(wide), 360)
        self.assertTrue(self.browser.is_shown("#prompt"))
        self.look("narrow")
        self.browser.click("#menu")
        self.assertTrue(self.browser.is_shown("#conversations"))
        self.browser.click("#new")
        self.assertFalse(self.browser.is_shown("#sidebar"))
        self.browser.click("#open-settings")
        self.assertLessEqual(self.browser.js(wide), 360)
        self.look("narrow_settings")
        self.browser.click("#close-settings")
        self.browser.click("#show-server")
        self.browser.until_text("#gauges", "in the queue")
        self.assertLessEqual(self.browser.js(wide), 360)
        self.assertLess(self.height("header"), 45)
        self.look("narrow_server")

    def height(self, selector):
        return self.browser.js("return document.querySelector(arguments[0]).getBoundingClientRect().height", selector)

    def test_what_belongs_to_the_chat_leaves_with_it(self):
        self.open(self.scripted())
        expanded = "return document.getElementById('open-settings').getAttribute('aria-expanded')"
        self.browser.click("#open-settings")
        self.assertEqual(self.browser.js(expanded), "true")
        self.browser.click("#show-server")
        for name in ("open-settings", "drafts", "colours", "settings", "menu"):
            self.assertFalse(self.browser.is_shown(f"#{name}"), name)
        self.browser.press("Escape")
        self.browser.click("#show-chat")
        self.assertTrue(self.browser.is_shown("#settings"))
        self.assertEqual(self.browser.js(expanded), "true")
        self.browser.click("#open-settings")
        self.assertEqual(self.browser.js(expanded), "false")
