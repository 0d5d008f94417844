#pragma once

#include <string>
#include <vector>

#include "comm/communicator.h"
#include "configs/config.h"
#include "layers/layer_plan.h"
#include "layers/tensor/cuda_versions.h"

namespace penstock::runtime {

/// Describes a rank's machine and devices, and the device that it was asked to use.
struct RankInfo {
  std::string machine;
  layers::DeviceKind kind = layers::DeviceKind::cpu;  // after "auto" was resolved
  int devices = 0;                                    // CUDA devices of the machine
  layers::CudaVersions cuda = {};
  bool nccl = false;            // true if it was built in
  bool shares_devices = false;  // NCCL_HOSTID lets several ranks share one device
  std::string absence;          // reason why there are no devices
};

/// Returns the name of the machine that this process runs on.
[[nodiscard]] std::string machine_name();

/// Returns the information of every rank, by rank. All ranks call this together.
[[nodiscard]] std::vector<RankInfo> info_of_ranks(const configs::TrainerConfig& config,
                                                  comm::Communicator& world);

/// Returns the ranks and their machines as text: "rank 1 on lion, rank 3 on tiger".
[[nodiscard]] std::string places_of(const std::vector<RankInfo>& ranks,
                                    const std::vector<int>& of_ranks);

/// Returns places_of() of the ranks for which `fits` holds.
template <class Fits>
[[nodiscard]] std::string ranks_where(const std::vector<RankInfo>& ranks, Fits fits) {
  std::vector<int> places;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    if (fits(ranks[rank])) places.push_back(static_cast<int>(rank));
  return places_of(ranks, places);
}

/// Returns how many lower ranks run on the same machine.
int local_rank(const std::vector<RankInfo>& ranks, int rank);

/// The machines of a job, in the order of their first ranks.
struct RankNodes {
  std::vector<std::string> names = {};
  std::vector<int> of_rank = {};  // index of each rank's machine in `names`
};

/// Returns the machines of ranks that run on `machines`.
[[nodiscard]] RankNodes nodes_of(const std::vector<std::string>& machines);

/// Returns each rank's text, by rank, on all of them. All ranks call this together.
[[nodiscard]] std::vector<std::string> texts_of_ranks(comm::Communicator& ranks,
                                                      const std::string& own);

/// Returns the machines of these ranks, by machine_name(). All of them call this together.
[[nodiscard]] RankNodes nodes_of(comm::Communicator& ranks);

}  // namespace penstock::runtime
