#include "runtime/devices/rank_seats.h"

#include <unistd.h>

#include <array>
#include <cstdlib>

#include "comm/collectives.h"
#include "comm/nccl.h"
#include "layers/backend.h"
#include "runtime/devices/device.h"
#include "runtime/job/packing.h"

namespace penstock {
namespace {

std::string machine_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

Packer own_seat(const TrainerConfig& config) {
  Packer seat;
  seat.add(machine_name());
  seat.add(device_kind(config) == DeviceKind::cuda);
  seat.add(cuda_device_count());
  seat.add(nccl_is_built());
  seat.add(std::getenv("NCCL_HOSTID") != nullptr);
  seat.add(cuda_absence());
  return seat;
}

}  // namespace

std::vector<RankSeat> seats_of_ranks(const TrainerConfig& config, Communicator& world) {
  std::vector<RankSeat> seats;
  for (Unpacker all(gather_to_all(world, own_seat(config))); !all.empty();) {
    RankSeat& seat = seats.emplace_back();
    seat.machine = all.text();
    seat.kind = all.number() != 0 ? DeviceKind::cuda : DeviceKind::cpu;
    seat.devices = static_cast<int>(all.number());
    seat.nccl = all.number() != 0;
    seat.shares_devices = all.number() != 0;
    seat.absence = all.text();
  }
  return seats;
}

int place_on_machine(const std::vector<RankSeat>& seats, int rank) {
  int place = 0;
  for (int before = 0; before < rank; ++before)
    place += seats[static_cast<std::size_t>(before)].machine ==
             seats[static_cast<std::size_t>(rank)].machine;
  return place;
}

}  // namespace penstock
