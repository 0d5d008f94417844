#pragma once

#include "layers/cpu/halves/widening.h"

namespace penstock {

/// The CPU backend with real half values: an operation whose operands are f16 or bf16 reads them
/// widened to FP32, computes and sums in FP32 and rounds what it writes, as tensor cores do. Other
/// operations go straight through. The widened copies are memory of the backend's own, which no
/// plan counts: halves on a CPU are there to test with.
class HalfCpuBackend : public CpuBackend {
 public:
  using CpuBackend::CpuBackend;

  using CpuBackend::run;
  void run(Stream& s, const LinearForward& op) override;
  void run(Stream& s, const LinearBackwardInput& op) override;
  void run(Stream& s, const LinearBackwardWeight& op) override;
  void run(Stream& s, const Conv2dForward& op) override;
  void run(Stream& s, const Conv2dBackwardInput& op) override;
  void run(Stream& s, const Conv2dBackwardWeight& op) override;
  void run(Stream& s, const BatchNormForward& op) override;
  void run(Stream& s, const BatchNormInference& op) override;
  void run(Stream& s, const BatchNormBackwardInput& op) override;
  void run(Stream& s, const RecurrenceForward& op) override;
  void run(Stream& s, const RecurrenceBackwardInput& op) override;
  void run(Stream& s, const RecurrenceBackwardWeight& op) override;
  void run(Stream& s, const ClippedReluForward& op) override;
  void run(Stream& s, const ClippedReluBackward& op) override;
  void run(Stream& s, const LookaheadForward& op) override;
  void run(Stream& s, const LookaheadBackwardInput& op) override;
  void run(Stream& s, const LookaheadBackwardWeight& op) override;
  void run(Stream& s, const DropoutForward& op) override;
  void run(Stream& s, const DropoutBackward& op) override;
  void run(Stream& s, const CtcLoss& op) override;

 private:
  template <class Operation>
  void run_wide(Stream& stream, const Operation& op);

  BufferPool pool_;
};

}  // namespace penstock
