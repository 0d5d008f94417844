#pragma once

#include "layers/cpu/halves/half_operands.h"

namespace penstock::layers {

/// The CPU backend for f16 and bf16. An operation with such operands reads them widened to FP32,
/// computes and sums in FP32, and rounds what it writes, as tensor cores do. Other operations are
/// passed on unchanged. The widened copies are part of the workspace that layers declare:
/// layers/widened.h.
class HalfCpuBackend : public OperationDispatch<HalfCpuBackend, CpuBackend> {
 public:
  using OperationDispatch::OperationDispatch;

 private:
  template <class, class, class>
  friend class OperationDispatch;
  template <class Operation>
  void compute(Stream& stream, const Operation& op) {
    CpuBackend::run(stream, op);
  }
  template <TakesHalves Operation>
  void compute(Stream& stream, const Operation& op) {
    Operation wide = op;
    Widening widening(*this, stream);
    operands(widening, wide);
    CpuBackend::run(stream, wide);
    widening.round();
  }
};

}  // namespace penstock::layers
