#!/usr/bin/env bash
# polars 1.35.2 and 2.1.0 (PyPI), the Arrow files of DataFrame.write_ipc.
#
# Expected: a file is "ARROW1", two bytes of padding, and then the streaming format
# (https://arrow.apache.org/docs/format/Columnar.html#ipc-file-format), so the first message begins with its marker
# ffffffff and its length.
# Seen: polars 2 writes the FlatBuffer of the schema without both, while the messages of rows have them, as those of
# write_ipc_stream have. Readers that go by the footer notice nothing; one that begins in front, as a stream, reads none of
# these files.
#
# Output seen:
#   1.35.2: file ffffffff, stream ffffffff
#   2.1.0: file 04000000, stream ffffffff
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/write.py" <<'PY'
import io
import polars
frame = polars.DataFrame({'n': [1, 2]})
file, stream = io.BytesIO(), io.BytesIO()
frame.write_ipc(file)
frame.write_ipc_stream(stream)
print(f'{polars.__version__}: file {file.getvalue()[8:12].hex()}, stream {stream.getvalue()[:4].hex()}')
PY
for version in 1.35.2 2.1.0; do
  python3 -m venv "$folder/$version"
  "$folder/$version/bin/pip" install --quiet "polars==$version" 2>/dev/null
  "$folder/$version/bin/python" "$folder/write.py"
done | tee "$folder/output"
diff "$folder/output" - <<'TEXT'
1.35.2: file ffffffff, stream ffffffff
2.1.0: file 04000000, stream ffffffff
TEXT
