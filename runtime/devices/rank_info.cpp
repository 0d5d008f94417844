#include "runtime/devices/rank_info.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <map>

#include "comm/collectives.h"
#include "comm/nccl.h"
#include "layers/backend.h"
#include "runtime/devices/device.h"
#include "runtime/job/packing.h"

namespace penstock::runtime {
namespace {

// info_of_ranks() unpacks these in the same order. Ranks with different NCCL_HOSTID are different
// machines to NCCL, so that they can share a device.
Packer own_info(const configs::TrainerConfig& config) {
  Packer info;
  info.add(machine_name());
  info.add(device_kind(config) == layers::DeviceKind::cuda);
  info.add(layers::cuda_device_count());
  const layers::CudaVersions cuda = layers::cuda_versions();
  info.add(cuda.driver);
  info.add(cuda.runtime);
  info.add(comm::nccl_is_built());
  info.add(std::getenv("NCCL_HOSTID") != nullptr);
  info.add(layers::cuda_absence());
  return info;
}

}  // namespace

std::string machine_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::vector<RankInfo> info_of_ranks(const configs::TrainerConfig& config,
                                    comm::Communicator& world) {
  std::vector<RankInfo> ranks;
  for (Unpacker all(gather_to_all(world, own_info(config))); !all.empty();) {
    RankInfo& info = ranks.emplace_back();
    info.machine = all.text();
    info.kind = all.number() != 0 ? layers::DeviceKind::cuda : layers::DeviceKind::cpu;
    info.devices = static_cast<int>(all.number());
    info.cuda.driver = static_cast<int>(all.number());
    info.cuda.runtime = static_cast<int>(all.number());
    info.nccl = all.number() != 0;
    info.shares_devices = all.number() != 0;
    info.absence = all.text();
  }
  return ranks;
}

std::string places_of(const std::vector<RankInfo>& ranks, const std::vector<int>& of_ranks) {
  std::string text;
  for (const int rank : of_ranks)
    text += fmt::format("{}rank {} on {}", text.empty() ? "" : ", ", rank,
                        ranks[static_cast<std::size_t>(rank)].machine);
  return text;
}

// Machines are told apart by their names, which must be unique in a job.
int local_rank(const std::vector<RankInfo>& ranks, int rank) {
  int place = 0;
  for (int before = 0; before < rank; ++before)
    place += ranks[static_cast<std::size_t>(before)].machine ==
             ranks[static_cast<std::size_t>(rank)].machine;
  return place;
}

RankNodes nodes_of(const std::vector<std::string>& machines) {
  RankNodes nodes;
  std::map<std::string, int> places;
  for (const std::string& machine : machines) {
    const auto [known, is_new] = places.emplace(machine, static_cast<int>(nodes.names.size()));
    if (is_new) nodes.names.push_back(machine);
    nodes.of_rank.push_back(known->second);
  }
  return nodes;
}

std::vector<std::string> texts_of_ranks(comm::Communicator& ranks, const std::string& own) {
  Packer packed;
  packed.add(own);
  std::vector<std::string> all;
  for (Unpacker texts(gather_to_all(ranks, packed)); !texts.empty();) all.push_back(texts.text());
  return all;
}

RankNodes nodes_of(comm::Communicator& ranks) {
  return nodes_of(texts_of_ranks(ranks, machine_name()));
}

}  // namespace penstock::runtime
