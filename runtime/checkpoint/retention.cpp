#include "runtime/checkpoint/retention.h"

#include <algorithm>
#include <cstdint>
#include <system_error>

#include "base/error.h"
#include "runtime/checkpoint/best.h"
#include "runtime/checkpoint/fault.h"
#include "runtime/checkpoint/folders.h"
#include "runtime/checkpoint/manifest.h"
#include "runtime/checkpoint/mapped_file.h"
#include "runtime/checkpoint/output_folder.h"

namespace penstock::runtime {
namespace {

void check_size(const std::filesystem::path& file, std::uint64_t bytes) {
  std::error_code error;
  const std::uintmax_t found = std::filesystem::file_size(file, error);
  if (error) throw_fault(file, error.message());
  if (found != bytes) throw_fault(file, "has another size than the manifest says");
}

/// Opens no shard: of a large job there are thousands.
void check_sizes(const std::filesystem::path& checkpoint) {
  const MappedFile text(checkpoint / kManifestFile);
  const Manifest manifest =
      parse_manifest({reinterpret_cast<const char*>(text.bytes().data()), text.bytes().size()});
  for (const ShardIndex& shard : manifest.shards) check_size(checkpoint / shard.file, shard.bytes);
  for (const KeptFile& kept : manifest.files) check_size(checkpoint / kept.file, kept.bytes);
}

}  // namespace

void keep_newest(const std::filesystem::path& output, int count) {
  const auto stored = list_checkpoints(output);
  const auto kept = static_cast<std::size_t>(std::max(count, 1));
  if (stored.size() <= kept) return;
  const auto best = best_checkpoint(output);
  check_sizes(stored.back().folder);
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
