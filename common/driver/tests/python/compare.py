"""Runs programs of others and compares the digests of what they compute with a GPU's: `compare.py PROGRAM...`.

The record is results/h100-80gb-hbm3/driver_programs.csv. The exit code is 1 if a digest differs or is missing.
"""
import csv
import hashlib
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
RECORD = HERE.parents[3] / "results/h100-80gb-hbm3/driver_programs.csv"


def digests(program):
    command = [sys.executable, HERE / "observe.py", program]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, errors="replace")
    lines = (line.split() for line in ended.stdout.splitlines() if line.startswith("digest "))
    return ended.returncode, {name: sha256 for _, name, sha256 in lines}


with open(RECORD, newline="") as rows:
    record = list(csv.DictReader(rows))
equal = True
for program in map(pathlib.Path, sys.argv[1:]):
    gpu = {row["name"]: row["sha256"] for row in record if row["program"] == program.stem}
    recorded = {row["file_sha256"] for row in record if row["program"] == program.stem}
    if recorded and hashlib.sha256(program.read_bytes()).hexdigest() not in recorded:
        sys.exit(f"{program} is not the version that ran on the GPU: {RECORD.name} says where that is")
    code, here = digests(program)
    wrong = [name for name in {**gpu, **here} if gpu.get(name) != here.get(name)] if gpu else []
    said = f"{sum(here.get(name) == gpu[name] for name in gpu)} of {len(gpu)} digests are a GPU's" if gpu else "no GPU's digests are recorded"
    print(f"{program.stem}: exit code {code}, {said}", *wrong, flush=True)
    equal &= not wrong
sys.exit(not equal)
