#include <cmath>

#include "layers/nn/batch_norm.h"
#include "layers/nn/instance_norm.h"
#include "layers/nn/layer_norm.h"
#include "runtime/onnx/layer_graph.h"

// A batch norm in evaluation is a factor and a term for each column, y = x · w / √(v + ε) + (b - m
// · w / √(v + ε)), which the export computes in FP64. After a convolution a row is
// [frequency][channel], and the columns of all frequencies get the numbers of their channel.

namespace penstock::runtime {
namespace {

/// Adds (x - mean) / √(variance + ε), of all elements along an axis.
ValueName normalised(OnnxGraph& graph, const ValueName& x, std::int64_t axis, double epsilon,
                     bool centred) {
  const std::vector<NodeAttribute> along = {{"axes", std::vector<std::int64_t>{axis}}};
  const ValueName c = centred ? graph.node("Sub", {x, graph.node("ReduceMean", {x}, along)}) : x;
  const ValueName variance = graph.node("ReduceMean", {graph.node("Mul", {c, c})}, along);
  const ValueName sum = graph.node("Add", {variance, graph.real(static_cast<float>(epsilon))});
  return graph.node("Div", {c, graph.node("Sqrt", {sum})});
}

/// Adds x · weight + bias, which has a number for each column; without a bias, x · weight.
ValueName scaled(LayerGraph& target, const ValueName& x, const std::string& layer, bool bias) {
  ValueName y = target.graph.node("Mul", {x, add_parameter(target, layer + ".weight")});
  if (!bias) return y;
  return target.graph.node("Add", {y, add_parameter(target, layer + ".bias")});
}

ValueName add_layer_norm(LayerGraph& target, const layers::LayerNorm& layer, const ValueName& x) {
  const layers::LayerNormOptions& o = layer.options();
  return scaled(target, normalised(target.graph, x, 1, o.epsilon, o.centred), o.name, o.bias);
}

ValueName add_instance_norm(LayerGraph& target, const layers::InstanceNorm& layer,
                            const ValueName& x) {
  const layers::InstanceNormOptions& o = layer.options();
  return scaled(target, normalised(target.graph, x, 0, o.epsilon, true), o.name, true);
}

/// A batch norm's factors and terms, of one channel after the other.
struct ChannelScales {
  std::vector<float> factors, terms;
};

ChannelScales channel_scales(const ModelWeights& weights, const layers::BatchNormOptions& o) {
  const std::vector<float> w = weights.read(o.name + ".weight"), b = weights.read(o.name + ".bias"),
                           mean = weights.read(o.name + ".running_mean"),
                           variance = weights.read(o.name + ".running_var");
  ChannelScales scales;
  for (std::size_t c = 0; c < w.size(); ++c) {
    const double factor = w[c] / std::sqrt(variance[c] + o.epsilon);
    scales.factors.push_back(static_cast<float>(factor));
    scales.terms.push_back(static_cast<float>(b[c] - mean[c] * factor));
  }
  return scales;
}

/// Returns the numbers of channels for each of `groups` frequencies.
std::vector<float> repeated(const std::vector<float>& channels, std::int64_t groups) {
  std::vector<float> all;
  for (std::int64_t group = 0; group < groups; ++group)
    all.insert(all.end(), channels.begin(), channels.end());
  return all;
}

ValueName add_batch_norm(LayerGraph& target, const layers::BatchNorm& layer, const ValueName& x) {
  const layers::BatchNormOptions& o = layer.options();
  OnnxGraph& graph = target.graph;
  const auto constant = [&](const char* name, std::vector<float> ChannelScales::*part) {
    return graph.constant(name, {o.groups * o.channels}, [&weights = target.weights, o, part] {
      return repeated(channel_scales(weights, o).*part, o.groups);
    });
  };
  const ValueName z = graph.node("Mul", {x, constant("factor", &ChannelScales::factors)});
  const ValueName y = graph.node("Add", {z, constant("term", &ChannelScales::terms)});
  return o.silu ? gated(graph, y, y) : y;
}

}  // namespace

std::vector<AddLayer> norm_kinds() {
  return {add_if<layers::LayerNorm, add_layer_norm>,
          add_if<layers::InstanceNorm, add_instance_norm>,
          add_if<layers::BatchNorm, add_batch_norm>};
}

}  // namespace penstock::runtime
