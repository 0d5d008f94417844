#include "layers/cpu/halves/half_backend.h"

#include "layers/cpu/halves/half_operands.h"

namespace penstock {

template <class Operation>
void HalfCpuBackend::run_wide(Stream& stream, const Operation& op) {
  Operation wide = op;
  Widening widening(*this, stream, pool_);
  operands(widening, wide);
  CpuBackend::run(stream, wide);
  widening.round();
}

void HalfCpuBackend::run(Stream& s, const LinearForward& op) { run_wide(s, op); }
void HalfCpuBackend::run(Stream& s, const LinearBackwardInput& op) { run_wide(s, op); }
void HalfCpuBackend::run(Stream& s, const LinearBackwardWeight& op) { run_wide(s, op); }
void HalfCpuBackend::run(Stream& s, const Conv2dForward& op) { run_wide(s, op); }
void HalfCpuBackend::run(Stream& s, const Conv2dBackwardInput& op) { run_wide(s, op); }
void HalfCpuBackend::run(Stream& s, const Conv2dBackwardWeight& op) { run_wide(s, op); }
void HalfCpuBackend::run(Stream& s, const BatchNormForward& op) { run_wide(s, op); }
void HalfCpuBackend::run(Stream& s, const BatchNormInference& op) { run_wide(s, op); }
void HalfCpuBackend::run(Stream& s, const BatchNormBackwardInput& op) { run_wide(s, op); }
void HalfCpuBackend::run(Stream& s, const RecurrenceForward& op) { run_wide(s, op); }
void HalfCpuBackend::run(Stream& s, const RecurrenceBackwardInput& op) { run_wide(s, op); }
void HalfCpuBackend::run(Stream& s, const RecurrenceBackwardWeight& op) { run_wide(s, op); }
void HalfCpuBackend::run(Stream& s, const ClippedReluForward& op) { run_wide(s, op); }
void HalfCpuBackend::run(Stream& s, const ClippedReluBackward& op) { run_wide(s, op); }
void HalfCpuBackend::run(Stream& s, const LookaheadForward& op) { run_wide(s, op); }
void HalfCpuBackend::run(Stream& s, const LookaheadBackwardInput& op) { run_wide(s, op); }
void HalfCpuBackend::run(Stream& s, const LookaheadBackwardWeight& op) { run_wide(s, op); }
void HalfCpuBackend::run(Stream& s, const DropoutForward& op) { run_wide(s, op); }
void HalfCpuBackend::run(Stream& s, const DropoutBackward& op) { run_wide(s, op); }
void HalfCpuBackend::run(Stream& s, const CtcLoss& op) { run_wide(s, op); }

std::unique_ptr<Backend> make_cpu_backend(int threads) {
  return std::make_unique<HalfCpuBackend>(threads);
}

}  // namespace penstock
