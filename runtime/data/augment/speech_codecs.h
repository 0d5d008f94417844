#pragma once

#include <span>

#include "configs/codec.h"

namespace penstock::runtime {

/// Changes samples to what is heard of them behind a codec, or within a band. The length stays, and
/// a codec's delay is taken away, so the timing of the text stays too. G.711 and GSM resample to
/// their 8 kHz and back, so nothing above 4 kHz is left. Codecs clip what they are given at ±1; a
/// band does not.
///
/// The same samples give the same result on one machine. libopus chooses its kernels by the
/// processor, so another one may differ in last bits. Throws DataError if a library fails.
void pass_codec(const configs::Codec& codec, int rate, std::span<float> samples);

}  // namespace penstock::runtime
