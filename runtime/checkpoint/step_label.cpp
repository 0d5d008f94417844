#include "runtime/checkpoint/step_label.h"

#include <fmt/format.h>

#include <system_error>

#include "base/error.h"
#include "runtime/checkpoint/folders.h"
#include "runtime/checkpoint/read_manifest.h"

namespace penstock::runtime {
namespace {

using Report = std::function<void(const std::string&)>;

std::filesystem::path with_suffix(std::filesystem::path path, const std::string& suffix) {
  path += suffix;
  return path;
}

/// Returns "<name>.mislabelled", followed by a number if that name is taken, so that nothing is
/// replaced.
std::filesystem::path free_name(const std::filesystem::path& path) {
  std::filesystem::path name = with_suffix(path, ".mislabelled");
  for (int n = 2; std::filesystem::exists(std::filesystem::symlink_status(name)); ++n)
    name = with_suffix(path, fmt::format(".mislabelled-{}", n));
  return name;
}

}  // namespace

std::string label_error(const StoredCheckpoint& stored) try {
  const std::int64_t step = read_manifest(stored.folder).state.step;
  if (step == stored.step) return {};
  return fmt::format(
      "its manifest says step {}, not {}: it is a copy, or of another run. As {} it would count",
      step, stored.step, checkpoint_name(step));
} catch (const CheckpointError&) {
  return {};
}

std::vector<StoredCheckpoint> list_labelled(const std::filesystem::path& output,
                                            const Report& report) {
  std::vector<StoredCheckpoint> labelled = list_checkpoints(output, report);
  std::erase_if(labelled, [&](const StoredCheckpoint& stored) {
    const std::string wrong = label_error(stored);
    if (!wrong.empty()) report(fmt::format("{} is passed over: {}", stored.folder.string(), wrong));
    return !wrong.empty();
  });
  return labelled;
}

void make_way(const StoredCheckpoint& stored) {
  std::error_code ignored;  // renaming reports errors
  if (!std::filesystem::exists(stored.folder, ignored)) return;
  if (std::filesystem::is_directory(stored.folder, ignored) && label_error(stored).empty()) return;
  move_folder(stored.folder, free_name(stored.folder));
}

void set_aside(const std::filesystem::path& output, std::int64_t step, const Report& note) {
  for (const StoredCheckpoint& stored : list_checkpoints(output)) {
    const std::string wrong = label_error(stored);
    if (wrong.empty() && stored.step <= step) continue;
    const std::filesystem::path aside =
        wrong.empty() ? with_suffix(stored.folder, ".broken") : free_name(stored.folder);
    std::error_code error;
    std::filesystem::remove_all(aside, error);
    move_folder(stored.folder, aside);
    note(fmt::format("{} is renamed to {}: {}", stored.folder.string(), aside.filename().string(),
                     wrong.empty() ? "it is broken" : wrong));
  }
}

}  // namespace penstock::runtime
