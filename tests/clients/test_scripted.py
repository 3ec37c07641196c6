"""Calls of tools and reasoning with real clients, on a server that says what it is told to: the openai
package (chat, streaming helpers, responses), the anthropic package, and, where they are installed (they
are not part of requirements.txt, for their size), LangChain's and LlamaIndex's clients of OpenAI."""

import importlib.util
import json
import os
import time
import unittest

import anthropic
import openai

URL = os.environ.get("FORETOKEN_SCRIPTED_URL", "")
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Par\\u00eds"}}\n</tool_call>'
THOUGHT = "<think>\nThey ask\nfor weather.\n</think>\n\n"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
          "additionalProperties": False}
TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}}
OUR_TOOL = {"type": "function", "name": "get_weather", "parameters": SCHEMA, "strict": False}
THEIR_TOOL = {"name": "get_weather", "description": "d", "input_schema": SCHEMA}


def say(text):
    return [{"role": "user", "content": f"<say>{text}</say>"}]


def installed(name):
    return importlib.util.find_spec(name) is not None


@unittest.skipUnless(URL, "the scripted server was not built")
class ScriptedCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client = openai.OpenAI(base_url=URL + "/v1", api_key="None", max_retries=0)
        cls.theirs = anthropic.Anthropic(base_url=URL, api_key="None", max_retries=0)


class OpenAiTools(ScriptedCase):
    def test_whole(self):
        answer = self.client.chat.completions.create(
            model="m", messages=say(THOUGHT + "Look.\n" + CALL + "\n" + CALL), tools=[TOOL])
        choice = answer.choices[0]
        self.assertEqual(choice.finish_reason, "tool_calls")
        self.assertEqual(choice.message.content, "Look.")
        self.assertEqual(choice.message.reasoning_content, "They ask\nfor weather.")
        self.assertEqual(len(choice.message.tool_calls), 2)
        for call in choice.message.tool_calls:
            self.assertEqual(json.loads(call.function.arguments), {"city": "París"})
        self.assertGreater(answer.usage.completion_tokens_details.reasoning_tokens, 0)

    def test_the_call_and_its_result_go_back(self):
        messages = say(CALL)
        message = self.client.chat.completions.create(
            model="m", messages=messages, tools=[TOOL]).choices[0].message
        messages += [message, {"role": "tool", "tool_call_id": message.tool_calls[0].id,
                               "content": "<say>It is mild.</say>"}]
        answer = self.client.chat.completions.create(model="m", messages=messages, tools=[TOOL])
        self.assertEqual(answer.choices[0].message.content, "It is mild.")

    def test_streaming_helper(self):
        with self.client.chat.completions.stream(
                model="m", messages=say("Look. " + CALL), tools=[TOOL]) as stream:
            kinds = [event.type for event in stream]
            final = stream.get_final_completion()
        self.assertIn("tool_calls.function.arguments.delta", kinds)
        self.assertIn("tool_calls.function.arguments.done", kinds)
        message = final.choices[0].message
        self.assertEqual(message.content, "Look.")
        self.assertEqual(json.loads(message.tool_calls[0].function.arguments), {"city": "París"})

    def test_a_stream_of_reasoning(self):
        stream = self.client.chat.completions.create(model="m", messages=say(THOUGHT + "Yes."),
                                                     stream=True)
        deltas = [chunk.choices[0].delta for chunk in stream]
        self.assertEqual("".join(d.reasoning_content or "" for d in deltas),
                         "They ask\nfor weather.")
        self.assertEqual("".join(d.content or "" for d in deltas), "Yes.")

    def test_demanded_calls_are_a_list(self):
        listed = '[{"name": "get_weather", "parameters": {"city": "Par\\u00eds"}}]'
        for choice in ("required", {"type": "function", "function": {"name": "get_weather"}}):
            answer = self.client.chat.completions.create(
                model="m", messages=say(listed), tools=[TOOL], tool_choice=choice)
            call = answer.choices[0].message.tool_calls[0].function
            self.assertEqual(json.loads(call.arguments), {"city": "París"})


