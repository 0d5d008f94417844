#include "runtime/checkpoint/passthrough_parts.h"

#include "base/atomic_file.h"
#include "base/mapped_file.h"
#include "runtime/checkpoint/hash.h"
#include "runtime/checkpoint/output_folder.h"
#include "runtime/checkpoint/shard.h"

namespace penstock::runtime {

// A training reads the parts once, at its start, so that no later save depends on the checkpoint
// from which they came. They are small beside the model.
PassthroughParts read_kept(const Checkpoint& checkpoint) {
  PassthroughParts kept;
  for (const KeptFile& stored : checkpoint.files()) {
    const MappedFile file = map_file(checkpoint.folder() / stored.file);
    kept.files.push_back({stored.file, std::string(file.bytes())});
  }
  for (const auto& [name, tensor] : checkpoint.tensors()) {
    if (!name.starts_with(kKeptTensors)) continue;
    const std::int64_t count = layers::element_count(tensor.shape);
    PassthroughParts::Numbers& numbers =
        kept.tensors.emplace_back(PassthroughParts::Numbers{name, tensor.dtype, tensor.shape, {}});
    numbers.bytes.resize(static_cast<std::size_t>(count) * layers::size_of(tensor.dtype));
    checkpoint.read(name, 0, count, numbers.bytes);
  }
  return kept;
}

// The tensors are read back here, as ranks read back their shards, since commit() publishes them
// without another check.
void write_kept(const std::filesystem::path& folder, const PassthroughParts& kept,
                Manifest& manifest) {
  for (const PassthroughParts::File& file : kept.files) {
    make_output((folder / file.file).parent_path());
    write_durably(folder / file.file, file.bytes);
    manifest.files.push_back({file.file, file.bytes.size(), xxh3_128(file.bytes)});
  }
  std::vector<CheckpointPiece> pieces;
  for (const PassthroughParts::Numbers& tensor : kept.tensors)
    pieces.push_back({tensor.name, tensor.dtype, tensor.shape, 0,
                      layers::element_count(tensor.shape), tensor.bytes.data()});
  if (pieces.empty()) return;
  manifest.shards.push_back(write_shard(folder, "kept", pieces));
  read_back(folder, manifest.shards.back());
}

}  // namespace penstock::runtime
