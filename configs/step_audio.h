#pragma once

#include <string>

#include "configs/config.h"

namespace penstock::configs {

/// Which of a micro-batch's keys a recipe names.
struct NamedMicroBatches {
  bool seconds = false, number = false;
};

/// Divides the step of data.batch_seconds, if that is set, into micro-batches: those that one of
/// the two keys asks for; without both, equal ones of at most the default seconds, and no fewer
/// than lanes. Returns what is wrong, or nothing: keys that contradict each other, or a step that
/// is no multiple of its micro-batches. See holds_step() for what is right.
[[nodiscard]] std::string divide_step(Config& config, const NamedMicroBatches& named);

/// Whether so many micro-batches of so many seconds hold the audio of a step, but for rounding.
[[nodiscard]] bool holds_step(double batch_seconds, double micro_batch_seconds, int micro_batches);

}  // namespace penstock::configs
