#pragma once

#include <string>
#include <vector>

#include "layers/models/model_family.h"

namespace penstock::test {

/// A small model of a family.
struct SmallFamily {
  std::string name;
  layers::ModelFamily options;
  int features = 17;  // 1: samples
};

/// One of each family but DeepSpeech2, and of both Conformers, with dropout and layer drop.
std::vector<SmallFamily> small_families();

}  // namespace penstock::test
