#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/checkpoint/manifest.h"
#include "runtime/checkpoint/safetensors.h"

namespace penstock::runtime {

/// Elements of a tensor and the shard that holds them.
struct CheckpointBlock {
  std::int64_t begin = 0, end = 0;             // elements of the tensor
  std::size_t shard = 0;                       // place in Checkpoint::shards()
  std::uint64_t file_begin = 0, file_end = 0;  // bytes of that file
};

struct CheckpointTensor {
  layers::DType dtype = layers::DType::f32;
  layers::Shape shape;
  std::vector<CheckpointBlock> blocks;  // by place; they cover the tensor exactly once
};

/// A committed checkpoint, open for reading, whatever partition wrote it. Opening checks manifest,
/// tokenizer, headers and sizes of all shards; verify() reads every byte. Every error is a
/// CheckpointError that names the file. Reading from several threads at once is safe.
class Checkpoint {
 public:
  using Tensors = std::map<std::string, CheckpointTensor, std::less<>>;

  explicit Checkpoint(std::filesystem::path folder);

  const std::filesystem::path& folder() const { return folder_; }
  const TrainingState& state() const { return manifest_.state; }
  const Tensors& tensors() const { return tensors_; }
  std::span<const SafetensorsFile> shards() const { return files_; }
  /// Its copy of text.model; empty where the text is of an alphabet.
  std::filesystem::path tokenizer_file() const;

  /// What came with an imported model.
  std::span<const KeptFile> files() const { return manifest_.files; }

  /// Compares the hash of every tensor of every shard, optimizer state included, and of files.
  void verify() const;

  bool contains(std::string_view name) const { return tensors_.contains(name); }
  /// CheckpointError if there is no such tensor.
  const CheckpointTensor& tensor(std::string_view name) const;

  /// Elements [begin, end) of a tensor, in its own dtype; `out` has exactly their bytes.
  void read(std::string_view name, std::int64_t begin, std::int64_t end,
            std::span<std::byte> out) const;
  /// CheckpointError unless there is such a tensor, of that dtype and shape.
  void expect(std::string_view name, layers::DType dtype, const layers::Shape& shape) const;

 private:
  void open_shard(const ShardIndex& shard);

  std::filesystem::path folder_;
  Manifest manifest_;
  std::vector<SafetensorsFile> files_;
  Tensors tensors_;
};

}  // namespace penstock::runtime
