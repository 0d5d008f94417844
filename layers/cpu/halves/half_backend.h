#pragma once

#include "layers/cpu/cpu_backend.h"
#include "layers/cpu/halves/widening.h"

namespace penstock::layers {

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
