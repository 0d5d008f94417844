#include "layers/models/training_parameters.h"

#include "layers/models/intermediate_ctc_units.h"
#include "layers/models/span_masks.h"

namespace penstock::layers {

bool serves_training_alone(std::string_view name) {
  return name == kMaskEmbedding || is_unused_in_evaluation(name);
}

}  // namespace penstock::layers
