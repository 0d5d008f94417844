#include "runtime/checkpoint/disk_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "runtime/checkpoint/best.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/fault.h"
#include "runtime/checkpoint/folders.h"
#include "runtime/checkpoint/step_label.h"

namespace penstock::runtime {
namespace {

bool is_whole(const StoredCheckpoint& stored) try {
  Checkpoint(stored.folder).verify();
  return true;
} catch (const CheckpointError&) {
  return false;
}

/// Returns advice. If a smaller trainer.keep would fit, it contains that override.
std::string remedy(std::uint64_t fitting, const DiskSpace& room) {
  const std::string others = "Free them, or choose another trainer.output";
  if (fitting < 1 || fitting >= static_cast<std::uint64_t>(room.keep)) return others + ".";
  return fmt::format("{}, or keep fewer checkpoints by the override\n  trainer.keep={}", others,
                     fitting);
}

}  // namespace

void require_disk_space(const std::filesystem::path& output, const DiskSpace& room) {
  std::error_code error;
  const std::filesystem::path existing = nearest_existing(output);
  const std::uint64_t available = std::filesystem::space(existing, error).available;
  if (error) throw_fault(output, fmt::format("free space is unknown: {}", error.message()));
  const std::uint64_t stored = list_labelled(output).size();
  const auto held = static_cast<std::uint64_t>(room.keep) + 1;
  const std::uint64_t more = held - std::min(held, stored);
  if (available / std::max<std::uint64_t>(room.bytes, 1) >= more) return;
  throw_fault(
      output,
      fmt::format("{} bytes are missing: a checkpoint takes up to {} bytes, and trainer.keep "
                  "+ 1 = {} are held while one is written, {} of which are there, but the "
                  "file system has {} bytes free. {}",
                  more * room.bytes - available, room.bytes, held, std::min(held, stored),
                  available, remedy(available / room.bytes + stored - 1, room)));
}

std::optional<std::filesystem::path> make_room(const std::filesystem::path& output) {
  const std::vector<StoredCheckpoint> stored = list_labelled(output);
  const std::optional<BestCheckpoint> best = best_checkpoint(output);
  const auto oldest = std::ranges::find_if(
      stored, [&](const StoredCheckpoint& each) { return !best || each.step != best->step; });
  if (oldest == stored.end()) return std::nullopt;
  const std::span newer(oldest + 1, stored.end());
  if (std::ranges::none_of(newer | std::views::reverse, is_whole)) return std::nullopt;
  discard_folder(oldest->folder);
  return oldest->folder;
}

}  // namespace penstock::runtime
