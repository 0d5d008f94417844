#pragma once

#include "comm/communicator.h"
#include "configs/config.h"

namespace penstock::runtime {

/// Upper limit of spare_loaders(). If data.loaders is 0, a rank reads audio with as many threads as
/// there are spare cores. Spare cores are those that no rank computes on; the ranks that read share
/// them, and each has at least one thread. The features do not depend on the number of threads
/// (runtime/data/audio/loader.h).
inline constexpr int kMaxSpareLoaders = 16;

/// Usage of a set of cores that several ranks may share.
struct SharedCores {
  int cores = 1;
  int computing = 1;  // computing threads of all these ranks
  int readers = 1;    // number of these ranks that read audio
};
[[nodiscard]] int spare_loaders(const SharedCores& shared);

/// A rank's usage of the cores that it may run on.
struct CoreUse {
  int threads = 1;     // computing threads
  bool reads = false;  // true if it reads audio
};

/// Returns data.loaders if it is set, else spare_loaders() of the ranks that share this rank's
/// cores. All ranks of `world` call this.
[[nodiscard]] int loader_threads(const configs::DataConfig& data, const CoreUse& own,
                                 comm::Communicator& world);

}  // namespace penstock::runtime
