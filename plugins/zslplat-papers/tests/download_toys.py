"""A server of one file on this machine, and an archive laid out as the public one is."""

import contextlib
import http.server
import io
import threading
import zipfile

from xlsa17_toys import write_folder


class Server(http.server.ThreadingHTTPServer):
    """Serves ``content`` at any path; ``drops`` lists after how many bytes of the body each answer breaks off.

    ``leads_to``: where requests are sent on to, unless it is empty.
    """

    daemon_threads = True

    def __init__(self, content):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content, self.tag, self.ranges, self.drops, self.status = content, '"v1"', True, [], 200
        self.sends_length, self.asked, self.paths, self.leads_to = True, [], [], ""

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/xlsa17.zip"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        server, asked = self.server, self.headers.get("Range")
        server.asked.append(asked)
        server.paths.append(self.path)
        if server.leads_to:
            self.send_response(302)
            self.send_header("Location", server.leads_to)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        start, status = 0, server.status
        fresh = self.headers.get("If-Range") == server.tag
        if status == 200 and asked and server.ranges and fresh:
            start, status = int(asked.removeprefix("bytes=").rstrip("-")), 206
        whole = len(server.content)
        if status == 206 and start >= whole:
            status = 416
        body = server.content[start:] if status in (200, 206) else b""
        self.send_response(status)
        if status == 206:
            self.send_header("Content-Range", f"bytes {start}-{whole - 1}/{whole}")
        if status == 416:
            self.send_header("Content-Range", f"bytes */{whole}")
        if server.tag:
            self.send_header("ETag", server.tag)
        if server.sends_length:
            self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.close_connection = True
        self.end_headers()
        drop = server.drops.pop(0) if server.drops else None
        self.wfile.write(body if drop is None else body[:drop])


@contextlib.contextmanager
def serving(content):
    """Serve some bytes at any path of an address on this machine."""
    with Server(content) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def archive_of(tmp_path, names=("AWA2", "CUB"), extra=()):
    """A zip archive as the public one is laid out, and where it is."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr("xlsa17/README.txt", "about")
        for name in names:
            write_folder(tmp_path / "source" / name)
            for path in sorted((tmp_path / "source" / name).iterdir()):
                file.write(path, f"xlsa17/data/{name}/{path.name}")
        for info, text in extra:
            file.writestr(info, text)
    return content.getvalue()
