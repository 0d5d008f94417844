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
#include <utility>
#include <vector>

#include "base/file_handle.h"
#include "runtime/checkpoint/manifest.h"
#include "runtime/checkpoint/safetensors/safetensors.h"

namespace penstock::runtime {

/// A range of a tensor's elements and its position in a shard.
struct CheckpointBlock {
  std::int64_t begin = 0, end = 0;             // elements of the tensor
  std::size_t shard = 0;                       // index of the shard, see Checkpoint::shard_path()
  std::uint64_t file_begin = 0, file_end = 0;  // bytes within the shard's file
};

struct CheckpointTensor {
  layers::DType dtype = layers::DType::f32;
  layers::Shape shape;
  std::vector<CheckpointBlock> blocks;  // in order; they cover the tensor exactly once
};

/// Shards that are opened together with a checkpoint. The header and the size of a shard are
/// checked when it is opened.
enum class OpenShards {
  all,
  as_read,  // each when it is first read or verified
};

/// The part of a checkpoint that is verified.
enum class Verified {
  all,   // every byte
  read,  // weights, moving averages and statistics, but not optimizer slots and kept parts
};

/// One of `of` equal shares, such as that of one rank of a job.
struct Share {
  std::size_t number = 0, of = 1;
};

/// A checkpoint's folder on this machine.
struct CheckpointPlace {
  std::filesystem::path folder;
  std::string url = {};                           // from which it was downloaded, or ""
  std::shared_ptr<const FileHandle> in_use = {};  // of a downloaded one, which it keeps there

  /// Returns what a user calls it: its URL or its folder.
  [[nodiscard]] std::string name() const { return url.empty() ? folder.string() : url; }
};

/// A committed checkpoint, open for reading. The partition that wrote it does not matter. Opening
/// checks the manifest and the tokenizer; verify() checks the data. Every error is a
/// CheckpointError that names the file. Several threads may read at once.
class Checkpoint {
 public:
  using Tensors = std::map<std::string, CheckpointTensor, std::less<>>;

  explicit Checkpoint(CheckpointPlace place, OpenShards open = OpenShards::all);
  explicit Checkpoint(std::filesystem::path folder, OpenShards open = OpenShards::all)
      : Checkpoint(CheckpointPlace{std::move(folder)}, open) {}
  ~Checkpoint();
  Checkpoint(Checkpoint&&) noexcept;
  Checkpoint& operator=(Checkpoint&&) noexcept;

  const CheckpointPlace& place() const { return place_; }
  const std::filesystem::path& folder() const { return place_.folder; }
  const TrainingState& state() const { return manifest_.state; }
  const Tensors& tensors() const { return tensors_; }
  std::size_t shard_count() const { return manifest_.shards.size(); }
  std::filesystem::path shard_path(std::size_t number) const;
  /// Returns the path of its copy of text.model. It is empty if the text is encoded by an alphabet.
  std::filesystem::path tokenizer_file() const;

  /// Files that came with an imported model.
  std::span<const KeptFile> files() const { return manifest_.files; }

  /// Compares the hashes of tensors and files. A share has about as many bytes as any other, and
  /// all shares together cover everything.
  void verify(Verified what = Verified::all, const Share& share = {}) const;

  bool contains(std::string_view name) const { return tensors_.contains(name); }
  /// Throws CheckpointError if there is no such tensor.
  const CheckpointTensor& tensor(std::string_view name) const;

  /// Reads elements [begin, end) of a tensor in its own dtype. `out` must have exactly their size.
  void read(std::string_view name, std::int64_t begin, std::int64_t end,
            std::span<std::byte> out) const;
  /// Throws CheckpointError unless the tensor exists and has that dtype and shape.
  void expect(std::string_view name, layers::DType dtype, const layers::Shape& shape) const;

 private:
  struct OpenFiles;

  void place_pieces(std::size_t shard);
  const SafetensorsFile& shard(std::size_t number) const;
  void verify_files() const;

  CheckpointPlace place_;
  Manifest manifest_;
  std::unique_ptr<OpenFiles> files_;
  Tensors tensors_;
};

/// Returns the name of the tensor that holds a weight or statistic of the model: its moving average
/// if the training kept one (trainer.ema), else `name` itself. Evaluation, export and new runs read
/// this tensor; a run that resumes reads both.
[[nodiscard]] std::string model_tensor(const Checkpoint& checkpoint, const std::string& name);

/// Returns the bytes of its copy of text.model. They are empty if the text is encoded by an
/// alphabet.
[[nodiscard]] std::string tokenizer_bytes(const Checkpoint& checkpoint);

/// Throws CheckpointError unless the checkpoint has a tensor of that name and shape in FP32, FP16
/// or BF16.
void expect_floats(const Checkpoint& checkpoint, std::string_view name, const layers::Shape& shape);

/// Reads elements of such a tensor from `begin` on as FP32. The conversion from half precision is
/// exact.
void read_floats(const Checkpoint& checkpoint, std::string_view name, std::int64_t begin,
                 std::span<float> out);

}  // namespace penstock::runtime
