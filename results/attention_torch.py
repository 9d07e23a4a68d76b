#!/usr/bin/env python3
"""Times PyTorch's attention on the problem of the book's lab: 16 heads, 4096 rows, d = 128, f16, without a mask.

    python3 results/attention_torch.py > attention_torch.json

Run beside `labs attention time --json` on the same card. Each backend is timed 50 times by CUDA events, after 5 launches that
are not; the sustained clock is the card's own.
"""
import datetime
import json
import subprocess
import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

HEADS, ROWS, D = 16, 4096, 128
FLOPS = 4 * HEADS * ROWS * ROWS * D


def sensors():
    query = "--query-gpu=power.limit,driver_version"
    line = subprocess.run(["nvidia-smi", query, "--format=csv,noheader,nounits"], capture_output=True, text=True).stdout
    return [word.strip() for word in line.splitlines()[0].split(",")]


def timed(launch):
    for _ in range(5):
        launch()
    samples = []
    for _ in range(50):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        launch()
        end.record()
        torch.cuda.synchronize()
        samples.append(1e3 * begin.elapsed_time(end))
    return sorted(samples)


def main():
    torch.manual_seed(0)
    q, k, v = (torch.rand(1, HEADS, ROWS, D, device="cuda", dtype=torch.float16) * 2 - 1 for _ in range(3))
    launches = []
    for backend in [SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION, SDPBackend.EFFICIENT_ATTENTION]:
        try:
            with sdpa_kernel(backend):
                samples = timed(lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v))
        except RuntimeError as error:
            print(f"{backend.name}: {error}", file=sys.stderr)
            continue
        middle = samples[len(samples) // 2]
        launches.append({"name": backend.name.lower(), "microseconds": middle, "tflops": FLOPS / middle / 1e6})
    limit, driver = sensors()
    provenance = {
        "kernel": "PyTorch " + torch.__version__, "ptx": "none", "commit": None,
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "gpu": torch.cuda.get_device_name(), "driver": driver, "cuda": torch.version.cuda, "cublas": None,
        "sm_mhz": None, "power_watts": None, "power_limit_watts": float(limit), "celsius": None,
    }
    print(json.dumps({"lab": "attention", "launches": launches, "provenance": provenance}, indent=2))


main()
