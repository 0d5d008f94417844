#include "runtime/trainer/rank_seats.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <sstream>

#include "comm/collectives.h"
#include "comm/nccl.h"
#include "layers/backend.h"
#include "runtime/trainer/device.h"

namespace penstock {
namespace {

std::string machine_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

/// One line of text, fields apart by tabs.
std::string own_seat(const TrainerConfig& config) {
  std::ostringstream line;
  line << machine_name() << '\t' << (device_kind(config) == DeviceKind::cuda) << '\t'
       << cuda_device_count() << '\t' << nccl_is_built() << '\t'
       << (std::getenv("NCCL_HOSTID") != nullptr) << '\t' << cuda_absence() << '\n';
  return line.str();
}

}  // namespace

std::vector<RankSeat> seats_of_ranks(const TrainerConfig& config, Communicator& world) {
  std::string all;
  for (const std::string& line : gather(world, own_seat(config))) all += line;
  std::istringstream lines(broadcast(world, all));
  std::vector<RankSeat> seats(static_cast<std::size_t>(world.size()));
  for (RankSeat& seat : seats) {
    bool cuda = false;
    std::getline(lines, seat.machine, '\t');
    lines >> cuda >> seat.devices >> seat.nccl >> seat.shares_devices;
    seat.kind = cuda ? DeviceKind::cuda : DeviceKind::cpu;
    lines.get();
    std::getline(lines, seat.absence);
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
