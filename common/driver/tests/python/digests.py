"""Prints what a program has computed in a form that two machines can compare: `results/h100-80gb-hbm3/driver.csv` has a GPU's."""
import hashlib

import numpy as np


def digest(name, array):
    """One line: `digest NAME SHA256`, of the array's bytes in C order."""
    print(f"digest {name} {hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()}", flush=True)