class OpenAiResponses(ScriptedCase):
    def test_create(self):
        response = self.client.responses.create(model="m", input=say(THOUGHT + "Yes.")[0]["content"])
        self.assertEqual(response.status, "completed")
        self.assertEqual(response.output_text, "Yes.")
        self.assertEqual([item.type for item in response.output], ["reasoning", "message"])

    def test_tools_over_two_turns(self):
        first = self.client.responses.create(model="m", input=say(CALL)[0]["content"],
                                             tools=[OUR_TOOL])
        call = first.output[0]
        self.assertEqual((call.type, call.name), ("function_call", "get_weather"))
        second = self.client.responses.create(
            model="m", previous_response_id=first.id, tools=[OUR_TOOL],
            input=[{"type": "function_call_output", "call_id": call.call_id,
                    "output": "<say>It is mild.</say>"}])
        self.assertEqual(second.output_text, "It is mild.")
        with self.assertRaises(openai.BadRequestError) as caught:
            self.client.responses.create(model="m", previous_response_id="resp_none", input="x")
        self.assertEqual(caught.exception.type, "invalid_request_error")
        self.assertIn("'resp_none' not found", caught.exception.body["message"])

    def test_stream(self):
        with self.client.responses.stream(model="m", input=say("Look. " + CALL)[0]["content"],
                                          tools=[OUR_TOOL]) as stream:
            events = list(stream)
            final = stream.get_final_response()
        self.assertEqual([e.sequence_number for e in events], list(range(len(events))))
        self.assertEqual("".join(e.delta for e in events
                                 if e.type == "response.output_text.delta"), "Look.")
        self.assertEqual(final.output_text, "Look.")
        self.assertEqual(json.loads(final.output[1].arguments), {"city": "París"})


    def test_answers_by_id(self):
        response = self.client.responses.create(model="m", input=say("Yes.")[0]["content"])
        again = self.client.responses.retrieve(response.id)
        self.assertEqual(again.output_text, "Yes.")
        self.client.responses.delete(response.id)
        with self.assertRaises(openai.NotFoundError):
            self.client.responses.retrieve(response.id)

    def test_in_the_background(self):
        response = self.client.responses.create(model="m", input=say("Yes. " * 100)[0]["content"],
                                                background=True)
        self.assertEqual(response.status, "queued")
        for _ in range(600):
            response = self.client.responses.retrieve(response.id)
            if response.status not in ("queued", "in_progress"):
                break
            time.sleep(0.05)
        self.assertEqual(response.status, "completed")
        self.assertTrue(response.output_text.startswith("Yes. Yes."))
        running = self.client.responses.create(model="m", input=say("No. " * 5000)[0]["content"],
                                               background=True)
        self.assertEqual(self.client.responses.cancel(running.id).status, "cancelled")

    def test_tools_of_openais_servers_are_skipped(self):
        response = self.client.responses.create(
            model="m", input=say(CALL)[0]["content"], tool_choice={"type": "web_search"},
            tools=[{"type": "web_search"}, {"type": "local_shell"}, OUR_TOOL])
        self.assertEqual(response.output[0].name, "get_weather")
        self.assertEqual(response.tool_choice, "auto")

    def test_custom_tools(self):
        call = '<tool_call>\n{"name": "run", "arguments": {"input": "a\\nb"}}\n</tool_call>'
        tool = {"type": "custom", "name": "run", "description": "Runs code."}
        first = self.client.responses.create(model="m", input=say(call)[0]["content"], tools=[tool])
        item = first.output[0]
        self.assertEqual((item.type, item.name, item.input), ("custom_tool_call", "run", "a\nb"))
        second = self.client.responses.create(
            model="m", previous_response_id=first.id, tools=[tool],
            input=[{"type": "custom_tool_call_output", "call_id": item.call_id,
                    "output": "<say>Done.</say>"}])
        self.assertEqual(second.output_text, "Done.")
        with self.client.responses.stream(model="m", input=say(call)[0]["content"],
                                          tools=[tool]) as stream:
            inputs = [e.input for e in stream if e.type == "response.custom_tool_call_input.done"]
        self.assertEqual(inputs, ["a\nb"])

    def test_logprobs(self):
        response = self.client.responses.create(
            model="m", input=say(THOUGHT + "Yes.")[0]["content"], top_logprobs=1,
            include=["message.output_text.logprobs"])
        logprobs = response.output[1].content[0].logprobs
        self.assertEqual("".join(one.token for one in logprobs), "Yes.")


