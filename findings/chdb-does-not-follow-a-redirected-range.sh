#!/usr/bin/env bash
# chdb 4.4.0 (chdb-core 26.9.0, PyPI): url() of a file whose server answers with a redirect.
#
# Expected: with max_http_get_redirects each GET follows up to that many redirects, whether it asks for a range or not
# (RFC 9110 section 15.4.8 repeats the request at the new address).
# Seen: a GET of the whole file follows, one of a range does not. A CSV file is read; a Parquet file, whose footer is read
# first, fails with the 307 itself.
#
# Output seen:
#   csv: 3
#   parquet: error 86, HTTP status code: 307
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check chdb==4.4.0 chdb-core==26.9.0
cat >"$folder/redirect.py" <<'PYTHON'
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
import chdb

FILES = {
    'csv': bytes(chdb.query('SELECT number AS n FROM numbers(3)', 'CSV').bytes()),
    'parquet': bytes(chdb.query('SELECT number AS n, rand64() AS r FROM numbers(200000)', 'Parquet').bytes()),
}


class Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *args):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        kind = self.path.rsplit('.', 1)[1]
        data = FILES[kind]
        asked = re.match(r'bytes=(\d+)-(\d*)', self.headers.get('Range', ''))
        first, last = asked.groups() if asked else ('', '')
        redirected = self.command == 'GET' and self.path.startswith('/from')
        part = data[int(first or 0) : int(last) + 1 if last else len(data)]
        status = 307 if redirected else 206 if first else 200
        self.send_response(status)
        if redirected:
            self.send_header('Location', self.path.replace('/from', '/to'))
        elif first:
            self.send_header('Content-Range', f'bytes {first}-{int(first) + len(part) - 1}/{len(data)}')
        self.send_header('Accept-Ranges', 'bytes')
        self.send_header('Content-Length', '0' if redirected else str(len(part)))
        self.end_headers()
        if self.command == 'GET' and not redirected:
            self.wfile.write(part)


class Server(ThreadingHTTPServer):
    def handle_error(self, *args):
        pass  # a reader that has had enough


server = Server(('127.0.0.1', 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
base = f'http://127.0.0.1:{server.server_port}/from'

redirects = 'SETTINGS max_http_get_redirects = 10, http_max_tries = 1'
csv = chdb.query(f"SELECT count() FROM url('{base}.csv', 'CSV') {redirects}")
print('csv:', str(csv).strip())
try:
    print('parquet:', chdb.query(f"SELECT sum(r) FROM url('{base}.parquet', 'Parquet') {redirects}"))
except RuntimeError as error:
    code, status = re.search(r'Code: (\d+).*(HTTP status code: \d+)', str(error)).groups()
    print(f'parquet: error {code}, {status}')
PYTHON
"$folder/venv/bin/python" "$folder/redirect.py" | tee "$folder/output"
diff "$folder/output" - <<'TEXT'
csv: 3
parquet: error 86, HTTP status code: 307
TEXT
