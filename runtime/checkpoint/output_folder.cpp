#include "runtime/checkpoint/output_folder.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "layers/tensor/error.h"
#include "runtime/checkpoint/durable_file.h"
#include "runtime/checkpoint/mapped_file.h"

namespace penstock {
namespace {

constexpr std::string_view kPrefix = "checkpoint-";
constexpr const char* kBestFile = "BEST";

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& reason) {
  throw CheckpointError(path.string() + ": " + reason);
}

// The step in a checkpoint's name; nothing for other names, those of dead saves included.
std::optional<std::int64_t> step_of(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const std::string digits(name.substr(kPrefix.size()));
  if (digits.size() < 9 || digits.size() > 18 ||
      digits.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  return std::stoll(digits);
}

}  // namespace

std::string checkpoint_name(std::int64_t step) {
  std::string digits = std::to_string(step);
  digits.insert(0, digits.size() < 9 ? 9 - digits.size() : 0, '0');
  return std::string(kPrefix) + digits;
}

std::vector<StoredCheckpoint> list_checkpoints(const std::filesystem::path& output) {
  std::vector<StoredCheckpoint> found;
  std::error_code error;
  if (!std::filesystem::is_directory(output, error)) return found;
  for (std::filesystem::directory_iterator entry(output, error), end; !error && entry != end;
       entry.increment(error))
    if (const auto step = step_of(entry->path().filename().string()))
      found.push_back({*step, entry->path()});
  if (error) refuse(output, "can't be listed: " + error.message());
  std::ranges::sort(found, {}, &StoredCheckpoint::step);
  return found;
}

void probe_output(const std::filesystem::path& output, std::uint64_t bytes) {
  std::error_code error;
  std::filesystem::path existing = std::filesystem::absolute(output);
  while (!std::filesystem::exists(existing, error) && existing.has_relative_path())
    existing = existing.parent_path();
  if (!std::filesystem::is_directory(existing, error))
    refuse(output, "can't be an output folder: " + existing.string() + " is not a folder");
  const auto space = std::filesystem::space(existing, error);
  if (error) refuse(output, "free space is unknown: " + error.message());
  if (space.available < bytes)
    refuse(output, "the file system has " + std::to_string(space.available) +
                       " bytes free; checkpoints need " + std::to_string(bytes));
  make_output(output);
  const auto probe = output / ".probe";
  write_durably(probe, "written to see whether this folder can be written\n");
  if (!std::filesystem::remove(probe, error)) refuse(probe, "can't be removed");
  for (auto made = std::filesystem::absolute(output); made != existing; made = made.parent_path())
    std::filesystem::remove(made, error);
}

void make_output(const std::filesystem::path& output) {
  std::error_code error;
  std::filesystem::create_directories(output, error);
  if (error) refuse(output, "can't be made: " + error.message());
}

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
    const auto step = step_of(json.at("checkpoint").get<std::string>());
    if (!step) refuse(path, "names no checkpoint; remove it to go on without a best one");
    return BestCheckpoint{*step, json.at("metric"), json.at("value")};
  } catch (const nlohmann::json::exception& error) {
    refuse(path, std::string("damaged; remove it to go on without a best one: ") + error.what());
  }
}

}  // namespace penstock
