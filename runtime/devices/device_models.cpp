#include <fmt/format.h>

#include <map>
#include <string>

#include "base/error.h"
#include "runtime/devices/device.h"
#include "runtime/job/packing.h"

namespace penstock::runtime {

// Libraries choose kernels by the device's model, and other kernels add in another order. Replicas
// of unequal models would thus compute different bits for the same utterance.
void require_equal_replicas(const RankDevice& device, int stage, comm::Communicator& world) {
  if (device.place.empty()) return;
  Packer own;
  own.add(std::int64_t{stage});
  own.add(device.backend->model());
  std::map<std::int64_t, std::map<std::string, std::string>> ranks_of;  // by stage and model
  int rank = 0;
  for (Unpacker all(gather_to_all(world, own)); !all.empty(); ++rank) {
    const std::int64_t of_stage = all.number();
    std::string& ranks = ranks_of[of_stage][all.text()];
    ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", rank);
  }
  for (const auto& [of_stage, models] : ranks_of) {
    if (models.size() == 1) continue;
    std::string text;
    for (const auto& [model, ranks] : models)
      text += fmt::format("{}{} (rank {})", text.empty() ? "" : " and ", model, ranks);
    throw ConfigError(fmt::format(
        "replicas of stage {} would compute on {}, which do not round alike: give the replicas of "
        "a stage devices of one model, or change pipeline.stages and pipeline.replicas",
        of_stage, text));
  }
}

}  // namespace penstock::runtime
