#!/usr/bin/env bash
# Grades every assignment that is not as it was handed out. The tables go to the summary of GitHub's run, or to the
# terminal. Exit code 1: points are missing somewhere. 2: something could not be graded.
set -uo pipefail
cd "$(dirname "$0")/.."
summary=${GITHUB_STEP_SUMMARY:-/dev/stdout}

as_handed_out() {
    [ ! -e "$1prediction.toml" ] && [ ! -e "$1diagnosis.toml" ] && grep -F "  $1" .github/handed_out.sha256 | sha256sum --check --status
}

worst=0
graded=0
for assignment in course/assignments/*/; do
    as_handed_out "$assignment" && continue
    handed_in=${assignment}kernel.cu
    [ -e "$handed_in" ] || handed_in=${assignment}answers.toml
    table=$(cargo ladder grade --untrusted "$assignment" "$handed_in" 2>&1)
    code=$?
    [ "$code" -gt "$worst" ] && worst=$code
    graded=$((graded + 1))
    printf '~~~text\n%s\n~~~\n\n' "$table" >> "$summary"
done
[ "$graded" -gt 0 ] || echo 'No assignment has been changed yet.' >> "$summary"
exit "$worst"
