#include "runtime/checkpoint/retention.h"

#include <algorithm>
#include <system_error>

#include "base/error.h"
#include "runtime/checkpoint/best.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/folders.h"
#include "runtime/checkpoint/output_folder.h"

namespace penstock::runtime {

void keep_newest(const std::filesystem::path& output, int count) {
  const auto stored = list_checkpoints(output);
  const auto kept = static_cast<std::size_t>(std::max(count, 1));
  if (stored.size() <= kept) return;
  const auto best = best_checkpoint(output);
  Checkpoint(stored.back().folder).verify();
  for (std::size_t i = 0; i + kept < stored.size(); ++i)
    if (!best || best->step != stored[i].step) discard_folder(stored[i].folder);
}

void set_aside_after(const std::filesystem::path& output, std::int64_t step) {
  for (const auto& [stored_step, folder] : list_checkpoints(output)) {
    if (stored_step <= step) continue;
    auto aside = folder;
    aside += ".broken";
    std::error_code error;
    std::filesystem::remove_all(aside, error);
    move_folder(folder, aside);
  }
}

}  // namespace penstock::runtime
