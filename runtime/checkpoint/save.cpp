#include "runtime/checkpoint/save.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "base/atomic_file.h"
#include "base/file_handle.h"
#include "runtime/checkpoint/hash.h"
#include "runtime/checkpoint/manifest.h"
#include "runtime/checkpoint/output_folder.h"
#include "runtime/checkpoint/shard.h"

// A save is committed by a rename:
//
//   1. rank 0       start_save()     makes checkpoint-N.partial
//   2. every rank   write_shard()    writes and flushes its shard there, then read_back()
//   3. rank 0       commit()         kept parts, tokenizer.model, manifest.json, each flushed
//   4. rank 0       move_folder()    renames the folder to checkpoint-N, flushes the output folder
//   5. rank 0       mark_best(), keep_newest() and others, which may fail without harm
//
// Every file is on the disk before the rename, so not even a loss of power leaves a checkpoint's
// name on missing bytes. The protocol has no journal and no recovery: readers ignore folders of
// other names, and the next save removes those of dead saves. Only a folder that was being replaced
// gets its name back first. The caller ensures that all ranks
// write the state of the same step.

namespace penstock::runtime {
namespace {

constexpr const char* kPartial = ".partial";
constexpr const char* kDiscarded = ".discarded";

/// Removes what dead saves and removals left, after a checkpoint that was being replaced has its
/// name back: otherwise both copies of its step could be lost.
void remove_leftovers(const std::filesystem::path& output) {
  std::vector<std::filesystem::path> leftovers, replaced;
  for (const auto& entry : std::filesystem::directory_iterator(output)) {
    const auto extension = entry.path().extension();
    const bool ours = entry.path().filename().string().starts_with("checkpoint-");
    if (ours && (extension == kPartial || extension == kDiscarded))
      leftovers.push_back(entry.path());
    if (ours && extension == kReplaced) replaced.push_back(entry.path());
  }
  for (const auto& folder : replaced) restore_replaced(folder);
  for (const auto& leftover : leftovers) std::filesystem::remove_all(leftover);
}

}  // namespace

void remove_dead_saves(const std::filesystem::path& output) try {
  remove_leftovers(output);
} catch (const std::filesystem::filesystem_error& error) {
  throw CheckpointError(fmt::format("what a dead save left can't be removed: {}", error.what()));
}

// The error keeps its errno. The caller recognises a full disk by it and makes room.
std::filesystem::path start_save(const std::filesystem::path& output, std::int64_t step) try {
  std::filesystem::create_directories(output);
  remove_leftovers(output);
  auto folder = output / (checkpoint_name(step) + kPartial);
  std::filesystem::create_directory(folder);
  return folder;
} catch (const std::filesystem::filesystem_error& error) {
  throw FileError(output, fmt::format("a save can't begin: {}", error.what()),
                  static_cast<std::errc>(error.code().value()));
}

// The coverage is checked when the kept parts are there, since they are a shard too. A rank that
// wrote too little or too much is found here, before the checkpoint exists. The hash of the
// tokenizer that `state` carries is ignored; the file written here determines it.
void complete_folder(const std::filesystem::path& folder, const TrainingState& state,
                     std::vector<ShardIndex> shards, std::string_view tokenizer,
                     const PassthroughParts& kept) {
  Manifest manifest{state, std::move(shards)};
  write_kept(folder, kept, manifest);
  check_coverage(manifest.shards);
  manifest.state.tokenizer_hash.clear();
  if (!tokenizer.empty()) {
    write_durably(folder / kTokenizerFile, tokenizer);
    manifest.state.tokenizer_hash = xxh3_128(tokenizer);
  }
  write_durably(folder / kManifestFile, to_text(manifest));
}

std::filesystem::path commit(const std::filesystem::path& folder, const TrainingState& state,
                             std::vector<ShardIndex> shards, std::string_view tokenizer,
                             const PassthroughParts& kept) {
  complete_folder(folder, state, std::move(shards), tokenizer, kept);
  auto committed = folder.parent_path() / checkpoint_name(state.step);
  make_way({state.step, committed});
  move_folder(folder, committed);
  return committed;
}

// No code reads this file: the newest checkpoint is found by name.
void mark_latest(const std::filesystem::path& checkpoint) {
  write_durably(checkpoint.parent_path() / "LATEST", checkpoint.filename().string() + "\n");
}

void abandon_save(const std::filesystem::path& folder) noexcept {
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

}  // namespace penstock::runtime
