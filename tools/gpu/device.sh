# shellcheck shell=bash
# Which device the checks take, as the driver says: /dev/nvidia0 need not be the name of one.

# ask_driver FIELD...: nvidia-smi's words for the chosen device (all devices before one is chosen), a line each.
ask_driver() {
  local fields device=()
  fields=$(IFS=, && echo "$*")
  [ -z "${device_id:-}" ] || device=(-i "$device_id")
  timeout -k 1 5 nvidia-smi "${device[@]}" --query-gpu="$fields" --format=csv,noheader,nounits 2>&1
}

# Ids of the devices in sight, the idlest first: the least memory in use, then the least work.
# Status 3: there is none. 1: there is one, in error, and the output says what the driver says.
devices() {
  local said
  if ! command -v nvidia-smi >/dev/null; then
    # Without nvidia-smi CUDA has to say more: facts.penstock.
    compgen -G '/dev/nvidia[0-9]*' >/dev/null || [ -e /dev/dxg ] || return 3
    echo "${CUDA_VISIBLE_DEVICES:-0}" | tr , '\n'
    return
  fi
  if ! said=$(device_id="" ask_driver uuid index memory.used utilization.gpu) ||
    grep -qiE 'no devices were found|failed|error' <<<"$said"; then
    # What it says of machines without a driver or a device.
    grep -qiE "no devices were found|couldn't communicate|couldn't find|not found" <<<"$said" && return 3
    echo "${said:-nvidia-smi says nothing, or hangs}"
    return 1
  fi
  [ -n "$said" ] || return 3
  awk -F ', *' -v seen="${CUDA_VISIBLE_DEVICES:-}" '
    BEGIN { many = split(seen, list, ","); for (i in list) in_sight[list[i]] = 1 }
    many == 0 || ($1 in in_sight) || ($2 in in_sight) { print $3 + 0, $4 + 0, $1 }' <<<"$said" |
    sort -n -k1,1 -k2,2 -s | awk '{print $3}'
}

# Sets device_id, for nvidia-smi, and what CUDA's programs see: that device alone.
choose_device() {
  local list status
  list=$(devices)
  status=$?
  if [ $status = 0 ] && [ -z "$list" ]; then status=3; fi
  case $status in
    3) echo "gpu_check: no NVIDIA GPU here: nothing was run" >&2; return 3 ;;
    1) echo "gpu_check: a GPU is here, in error: $list" >&2; return 1 ;;
  esac
  every_device=$(paste -sd, <<<"$list")
  device_id=${every_device%%,*}
  export CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=$device_id
}

# How many there are in sight.
devices_here() { tr ',' '\n' <<<"${every_device:-}" | grep -c .; }

# Sets what the checks are recorded of: `device`, "NVIDIA H200, one of 8 devices", and its `driver`, "580.65".
name_device() {
  local all
  device="" driver=""
  if [ "$kind" != cuda ]; then
    device="CPU"
  elif command -v nvidia-smi >/dev/null; then
    if device=$(ask_driver name); then driver=$(ask_driver driver_version); else device=""; fi
  fi
  all=$(devices_here)
  device="${device:-a GPU that nvidia-smi does not name}"
  [ "$all" -le 1 ] || device+=", one of $all devices"
}
