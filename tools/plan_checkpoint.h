#pragma once

#include <string>

#include "configs/config.h"
#include "partition/plan/plan.h"

namespace penstock::tools {

/// How large a checkpoint of a planned run is, and how long disks take to write it.
struct PlannedCheckpoint {
  double bytes = 0, seconds = 0;
  double copy = 0;  // bytes that the rank with the largest share copies to the host's memory
};

/// `gb_per_s` is what the file system of trainer.output takes of all ranks together. Running
/// statistics, some KB, are left out.
[[nodiscard]] PlannedCheckpoint checkpoint_of(const configs::Config& recipe,
                                              const partition::Plan& plan, double gb_per_s);

/// "112 GiB, which takes 12 s to write at 10 GB/s, from copies of up to about 67.1 GiB a rank".
[[nodiscard]] std::string text_of(const PlannedCheckpoint& checkpoint, double gb_per_s);

}  // namespace penstock::tools
