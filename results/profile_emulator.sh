#!/usr/bin/env bash
# Where the emulator's time goes on rung 03, in instructions of this CPU (repeatable, unlike seconds). Needs valgrind.
#   results/profile_emulator.sh > results/emulator_profile.md
set -euo pipefail
cd "$(dirname "$0")/.."
size=256
out=$(mktemp -d)
trap 'rm -r "$out"' EXIT
cargo build --quiet --release --package rung03_padded
rung=${CARGO_TARGET_DIR:-target}/release/rung03_padded
RAYON_NUM_THREADS=1 GEMM_NVRTC=/nowhere valgrind --tool=callgrind --callgrind-out-file="$out/calls" \
    "$rung" --device emulator --size $size > "$out/report" 2> /dev/null
emulated=$(sed -n 's/.*emulated \([0-9,]*\) warp.*/\1/p' "$out/report" | tr -d ,)
callgrind_annotate --auto=no --threshold=100 "$out/calls" > "$out/functions"

cat <<'HEAD'
# Where the emulator's time goes

Rung 03 on one core, by `results/profile_emulator.sh`: instructions of the CPU for each emulated warp instruction,
by the source file that they come from. `std` is what the standard library puts into the loop: slices, iterators.

| part | instructions | share |
| --- | ---: | ---: |
HEAD
awk -v emulated="$emulated" '
    /vectorize|emulator/ && $1 ~ /^[0-9,]+$/ {
        count = $1; gsub(",", "", count)
        part = "std"
        if (match($0, /emulator\/src\/[a-z_\/]+\.rs/)) part = substr($0, RSTART + 13, RLENGTH - 13)
        sums[part] += count; total += count
    }
    END {
        for (part in sums) if (sums[part] > total / 200)
            printf "| %s | %.1f | %.0f%% |\n", part, sums[part] / emulated, 100 * sums[part] / total
        printf "| all | %.1f | 100%% |\n", total / emulated
    }' "$out/functions" | sort -t '|' -k 3 -rn
