#pragma once

#include <vector>

#include "layers/cpu/cpu_backend.h"

namespace penstock::layers {

/// Operands of one operation in FP32 in place of halves; others stay as they are. What the
/// operation reads is widened at once, what it writes is rounded by round(). The copies lie at the
/// end of what the stream was lent, for which widened() declares them, and ShapeError says that
/// they do not fit. Where it was lent nothing they are memory of their own.
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
  /// Every written operand, rounded into the halves that it stands for.
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

}  // namespace penstock::layers
