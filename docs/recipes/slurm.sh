#!/bin/bash
# A study on a SLURM cluster: sbatch slurm.sh STUDY.yaml runs/big
# The driver runs on the first node. SLURM ends the job 5 minutes before its time is over with
# SIGTERM: what is under way comes in, the job asks to be run again, and goes on where it stopped.
#SBATCH --job-name=dse
#SBATCH --nodes=8
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --time=24:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=B:TERM@300
set -euo pipefail
study=$1 out=$2 port=6379
mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
head=${nodes[0]}
# Ray listens on all interfaces, and runs the code of whoever has this token
export RAY_AUTH_MODE=token RAY_AUTH_TOKEN
RAY_AUTH_TOKEN=$(python3 -c "import secrets; print(secrets.token_hex(32))")

srun --overlap --nodes=1 --ntasks=1 -w "$head" \
  ray start --head --port="$port" --include-dashboard=false --block &
for _ in $(seq 60); do  # until the head answers
  srun --overlap --nodes=1 --ntasks=1 -w "$head" ray status --address "$head:$port" \
    > /dev/null 2>&1 && break
  sleep 2
done
if [ "$SLURM_JOB_NUM_NODES" -gt 1 ]; then
  others=$((SLURM_JOB_NUM_NODES - 1))
  srun --overlap --nodes="$others" --ntasks="$others" -x "$head" \
    ray start --address "$head:$port" --block &
fi

go_on=()
if [ -e "$out/study.db" ]; then go_on=(--resume); fi
srun --overlap --nodes=1 --ntasks=1 -w "$head" \
  dse study "$study" --executor ray --address "$head:$port" --out "$out" --quiet "${go_on[@]}" &
driver=$! stopped=
trap 'stopped=1; kill -TERM "$driver"' TERM
code=0
wait "$driver" || code=$?
if [ -n "$stopped" ]; then
  code=0
  wait "$driver" || code=$?  # until what was under way has come in
  scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
