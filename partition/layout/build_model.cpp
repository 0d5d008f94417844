#include "partition/layout/build_model.h"

#include <fmt/format.h>

#include "base/counted.h"
#include "base/error.h"
#include "configs/alphabet.h"
#include "configs/schema.h"
#include "configs/value.h"
#include "layers/models/families.h"
#include "partition/layout/recomputed_layers.h"

namespace penstock::partition {
namespace {

/// Checks each value of [model] by the schema. A ModelConfig need not come from a file, so it may
/// be unchecked.
void check(const configs::ModelConfig& model, int labels) {
  configs::Config config;
  config.model = model;
  std::string faults;
  for (const Key& key : configs::keys(config)) {
    if (key.section() != "model") continue;
    if (const auto fault = configs::set_value(key, configs::value_text(key.value)))
      faults += "\n  " + *fault;
  }
  if (labels < 2)
    faults += fmt::format("\n  {}, but blank and one more are needed", counted(labels, "label"));
  if (model.classes > 0 && labels > model.classes)
    faults += fmt::format(
        "\n  model.classes = {} has no room for the text's {}, blank included: set it to {} or "
        "more, or to 0 for as many as the text has",
        model.classes, counted(labels, "label"), labels);
  if (!faults.empty()) throw ConfigError("no such model can be built:" + faults);
}

/// Returns the number of outputs of the last layer.
int outputs_of(const configs::ModelConfig& model, int labels) {
  return model.classes > 0 ? model.classes : labels;
}

}  // namespace

int labels_without_text(const configs::ModelConfig& model) {
  if (model.classes > 0) return model.classes;
  return static_cast<int>(configs::alphabet_characters({}).size()) + 1;
}

LayerSequence build_model(const configs::ModelConfig& model, int labels,
                          const configs::PipelineConfig& pipeline) {
  check(model, labels);
  LayerSequence sequence{
      layers::build_layers(model.family, {model.features, outputs_of(model, labels)}),
      model.features};
  if (pipeline.recompute == kSelective) layers::recompute_cheap_parts(sequence.layers);
  return sequence;
}

std::string model_summary(const configs::ModelConfig& model, int labels) {
  configs::Config config;
  config.model = model;
  std::string summary;
  for (const Key& key : configs::keys(config)) {
    if (key.section() != "model" || key.name == "model.base" || key.name == "model.classes")
      continue;
    summary += fmt::format("{}={} ", key.leaf(), configs::value_text(key.value));
  }
  return summary + fmt::format("labels={}", outputs_of(model, labels));
}

}  // namespace penstock::partition
