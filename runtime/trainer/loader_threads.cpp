#include "runtime/trainer/loader_threads.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <string>

#include "runtime/devices/rank_info.h"
#include "runtime/job/packing.h"

namespace penstock::runtime {
namespace {

/// The cores on which a launcher or container lets this process run.
struct OwnCores {
  int count = 1;
  std::string name;  // machine and cores; equal on ranks that share them
};

OwnCores own_cores() {
  OwnCores own{1, machine_name()};
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return own;
  own.count = std::max(1, CPU_COUNT(&allowed));
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &allowed)) own.name += fmt::format(" {}", core);
  return own;
}

}  // namespace

// Example: two ranks with 4 computing threads each share 16 cores, and one of them reads audio.
// That one gets 16 − 2 × 4 = 8 loader threads.
int spare_loaders(const SharedCores& shared) {
  return std::clamp((shared.cores - shared.computing) / std::max(1, shared.readers), 1,
                    kMaxSpareLoaders);
}

// A rank takes part in the exchange even if its data.loaders is set, since other ranks' may differ.
// Ranks with different but overlapping core sets are not recognised as sharing cores.
int loader_threads(const configs::DataConfig& data, const CoreUse& own, comm::Communicator& world) {
  const OwnCores cores = own_cores();
  Packer use;
  use.add(cores.name);
  use.add(own.threads);
  use.add(own.reads);
  SharedCores shared{.cores = cores.count, .computing = 0, .readers = 0};
  for (Unpacker all(gather_to_all(world, use)); !all.empty();) {
    const bool same = all.text() == cores.name;
    const auto threads = static_cast<int>(all.number());
    const bool reads = all.number() != 0;
    if (same) shared.computing += threads;
    if (same) shared.readers += reads;
  }
  return data.loaders > 0 ? data.loaders : spare_loaders(shared);
}

}  // namespace penstock::runtime
