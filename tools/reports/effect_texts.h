#pragma once

#include <string>
#include <utility>
#include <vector>

#include "configs/config.h"
#include "runtime/corpus/training_preview.h"

namespace penstock::tools {

/// Returns what training changes in an utterance, with the numbers that were drawn, in the order in
/// which it happens: {"speed", "1.1"}, {"noise", "street.wav from 2.5 s on, at 12.3 dB SNR"}. Masks
/// without a channel or frame are left out. Empty if nothing is changed.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> effect_texts(
    const runtime::PreviewedUtterance& utterance, const configs::AugmentConfig& augment);

}  // namespace penstock::tools
