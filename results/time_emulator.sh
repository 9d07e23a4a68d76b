#!/usr/bin/env bash
# How long the emulator takes for each rung at 2048 and at 4096, in seconds of this machine, which should do nothing else:
#   cargo build --release --bins && results/time_emulator.sh target/release > results/emulator_seconds.csv
# The programs of several folders, such as one with those of another commit, are interleaved. SIZES names other sizes, RUNS how often each is
# run (at least once); the minimum is reported.
set -euo pipefail
export LC_ALL=C
[ $# -gt 0 ] || { echo "usage: results/time_emulator.sh FOLDER..." >&2; exit 2; }
cpu=$(grep -m 1 '^model name' /proc/cpuinfo | sed 's/.*: //')
echo "rung,size,folder,seconds,cores,cpu"
for size in ${SIZES:-2048 4096}; do
    for program in "$1"/rung??_*; do
        [ -x "$program" ] && [ -f "$program" ] || continue
        name=$(basename "$program")
        declare -A least=()
        for run in $(seq "${RUNS:-2}"); do
            for folder in "$@"; do
                [ -x "$folder/$name" ] || { echo "error: no $folder/$name: build all programs there" >&2; exit 2; }
                # As a user runs it: C is verified. Without NVRTC, so the committed PTX is run.
                start=$EPOCHREALTIME
                GEMM_NVRTC=/nowhere "$folder/$name" --device emulator --size "$size" > /dev/null
                seconds=$(awk "BEGIN { printf \"%.2f\", $EPOCHREALTIME - $start }")
                if awk "BEGIN { exit !($seconds < ${least[$folder]:-1e9}) }"; then least[$folder]=$seconds; fi
            done
        done
        for folder in "$@"; do
            printf '%s,%s,"%s",%s,%s,"%s"\n' "$name" "$size" "$folder" "${least[$folder]}" "$(nproc)" "$cpu"
        done
    done
done
