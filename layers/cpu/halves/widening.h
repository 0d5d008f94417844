#pragma once

#include <mutex>
#include <vector>

#include "layers/cpu/cpu_backend.h"

namespace penstock::layers {

/// Host buffers that are lent out and come back, so that an operation that is run again and again
/// does not ask the system for memory again and again. Safe from several threads.
class BufferPool {
 public:
  /// At least `bytes`; give it back.
  Buffer take(std::size_t bytes);
  void give_back(Buffer buffer);

 private:
  std::mutex mutex_;
  std::vector<Buffer> free_;
};

/// Operands of one operation in FP32 in place of halves; others stay as they are. What the
/// operation reads is widened at once, what it writes is rounded by round().
class Widening {
 public:
  Widening(CpuBackend& backend, Stream& stream, BufferPool& pool)
      : backend_(backend), stream_(stream), pool_(pool) {}
  Widening(const Widening&) = delete;
  Widening& operator=(const Widening&) = delete;
  ~Widening();

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
  BufferPool& pool_;
  std::vector<Buffer> lent_;
  std::vector<Pair> written_;
};

}  // namespace penstock::layers
