#!/bin/bash
# The driver of a study on the head of a Ray cluster; goes on with what the volume holds already.
# WORKERS: cores that it asks for, and the cluster's autoscaler brings nodes for; unset: what is free.
set -euo pipefail
out=${1:-/results/study} study=${2:-/studies/study.yaml}
go_on=()
if [ -e "$out/study.db" ]; then go_on=(--resume); fi
if [ -n "${WORKERS:-}" ]; then go_on+=(--workers "$WORKERS"); fi
exec dse study "$study" --executor ray --address auto --out "$out" --quiet "${go_on[@]}"
