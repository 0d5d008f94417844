#include "runtime/checkpoint/newest.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <ranges>
#include <system_error>
#include <utility>

#include "base/counted.h"
#include "base/file_handle.h"
#include "configs/renamed_keys.h"
#include "runtime/checkpoint/best.h"
#include "runtime/checkpoint/output_folder.h"
#include "runtime/checkpoint/step_label.h"

namespace penstock::runtime {
namespace {

Checkpoint open_verified(const std::filesystem::path& folder) {
  Checkpoint checkpoint(folder);
  checkpoint.verify();
  warn_of_renamed_keys(checkpoint);
  return checkpoint;
}

}  // namespace

std::optional<Checkpoint> newest(const std::filesystem::path& output,
                                 const std::function<void(const std::string&)>& report) {
  const auto stored = list_labelled(output, report);
  for (const auto& candidate : std::views::reverse(stored)) {
    const auto pass_over = [&](const CheckpointError& error) {
      report(
          fmt::format("{} is passed over: {}", candidate.folder.filename().string(), error.what()));
    };
    try {
      return open_verified(candidate.folder);
    } catch (const FileError& error) {
      if (!error.missing()) throw;
      pass_over(error);
    } catch (const CheckpointError& error) {
      pass_over(error);
    }
  }
  const std::size_t all = list_checkpoints(output).size();
  if (all == 0) return std::nullopt;
  throw_none_whole(output, all);
}

void throw_none_whole(const std::filesystem::path& output, std::size_t stored) {
  throw CheckpointError(fmt::format(
      "{}: holds {}, but none is whole and of the step in its name: remove them to start afresh",
      output.string(), counted(static_cast<std::int64_t>(stored), "checkpoint")));
}

void warn_of_renamed_keys(const Checkpoint& checkpoint) {
  for (const std::string& line :
       configs::renaming_notes(checkpoint.state().config, checkpoint.folder().string()))
    spdlog::warn("{}", line);
}

std::filesystem::path checkpoint_folder(const std::filesystem::path& path) {
  std::error_code ignored;  // treat errors as "not a folder"
  if (path.filename() == "BEST" && std::filesystem::is_regular_file(path, ignored))
    if (const auto best = best_checkpoint(path.parent_path()))
      return path.parent_path() / checkpoint_name(best->step);
  if (!std::filesystem::is_directory(path, ignored))
    throw CheckpointError(
        fmt::format("{}: neither a checkpoint's folder nor an output folder", path.string()));
  if (std::filesystem::exists(path / kManifestFile, ignored)) return path;
  const auto stored =
      list_labelled(path, [](const std::string& text) { spdlog::warn("{}", text); });
  if (stored.empty())
    throw CheckpointError(
        fmt::format("{}: holds neither {} nor checkpoints", path.string(), kManifestFile));
  return stored.back().folder;
}

Checkpoint open_checkpoint(const std::filesystem::path& path) {
  return open_verified(checkpoint_folder(path));
}

}  // namespace penstock::runtime
