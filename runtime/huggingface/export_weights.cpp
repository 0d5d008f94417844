#include <string>
#include <utility>
#include <vector>

#include "layers/models/lora.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/new_folder.h"
#include "runtime/checkpoint/open_checkpoint.h"
#include "runtime/checkpoint/passthrough_parts.h"
#include "runtime/checkpoint/save.h"
#include "runtime/checkpoint/shard.h"
#include "runtime/huggingface/export.h"
#include "runtime/huggingface/low_rank_update.h"
#include "runtime/huggingface/streams.h"
#include "runtime/huggingface/weights_writer.h"

// The result is a checkpoint again. Its manifest has the same state, its shards have weights and
// running statistics in the chosen type, and what an import has kept is copied. The shards are
// named as transformers names its files. Adapters are added to their weights, so the recipe loses
// its section [lora].

namespace penstock::runtime {
namespace {

/// Returns the parameters and running statistics, without the state of the optimizer, kept tensors
/// of an import, and adapters.
std::vector<StreamedTensor> weights_of(const Checkpoint& checkpoint, layers::DType dtype) {
  std::vector<StreamedTensor> weights;
  for (const auto& [name, tensor] : checkpoint.tensors()) {
    if (name.starts_with(kSlotTensors) || name.starts_with(kKeptTensors)) continue;
    if (layers::is_lora_parameter(name)) continue;
    expect_floats(checkpoint, name, tensor.shape);
    weights.push_back({.name = name, .dtype = dtype, .shape = tensor.shape});
    weights.back().runs = {{name, 0, layers::element_count(tensor.shape)}};
  }
  return weights;
}

std::vector<CheckpointPiece> pieces_of(const std::vector<NamedTensor>& tensors) {
  std::vector<CheckpointPiece> pieces;
  for (const auto& [name, tensor] : tensors)
    pieces.push_back({name, tensor.dtype, tensor.shape, 0, tensor.size(), tensor.data});
  return pieces;
}

}  // namespace

WeightsReport export_weights(const std::filesystem::path& checkpoint,
                             const std::filesystem::path& folder, const ExportOptions& options) {
  const Checkpoint opened = open_checkpoint(checkpoint);
  refuse_within(opened.folder(), folder);
  const std::vector<StreamedTensor> weights = weights_of(opened, options.dtype);
  const LowRankUpdates updates = updates_of(opened);
  const ReadElements read = weights_reader(opened, options.averages);
  TensorStream stream(merging_reader(read, read, updates));
  TrainingState state = opened.state();
  if (!updates.empty()) state.config = without_lora(std::move(state.config));
  NewFolder made(folder);
  std::vector<ShardIndex> shards;
  WeightsReport report{.merged = static_cast<int>(updates.size())};
  report.files = write_in_parts(
      made.partial(), weights, options.shard_bytes,
      [&](const std::string& name, const std::vector<NamedTensor>& part) {
        shards.push_back(write_shard(made.partial(), name, pieces_of(part),
                                     [&](const layers::Tensor& handle, std::size_t begin) {
                                       return stream.bytes(handle, begin);
                                     }));
      });
  for (const StreamedTensor& tensor : weights)
    report.parameters += layers::element_count(tensor.shape);
  complete_folder(made.partial(), state, std::move(shards), tokenizer_bytes(opened),
                  read_kept(opened));
  made.commit();
  return report;
}

}  // namespace penstock::runtime
