#!/usr/bin/env bash
# Records this machine's GPU: its ceilings, bits against the emulator, wrong kernels caught, speed.
#   results/record.sh BIN OUT
# BIN holds the release programs (`cargo build --release --bins`) and, if wanted, broken/ as written by
# `cargo run -p ladder-tests --example broken_kernels -- BIN/broken`, and attempts/ by `--example attempts -- BIN/attempts`.
# OUT takes what is recorded. No cargo is needed.
# Counters by ncu are `ladder calibrate --record`. BESIDE names a library for the part bf16 (book/labs/README.md). SIZES names other sizes for speed, PARTS some of: speed tiles ceilings clocks bits wrong
# labs assignments attempts bf16 joules experiments faults.
set -uo pipefail
[ $# = 2 ] || { echo "usage: results/record.sh BIN OUT" >&2; exit 2; }
mkdir -p "$2"
bin=$(realpath "$1") out=$(realpath "$2")
parts=${PARTS:-speed tiles ceilings bits wrong}
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

if has clocks; then
    echo "== clocks: when a block's consumers wait, pause and end (in the workspace, for the kernels' PTX)"
    mkdir -p "$folder/clocks"
    for rung in 06 07 08 09 10 11 12 13 14 15 16 17; do
        "$bin/ladder" clocks "$rung" > "$folder/clocks/$rung.txt" || failed=1
    done
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

if has attempts; then
    echo "== attempts: the patched kernels of results/attempts/, and the rungs as they are (NVRTC is needed)"
    echo "attempt,rung,size,tflops,of_cublas_f16,unpatched_of_cublas_f16" > "$folder/attempts.csv"
    first() { grep -m 1 -oE "\"$1\": *\"?[0-9][0-9.x]*" <<< "$2" | grep -oE '[0-9][0-9.x]*$'; }    # value of this name in the JSON
    for kernel in "$bin"/attempts/*/*.cu; do
        [ -e "$kernel" ] || { echo "error: no kernels in $bin/attempts"; failed=1; break; }
        rung=$(basename "$(dirname "$kernel")")
        sizes=${SIZES:-1024,4096,8192}
        for size in ${sizes//,/ }; do
            bench() { "$bin/rung$rung" bench --quick --device gpu --sizes "$size" --json "$@"; }
            unpatched=$(bench) || failed=1
            # The rung's own tile at this size, unless the attempt fixes another.
            tile=()
            ! grep -q TILE_M "$kernel" || tile=(--tile "$(first tile "$unpatched")")
            patched=$(bench --kernel "$kernel" "${tile[@]}") || failed=1
            echo "$(basename "$kernel" .cu),$rung,$size,$(first tflops "$patched"),$(first of_cublas "$patched"),$(first of_cublas "$unpatched")" |
                tee -a "$folder/attempts.csv"
        done
    done
fi

if has assignments; then
    echo "== assignments: bits of the solutions that multiply, on the GPU and on the emulator (NVRTC is needed)"
    mkdir -p "$out/assignments"
    echo "solution,macro,size,c_sha256,same" > "$out/assignments/bits.csv"
    for kernel in course/assignments/*/solution/{kernel,other}.cu; do
        grep -q gemm_launch "$kernel" || continue
        arch=sm_80; grep -q gemm_boxes "$kernel" && arch=sm_90a
        for macro in none $(grep -oE 'BY_[A-Z]+' "$kernel" | sort -u); do
            # The rungs' programs define no macros.
            source=$(mktemp --suffix=.cu)
            { [ "$macro" = none ] || echo "#define $macro"; cat "$kernel"; } > "$source"
            for size in 256x192x320 1024; do
                c() { "$bin/rung05_swizzle" --kernel "$source" --arch $arch --size $size --json "$@" | grep -oE '"c_sha256": *"[0-9a-f]{64}' | tail -c 65; }
                gpu=$(c --device gpu) emulator=$(c --device emulator)
                [ -n "$gpu" ] && [ "$gpu" = "$emulator" ] && same=true || { same=false failed=1; }
                echo "${kernel#course/assignments/},$macro,$size,$gpu,$same" | tee -a "$out/assignments/bits.csv"
            done
            rm "$source"
        done
    done
fi

if has bf16; then
    echo "== bf16: rung 17's kernel for bf16 with both operands K-major, beside cuBLAS"
    "$bin/labs" bf16_tn time ${BESIDE:+--beside "$BESIDE"} --json > "$folder/bf16_tn.json" || failed=1
fi

if has joules; then
    echo "== joules: the tensor cores' energy (NVRTC is needed)"
    "$bin/ladder" joules --out "$folder" || failed=1
fi

if has labs; then
    echo "== labs: times of two of the book's experiments, and what the warps of one waited for (ncu is needed)"
    mkdir -p "$out/labs" "$out/labs/raw"
    for lab in attention modes; do
        "$bin/labs" "$lab" time --json > "$out/labs/$lab.json" || failed=1
    done
    "$bin/rung01_naive" --uncoalesced bench --sizes 4096 > "$out/labs/uncoalesced.txt" || failed=1
    pages=()
    for kernel in plain swizzled; do
        ncu --clock-control none --csv --page raw --print-units base --metrics "$("$bin/ladder" stalls --metrics)" \
            --launch-count 1 "$bin/labs" attention --device gpu --only "$kernel" > "$out/labs/raw/$kernel.txt" || failed=1
        pages+=("$kernel=$out/labs/raw/$kernel.txt")
    done
    "$bin/ladder" stalls "${pages[@]}" > "$out/labs/attention.csv" || failed=1
fi

if has experiments; then
    echo "== experiments: rungs with one thing changed, for the clock (NVRTC is needed)"
    "$bin/ladder" clock --experiments --device gpu --out "$out" || failed=1
fi

if has faults; then
    echo "== faults: what compute-sanitizer finds of the planted faults and their twins (NVRTC is needed)"
    tools="memcheck racecheck initcheck synccheck"
    # found: error exit code 99; no end: stopped after 20 s; stopped: the launch itself failed
    one() {
        local line=${2#tests/faults/} found=no
        for tool in memcheck racecheck initcheck synccheck; do
            timeout 20 compute-sanitizer --tool $tool --error-exitcode 99 "$1" emulate "$2" --device gpu > /dev/null 2>&1
            case $? in 0) line+=,nothing ;; 99) line+=,found found=yes ;; 124) line+=",no end" ;; *) line+=,stopped ;; esac
        done
        echo "$line,$found"
    }
    export -f one
    { echo "fault,${tools// /,},found"; ls tests/faults/*/*.cu | xargs -P 14 -I{} bash -c 'one "$0" "$1"' "$bin/ladder" {} | sort; } \
        > "$folder/faults.csv" || failed=1
fi

exit $failed
