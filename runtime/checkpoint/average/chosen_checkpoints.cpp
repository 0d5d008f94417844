#include "runtime/checkpoint/average/chosen_checkpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "base/error.h"
#include "base/quantities.h"
#include "runtime/checkpoint/fault.h"
#include "runtime/checkpoint/output_folder.h"
#include "runtime/checkpoint/remote/local_checkpoint.h"

// A checkpoint records only the best validation of its run so far. The word error rates of all
// validations are in metrics.jsonl, by step. A run that resumes drops the lines after its
// checkpoint, so a step there has the rate of the checkpoint that is stored.

namespace penstock::runtime {
namespace {

std::vector<NamedCheckpoint> stored_in(const std::filesystem::path& run) {
  std::vector<NamedCheckpoint> stored = named_checkpoints(run);
  if (stored.empty())
    throw_fault(run, "holds no checkpoints: name the output folder of a training");
  return stored;
}

/// Returns the word error rate of each step that was validated. Without metrics.jsonl there are
/// none. A line that does not parse was cut off when a run ended.
std::map<std::int64_t, double> validated_rates(const std::filesystem::path& run) try {
  constexpr const char* kRate = "validation_wer";
  std::map<std::int64_t, double> rates;
  std::istringstream in(metrics_of(run));
  for (std::string line; std::getline(in, line);) {
    const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
    if (json.is_object() && json.contains(kRate) && json[kRate].is_number())
      rates[json.at("step").get<std::int64_t>()] = json[kRate].get<double>();
  }
  return rates;
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
  const std::map<std::int64_t, double> rates = validated_rates(output);
  std::vector<NamedCheckpoint> stored = stored_in(output);
  std::erase_if(stored, [&](const NamedCheckpoint& each) { return !rates.contains(each.step); });
  require(output, stored.size(), count, "best");
  std::ranges::stable_sort(stored, {},
                           [&](const NamedCheckpoint& each) { return rates.at(each.step); });
  std::vector<std::filesystem::path> names;
  for (auto each = stored.begin(); each != stored.begin() + count; ++each)
    names.push_back(each->name);
  return names;
}

}  // namespace penstock::runtime
