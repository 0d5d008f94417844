#pragma once

#include <nlohmann/json_fwd.hpp>

#include "runtime/trainer/report.h"

namespace penstock::runtime {

/// Returns what is recorded of a step: the keys step, epoch, loss, loss_hex (the same as a
/// hexadecimal float), learning_rate, gradient_norm, audio_seconds_per_second, …. A skipped step
/// has skipped: true. Numbers may be infinite or NaN; loss_hex is then "nan", "inf" or "-inf".
[[nodiscard]] nlohmann::ordered_json metric_record(const StepReport&);

/// Returns what is recorded of a validation: step, and keys that begin with validation_.
[[nodiscard]] nlohmann::ordered_json metric_record(const EvaluationReport&);

}  // namespace penstock::runtime
