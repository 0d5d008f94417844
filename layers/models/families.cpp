#include "layers/models/families.h"

#include "base/error.h"
#include "layers/models/deepspeech2.h"

namespace penstock::layers {

std::vector<configs::ModelFamily> model_families() { return {DeepSpeech2Options()}; }

std::vector<std::unique_ptr<Layer>> build_layers(const configs::ModelFamily& family,
                                                 const configs::ModelEnds& ends) {
  if (!family.options())
    throw ConfigError("no such model can be built: model.kind names no family");
  return family.options()->build(ends);
}

}  // namespace penstock::layers
