"""A hub of models on this machine that speaks the interface of the real one, and misbehaves as it is told.

    hub = FakeHub({"owner/name": {"config.json": b"{}", "model.safetensors": b"..."}})
    hub.url                 the endpoint
    hub.fault(path, ...)    what happens to requests whose path ends so
    hub.requests            (method, path, range) of all requests so far

Large files (Git LFS) lie on a second server, to which the first redirects, as the real hub does.
"""

import hashlib
import http.server
import json
import threading
import time
import urllib.parse

COMMIT = "c0ffee" * 6 + "abcd"
LARGE = 100_000  # bytes: from here on a file is of Git LFS


def git_sum(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


class Fault:
    """Happens `times` times to requests for one file (None: always)."""

    def __init__(self, kind, times=1, **how):
        self.kind, self.times, self.how = kind, times, how


class FakeHub:
    def __init__(self, models, lists="blobs", tls=None):
        self.models, self.lists, self.tls = models, lists, tls
        self.token = None  # required when set
        self.etag = '"{}"'.format  # the header of a small file, from its sum
        self.next_host = None  # before the path of a list's next page; None: the hub's address
        self.requests, self.tokens_elsewhere = [], []
        self.sent = 0  # bytes of files
        self._faults, self._faults_elsewhere = {}, []
        self._lock = threading.Lock()
        self._servers = []
        self.url = self._serve(self._answer)
        self.other_url = self._serve(self._answer_elsewhere).replace("127.0.0.1", "localhost")

    def fault(self, ending, kind, times=1, **how):
        self._faults[ending] = Fault(kind, times, **how)

    def close(self):
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def downloads(self, name):
        """How many requests asked for the bytes of a file."""
        return sum(method == "GET" and path.endswith("/" + name) and "/resolve/" in path
                   for method, path, _ in self.requests)

    # -- servers

    def _serve(self, answer):
        hub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                answer(self)

            do_HEAD = do_GET

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass  # the client went away

        server = Server(("127.0.0.1", 0), Handler)
        scheme = "http"
        if hub.tls:
            import ssl
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*hub.tls)
            server.socket = context.wrap_socket(server.socket, server_side=True)
            scheme = "https"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self._servers.append(server)
        return f"{scheme}://127.0.0.1:{server.server_address[1]}"

    def _take_fault(self, path):
        with self._lock:
            for ending, fault in self._faults.items():
                if path.endswith(ending) and fault.times != 0:
                    if fault.times is not None:
                        fault.times -= 1
                    return fault
        return None

    # -- answers

    def _answer(self, request):
        path, _, query = request.path.partition("?")
        path = urllib.parse.unquote(path)
        with self._lock:
            self.requests.append((request.command, path, request.headers.get("Range")))
        if self.token and request.headers.get("Authorization") != f"Bearer {self.token}":
            return self._refuse(request, 401, "RepoNotFound")
        fault = self._take_fault(path)
        if fault and fault.kind == "status":
            return self._refuse(request, **fault.how)
        if path.startswith("/api/models/"):
            return self._answer_api(request, path[len("/api/models/"):], query)
        model, _, rest = path[1:].partition("/resolve/")
        commit, _, name = rest.partition("/")
        if model not in self.models:
            return self._refuse(request, 404, "RepoNotFound")
        if commit not in (COMMIT, "main"):
            return self._refuse(request, 404, "RevisionNotFound")
        if name not in self.models[model]:
            return self._refuse(request, 404, "EntryNotFound")
        data = self.models[model][name]
        headers = {"X-Repo-Commit": COMMIT, "ETag": self.etag(git_sum(data)), "Accept-Ranges": "bytes"}
        if len(data) < LARGE:
            return self._send(request, data, headers, fault)
        headers["X-Linked-Etag"] = f'"{hashlib.sha256(data).hexdigest()}"'
        headers["X-Linked-Size"] = str(len(data))
        headers["Location"] = f"{self.other_url}/{model}/{name}"
        if fault:
            with self._lock:
                self._faults_elsewhere.append(fault)
                headers["Location"] += f"?fault={len(self._faults_elsewhere) - 1}"
        return self._reply(request, 302, headers, b"Found")

    def _answer_elsewhere(self, request):
        if "Authorization" in request.headers:
            self.tokens_elsewhere.append(request.headers["Authorization"])
        path, _, query = request.path.partition("?")
        owner, name, *file = urllib.parse.unquote(path)[1:].split("/")
        data = self.models[f"{owner}/{name}"]["/".join(file)]
        fault = self._faults_elsewhere[int(query.removeprefix("fault="))] if query else None
        self._send(request, data, {"ETag": '"elsewhere"'}, fault)

    def _answer_api(self, request, path, query):
        model, _, rest = path.partition("/revision/") if "/revision/" in path else path.partition("/tree/")
        if model not in self.models:
            return self._refuse(request, 404, "RepoNotFound")
        if rest not in ("main", "v1", *(f"refs/pr/{n}" for n in range(1, 10)), COMMIT):
            return self._refuse(request, 404, "RevisionNotFound")
        files = self.models[model]
        if "/tree/" in path:
            return self._send_tree(request, files, query)
        answer = {"id": model, "sha": COMMIT}
        if self.lists == "blobs" and "blobs=true" in query:
            answer["siblings"] = [self._sibling(name, data) for name, data in files.items()]
        elif self.lists != "tree":
            answer["siblings"] = [{"rfilename": name} for name in files]
        return self._reply(request, 200, {"Content-Type": "application/json"}, json.dumps(answer).encode())

    @staticmethod
    def _sibling(name, data):
        entry = {"rfilename": name, "size": len(data), "blobId": git_sum(data)}
        if len(data) >= LARGE:
            entry["lfs"] = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 130}
        return entry

    def _send_tree(self, request, files, query):
        """Two entries a page."""
        first = int(urllib.parse.parse_qs(query).get("cursor", ["0"])[0])
        entries = [{"type": "directory", "oid": "0" * 40, "size": 0, "path": "a_folder"}]
        for name, data in files.items():
            entry = {"type": "file", "path": name, "size": len(data), "oid": git_sum(data)}
            if len(data) >= LARGE:
                entry["lfs"] = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 130}
            entries.append(entry)
        headers = {"Content-Type": "application/json"}
        if first + 2 < len(entries):
            page = request.path.partition("?")[0]
            host = self.url if self.next_host is None else self.next_host
            headers["Link"] = f'<{host}{page}?recursive=true&cursor={first + 2}>; rel="next"'
        self._reply(request, 200, headers, json.dumps(entries[first:first + 2]).encode())

    def _send(self, request, data, headers, fault):
        kind = fault.kind if fault else None
        if kind == "wrong bytes":
            data = bytes([data[0] ^ 1]) + data[1:]
        begin, end, status = 0, len(data), 200
        asked = request.headers.get("Range")
        if asked and kind != "no ranges":
            first, _, last = asked.removeprefix("bytes=").partition("-")
            begin, end, status = int(first), int(last or len(data) - 1) + 1, 206
            if begin >= len(data) or kind == "416":
                return self._reply(request, 416, {"Content-Range": f"bytes */{len(data)}"}, b"")
            end = min(end, len(data))
            headers = {**headers, "Content-Range": f"bytes {begin}-{end - 1}/{len(data)}"}
        body = data[begin:end]
        whole = len(body)
        if kind in ("cut", "stall"):
            body = body[:fault.how["after"]]
        request.send_response(status)
        for key, value in {**headers, "Content-Length": whole}.items():
            request.send_header(key, str(value))
        request.end_headers()
        if request.command == "HEAD":
            return
        with self._lock:
            self.sent += len(body)
        for at in range(0, len(body), 1 << 20):
            request.wfile.write(body[at:at + (1 << 20)])
            if kind == "slow":
                time.sleep(fault.how["seconds"])
        if kind == "stall":
            time.sleep(fault.how["seconds"])
        if kind in ("cut", "stall"):
            request.close_connection = True

    def _refuse(self, request, status, code=None, retry_after=None):
        headers = {"X-Error-Code": code} if code else {}
        if retry_after is not None:
            headers["Retry-After"] = retry_after
        self._reply(request, status, headers, b'{"error": "refused"}')

    def _reply(self, request, status, headers, body):
        request.send_response(status)
        for key, value in {**headers, "Content-Length": len(body)}.items():
            request.send_header(key, str(value))
        request.end_headers()
        if request.command != "HEAD":
            request.wfile.write(body)
