#include "runtime/onnx/layer_graph.h"

#include <fmt/format.h>

#include <functional>
#include <span>

#include "base/error.h"
#include "layers/losses/ctc.h"
#include "layers/nn/residual.h"

// A model is walked as the trainer walks it: layer after layer, and the parts within residual
// units. Each kind of layer has a function that adds its nodes, found by its type, so that every
// model of known kinds has a graph. There is no second description of any model. Only a recurrence
// looks further: ONNX has its projection, a layer of its own here, within the operator.

namespace penstock::runtime {
namespace {

/// Returns all kinds of layers that have one input and need no neighbour.
const std::vector<AddLayer>& all_kinds() {
  static const std::vector<AddLayer> kinds = [] {
    std::vector<AddLayer> all;
    for (const auto& some : {convolution_kinds(), elementwise_kinds(), norm_kinds(),
                             position_kinds(), attention_kinds()})
      all.insert(all.end(), some.begin(), some.end());
    return all;
  }();
  return kinds;
}

ValueName add_linear(LayerGraph& target, const layers::Linear& layer, const ValueName& x) {
  const layers::LinearOptions& o = layer.options();
  Product product{o.name + ".weight", o.in, o.out, {}};
  const std::string bias = o.name + ".bias";
  if (o.bias && o.unbiased == 0) {
    product.bias = add_parameter(target, bias);
  } else if (o.bias) {
    product.bias = target.graph.constant(
        {bias, layers::DType::f32, {o.out}, [&weights = target.weights, o, bias] {
           std::vector<float> all = weights.read(bias);
           all.insert(all.begin() + o.first_unbiased, static_cast<std::size_t>(o.unbiased), 0.0F);
           return copy_bytes<float>(all);
         }});
  }
  if (o.parts == 1) return add_product(target, x, product);
  const ValueName parts = reshaped(target.graph, x, {-1, o.in});
  return reshaped(target.graph, add_product(target, parts, product), {-1, o.parts * o.out});
}

ValueName add_layer(LayerGraph& target, const layers::Layer& layer, const ValueName& x);

ValueName add_residual(LayerGraph& target, const layers::Residual& unit, const ValueName& x) {
  if (unit.training_only()) return x;
  ValueName f = x;
  for (const auto& part : unit.sequence()) f = add_layer(target, *part, f);
  target.graph.begin(unit.name());
  if (unit.scale() != 1)
    f = target.graph.node("Mul", {f, target.graph.real(static_cast<float>(unit.scale()))});
  return target.graph.node("Add", {x, f});
}

ValueName add_layer(LayerGraph& target, const layers::Layer& layer, const ValueName& x) {
  target.graph.begin(layer.name());
  if (const auto* unit = dynamic_cast<const layers::Residual*>(&layer))
    return add_residual(target, *unit, x);
  if (const auto* linear = dynamic_cast<const layers::Linear*>(&layer))
    return add_linear(target, *linear, x);
  for (const AddLayer add : all_kinds())
    if (ValueName y = add(target, layer, x); !y.empty()) return y;
  throw ConfigError(fmt::format(
      "the layer {} has no form in ONNX here. Models that end in CTC have one if their kind is "
      "conformer, deepspeech2, transformer, wav2letter, wav2vec2 or whisper",
      layer.name()));
}

}  // namespace

ValueName add_layers(LayerGraph& target, const partition::LayerSequence& sequence, ValueName x) {
  const std::vector<layers::LayerPlan> plans = partition::plan_without_frames(sequence, {});
  target.channels = sequence.features;
  for (std::size_t i = 0; i < sequence.layers.size(); ++i) {
    const layers::Layer& layer = *sequence.layers[i];
    if (i > 0) target.channels = plans[i - 1].output.only().channels;
    if (dynamic_cast<const layers::Ctc*>(&layer) != nullptr) return x;
    const auto* linear = dynamic_cast<const layers::Linear*>(&layer);
    const auto* recurrence =
        i + 1 == sequence.layers.size()
            ? nullptr
            : dynamic_cast<const layers::Recurrence*>(sequence.layers[i + 1].get());
    if (linear != nullptr && recurrence != nullptr) {
      x = add_recurrence(target, *linear, *recurrence, x);
      ++i;
    } else {
      x = add_layer(target, layer, x);
    }
  }
  throw ConfigError("the model does not end in CTC");
}

ValueName add_parameter(LayerGraph& target, const std::string& name, const layers::Shape& axes) {
  return add_changed_parameter(target, name, axes, {});
}

ValueName add_parameter(LayerGraph& target, const std::string& name) {
  return add_parameter(target, name, target.weights.shape(name));
}

ValueName add_changed_parameter(LayerGraph& target, const std::string& name,
                                const layers::Shape& axes,
                                std::function<std::vector<float>(std::vector<float>)> change) {
  return target.graph.constant({name, layers::DType::f32, axes,
                                [&weights = target.weights, name, change = std::move(change)] {
                                  std::vector<float> numbers = weights.read(name);
                                  return copy_bytes<float>(change ? change(std::move(numbers))
                                                                  : numbers);
                                }});
}

void throw_unsupported(const layers::Layer& layer, const std::string& option) {
  throw ConfigError(
      fmt::format("the layer {} has {}, which has no form in ONNX here", layer.name(), option));
}

}  // namespace penstock::runtime
