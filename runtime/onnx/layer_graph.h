#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "layers/layer.h"
#include "layers/nn/linear.h"
#include "layers/nn/recurrence.h"
#include "layers/ops/positions.h"
#include "partition/layout/layer_sequence.h"
#include "runtime/onnx/graph.h"
#include "runtime/onnx/model_weights.h"

namespace penstock::runtime {

/// A graph that is being built from the layers of a model. It computes one utterance, so an
/// activation is a matrix of frames by channels, as in layers/.
struct LayerGraph {
  OnnxGraph& graph;
  /// Weights are read when the file is written, so this object must live until then.
  const ModelWeights& weights;
  bool eight_bits = false;  // products with 8-bit weights
  /// Channels of the frames that enter the present layer of the sequence.
  std::int64_t channels = 0;
  /// Values that depend on the number of frames alone, such as tables of positions, by their names.
  /// Layers that change that number forget them.
  std::map<std::string, ValueName> frame_values = {};
};

/// Adds the nodes of a model up to its CTC loss, and returns the logits, frames by labels.
/// ConfigError that names the first layer that has no form in ONNX here, and what has one.
[[nodiscard]] ValueName add_layers(LayerGraph& target, const partition::LayerSequence& sequence,
                                   ValueName x);

// The files of this folder that add the nodes of layers define the following.

/// A product of frames by a weight.
struct Product {
  std::string weight;            // name of the parameter, [out, in]
  std::int64_t in = 0, out = 0;  // channels
  ValueName bias;                // [out], or empty
};

/// Adds x · W^T + b.
[[nodiscard]] ValueName add_product(LayerGraph& target, const ValueName& x, const Product& product);

/// Adds a recurrence together with the projection of its input, as one operator has both.
[[nodiscard]] ValueName add_recurrence(LayerGraph& target, const layers::Linear& projection,
                                       const layers::Recurrence& layer, const ValueName& x);

/// Adds the nodes of a layer, and returns the name of its output. Returns an empty name for a layer
/// of another type than its own.
using AddLayer = ValueName (*)(LayerGraph& target, const layers::Layer& layer, const ValueName& x);

/// Adds the nodes of a layer of type Kind, or returns an empty name for one of another type.
template <class Kind, ValueName (*add)(LayerGraph&, const Kind&, const ValueName&)>
[[nodiscard]] ValueName add_if(LayerGraph& target, const layers::Layer& layer, const ValueName& x) {
  const auto* kind = dynamic_cast<const Kind*>(&layer);
  return kind == nullptr ? ValueName{} : add(target, *kind, x);
}

/// Return the functions of one file, of a type of layer each.
std::vector<AddLayer> convolution_kinds();
std::vector<AddLayer> elementwise_kinds();
std::vector<AddLayer> norm_kinds();
std::vector<AddLayer> position_kinds();
std::vector<AddLayer> attention_kinds();

/// Returns the constant of a parameter, as it is stored but for its axes.
[[nodiscard]] ValueName add_parameter(LayerGraph& target, const std::string& name,
                                      const layers::Shape& axes);
[[nodiscard]] ValueName add_parameter(LayerGraph& target, const std::string& name);

/// Returns the constant of a parameter after a change of its numbers, which keeps their count.
[[nodiscard]] ValueName add_changed_parameter(
    LayerGraph& target, const std::string& name, const layers::Shape& axes,
    std::function<std::vector<float>(std::vector<float>)> change);

/// Returns a · σ(b).
[[nodiscard]] ValueName gated(OnnxGraph& graph, const ValueName& a, const ValueName& b);

/// Throws ConfigError: the layer has an option that has no form in ONNX here.
[[noreturn]] void throw_unsupported(const layers::Layer& layer, const std::string& option);

/// A table of sinusoids (layers/ops/positions.h).
struct Sinusoids {
  std::int64_t channels = 0;
  layers::SinusoidOrder order = layers::SinusoidOrder::pairs;
};

/// Returns the table of some positions, [positions, channels]. `positions` are integers [n].
[[nodiscard]] ValueName add_sinusoids(OnnxGraph& graph, const ValueName& positions,
                                      const Sinusoids& table);

/// Returns angles of FP64 [n, speeds]: positions, integers [n], times speeds.
[[nodiscard]] ValueName add_angles(OnnxGraph& graph, const ValueName& positions,
                                   std::vector<double> speeds);

/// Return the sines or cosines of angles of FP64, in FP32.
[[nodiscard]] ValueName add_sine(OnnxGraph& graph, const ValueName& angles);
[[nodiscard]] ValueName add_cosine(OnnxGraph& graph, const ValueName& angles);

}  // namespace penstock::runtime
