#!/usr/bin/env bash
# requests 2.34.2 over urllib3 2.8.0, and httpx 0.28.1 over h11 0.16.0 (PyPI): a chunked answer whose server rests.
#
# Expected: a chunk is given out when all of its bytes are there. The line break behind it (RFC 9112 section 7.1) says nothing.
# Seen: requests reads the line break before it gives out the chunk. A server that sends it with the next chunk, as uWebSockets
# does, is heard one event late. httpx gives out the chunk at once.
#
# Output seen:
#   requests: when the line break had come
#   httpx: before the line break
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  requests==2.34.2 urllib3==2.8.0 httpx==0.28.1 httpcore==1.0.9 h11==0.16.0
cat >"$folder/rest.py" <<'PYTHON'
import socket
import threading
import httpx
import requests

HEAD = b'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n'


def first_chunk(name, read):
    heard, ended = threading.Event(), threading.Event()
    server = socket.create_server(('127.0.0.1', 0))

    def serve():
        connection, _ = server.accept()
        connection.recv(65536)
        connection.sendall(HEAD + b'5\r\nfirst')
        heard.wait(3)
        ended.set()
        connection.sendall(b'\r\n0\r\n\r\n')

    threading.Thread(target=serve).start()
    chunk = read(f'http://127.0.0.1:{server.getsockname()[1]}/')
    when = 'when the line break had come' if ended.is_set() else 'before the line break'
    heard.set()
    assert chunk == b'first'
    print(f'{name}: {when}')


def by_requests(url):
    return next(requests.get(url, stream=True).iter_content(None))


def by_httpx(url):
    with httpx.stream('GET', url) as answer:
        return next(answer.iter_raw())


first_chunk('requests', by_requests)
first_chunk('httpx', by_httpx)
PYTHON
"$folder/venv/bin/python" "$folder/rest.py" | tee "$folder/output"
diff "$folder/output" - <<'TEXT'
requests: when the line break had come
httpx: before the line break
TEXT