class AnthropicMessages(ScriptedCase):
    def test_whole(self):
        message = self.theirs.messages.create(model="m", max_tokens=2048, tools=[THEIR_TOOL],
                                              thinking={"type": "enabled", "budget_tokens": 1024},
                                              messages=say(THOUGHT + "Look. " + CALL))
        self.assertEqual([b.type for b in message.content], ["thinking", "text", "tool_use"])
        self.assertEqual(message.content[2].input, {"city": "París"})
        self.assertEqual(message.stop_reason, "tool_use")
        again = self.theirs.messages.create(
            model="m", max_tokens=64, tools=[THEIR_TOOL],
            messages=say("x") + [{"role": "assistant", "content": message.content},
                                 {"role": "user", "content": [{
                                     "type": "tool_result", "tool_use_id": message.content[2].id,
                                     "content": "<say>It is mild.</say>"}]}])
        self.assertEqual(again.content[0].text, "It is mild.")
        self.assertEqual(again.stop_reason, "end_turn")

    def test_stream(self):
        with self.theirs.messages.stream(model="m", max_tokens=512, tools=[THEIR_TOOL],
                                         messages=say("Look. " + CALL)) as stream:
            text = "".join(stream.text_stream)
            final = stream.get_final_message()
        self.assertEqual(text, "Look.")
        self.assertEqual(final.content[1].input, {"city": "París"})
        self.assertEqual(final.stop_reason, "tool_use")

    def test_stop_sequences_and_limits(self):
        message = self.theirs.messages.create(model="m", max_tokens=512, messages=say("One. Two."),
                                              stop_sequences=[" T"])
        self.assertEqual((message.stop_reason, message.stop_sequence), ("stop_sequence", " T"))
        self.assertEqual(message.content[0].text, "One.")
        cut = self.theirs.messages.create(model="m", max_tokens=3, messages=say("One. Two."))
        self.assertEqual(cut.stop_reason, "max_tokens")

    def test_counting_and_errors(self):
        count = self.theirs.messages.count_tokens(model="m", messages=say("One."))
        message = self.theirs.messages.create(model="m", max_tokens=3, messages=say("One."))
        self.assertEqual(count.input_tokens, message.usage.input_tokens)
        with self.assertRaises(anthropic.BadRequestError) as caught:
            self.theirs.messages.create(model="m", max_tokens=0, messages=say("x"))
        self.assertIn("max_tokens", str(caught.exception))

    def test_what_agents_send(self):
        message = self.theirs.messages.create(
            model="m", max_tokens=512,
            tools=[{"type": "web_search_20250305", "name": "web_search"}, THEIR_TOOL],
            messages=[{"role": "system", "content": "Be brief."},
                      {"role": "user", "content": [
                          {"type": "search_result", "title": "t", "source": "s",
                           "content": [{"type": "text", "text": "a"}]},
                          {"type": "text", "text": f"<say>{CALL}</say>"}]}])
        self.assertEqual(message.content[0].name, "get_weather")
        with self.assertRaises(anthropic.BadRequestError):
            self.theirs.messages.create(
                model="m", max_tokens=2048, messages=say("x"), extra_body={"temperature": 0.5},
                thinking={"type": "enabled", "budget_tokens": 1024})


@unittest.skipUnless(installed("langchain_openai"), "langchain-openai is not installed")
class LangChain(ScriptedCase):
    def model(self):
        from langchain_openai import ChatOpenAI
        return ChatOpenAI(base_url=URL + "/v1", api_key="None", model="m")

    def test_text_and_stream(self):
        prompt = say("Hello you.")[0]["content"]
        self.assertEqual(self.model().invoke(prompt).content, "Hello you.")
        self.assertEqual("".join(c.content for c in self.model().stream(prompt)), "Hello you.")

    def test_tools(self):
        bound = self.model().bind_tools([TOOL])
        prompt = say("Look. " + CALL)[0]["content"]
        for message in (bound.invoke(prompt), sum_of(bound.stream(prompt))):
            self.assertEqual(message.tool_calls[0]["name"], "get_weather")
            self.assertEqual(message.tool_calls[0]["args"], {"city": "París"})


@unittest.skipUnless(installed("llama_index.llms.openai_like") if installed("llama_index") else False,
                     "llama-index-llms-openai-like is not installed")
class LlamaIndex(ScriptedCase):
    def model(self):
        from llama_index.llms.openai_like import OpenAILike
        return OpenAILike(api_base=URL + "/v1", api_key="None", model="m", is_chat_model=True,
                          is_function_calling_model=True)

    def test_text_and_stream(self):
        from llama_index.core.llms import ChatMessage
        messages = [ChatMessage(role="user", content=say("Hello you.")[0]["content"])]
        self.assertEqual(self.model().chat(messages).message.content, "Hello you.")
        self.assertEqual("".join(c.delta for c in self.model().stream_chat(messages)), "Hello you.")

    def test_tools(self):
        from llama_index.core.tools import FunctionTool
        tool = FunctionTool.from_defaults(fn=lambda city: city, name="get_weather", description="d")
        answer = self.model().chat_with_tools([tool], user_msg=say(CALL)[0]["content"])
        calls = self.model().get_tool_calls_from_response(answer)
        self.assertEqual((calls[0].tool_name, calls[0].tool_kwargs), ("get_weather", {"city": "París"}))


def sum_of(chunks):
    total = None
    for chunk in chunks:
        total = chunk if total is None else total + chunk
    return total


if __name__ == "__main__":
    unittest.main()
