#pragma once

#include <span>

namespace penstock::runtime {

/// Changes samples to what is heard of them in a room, whose impulse response is given at the same
/// rate. The length stays. The direct path, which is the response's largest tap, arrives without
/// delay, so the timing of the text stays too. The energy over the whole utterance is that of
/// before.
void reverberate(std::span<float> samples, std::span<const float> response);

}  // namespace penstock::runtime
