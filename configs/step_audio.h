#pragma once

#include <string>

#include "configs/config.h"

namespace penstock::configs {

/// True for each of the micro-batch keys that a recipe names.
struct NamedMicroBatches {
  bool seconds = false, number = false;
};

/// Divides the step of data.batch_seconds, if that is set, into micro-batches. If the recipe names
/// one of the two keys, that one decides. If it names neither, micro-batches are equal, of at most
/// the default seconds, and no fewer than lanes. Returns "" or the fault: keys that contradict each
/// other, or a step that is no multiple of its micro-batches (holds_step()).
[[nodiscard]] std::string divide_step(Config& config, const NamedMicroBatches& named);

/// Returns true if the micro-batches together are as long as the step, up to rounding.
[[nodiscard]] bool holds_step(double batch_seconds, double micro_batch_seconds, int micro_batches);

}  // namespace penstock::configs
