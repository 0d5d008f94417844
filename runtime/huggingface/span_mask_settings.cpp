#include "runtime/huggingface/span_mask_settings.h"

#include <algorithm>
#include <iterator>

#include "layers/models/span_masks.h"

namespace penstock::runtime {
namespace {

const std::vector<MappedSetting> kSpanMaskSettings = {
    {"apply_spec_augment", "true", "model.apply_spec_augment"},
    {"mask_time_prob", "0.05", "model.mask_time_prob"},
    {"mask_time_length", "10", "model.mask_time_length"},
    {"mask_time_min_masks", "2", "model.mask_time_min_masks", Form::from_zero},
    {"mask_feature_prob", "0.0", "model.mask_feature_prob"},
    {"mask_feature_length", "10", "model.mask_feature_length"},
    {"mask_feature_min_masks", "0", "model.mask_feature_min_masks", Form::from_zero},
};

// transformers has it if one of the shares is above 0. Fine-tuned models are often published
// without it.
const TensorRule kMaskedFrame = {.theirs = "masked_spec_embed",
                                 .ours = layers::kMaskEmbedding,
                                 .alone = true,
                                 .not_always = true,
                                 .may_lack = true};

}  // namespace

void add_span_masks(Architecture& architecture) {
  std::ranges::copy(kSpanMaskSettings, std::back_inserter(architecture.model));
  architecture.tensors.push_back(
      {.repeats = "1", .rules = {kMaskedFrame}, .prefix = architecture.prefix});
}

}  // namespace penstock::runtime
