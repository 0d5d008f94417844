#include "runtime/checkpoint/best.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <system_error>

#include "base/atomic_file.h"
#include "base/error.h"
#include "runtime/checkpoint/fault.h"
#include "runtime/checkpoint/mapped_file.h"
#include "runtime/checkpoint/output_folder.h"

namespace penstock::runtime {
namespace {

constexpr const char* kBestFile = "BEST";

bool is_stored(const std::filesystem::path& output, std::int64_t step) {
  return std::filesystem::exists(output / checkpoint_name(step));
}

}  // namespace

void mark_best(const std::filesystem::path& output, const BestCheckpoint& best) {
  const nlohmann::ordered_json json = {
      {"checkpoint", checkpoint_name(best.step)}, {"metric", best.metric}, {"value", best.value}};
  write_durably(output / kBestFile, json.dump() + "\n");
}

std::optional<BestCheckpoint> best_checkpoint(const std::filesystem::path& output) {
  const auto path = output / kBestFile;
  if (!std::filesystem::exists(path)) return std::nullopt;
  const MappedFile file(path);
  const auto* text = reinterpret_cast<const char*>(file.bytes().data());
  try {
    const auto json = nlohmann::json::parse(text, text + file.bytes().size());
    const auto step = step_of_checkpoint(json.at("checkpoint").get<std::string>());
    if (!step) throw_fault(path, "names no checkpoint: remove it to go on without a best one");
    return BestCheckpoint{*step, json.at("metric"), json.at("value")};
  } catch (const nlohmann::json::exception& error) {
    throw_fault(path, fmt::format("damaged ({}): remove it to go on without a best checkpoint",
                                  error.what()));
  }
}

bool restore_best(const std::filesystem::path& output, const TrainingState& saved) {
  if (!saved.best_metric.empty() && is_stored(output, saved.best_step)) {
    mark_best(output, {saved.best_step, saved.best_metric, saved.best_value});
    return true;
  }
  const auto marked = best_checkpoint(output);
  if (marked && !is_stored(output, marked->step)) {
    std::filesystem::remove(output / kBestFile);
    sync_folder(output);
  }
  return false;
}

}  // namespace penstock::runtime
