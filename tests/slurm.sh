#!/bin/sh
# slurm.sh: starts Slurm with one node on this machine, submits the array job of
# docs/distributed.md, and compares the merged file with one run. Task 2 is
# cancelled while it runs and submitted again. Installs slurm-wlm and munge by
# apt-get if they are missing. All files of Slurm are in a folder that is removed
# at the end, with the daemons. Ends with 77 if this machine cannot do it.
cd "$(dirname "$0")/.." || exit 1
PATH=$PATH:/usr/sbin:/sbin
ATTNC=$PWD/${B:-build}/attnc

fail() { echo "check-slurm: $*" >&2; exit 1; }
cannot() { echo "check-slurm: $*" >&2; exit 77; }

[ "$(id -u)" -eq 0 ] || cannot 'needs root, for slurmd: run it by sudo'
for c in munged slurmctld slurmd sbatch; do
    command -v $c > /dev/null && continue
    apt-get update -qq > /dev/null 2>&1
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        slurm-wlm munge > /dev/null 2>&1
    command -v $c > /dev/null ||
        cannot "needs $c: apt-get update && apt-get install -y slurm-wlm munge"
done

D=$(mktemp -d) || exit 1
chmod 755 "$D"
until_() { # SECONDS COMMAND ..: waits until the command succeeds
    seconds=$1; shift
    while ! "$@" > /dev/null 2>&1; do
        [ $((seconds -= 1)) -ge 0 ] || return 1
        sleep 1
    done
}
not_there() { ! kill -0 "$1"; }
ended() { # the daemons of this script alone, by the ids that they wrote
    for f in slurmd slurmctld munged; do
        pid=$(cat "$D/$f.pid" 2> /dev/null) || continue
        kill "$pid"
        until_ 20 not_there "$pid"
    done
    [ "$KEEP" ] && echo "the files are in $D" || rm -rf "$D"
}
trap ended EXIT
trap 'exit 1' INT TERM

# ---- the cluster ----
host=$(hostname -s)
mkdir "$D/state" "$D/spool" "$D/munge" "$D/job"
chmod 700 "$D/munge"
head -c 1024 /dev/urandom > "$D/munge/key"
chmod 600 "$D/munge/key"
munged --force --key-file="$D/munge/key" --socket="$D/munge.socket" \
    --pid-file="$D/munged.pid" --seed-file="$D/munge/seed" \
    --log-file="$D/munge/log" > "$D/said" 2>&1 || {
    sed 's/^/# /' "$D/said" "$D/munge/log"
    cannot 'munged does not start'
}
port=$((20000 + $$ % 20000))
cat > "$D/slurm.conf" << E_CONF
ClusterName=check
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$D/munge.socket
CredType=cred/munge
StateSaveLocation=$D/state
SlurmdSpoolDir=$D/spool
SlurmctldPidFile=$D/slurmctld.pid
SlurmdPidFile=$D/slurmd.pid
SlurmctldLogFile=$D/slurmctld.log
SlurmdLogFile=$D/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
ReturnToService=2
SchedulerParameters=batch_sched_delay=1,sched_interval=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP
E_CONF
export SLURM_CONF="$D/slurm.conf"
slurmctld -c && slurmd -c || cannot 'slurmctld or slurmd does not start'

logs() { tail -n 20 "$D"/slurmctld.log "$D"/slurmd.log >&2; }
is_idle() { [ "$(sinfo -h -o %t)" = idle ]; }
until_ 30 is_idle || { sinfo; logs; cannot 'the node does not become idle'; }
echo "$(sinfo --version): node $host, $(nproc) CPUs"

# ---- the job of docs/distributed.md ----
spec=$PWD/models/g2p-en/g2p-en.yaml
awk '/^## Slurm$/ { on = 1 } on && /^```$/ { exit }
    code { print } on && /^```sh$/ { code = 1 }' docs/distributed.md |
    sed "s|words.yaml|$spec|" > "$D/job/script"
cut -f 1 models/g2p-en/heldout.txt | grep -v _ > "$D/job/words"
cat "$D/job/words" "$D/job/words" > "$D/job/lines"
cd "$D/job" || exit 1
mkdir "$D/bin"
ln -s "$ATTNC" "$D/bin/attnc"
PATH=$D/bin:$PATH
attnc run "$spec" < lines > one || fail 'attnc run failed'
is_done() { [ -z "$(squeue -h)" ]; }
begun() { [ -s out.2-of-4.shard ] && grep -q '^block' out.2-of-4.shard; }

job=$(sbatch --parsable script) || fail 'sbatch refused the job'
if until_ 60 begun && scancel "${job}_2"; then
    echo "task 2 was cancelled after $(grep -c ^block out.2-of-4.shard) blocks"
fi
until_ 300 is_done || { squeue; logs; fail 'the job does not end'; }
if [ -e out.2-of-4 ]; then
    echo 'task 2 was done before'
else
    attnc merge all out.*-of-4 2> said && fail 'merge took a shard that is not there'
    sbatch --array=2 script > /dev/null || fail 'sbatch refused task 2'
    until_ 300 is_done || { squeue; logs; fail 'task 2 does not end'; }
fi
attnc merge all out.*-of-4 || { cat slurm-*; fail 'merge failed'; }
cmp all one || fail 'the merged file is not that of one run'
echo "$(wc -l < all) lines in 4 tasks: the bytes of one run"
