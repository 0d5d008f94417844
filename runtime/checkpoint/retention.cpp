#include "runtime/checkpoint/retention.h"

#include <algorithm>
#include <cstdint>
#include <system_error>

#include "base/error.h"
#include "runtime/checkpoint/best.h"
#include "runtime/checkpoint/fault.h"
#include "runtime/checkpoint/folders.h"
#include "runtime/checkpoint/read_manifest.h"
#include "runtime/checkpoint/step_label.h"

namespace penstock::runtime {
namespace {

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

}  // namespace

void keep_newest(const std::filesystem::path& output, int count) {
  const auto stored = list_labelled(output);
  const auto kept = static_cast<std::size_t>(std::max(count, 1));
  if (stored.size() <= kept) return;
  const auto best = best_checkpoint(output);
  check_sizes(stored.back().folder);
  for (std::size_t i = 0; i + kept < stored.size(); ++i)
    if (!best || best->step != stored[i].step) discard_folder(stored[i].folder);
}

}  // namespace penstock::runtime
