#include <cmath>
#include <numbers>

#include "layers/nn/sinusoidal_positions.h"
#include "runtime/onnx/layer_graph.h"

// Tables of positions are computed by the graph, for as many frames as a recording has. Angles are
// FP64, as in layers/: those of late frames are too large for FP32. ONNX Runtime has had no cosine
// of FP64 for long, so a cosine is the sine of a quarter turn more.
//
// A layer with positions for some frames alone refuses longer recordings, and so must its graph.
// Slice would return fewer rows without an error, and ONNX Runtime turns a Gather by 0, 1, 2, …
// into a Slice. So the graph slices the list of all positions and reshapes it to the number of
// frames, which fails if there are more.

namespace penstock::runtime {
namespace {

/// Returns the positions [0, frames). Fails at run time for more frames than `most`, unless that is
/// 0.
ValueName checked_positions(OnnxGraph& graph, const ValueName& frames, std::int64_t most) {
  if (most == 0) return count_up(graph, frames);
  const ValueName all = count_up(graph, graph.integers({most}));
  return graph.node("Reshape", {sliced(graph, all, 0, graph.integers({0}), frames), frames});
}

ValueName add_positions(LayerGraph& target, const layers::SinusoidalPositions& layer,
                        const ValueName& x) {
  const layers::SinusoidOptions& o = layer.options();
  if (o.period > 0) throw_unsupported(layer, "positions that begin anew");
  OnnxGraph& graph = target.graph;
  const ValueName positions = checked_positions(graph, row_count(graph, x), o.max_frames);
  const ValueName table =
      o.stored ? graph.node("Gather", {add_parameter(target, layer.name() + ".weight"), positions})
               : add_sinusoids(graph, positions, {target.channels, o.order});
  const ValueName scaled =
      o.scale == 1 ? x : graph.node("Mul", {x, graph.real(static_cast<float>(o.scale))});
  return graph.node("Add", {scaled, table});
}

}  // namespace

ValueName add_angles(OnnxGraph& graph, const ValueName& positions, std::vector<double> speeds) {
  const ValueName column =
      graph.node("Unsqueeze", {cast(graph, positions, layers::DType::f64), graph.integers({1})});
  const auto count = static_cast<std::int64_t>(speeds.size());
  return graph.node("Mul", {column, graph.constant("speeds", {count}, std::move(speeds))});
}

ValueName add_sine(OnnxGraph& graph, const ValueName& angles) {
  return cast(graph, graph.node("Sin", {angles}), layers::DType::f32);
}

ValueName add_cosine(OnnxGraph& graph, const ValueName& angles) {
  return add_sine(graph, graph.node("Add", {angles, graph.wide_real(std::numbers::pi / 2)}));
}

// The sinusoids of pairs lie side by side on a last axis of two, which then is joined with that of
// the pairs. An odd number of channels has no cosine of its last pair.
ValueName add_sinusoids(OnnxGraph& graph, const ValueName& positions, const Sinusoids& table) {
  constexpr double kBase = 10000;
  std::vector<double> speeds;
  for (std::int64_t pair = 0; pair < (table.channels + 1) / 2; ++pair)
    speeds.push_back(
        std::pow(kBase, layers::sinusoid_pair(pair, table.channels, table.order).exponent));
  const auto pairs = static_cast<std::int64_t>(speeds.size());
  const ValueName angles = add_angles(graph, positions, std::move(speeds));
  const ValueName sine = add_sine(graph, angles), cosine = add_cosine(graph, angles);
  if (table.order != layers::SinusoidOrder::pairs)
    return graph.node("Concat", {sine, cosine}, {{"axis", std::int64_t{1}}});
  const ValueName last = graph.integers({2});
  const ValueName both = graph.node(
      "Concat", {graph.node("Unsqueeze", {sine, last}), graph.node("Unsqueeze", {cosine, last})},
      {{"axis", std::int64_t{2}}});
  ValueName row = reshaped(graph, both, {-1, 2 * pairs});
  if (2 * pairs == table.channels) return row;
  return sliced(graph, row, 1, graph.integers({0}), graph.integers({table.channels}));
}

std::vector<AddLayer> position_kinds() {
  return {add_if<layers::SinusoidalPositions, add_positions>};
}

}  // namespace penstock::runtime
