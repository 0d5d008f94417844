#pragma once

#include <string>
#include <vector>

#include "comm/communicator.h"

namespace penstock::comm {

/// A way to share a training between ranks over NCCL, which must change no bit of it.
struct NcclSchedule {
  std::string name;   // "stages_zb_v", as tools/gpu/checks has it: stages.N.zb-v
  std::string share;  // stages | replicas | recompute | postvalidation
  std::string how;    // a schedule, or of recompute "stage" or "selective"
};

/// Every one that tools/gpu_check runs on so many ranks: all of them on two.
[[nodiscard]] std::vector<NcclSchedule> nccl_schedules(int ranks);

/// Losses and norms of some steps are those of one rank in every bit. Where updates are made before
/// the norm is known, one at least is rolled back. All ranks of `world` call it.
void nccl_equals_one_rank(const NcclSchedule& schedule, Communicator& world);

}  // namespace penstock::comm
