# shellcheck shell=bash disable=SC2154
# A Slurm of Debian's packages in a temporary folder, and jobs that train under it; to be sourced from the repository's
# root. The script that sources it sets `penstock`, `corpus` and `folder`, and defines
#   set_launch NODE   sets the array `launch` to the words that run a command on that node.
PATH=$PATH:/usr/sbin
declare -A daemons=()
launch=()

# why_no_slurm: prints why it can't run here; nothing where it can.
why_no_slurm() {
  local tool
  for tool in munged slurmctld slurmd sbatch mpirun; do
    if ! command -v "$tool" > /dev/null; then
      echo "there is no $tool (packages munge, slurmctld, slurmd, slurm-client, openmpi-bin)"
      return
    fi
  done
}

# start NAME COMMAND...: starts a daemon whose output goes to NAME.log.
start() {
  "${@:2}" > "$folder/$1.log" 2>&1 &
  daemons[$1]=$!
}
# start_node NODE
start_node() {
  set_launch "$1"
  start "slurmd-$1" "${launch[@]}" slurmd -D
}
# slurm COMMAND...: runs it on the first node.
slurm() {
  set_launch "$first_node"
  "${launch[@]}" "$@"
}

# start_slurm PORT NODE=ADDRESS...: takes this port and the next one. It has the least that Slurm needs. A requeued job
# starts as soon as its credential has expired, two minutes by default.
start_slurm() {
  local port=$1 node nodes=""
  shift
  first_node=${1%=*}
  for node; do
    nodes+="NodeName=${node%=*} NodeAddr=${node#*=} CPUs=2"$'\n'
    mkdir "$folder/spool-${node%=*}"
  done
  export SLURM_CONF=$folder/slurm.conf
  cat > "$SLURM_CONF" << END
ClusterName=penstock
SlurmctldHost=$first_node(${1#*=})
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthInfo=socket=$folder/munge,cred_expire=5
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool-%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd-%n.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=2,batch_sched_delay=1
SelectType=select/cons_tres
SlurmdParameters=config_overrides
SlurmdTimeout=20
ReturnToService=2
MailProg=/bin/true
${nodes}PartitionName=all Nodes=ALL Default=YES
END
  chmod 755 "$folder"  # munged wants its socket to be reachable
  mkdir "$folder/state"
  (umask 077 && head -c 128 /dev/urandom > "$folder/key")
  start munged munged --foreground --key-file="$folder/key" --socket="$folder/munge" \
    --pid-file="$folder/munge.pid" --log-file="$folder/munge.log" --seed-file="$folder/munge.seed"
  await "a socket of munged" [ -S "$folder/munge" ]
  set_launch "$first_node"
  start slurmctld "${launch[@]}" slurmctld -D -i
  for node; do start_node "${node%=*}"; done
  await "idle nodes" is_idle "$#"
  echo "$(sinfo --version) runs with $# node(s)"
}
# is_idle COUNT: so many nodes are idle.
is_idle() { slurm sinfo -h -o '%T %D' 2> /dev/null | grep -qx "idle $1"; }

# stop_slurm: ends jobs and daemons.
stop_slurm() {
  local daemon tries
  for daemon in slurmctld munged; do [ -n "${daemons[$daemon]:-}" ] || return 0; done
  for ((tries = 0; tries < 20; ++tries)); do
    slurm scancel --quiet --me > /dev/null 2>&1 || true  # again, in case a job has requeued itself
    [ -n "$(slurm squeue -h 2> /dev/null)" ] || break
    sleep 1
  done
  kill "${daemons[@]}" 2> /dev/null || true
  sleep 1
  kill -KILL "${daemons[@]}" 2> /dev/null || true
  wait "${daemons[@]}" 2> /dev/null || true
}

# write_recipe STEPS OUTPUT FILE
write_recipe() {
  [ -f "$folder/recipe.toml" ] || "$corpus" "$folder"
  sed -e "s|^steps = .*|steps = $1\ncheckpoint_every = 1000|" -e 's|^validation = .*|validation = ""|' \
    -e "s|^output = .*|output = \"$2\"|" "$folder/recipe.toml" > "$3"
  printf '[pipeline]\nstages = 1\nreplicas = 2\n' >> "$3"
}
# write_job: makes the script of the page, with the paths of here, and a recipe that does not end by itself.
write_job() {
  output=$folder/output
  write_recipe 1000000 "$output" "$folder/my.toml"
  # shellcheck disable=SC2016  # these are no commands
  sed -n '/^## Slurm/,/^## /{/^```bash/,/^```$/p}' docs/clusters.md | grep -v '^```' |
    sed "s|penstock run my.toml|$penstock run $folder/my.toml|" > "$folder/script"
  grep -q "$folder/my.toml --slurm" "$folder/script"
}
# submit OPTION...: the options stand for those of the script. Sets `job`.
submit() { job=$(slurm sbatch --parsable --signal=B:USR1@40 --output "$folder/said" "$@" "$folder/script"); }

# field NAME: a field of the job.
field() { slurm scontrol -o show job "$job" | tr ' ' '\n' | sed -n "s/^$1=//p"; }
is() { [ "$(field "$1")" = "$2" ]; }
# count TEXT FILE: the lines of the file that have the text; 0 if there is no file yet.
count() {
  if [ -f "$2" ]; then grep -c "$1" "$2" || true; else echo 0; fi
}
said() { count "penstock run: $1" "$folder/said"; }
steps() { count loss_hex "$output/metrics.jsonl"; }
fail() {
  echo "FAILED: $1" >&2
  [ -z "${job:-}" ] || slurm scontrol show job "$job" >&2
  tail -n 40 "$folder"/said "$folder"/slurm*.log >&2
  exit 1
}
# await WHAT COMMAND...: waits until the command succeeds, two minutes at most.
await() {
  local end=$((SECONDS + 120))
  until "${@:2}"; do
    sleep 0.2
    [ $SECONDS -lt $end ] || fail "after two minutes, not yet $1"
  done
}
has_said() { [ "$(said "$1")" -ge "$2" ]; }
has_more_steps() { [ "$(steps)" -gt "$1" ]; }
# await_start COUNT: waits until the run has started so often, and trains.
await_start() {
  await "start $1" has_said start "$1"
  await "a step after start $1" has_more_steps "$(steps)"
}
# expect_save COUNT: the run was saved so often. Prints the newest checkpoint.
expect_save() {
  [ "$(said stop)" = "$1" ] || fail "$(said stop) saves, not $1"
  echo "  saved at $(basename "$(printf '%s\n' "$output"/checkpoint-????????? | tail -n 1)")"
}

# finish OPTION...: submits a last job of 50 steps, and compares its end with an undisturbed run's.
finish() {
  local total
  total=$(($(steps) + 50))
  write_recipe "$total" "$output" "$folder/my.toml"
  submit "$@"
  await completed is JobState COMPLETED
  [ "$(said "done")" = 1 ] || fail "the run is not done"
  echo "completed after $total steps and $(said start) starts"
  if pgrep -af "$folder/my.toml"; then fail "these processes are left"; fi
  write_recipe "$total" "$folder/whole" "$folder/whole.toml"
  "$penstock" train "$folder/whole.toml" pipeline.replicas=1 > /dev/null 2>&1
  PYTHONPATH=tests/stress python3 - "$folder/whole" "$output" << 'END'
import pathlib
import sys
from training_record import record
whole, output = map(pathlib.Path, sys.argv[1:])
equal = record(whole) == record(output)
print("losses and tensors are those of an undisturbed run" if equal else "LOSSES OR TENSORS DIFFER")
sys.exit(not equal)
END
}
