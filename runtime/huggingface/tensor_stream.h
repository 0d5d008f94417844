#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/checkpoint/safetensors/safetensors_writer.h"

namespace penstock::runtime {

/// A range of rows of a source tensor, whose rows are as long as the target's.
struct RowRun {
  std::string source;
  std::int64_t first = 0, count = 0;
};

/// A tensor that is assembled while it is written, from rows of other tensors or from ready bytes.
struct StreamedTensor {
  std::string name;
  layers::DType dtype = layers::DType::f32;  // f32, f16 or bf16, if it consists of rows
  layers::Shape shape = {};
  std::int64_t columns = 1;              // per row
  std::vector<RowRun> runs = {};         // consecutive parts of the tensor
  std::vector<std::int64_t> order = {};  // column j is the source's order[j]; empty: unchanged
  std::vector<std::byte> ready = {};     // the whole tensor, if it has no runs

  /// Returns the handle that a writer gets. The writer asks a TensorStream for its bytes. It refers
  /// to this object.
  layers::Tensor handle() const;
};

/// Reads elements of a source tensor from `begin` on, as FP32.
using ReadElements =
    std::function<void(const std::string& source, std::int64_t begin, std::span<float> out)>;

/// Provides writers with the bytes of streamed tensors, a few rows at a time. Its memory does not
/// grow with the tensors.
class TensorStream {
 public:
  explicit TensorStream(ReadElements read) : read_(std::move(read)) {}

  /// Implements TensorBytes for handles. Throws CheckpointError, which names the source tensor, if
  /// a number is not finite or too large for the type.
  std::span<const std::byte> bytes(const layers::Tensor& handle, std::size_t begin);

 private:
  void fill(const StreamedTensor& tensor, std::int64_t row);
  void check_range(const std::string& source, layers::DType dtype) const;
  void reorder(const StreamedTensor& tensor);
  std::span<const std::byte> rounded(layers::DType dtype);

  ReadElements read_;
  std::vector<float> rows_, row_;
  std::vector<std::uint16_t> halves_;
};

}  // namespace penstock::runtime
