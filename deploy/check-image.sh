#!/usr/bin/env bash
# Runs the Dockerfile's build, and the copies of its runtime stage, in an empty folder and without a container engine:
#   deploy/check-image.sh FOLDER
# Afterwards FOLDER/app is the image's /app. Prints its size, and its files by folder. The instructions are read from the
# Dockerfile; only changes of the base image, and changes that need root, are omitted.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
target=${1:?usage: deploy/check-image.sh FOLDER}
mkdir -p "$target"
target=$(cd "$target" && pwd)
if [ -n "$(ls -A "$target")" ]; then
  echo "$target is not empty" >&2
  exit 1
fi
build=$target/build
app=$target/app
mkdir "$build" "$app"

# the lines of a stage, each on one line, without comments
stage() {
  awk -v name="$1" '
    /^FROM / { inside = ($NF == name) ; next }
    /^#/ || !inside { next }
    { sub(/\\$/, " \\"); line = line $0 }
    /\\$/ { sub(/\\$/, "", line); next }
    { if (line != "") print line; line = "" }
  ' "$root/Dockerfile"
}

# copies "SOURCE... DESTINATION" from one folder into another
copy() {
  local from=$1 to=$2
  shift 2
  local sources=("${@:1:$#-1}") destination=${*: -1}
  for source in "${sources[@]}"; do
    if [ -d "$from/$source" ]; then
      mkdir -p "$to/$destination"
      cp -R "$from/$source/." "$to/$destination"
    else
      mkdir -p "$to/$destination"
      cp "$from/$source" "$to/$destination"
    fi
  done
}

while read -r instruction rest; do
  case $instruction in
    WORKDIR) ;;
    COPY) read -ra words <<<"$rest"; copy "$root" "$build" "${words[@]}" ;;
    RUN) (cd "$build" && env -u NODE_PATH bash -euc "$rest") >"$target/build.log" 2>&1 || { cat "$target/build.log"; exit 1; } ;;
    *) echo "the stage build has an instruction that is not known here: $instruction" >&2; exit 1 ;;
  esac
done < <(stage build)

while read -r instruction rest; do
  [ "$instruction" = COPY ] || continue
  read -ra words <<<"$rest"
  if [ "${words[0]}" = --from=build ]; then
    copy "$build" "$app" "${words[1]#/build/}" "${words[2]}"
  else
    copy "$root" "$app" "${words[@]}"
  fi
done < <(stage runtime)

# these files belong to root in the image: readable, and writable by nobody
chmod -R a+rX,a-w "$app"

echo "files: $(find "$app" -type f | wc -l)"
echo "size: $(du -sb --apparent-size "$app" | cut -f1) bytes, $(du -sm "$app" | cut -f1) MiB on disk"
echo "by folder, KiB:"
(cd "$app" && du -k --max-depth=1 . && du -k --max-depth=1 node_modules) | sort -k2 -u | awk '{ printf "%8d  %s\n", $1, $2 }'
echo "native code:"
(cd "$app" && find . -name '*.node' -exec du -k {} +)
