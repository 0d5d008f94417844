#include "runtime/checkpoint/retention.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ranges>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/file_handle.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/fault.h"
#include "runtime/checkpoint/output_folder.h"

// Retention removes what is no longer needed, in an order that never loses the only intact
// checkpoint. keep_newest() follows each save, whose shards have just been read back, so a look at
// sizes suffices. make_room() follows a save that failed for lack of space. The stored checkpoints
// were read back when they were written, perhaps long ago, so it hashes a newer one in full before
// it removes an older one.

namespace penstock::runtime {
namespace {

bool is_stored(const std::filesystem::path& output, std::int64_t step) {
  return std::filesystem::exists(output / checkpoint_name(step));
}

void check_size(const std::filesystem::path& file, std::uint64_t bytes) {
  std::error_code error;
  const std::uintmax_t found = std::filesystem::file_size(file, error);
  if (error) throw_fault(file, error.message());
  if (found != bytes) throw_fault(file, "has another size than the manifest says");
}

/// Checks the sizes of all files without opening shards, since a large job has thousands.
void check_sizes(const std::filesystem::path& checkpoint) {
  const Manifest manifest = read_manifest(checkpoint);
  for (const ShardIndex& shard : manifest.shards) check_size(checkpoint / shard.file, shard.bytes);
  for (const KeptFile& kept : manifest.files) check_size(checkpoint / kept.file, kept.bytes);
}

/// Reads every byte of the checkpoint.
bool is_whole(const StoredCheckpoint& stored) try {
  Checkpoint(stored.folder).verify();
  return true;
} catch (const Error&) {
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

// BEST is one line: {"checkpoint":"checkpoint-000000600","metric":"wer","value":0.081}
void mark_best(const std::filesystem::path& output, const BestCheckpoint& best) {
  const nlohmann::ordered_json json = {
      {"checkpoint", checkpoint_name(best.step)}, {"metric", best.metric}, {"value", best.value}};
  write_durably(output / kBestFile, json.dump() + "\n");
}

BestCheckpoint parse_best(const std::filesystem::path& file, std::string_view text) try {
  const auto json = nlohmann::json::parse(text);
  const auto step = step_of_checkpoint(json.at("checkpoint").get<std::string>());
  if (!step) throw_fault(file, "names no checkpoint: remove it to go on without a best one");
  return {*step, json.at("metric"), json.at("value")};
} catch (const nlohmann::json::exception& error) {
  throw_fault(file, fmt::format("damaged ({}): remove it to go on without a best checkpoint",
                                error.what()));
}

std::optional<BestCheckpoint> best_checkpoint(const std::filesystem::path& output) {
  const auto path = output / kBestFile;
  if (!std::filesystem::exists(path)) return std::nullopt;
  return parse_best(path, read_file(path));
}

// The state within the checkpoint decides and the mark follows. A save may have been the best but
// died before its mark, and the mark may be on a checkpoint later than the one resumed.
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

// The mark is read and the newest checkpoint is checked before the first removal, so that an error
// removes nothing. A crash between removals leaves too many checkpoints, which the next save
// removes.
void keep_newest(const std::filesystem::path& output, int count,
                 const std::function<bool(std::int64_t)>& in_use) {
  const auto stored = list_labelled(output);
  const auto kept = static_cast<std::size_t>(std::max(count, 1));
  if (stored.size() <= kept) return;
  const auto best = best_checkpoint(output);
  check_sizes(stored.back().folder);
  for (std::size_t i = 0; i + kept < stored.size(); ++i)
    if ((!best || best->step != stored[i].step) && !in_use(stored[i].step))
      discard_folder(stored[i].folder);
}

// A run needs room for keep + 1 checkpoints at once: the new one is complete before the oldest is
// removed. With n stored ones, keep + 1 - n more must fit into the free space. The comparison
// divides instead of multiplying, since the product of large numbers could overflow. The largest
// `keep` that fits is free / bytes + n - 1. If none is stored and none fits, this wraps to
// the maximum number, for which remedy() names no override.
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

// The newest is verified first. It is most probably intact, and one intact checkpoint ends the
// search.
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
