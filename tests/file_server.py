"""A server on this machine that can be told to misbehave."""

import http.server
import threading
from dataclasses import dataclass, field


@dataclass
class Page:
    """What the server answers for a path, and how it misbehaves."""

    content: bytes
    statuses: list = field(default_factory=list)  # answered first, one each time
    cuts: list = field(default_factory=list)  # bytes after which the connection breaks, one each time
    ranges: bool = True
    etag: str | None = None
    length: bool = True
    shift: int = 0  # how far a partial answer is beside what was asked
    location: str | None = None
    stall: float = 0.0


class Http(http.server.ThreadingHTTPServer):
    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.pages: dict[str, Page] = {}
        self.asked: list[tuple[str, str | None, str | None]] = []
        self.stopped = threading.Event()


class Handler(http.server.BaseHTTPRequestHandler):
    server: Http

    def do_GET(self):
        self.server.asked.append((self.path, self.headers.get("Range"), self.headers.get("If-Range")))
        page = self.server.pages.get(self.path)
        if page is None:
            return self.send_error(404)
        if page.statuses:
            return self.send_error(page.statuses.pop(0))
        if page.location:
            self.send_response(302)
            self.send_header("Location", page.location)
            return self.end_headers()
        start, size = 0, len(page.content)
        asked = self.headers.get("Range") if page.ranges else None
        if asked and self.headers.get("If-Range") in (None, page.etag):
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            if start >= size:
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{size}")
                return self.end_headers()
            start += page.shift
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
        else:
            self.send_response(200)
        if page.etag:
            self.send_header("ETag", page.etag)
        if page.length:
            self.send_header("Content-Length", str(size - start))
        self.end_headers()
        end = start + page.cuts.pop(0) if page.cuts else size
        self.wfile.write(page.content[start:end])
        if page.stall:
            self.wfile.flush()
            self.server.stopped.wait(page.stall)

    def log_message(self, *args):
        pass


class Server:
    """Pages by path, and what was asked: path, Range, If-Range."""

    def __init__(self):
        self._http = Http()
        self.pages, self.asked = self._http.pages, self._http.asked
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    def serve(self, name, content, **misbehaviour):
        """Put a file on the server; its address."""
        self.pages[f"/{name}"] = Page(content, **misbehaviour)
        return f"{self.url}/{name}"

    def close(self):
        self._http.stopped.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
