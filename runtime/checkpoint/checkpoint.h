#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
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
  std::size_t shard = 0;                       // its number, see Checkpoint::shard_path()
  std::uint64_t file_begin = 0, file_end = 0;  // bytes of that file
};

struct CheckpointTensor {
  layers::DType dtype = layers::DType::f32;
  layers::Shape shape;
  std::vector<CheckpointBlock> blocks;  // by place; they cover the tensor exactly once
};

/// Which shards are opened with a checkpoint; an opened one has its header and size checked.
enum class OpenShards {
  all,
  as_read,  // each when something of it is read or verified for the first time
};

/// What of a checkpoint is verified.
enum class Verified {
  all,   // every byte
  read,  // what a model is read from: weights and statistics, not what optimizer and import keep
};

/// One of several equal shares, such as a rank's of a job.
struct Share {
  std::size_t number = 0, of = 1;
};

/// A committed checkpoint, open for reading, whatever partition wrote it. Opening checks manifest
/// and tokenizer; verify() reads bytes. Every error is a CheckpointError that names the file.
/// Reading from several threads at once is safe.
class Checkpoint {
 public:
  using Tensors = std::map<std::string, CheckpointTensor, std::less<>>;

  explicit Checkpoint(std::filesystem::path folder, OpenShards open = OpenShards::all);
  ~Checkpoint();
  Checkpoint(Checkpoint&&) noexcept;
  Checkpoint& operator=(Checkpoint&&) noexcept;

  const std::filesystem::path& folder() const { return folder_; }
  const TrainingState& state() const { return manifest_.state; }
  const Tensors& tensors() const { return tensors_; }
  std::size_t shard_count() const { return manifest_.shards.size(); }
  std::filesystem::path shard_path(std::size_t number) const;
  /// Its copy of text.model; empty where the text is of an alphabet.
  std::filesystem::path tokenizer_file() const;

  /// What came with an imported model.
  std::span<const KeptFile> files() const { return manifest_.files; }

  /// Compares hashes of tensors and files: all of them, or a share of about as many bytes as the
  /// others, which together are all.
  void verify(Verified what = Verified::all, const Share& share = {}) const;

  bool contains(std::string_view name) const { return tensors_.contains(name); }
  /// CheckpointError if there is no such tensor.
  const CheckpointTensor& tensor(std::string_view name) const;

  /// Elements [begin, end) of a tensor, in its own dtype; `out` has exactly their bytes.
  void read(std::string_view name, std::int64_t begin, std::int64_t end,
            std::span<std::byte> out) const;
  /// CheckpointError unless there is such a tensor, of that dtype and shape.
  void expect(std::string_view name, layers::DType dtype, const layers::Shape& shape) const;

 private:
  struct OpenFiles;

  void place_pieces(std::size_t shard);
  const SafetensorsFile& shard(std::size_t number) const;
  void verify_files() const;

  std::filesystem::path folder_;
  Manifest manifest_;
  std::unique_ptr<OpenFiles> files_;
  Tensors tensors_;
};

}  // namespace penstock::runtime
