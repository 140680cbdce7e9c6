#!/usr/bin/env bash
# Versity S3 Gateway 1.8.0 over a folder (posix): UploadPart and PutObject whose connection is closed before the last byte.
#
# Expected: neither stores anything, as the body is shorter than Content-Length (RFC 9112 section 8).
# Seen: with x-amz-content-sha256: UNSIGNED-PAYLOAD, as presigned addresses have, both are stored after a FIN. The part is listed
# with its whole size; only the ETag, the MD5 of the bytes that came, shows that some are missing.
#
# Output seen:
#   part: 6000000 bytes listed, ETag is the MD5 of 3000000
#   object: 3000000 bytes
set -euo pipefail
folder=$(mktemp -d)
trap 'kill "$server" 2>/dev/null || true; rm -rf "$folder"' EXIT
GOBIN=$folder go install github.com/versity/versitygw/cmd/versitygw@v1.8.0
mkdir "$folder/files" "$folder/metadata"
port=7481
ROOT_ACCESS_KEY=key ROOT_SECRET_KEY=secret "$folder/versitygw" --port "127.0.0.1:$port" --region us-east-1 \
  posix --sidecar "$folder/metadata" "$folder/files" >"$folder/log" 2>&1 &
server=$!
until curl -s "http://127.0.0.1:$port/" >"$folder/answer"; do sleep 0.2; done
s3() {
  curl -sS --aws-sigv4 aws:amz:us-east-1:s3 --user key:secret \
    -H 'x-amz-content-sha256: UNSIGNED-PAYLOAD' "${@:2}" "http://127.0.0.1:$port/bucket$1"
}
s3 '' -X PUT
upload=$(s3 "/file?uploads=" -X POST | tr -d "\n" | grep -o "<UploadId>[^<]*" | cut -c11-)
head -c 3000000 /dev/urandom >"$folder/bytes"

# says that it sends 6,000,000 bytes, sends half of them, and closes the connection
cat >"$folder/half.py" <<'PYTHON'
import re, socket, subprocess, sys, time
path, port, bytes_ = sys.argv[1], int(sys.argv[2]), open(sys.argv[3], 'rb').read()
# curl signs a request, which its --verbose shows
shown = subprocess.run(['curl', '-sv', '-X', 'PUT', '--aws-sigv4', 'aws:amz:us-east-1:s3', '--user', 'key:secret',
    '-H', 'x-amz-content-sha256: UNSIGNED-PAYLOAD', '-H', 'Content-Length: 6000000', '--max-time', '1',
    f'http://127.0.0.1:{port}{path}'], capture_output=True, text=True).stderr
head = '\r\n'.join(line[2:].rstrip() for line in shown.splitlines() if line.startswith('> ') and line.strip() != '>')
connection = socket.create_connection(('127.0.0.1', port))
connection.sendall(head.encode() + b'\r\n\r\n' + bytes_)
time.sleep(0.5)
connection.close()
time.sleep(1)
PYTHON
python3 "$folder/half.py" "/bucket/file?partNumber=1&uploadId=$upload" "$port" "$folder/bytes"
listed=$(s3 "/file?uploadId=$upload")
size=$(grep -o '<Size>[0-9]*' <<<"$listed" | cut -c7-)
grep -q "$(md5sum <"$folder/bytes" | cut -c1-32)" <<<"$listed" && echo "part: $size bytes listed, ETag is the MD5 of 3000000"
python3 "$folder/half.py" /bucket/object "$port" "$folder/bytes"
echo "object: $(s3 /object -I | tr -d '\r' | sed -n 's/^[Cc]ontent-[Ll]ength: //p') bytes"
