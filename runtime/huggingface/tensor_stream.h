#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/checkpoint/safetensors_writer.h"

namespace penstock::runtime {

/// Rows of a source tensor, which has rows as long as its target's.
struct RowRun {
  std::string source;
  std::int64_t first = 0, count = 0;
};

/// A tensor that is made while it is written: of rows of others, or of numbers that are there.
struct StreamedTensor {
  std::string name;
  layers::DType dtype = layers::DType::f32;  // f32, f16 or bf16, if it is made of rows
  layers::Shape shape = {};
  std::int64_t columns = 1;              // of a row
  std::vector<RowRun> runs = {};         // one behind the other, they are the tensor
  std::vector<std::int64_t> order = {};  // column j is the source's order[j]; empty: as they are
  std::vector<std::byte> ready = {};     // the whole tensor, where it has no runs

  /// What a writer is given, who asks a TensorStream for the bytes. Refers to this object.
  layers::Tensor handle() const;
};

/// Elements of a source tensor, from `begin` on, as FP32.
using ReadElements =
    std::function<void(const std::string& source, std::int64_t begin, std::span<float> out)>;

/// Gives writers the bytes of streamed tensors, a few rows at a time: its memory does not grow with
/// the tensors.
class TensorStream {
 public:
  explicit TensorStream(ReadElements read) : read_(std::move(read)) {}

  /// TensorBytes of handles. CheckpointError names the source tensor if a number is not finite, or
  /// too large for the type.
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
