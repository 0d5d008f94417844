# shellcheck shell=bash
# Hosts on one machine, to be sourced: network namespaces, any two of them joined by a link of its own
# whose rate `tc` limits. Needs root. Host i is 10.77.0.(i+1).

host_name() { echo "penstock-host-$1"; }
host_address() { echo "10.77.0.$(($1 + 1))"; }

# why_no_hosts: prints why hosts can't be made here; nothing where they can.
why_no_hosts() {
  local tool
  if [ "$(id -u)" != 0 ]; then
    echo "network namespaces need root"
    return
  fi
  for tool in ip tc unshare mpirun; do
    if ! command -v "$tool" > /dev/null; then
      echo "there is no $tool (packages iproute2, util-linux, openmpi-bin)"
      return
    fi
  done
  ip netns del penstock-probe 2> /dev/null || true  # left by a run that was killed
  if ! ip netns add penstock-probe 2> /dev/null; then
    echo "the kernel allows no network namespace here"
    return
  fi
  if ! ip -n penstock-probe link add probe type veth peer name other 2> /dev/null ||
    ! ip netns exec penstock-probe tc qdisc add dev probe root tbf rate 1mbit burst 16kb limit 1mb 2> /dev/null; then
    echo "the kernel has no veth links or no token buckets (tc tbf)"
  fi
  ip netns del penstock-probe
}

# add_host I: with an address, and no link yet.
add_host() {
  local name
  name=$(host_name "$1")
  ip netns add "$name"
  ip -n "$name" link set lo up
  ip -n "$name" link add host type veth peer name void  # only to have the host's one address
  ip -n "$name" addr add "$(host_address "$1")/24" dev host noprefixroute
  ip -n "$name" link set host up
  ip -n "$name" link set void up
}

# half_link I J RATE: what host I sends to host J takes that way, at that rate in Mbit/s.
half_link() {
  local name rate=$3
  name=$(host_name "$1")
  ip -n "$name" link set "to-$2" up
  ip -n "$name" route add "$(host_address "$2")/32" dev "to-$2" src "$(host_address "$1")"
  # A bucket of 4 ms, which the kernel's clock fills evenly, and a queue that loses nothing.
  ip netns exec "$name" tc qdisc add dev "to-$2" root tbf rate "${rate}mbit" \
    burst "$((rate * 500 + 16000))" limit 16mb
}

# link_hosts I J RATE: both ways.
link_hosts() {
  ip link add "to-$2" netns "$(host_name "$1")" type veth peer name "to-$1" netns "$(host_name "$2")"
  half_link "$1" "$2" "$3"
  half_link "$2" "$1" "$3"
}

remove_hosts() {
  local name
  for name in $(ip netns list | awk '/^penstock-host-/ { print $1 }'); do
    ip netns del "$name"
  done
}

# mpirun_on_hosts COUNT COMMAND...: a rank on each of so many hosts, rank i on host i.
mpirun_on_hosts() {
  local count=$1 hosts="" i
  shift
  for ((i = 0; i < count; ++i)); do hosts+="${hosts:+,}$(host_address "$i")"; done
  "$(dirname "${BASH_SOURCE[0]}")/on_host" "$(host_address 0)" mpirun -np "$count" --host "$hosts" \
    --mca plm_rsh_agent "$(realpath "$(dirname "${BASH_SOURCE[0]}")/on_host")" \
    --mca oob_tcp_if_include 10.77.0.0/24 --mca btl tcp,self --mca btl_tcp_if_include 10.77.0.0/24 "$@"
}
