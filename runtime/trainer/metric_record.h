#pragma once

#include <string>
#include <vector>

#include "runtime/trainer/event_record.h"
#include "runtime/trainer/report.h"

namespace penstock::runtime {

/// Returns what metrics.jsonl records of a step, a JSON object: the keys step, epoch, loss,
/// loss_hex (the same as a hexadecimal float), learning_rate, gradient_norm,
/// audio_seconds_per_second, …. A skipped step has skipped: true. JSON has no infinities and NaNs,
/// so such a number is null, and loss_hex is "nan", "inf" or "-inf".
[[nodiscard]] std::string metric_line(const StepReport&);

/// Returns what metrics.jsonl records of a validation: step, and keys that begin with validation_.
[[nodiscard]] std::string metric_line(const EvaluationReport&);

/// Returns what metrics.jsonl records of an early end, as its last line: step, and the reason.
[[nodiscard]] std::string metric_line(const EarlyEnd&);
inline constexpr const char* kEarlyEndKey = "early_stopping";  // key of the reason

/// Returns the numbers of metric_line() but for the step. A key is in a group: train/loss,
/// validation/wer.
[[nodiscard]] std::vector<EventScalar> metric_scalars(const StepReport&);
[[nodiscard]] std::vector<EventScalar> metric_scalars(const EvaluationReport&);

}  // namespace penstock::runtime
