#include "runtime/checkpoint/average/chosen_checkpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>

#include "base/error.h"
#include "base/quantities.h"
#include "runtime/checkpoint/fault.h"
#include "runtime/checkpoint/output_folder.h"
#include "runtime/checkpoint/remote/local_checkpoint.h"
#include "runtime/checkpoint/retention.h"

// A checkpoint records only the best validation of its run so far. All validations are in
// metrics.jsonl, by step, with all metrics. The mark of the best checkpoint names the one that
// trainer.best_metric chose. A run that resumes drops the lines after its checkpoint, so a step
// there has the metric of the checkpoint that is stored.

namespace penstock::runtime {
namespace {

std::vector<NamedCheckpoint> stored_in(const std::filesystem::path& run) {
  std::vector<NamedCheckpoint> stored = named_checkpoints(run);
  if (stored.empty())
    throw_fault(run, "holds no checkpoints: name the output folder of a training");
  return stored;
}

/// Returns the metric of each step that was validated, without those that are not finite. Without
/// metrics.jsonl there are none. A line that does not parse was cut off when a run ended.
std::map<std::int64_t, double> validated_metrics(const std::filesystem::path& run) try {
  const std::optional<BestCheckpoint> mark = best_mark(run);
  const std::string key = "validation_" + (mark ? mark->metric : "wer");
  std::map<std::int64_t, double> metrics;
  std::istringstream in(metrics_of(run));
  for (std::string line; std::getline(in, line);) {
    const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
    if (json.is_object() && json.contains(key) && json[key].is_number())
      metrics[json.at("step").get<std::int64_t>()] = json[key].get<double>();
  }
  return metrics;
} catch (const nlohmann::json::exception& error) {
  throw_fault(run / kMetricsFile, fmt::format("damaged ({})", error.what()));
}

/// Throws CheckpointError if `found` checkpoints are fewer than two, or than asked for.
void require(const std::filesystem::path& output, std::size_t found, int count,
             const std::string& which) {
  if (found >= static_cast<std::size_t>(count)) return;
  const std::string remedy =
      found < 2 ? std::string() : fmt::format("ask for --{} {}, or ", which, found);
  const std::string of_those = which == "best" ? " that were validated" : "";
  throw_fault(
      output,
      fmt::format("holds {}{}, but {} are to be averaged: {}let the training keep more, by the "
                  "override\n  trainer.keep={}",
                  counted(static_cast<std::int64_t>(found), "checkpoint"), of_those, count, remedy,
                  count));
}

}  // namespace

std::vector<std::filesystem::path> last_checkpoints(const std::filesystem::path& output,
                                                    int count) {
  const std::vector<NamedCheckpoint> stored = stored_in(output);
  require(output, stored.size(), count, "last");
  std::vector<std::filesystem::path> names;
  for (auto each = stored.end() - count; each != stored.end(); ++each) names.push_back(each->name);
  return names;
}

std::vector<std::filesystem::path> best_checkpoints(const std::filesystem::path& output,
                                                    int count) {
  std::vector<NamedCheckpoint> stored = stored_in(output);
  const std::map<std::int64_t, double> metrics = validated_metrics(output);
  std::erase_if(stored, [&](const NamedCheckpoint& each) { return !metrics.contains(each.step); });
  require(output, stored.size(), count, "best");
  std::ranges::stable_sort(stored, {},
                           [&](const NamedCheckpoint& each) { return metrics.at(each.step); });
  std::vector<std::filesystem::path> names;
  for (auto each = stored.begin(); each != stored.begin() + count; ++each)
    names.push_back(each->name);
  return names;
}

}  // namespace penstock::runtime
