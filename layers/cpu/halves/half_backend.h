#pragma once

#include <vector>

#include "layers/cpu/cpu_backend.h"

namespace penstock::layers {

/// Replaces the f16 and bf16 operands of one operation by FP32 copies; other operands stay as they
/// are. An operand that the operation reads is widened at once. An operand that it writes is
/// rounded by round().
///
/// The copies lie at the end of the memory that the stream was lent, for which widened() declares
/// them. Throws ShapeError if they do not fit. If the stream was lent nothing, the copies are
/// allocated.
class Widening {
 public:
  Widening(CpuBackend& backend, Stream& stream)
      : backend_(backend),
        stream_(stream),
        left_(stream.lent().first(stream.lent().size() / kAlignment * kAlignment)) {}
  Widening(const Widening&) = delete;
  Widening& operator=(const Widening&) = delete;

  template <class... Tensors>
  void reads(Tensors&... tensors) {
    (read(tensors), ...);
  }
  template <class... Tensors>
  void writes(Tensors&... tensors) {
    (write(tensors), ...);
  }
  /// Rounds every written operand into the tensor that it stands for.
  void round();

 private:
  struct Pair {
    Tensor wide, half;
  };
  void read(Tensor& tensor);
  void write(Tensor& tensor);
  Tensor room_for(const Tensor& half);

  CpuBackend& backend_;
  Stream& stream_;
  std::span<std::byte> left_;
  std::vector<Buffer> own_;
  std::vector<Pair> written_;
};

/// An operation that names operands which may be in half precision, by a function operands() beside
/// its struct. Sums of weight gradients and statistics are never halves.
template <class Operation>
concept TakesHalves = requires(Widening& widening, Operation& op) {
  operands(widening, op);
};

/// The CPU backend for f16 and bf16. An operation with such operands reads them widened to FP32,
/// computes and sums in FP32, and rounds what it writes, as tensor cores do. Other operations are
/// passed on unchanged. The widened copies are part of the workspace that layers declare:
/// layers/widened.h.
class HalfCpuBackend : public CpuBackend {
 public:
  explicit HalfCpuBackend(int threads);

  template <class Operation>
  void compute(Stream& stream, const Operation& op) {
    CpuBackend::compute(stream, op);
  }
  template <TakesHalves Operation>
  void compute(Stream& stream, const Operation& op) {
    Operation wide = op;
    Widening widening(*this, stream);
    operands(widening, wide);
    CpuBackend::compute(stream, wide);
    widening.round();
  }
};

}  // namespace penstock::layers
