#include "runtime/trainer/validation_metric.h"

#include <fmt/format.h>

#include <limits>

#include "base/error.h"

namespace penstock::runtime {

double validation_metric(const EvaluationReport& report, std::string_view metric) {
  if (report.utterances == 0) return std::numeric_limits<double>::quiet_NaN();
  if (metric == "wer") return report.wer;
  if (metric == "cer") return report.cer;
  if (metric == "loss") return report.loss;
  throw ConfigError(
      fmt::format("no validation has a metric {}: it takes wer, cer or loss", metric));
}

std::string basis_change(const ValidationBasis& saved, const ValidationBasis& now) {
  if (now.corpus_hash.empty()) return {};
  if (saved.corpus_hash != now.corpus_hash) return "on another data.validation";
  if (saved.metric != now.metric)
    return fmt::format("by {}, and trainer.best_metric is now {}", saved.metric, now.metric);
  return {};
}

}  // namespace penstock::runtime
