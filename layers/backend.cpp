#include "layers/backend.h"

#include "base/error.h"

namespace penstock {

void Backend::unsupported(const char* operation) const {
  throw DeviceError(std::string(operation) + " does not exist on this device: " + description());
}

void Backend::run(Stream&, const LinearForward&) { unsupported("LinearForward"); }
void Backend::run(Stream&, const LinearBackwardInput&) { unsupported("LinearBackwardInput"); }
void Backend::run(Stream&, const LinearBackwardWeight&) { unsupported("LinearBackwardWeight"); }
void Backend::run(Stream&, const Conv2dForward&) { unsupported("Conv2dForward"); }
void Backend::run(Stream&, const Conv2dBackwardInput&) { unsupported("Conv2dBackwardInput"); }
void Backend::run(Stream&, const Conv2dBackwardWeight&) { unsupported("Conv2dBackwardWeight"); }
void Backend::run(Stream&, const BatchNormForward&) { unsupported("BatchNormForward"); }
void Backend::run(Stream&, const BatchNormInference&) { unsupported("BatchNormInference"); }
void Backend::run(Stream&, const BatchNormBackwardInput&) { unsupported("BatchNormBackwardInput"); }
void Backend::run(Stream&, const BatchNormBackwardWeight&) {
  unsupported("BatchNormBackwardWeight");
}
void Backend::run(Stream&, const ClippedReluForward&) { unsupported("ClippedReluForward"); }
void Backend::run(Stream&, const ClippedReluBackward&) { unsupported("ClippedReluBackward"); }
void Backend::run(Stream&, const RecurrenceForward&) { unsupported("RecurrenceForward"); }
void Backend::run(Stream&, const RecurrenceBackwardInput&) {
  unsupported("RecurrenceBackwardInput");
}
void Backend::run(Stream&, const RecurrenceBackwardWeight&) {
  unsupported("RecurrenceBackwardWeight");
}
void Backend::run(Stream&, const LookaheadForward&) { unsupported("LookaheadForward"); }
void Backend::run(Stream&, const LookaheadBackwardInput&) { unsupported("LookaheadBackwardInput"); }
void Backend::run(Stream&, const LookaheadBackwardWeight&) {
  unsupported("LookaheadBackwardWeight");
}
void Backend::run(Stream&, const DropoutForward&) { unsupported("DropoutForward"); }
void Backend::run(Stream&, const DropoutBackward&) { unsupported("DropoutBackward"); }
void Backend::run(Stream&, const CtcLoss&) { unsupported("CtcLoss"); }
void Backend::run(Stream&, const Cast&) { unsupported("Cast"); }
void Backend::run(Stream&, const SquaredSums&) { unsupported("SquaredSums"); }
void Backend::run(Stream&, const LargestMagnitude&) { unsupported("LargestMagnitude"); }
void Backend::run(Stream&, const GradientNorm&) { unsupported("GradientNorm"); }
void Backend::run(Stream&, const AddInto&) { unsupported("AddInto"); }
void Backend::run(Stream&, const AdamWStep&) { unsupported("AdamWStep"); }
void Backend::run(Stream&, const LambDirection&) { unsupported("LambDirection"); }
void Backend::run(Stream&, const SgdStep&) { unsupported("SgdStep"); }

}  // namespace penstock
