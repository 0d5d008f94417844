#include "runtime/checkpoint/describe.h"

#include "runtime/checkpoint/safetensors/safetensors.h"
#include "runtime/checkpoint/safetensors/safetensors_dtype.h"

namespace penstock::runtime {

// Each block becomes a line of its own. A tensor in one block has no range, since it would only
// repeat the shape.
Description describe(const Checkpoint& checkpoint) {
  Description description{checkpoint.state(), {}};
  for (const auto& [name, tensor] : checkpoint.tensors())
    for (const CheckpointBlock& block : tensor.blocks) {
      TensorPlace& place = description.tensors.emplace_back();
      place.name = name;
      place.dtype = to_safetensors(tensor.dtype);
      place.shape.assign(tensor.shape.begin(), tensor.shape.end());
      if (tensor.blocks.size() > 1) place.first = block.begin, place.last = block.end;
      place.file = checkpoint.shard_path(block.shard);
      place.begin = block.file_begin;
      place.end = block.file_end;
    }
  return description;
}

Description describe_file(const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  Description description;
  for (const SafetensorsEntry& entry : file.entries())
    description.tensors.push_back(
        {entry.name, entry.dtype, entry.shape, {}, {}, path, entry.begin, entry.end});
  return description;
}

}  // namespace penstock::runtime
