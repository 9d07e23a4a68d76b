#!/usr/bin/env bash
# How long the emulator takes for each rung at 2048 and at 4096, in seconds of this machine, which should do nothing else:
#   cargo build --release --bins && results/time_emulator.sh target/release > results/emulator_seconds.csv
# Several folders, such as that of another commit, take turns. SIZES names other sizes, RUNS how often each is run; the least counts.
set -euo pipefail
[ $# -gt 0 ] || { echo "usage: results/time_emulator.sh FOLDER..." >&2; exit 2; }
cpu=$(grep -m 1 '^model name' /proc/cpuinfo | sed 's/.*: //')
echo "rung,size,folder,seconds,cores,cpu,commit"
for size in ${SIZES:-2048 4096}; do
    for program in "$1"/rung??_*; do
        [ -x "$program" ] && [ -f "$program" ] || continue
        declare -A least=()
        for run in $(seq "${RUNS:-2}"); do
            for folder in "$@"; do
                # As a user runs it: C is verified. Without NVRTC, so the committed PTX is run.
                start=$EPOCHREALTIME
                GEMM_NVRTC=/nowhere "$folder/$(basename "$program")" --device emulator --size "$size" > /dev/null
                seconds=$(awk "BEGIN { printf \"%.2f\", $EPOCHREALTIME - $start }")
                awk "BEGIN { exit !($seconds < ${least[$folder]:-1e9}) }" && least[$folder]=$seconds
            done
        done
        for folder in "$@"; do
            echo "$(basename "$program"),$size,$folder,${least[$folder]},$(nproc),$cpu,$(git describe --always --dirty '--exclude=*')"
        done
    done
done
