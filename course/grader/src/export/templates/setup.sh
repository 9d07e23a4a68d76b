#!/usr/bin/env bash
# Gradescope runs this once, when it builds the autograder's image: NVRTC and ptxas, and pip, which fetches them.
set -euo pipefail
apt-get update
apt-get install --yes --no-install-recommends python3 python3-pip
cd "${AUTOGRADER:-/autograder}/source"
./ladder get-nvrtc --ptxas
