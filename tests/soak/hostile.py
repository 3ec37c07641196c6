"""Clients that do not behave, one coroutine each. Each says which statuses it may be answered with; no
answer at all (the server hung up) is always right, an answer that is wrong or a 500 never."""
import asyncio
import contextlib
import json
import random

from http_client import Broken, read_answer

CHAT = {"messages": [{"role": "user", "content": "Tell me a long story."}], "max_tokens": 200,
        "ignore_eos": True}
REFUSED = {400, 401, 404, 405, 408, 411, 413, 414, 415, 422, 429, 431, 501, 503}


async def drip(server, rng, data, patience):
    """Sends data a few bytes at a time; the status, or None where the server hung up."""
    async with server.connection(abrupt=True) as (reader, writer):
        answer = asyncio.create_task(read_answer(reader))
        try:
            for at in range(0, len(data), 7):
                if answer.done():
                    break
                writer.write(data[at:at + 7])
                await writer.drain()
                await asyncio.sleep(rng.random() * patience)
            return (await asyncio.wait_for(answer, 20))[0]
        finally:
            answer.cancel()


async def slow_head(server, rng):
    data = server.head("GET", "/v1/models")[:-2]
    return await drip(server, rng, data + b"X-A: " + b"a" * 200, 0.3), REFUSED


async def slow_body(server, rng):
    return await drip(server, rng, server.head("POST", "/generate", 4000) + b" " * 200, 0.3), REFUSED


async def vanishes(server, rng):
    """Leaves in the middle of its stream, with a reset."""
    data = json.dumps({**CHAT, "stream": True, "n": rng.randint(1, 4)}).encode()
    async with server.connection(abrupt=True) as (reader, writer):
        writer.write(server.head("POST", "/v1/chat/completions", len(data)) + data)
        await writer.drain()
        await asyncio.sleep(rng.random())
    return None, REFUSED


async def deaf(server, rng):
    """Asks for a long stream and does not read it."""
    data = json.dumps({**CHAT, "stream": True, "logprobs": True, "top_logprobs": 20}).encode()
    async with server.connection(abrupt=True) as (reader, writer):
        writer.transport.pause_reading()
        writer.write(server.head("POST", "/v1/chat/completions", len(data)) + data)
        await asyncio.sleep(5 + 5 * rng.random())
    return None, REFUSED


async def half_close(server, rng):
    """Says that it will send nothing more, and still wants its answer."""
    data = json.dumps({**CHAT, "max_tokens": 5}).encode()
    async with server.connection() as (reader, writer):
        writer.write(server.head("POST", "/v1/chat/completions", len(data)) + data)
        writer.write_eof()
        return (await read_answer(reader))[0], REFUSED | {200}


async def garbage(server, rng):
    async with server.connection() as (reader, writer):
        writer.write(rng.randbytes(rng.randint(1, 5000)) + b"\r\n\r\n")
        return (await read_answer(reader))[0], REFUSED


async def bad_json(server, rng):
    body = rng.choice([
        b"[" * 100_000, b'{"a":' * 5000, b"{", b"null", b'"text"', b"\xff\xfe", b'{"messages": 3}',
        b'{"text": "a", "sampling_params": {"temperature": "hot"}}',
        b'{"text": "a", "sampling_params": {"temperature": 1e999}}',
        b'{"prompt": "a", "max_tokens": 9223372036854775807}',
        b'{"prompt": ["a", 3, null]}', b'{"input_ids": [-1]}', b'{"input_ids": [99999999999]}'])
    path = rng.choice(["/generate", "/v1/completions", "/v1/chat/completions", "/tokenize"])
    # /tokenize reads the text alone, and some of these have one.
    allowed = REFUSED | {200} if path == "/tokenize" else REFUSED
    return (await server.post(path, body))[0], allowed


async def long_text(server, rng):
    return (await server.post("/generate", {"text": "word " * 400_000}))[0], REFUSED


async def long_stop(server, rng):
    body = {"prompt": "a", "n": 64, "max_tokens": 2, "stop": ["s" * 1_000_000]}
    return (await server.post("/v1/completions", body))[0], REFUSED


async def many_ids(server, rng):
    name = rng.choice(["stop_token_ids", "logit_bias"])
    value = list(range(500_000)) if name == "stop_token_ids" else {str(i): 1 for i in range(300_000)}
    body = {"prompt": "a", "max_tokens": 2, name: value}
    return (await server.post("/v1/completions", body))[0], REFUSED


async def chunk_extensions(server, rng):
    async with server.connection(abrupt=True) as (reader, writer):
        writer.write(server.head("POST", "/generate")[:-2] + b"Content-Type: application/json\r\n"
                     b"Transfer-Encoding: chunked\r\n\r\n")
        extension = b"1;" + b"x" * 4000 + b"\r\na\r\n"
        for _ in range(2000):
            writer.write(extension)
            await writer.drain()
        return (await read_answer(reader))[0], REFUSED


async def pipelined(server, rng):
    one = b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n"
    async with server.connection() as (reader, writer):
        writer.write(one * 500)
        await asyncio.sleep(rng.random())
        return (await read_answer(reader))[0], REFUSED | {200}


async def huge_length(server, rng):
    async with server.connection() as (reader, writer):
        writer.write(server.head("POST", "/generate", 10**rng.randint(9, 18)))
        return (await read_answer(reader))[0], REFUSED


async def idles(server, rng):
    """Keeps connections and says nothing."""
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(rng.randint(1, 40)):
            await stack.enter_async_context(server.connection())
        await asyncio.sleep(10 * rng.random())
    return None, REFUSED


async def aborts(server, rng):
    rid = f"soak-{rng.randrange(10**9)}\r\nforged log line"
    await server.post("/abort_request", {"rid": rid})
    body = {"text": "a", "rid": rid, "sampling_params": {"max_new_tokens": 2}}
    return (await server.post("/generate", body))[0], REFUSED | {200}


async def wrong_key(server, rng):
    data = b"a" * 3_000_000
    head = server.head("POST", "/generate", len(data)).replace(b"Bearer ", b"Bearer x")
    statuses = {401, 413} if server.api_key else REFUSED
    return (await server.ask(head + data, 60))[0], statuses


async def wrong_route(server, rng):
    path = "/a" + "".join(rng.choice("ab/%.?&\\") for _ in range(rng.randint(1, 300)))
    return (await server.get(path))[0], REFUSED


ALL = [slow_head, slow_body, vanishes, vanishes, deaf, half_close, garbage, bad_json, bad_json, long_text,
       long_stop, many_ids, chunk_extensions, pipelined, huge_length, idles, aborts, wrong_key, wrong_route]


async def one(server, rng: random.Random, tally):
    client = rng.choice(ALL)
    try:
        status, allowed = await client(server, rng)
    except (OSError, Broken, asyncio.IncompleteReadError, TimeoutError, ValueError):
        status, allowed = None, REFUSED  # it was hung up on
    if status is not None and status not in allowed:
        tally.fault(f"hostile client '{client.__name__}' got {status}")
    tally.count(client.__name__)
