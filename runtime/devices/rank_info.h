#pragma once

#include <string>
#include <vector>

#include "comm/communicator.h"
#include "configs/config.h"
#include "layers/layer_plan.h"
#include "layers/tensor/cuda_versions.h"

namespace penstock::runtime {

/// Where a rank runs, what it finds there and what it was asked to compute on.
struct RankInfo {
  std::string machine;
  layers::DeviceKind kind = layers::DeviceKind::cpu;  // "auto" decided
  int devices = 0;                                    // CUDA's, of the machine
  layers::CudaVersions cuda = {};
  bool nccl = false;            // built in
  bool shares_devices = false;  // NCCL_HOSTID lets several ranks use one device
  std::string absence;          // why there are no devices
};

/// Of the one that this process runs on.
[[nodiscard]] std::string machine_name();

/// Every rank's, by rank; all ranks call this.
[[nodiscard]] std::vector<RankInfo> info_of_ranks(const configs::TrainerConfig& config,
                                                  comm::Communicator& world);

/// "rank 1 on lion, rank 3 on tiger".
[[nodiscard]] std::string places_of(const std::vector<RankInfo>& ranks,
                                    const std::vector<int>& of_ranks);

/// The same of those that fit.
template <class Fits>
[[nodiscard]] std::string ranks_where(const std::vector<RankInfo>& ranks, Fits fits) {
  std::vector<int> places;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    if (fits(ranks[rank])) places.push_back(static_cast<int>(rank));
  return places_of(ranks, places);
}

/// How many ranks before this one run on the same machine.
int local_rank(const std::vector<RankInfo>& ranks, int rank);

}  // namespace penstock::runtime
