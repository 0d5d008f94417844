#pragma once

#include <string>
#include <vector>

#include "configs/config.h"
#include "layers/models/model_family.h"

namespace penstock::test {

/// A small model of a family.
struct SmallFamily {
  std::string name;
  layers::ModelFamily options;
  int features = 17;  // 1: samples
  std::string decoder = "ctc";
  layers::DecoderOptions networks = {};

  configs::ModelConfig model() const {
    return {.features = features, .decoder = decoder, .family = options, .networks = networks};
  }
};

/// One of each family but DeepSpeech2, and of both Conformers, with dropout and layer drop; and one
/// with each decoder.
std::vector<SmallFamily> small_families();

}  // namespace penstock::test
