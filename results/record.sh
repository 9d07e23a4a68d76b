#!/usr/bin/env bash
# Records this machine's GPU: its ceilings, bits against the emulator, wrong kernels caught, counters by ncu, speed.
#   results/record.sh BIN OUT
# BIN holds the release programs (`cargo build --release --bins`) and, if wanted, broken/ as written by
# `cargo run -p ladder-tests --example broken_kernels -- BIN/broken`. OUT takes what is recorded. No cargo is needed.
# SIZES names other sizes for speed, PARTS some of: speed tiles ceilings bits wrong counters.
set -uo pipefail
bin=$(realpath "$1") out=$(realpath "$2")
parts=${PARTS:-speed tiles ceilings bits wrong counters}
failed=0
has() { [[ " $parts " == *" $1 "* ]]; }

folder=$out
if has speed; then
    echo "== speed"
    "$bin/ladder" bench ${SIZES:+--sizes "$SIZES"} --out "$out" || failed=1
    folder=$(dirname "$(ls "$out"/*/bench.md)")
fi

if has tiles; then
    echo "== tiles: every configuration of the kernels that have several"
    "$bin/ladder" tiles --out "$out" || failed=1
fi

if has ceilings; then
    echo "== ceilings (NVRTC is needed)"
    "$bin/ladder" ceilings --out "$folder" || failed=1
fi

if has bits; then
    echo "== bits: the GPU against the emulator"
    "$bin/ladder" bits --out "$folder/bits.csv" || failed=1
fi

if has wrong; then
    echo "== wrong values are caught at 4096"
    echo "kernel,exit_code,verdict" > "$folder/wrong_values.csv"
    for kernel in "$bin"/broken/values/*/*.cu; do
        [ -e "$kernel" ] || continue
        rung=$(basename "$(dirname "$kernel")")
        text=$("$bin/rung$rung" --device gpu --size 4096 --kernel "$kernel" 2>&1)
        code=$?
        verdict=$(echo "$text" | grep -m 1 -oE '(WRONG|error:).*' | tr -s ' ')
        echo "$(basename "$kernel" .cu),$code,\"$verdict\"" | tee -a "$folder/wrong_values.csv"
        [ $code = 1 ] || failed=1
    done
fi

if has counters && command -v ncu > /dev/null; then
    # kernel.cu only: TMA and wgmma do not pass through what these counters watch.
    echo "== counters: ncu against the emulator, at 256"
    shared=smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op
    global=smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op
    # Loads, stores, ldmatrix, stmatrix, and cp.async on its two sides.
    metrics=${shared}_ld.sum,${shared}_st.sum,${shared}_ldsm.sum,${shared}_stsm.sum,${shared}_ldgsts.sum
    metrics+=,${global}_ld.sum,${global}_st.sum,${global}_ldgsts.sum
    echo "rung,counter,ncu,emulator" > "$folder/counters.csv"
    for rung in "$bin"/rung*; do
        ncu --clock-control none --kernel-name gemm --launch-count 1 --csv \
            --metrics "$metrics" \
            "$rung" --device gpu --arch sm_80 --size 256 2> /dev/null | grep '^"' > "$out/ncu.csv"
        "$rung" --device emulator --arch sm_80 --size 256 --json > "$out/emulator.json"
        python3 - "$(basename "$rung")" "$out/ncu.csv" "$out/emulator.json" <<'PY' | tee -a "$folder/counters.csv"
import csv, json, sys
rung, ncu, emulator = sys.argv[1:]
sums = {}
for row in csv.DictReader(open(ncu)):
    kind = "shared_wavefronts" if "wavefronts" in row["Metric Name"] else "global_sectors"
    sums[kind] = sums.get(kind, 0) + int(row["Metric Value"].replace(",", ""))
counters = json.load(open(emulator))["counters"]
for kind, measured in sorted(sums.items()):
    print(f"{rung},{kind},{measured},{counters[kind]}")
PY
        rm "$out/ncu.csv" "$out/emulator.json"
    done
    awk -F, 'NR > 1 && $3 != $4' "$folder/counters.csv" | grep . && failed=1
fi
exit $failed
