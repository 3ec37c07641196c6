"""A small HTTP/1.1 client on asyncio streams: one request a connection, streamed answers event by event.

Not a general client: it speaks to one server on this machine, and hands out raw connections to callers
that want to misbehave.
"""
import asyncio
import contextlib
import json
import socket
import time


class Server:
    """Where the server under test listens."""

    def __init__(self, host, port, api_key=None):
        self.host, self.port, self.api_key = host, port, api_key

    def head(self, method, path, length=None, content_type="application/json"):
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self.host}:{self.port}", "Connection: close"]
        if length is not None:
            lines += [f"Content-Length: {length}", f"Content-Type: {content_type}"]
        if self.api_key:
            lines.append(f"Authorization: Bearer {self.api_key}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    @contextlib.asynccontextmanager
    async def connection(self, abrupt=False):
        """(reader, writer) of a new connection; `abrupt` ends it with a reset instead of a farewell."""
        reader, writer = await asyncio.open_connection(self.host, self.port)
        try:
            yield reader, writer
        finally:
            if abrupt:
                linger = b"\x01\0\0\0\0\0\0\0"  # on, for 0 seconds
                with contextlib.suppress(OSError):
                    writer.get_extra_info("socket").setsockopt(
                        socket.SOL_SOCKET, socket.SO_LINGER, linger)
                writer.transport.abort()
            else:
                writer.close()
                with contextlib.suppress(OSError):
                    await writer.wait_closed()

    async def post(self, path, body, timeout=300):
        """(status, text) of an answer that comes in one piece."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self.ask(self.head("POST", path, len(data)) + data, timeout)

    async def get(self, path, timeout=60):
        return await self.ask(self.head("GET", path), timeout)

    async def ask(self, request, timeout):
        async with asyncio.timeout(timeout), self.connection() as (reader, writer):
            writer.write(request)
            # Who is refused may find the connection closed while it still sends.
            with contextlib.suppress(ConnectionError):
                await writer.drain()
            return await read_answer(reader)

    async def events(self, path, body, on_event, timeout=600):
        """Streams an answer: on_event(seconds since sent, payload) for each event; returns the status.

        Raises Broken when the stream ends without "[DONE]". A refusal is one event, its body.
        """
        data = json.dumps({**body, "stream": True}).encode()
        async with asyncio.timeout(timeout), self.connection() as (reader, writer):
            start = time.monotonic()
            writer.write(self.head("POST", path, len(data)) + data)
            await writer.drain()
            status, headers = await read_head(reader)
            if status != 200:
                text = await reader.read()
                on_event(time.monotonic() - start, text.decode(errors="replace"))
                return status
            done = False
            async for line in stream_lines(reader):
                if not line.startswith(b"data: "):
                    continue
                payload = line[6:]
                if payload == b"[DONE]":
                    done = True
                    break
                on_event(time.monotonic() - start, payload)
            if not done:
                raise Broken("a stream ended without [DONE]")
            return status


class Broken(Exception):
    """The server did something that HTTP or its interface does not allow."""


async def read_head(reader):
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as cut:
        raise Broken(f"the connection ended inside a head: {cut.partial[:100]!r}") from cut
    first, *rest = head.decode("latin-1").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in rest if ": " in line)
    return int(first.split(" ")[1]), headers


async def read_answer(reader):
    status, headers = await read_head(reader)
    if status == 100:
        status, headers = await read_head(reader)
    if "content-length" in headers:
        body = await reader.readexactly(int(headers["content-length"]))
    else:
        body = b"\n".join([line async for line in stream_lines(reader)])
    return status, body.decode(errors="replace")


async def stream_lines(reader):
    """The lines of a chunked body."""
    rest = b""
    while True:
        size = int((await reader.readuntil(b"\r\n")).split(b";")[0], 16)
        if size == 0:
            break
        rest += (await reader.readexactly(size + 2))[:-2]
        *lines, rest = rest.split(b"\n")
        for line in lines:
            if line:
                yield line
    if rest:
        yield rest
