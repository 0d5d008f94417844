#pragma once

#include "comm/communicator.h"
#include "configs/config.h"

namespace penstock::runtime {

/// Threads with which a rank reads audio where data.loaders leaves that to the machine: the cores
/// that no rank computes on, shared by the ranks that read, at least 1 and at most
/// kMostSpareLoaders. What they read does not depend on their number (runtime/data/loader.h).
inline constexpr int kMostSpareLoaders = 16;

/// The ranks that may run on the same cores.
struct SharedCores {
  int cores = 1;
  int computing = 1;  // threads of all these ranks
  int readers = 1;    // ranks among them that read audio
};
[[nodiscard]] int spare_loaders(const SharedCores& shared);

/// What a rank does with the cores that it may run on.
struct CoreUse {
  int threads = 1;     // that compute
  bool reads = false;  // audio
};

/// data.loaders, or spare_loaders() of the ranks with which this one shares its cores. All ranks of
/// `world` call this.
[[nodiscard]] int loader_threads(const configs::DataConfig& data, const CoreUse& own,
                                 comm::Communicator& world);

}  // namespace penstock::runtime
