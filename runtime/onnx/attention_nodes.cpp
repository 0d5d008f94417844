#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "layers/nn/attention.h"
#include "runtime/onnx/layer_graph.h"

// Attention of all heads at once, on [heads, frames, channels of a head]:
//
//   scores_ij = ((q_i + u) · k_j + (q_i + v) · r_{i-j}) / √d,   y_i = Σ_j softmax(scores)_ij v_j
//
// Relative positions give r for 2n - 1 distances, from n - 1 down, so (q + v) · r is a matrix of n
// rows and 2n - 1 columns in which row i holds the scores of its keys from column n - 1 - i on. A
// shift aligns the rows without an index: with a column of zeros in front, the matrix has n rows of
// 2n numbers, and as 2n rows of n numbers without the first one it has each row one place further
// left than the row above (Dai et al. 2019, appendix B). Shaw's vectors are rows r, too.

namespace penstock::runtime {
namespace {

using layers::AttentionOptions, layers::AttentionPositions;

/// The queries, keys and values of all heads: [heads, frames, channels of a head].
struct Heads {
  ValueName q, k, v;
};

ValueName in_heads(OnnxGraph& graph, const ValueName& x, const AttentionOptions& o) {
  const ValueName split = reshaped(graph, x, {-1, o.heads, o.channels / o.heads});
  return transposed(graph, split, {1, 0, 2});
}

/// Returns a value of the number of frames, which `make` adds if it is not there yet.
template <class Make>
ValueName frame_value(LayerGraph& target, const std::string& name, const Make& make) {
  if (const auto found = target.frame_values.find(name); found != target.frame_values.end())
    return found->second;
  return target.frame_values[name] = make();
}

/// Returns the distances j - i from frame i to frame j, [frames, frames].
ValueName distances(LayerGraph& target, const ValueName& frames) {
  return frame_value(target, "distances", [&] {
    OnnxGraph& graph = target.graph;
    const ValueName count = count_up(graph, frames);
    return graph.node("Sub", {graph.node("Unsqueeze", {count, graph.integers({0})}),
                              graph.node("Unsqueeze", {count, graph.integers({1})})});
  });
}

/// Returns 2n - 1 distances i - j, from n - 1 down.
ValueName falling_distances(LayerGraph& target, const ValueName& frames) {
  return frame_value(target, "falling distances", [&] {
    OnnxGraph& graph = target.graph;
    const ValueName last = graph.node("Sub", {frames, graph.integers({1})});
    const ValueName count = graph.node("Add", {frames, last});
    return graph.node("Sub", {last, count_up(graph, count)});
  });
}

/// Returns q and k rotated by their frames' angles: one half of a head's channels against the
/// other.
ValueName rotated(LayerGraph& target, const ValueName& x, const ValueName& frames,
                  const AttentionOptions& o) {
  OnnxGraph& graph = target.graph;
  const std::int64_t half = o.channels / o.heads / 2;
  const std::string size = fmt::format("{} {}", half, o.rotary_base);
  const ValueName angles = frame_value(target, "angles " + size, [&] {
    std::vector<double> speeds;
    for (std::int64_t c = 0; c < half; ++c)
      speeds.push_back(
          std::pow(o.rotary_base, -static_cast<double>(c) / static_cast<double>(half)));
    return add_angles(graph, count_up(graph, frames), std::move(speeds));
  });
  const ValueName sine =
      frame_value(target, "sine " + size, [&] { return add_sine(graph, angles); });
  const ValueName cosine =
      frame_value(target, "cosine " + size, [&] { return add_cosine(graph, angles); });
  const std::vector<ValueName> halves = graph.nodes("Split", {x}, {{"axis", std::int64_t{2}}}, 2);
  const auto mixed = [&](const char* op, const ValueName& a, const ValueName& b) {
    return graph.node(op, {graph.node("Mul", {a, cosine}), graph.node("Mul", {b, sine})});
  };
  return graph.node("Concat",
                    {mixed("Sub", halves[0], halves[1]), mixed("Add", halves[1], halves[0])},
                    {{"axis", std::int64_t{2}}});
}

/// Adds q + b, with b a parameter of all heads' channels.
ValueName biased(LayerGraph& target, const ValueName& q, const std::string& bias,
                 const AttentionOptions& o) {
  return target.graph.node("Add",
                           {q, add_parameter(target, bias, {o.heads, 1, o.channels / o.heads})});
}

/// Adds (q + v) · r for each distance, [heads, frames, 2 · frames - 1].
ValueName distance_scores(LayerGraph& target, const ValueName& q, const ValueName& frames,
                          const AttentionOptions& o) {
  OnnxGraph& graph = target.graph;
  const std::string weight = o.name + ".positions.weight";
  const ValueName falling = falling_distances(target, frames);
  if (o.positions == AttentionPositions::shaw) {
    const ValueName clipped =
        graph.node("Clip", {graph.node("Neg", {falling}), graph.integer(-o.left_positions),
                            graph.integer(o.right_positions)});
    const ValueName places = graph.node("Add", {clipped, graph.integer(o.left_positions)});
    const ValueName rows = graph.node("Gather", {add_parameter(target, weight), places});
    return graph.node("MatMul", {q, transposed(graph, rows, {1, 0})});
  }
  const ValueName table = frame_value(target, fmt::format("sinusoids of {}", o.channels), [&] {
    return add_sinusoids(graph, falling, {.channels = o.channels});
  });
  const ValueName rows =
      graph.node("Gemm", {table, add_parameter(target, weight)}, {{"transB", std::int64_t{1}}});
  const ValueName split = reshaped(graph, rows, {-1, o.heads, o.channels / o.heads});
  return graph.node(
      "MatMul", {biased(target, q, o.name + ".bias_v", o), transposed(graph, split, {1, 2, 0})});
}

/// Aligns the scores of distances with the keys: [heads, frames, frames].
ValueName shifted(OnnxGraph& graph, const ValueName& scores, const ValueName& frames,
                  std::int64_t heads) {
  const auto axes = [&](const std::vector<ValueName>& some) {
    return graph.node("Concat", some, {{"axis", std::int64_t{0}}});
  };
  const ValueName padded = graph.node("Pad", {scores, graph.integers({0, 0, 1, 0, 0, 0})});
  const ValueName all = graph.integers({heads}), rest = graph.integers({-1});
  const ValueName turned = graph.node("Reshape", {padded, axes({all, rest, frames})});
  const ValueName cut = sliced(graph, turned, 1, graph.integers({1}),
                               graph.integers({std::numeric_limits<std::int64_t>::max()}));
  const ValueName back = graph.node("Reshape", {cut, axes({all, frames, rest})});
  return sliced(graph, back, 2, graph.integers({0}), frames);
}

/// Replaces the scores of keys beyond the context by a number whose weight is 0.
ValueName masked(LayerGraph& target, const ValueName& scores, const ValueName& frames,
                 const AttentionOptions& o) {
  if (o.left == layers::kWholeUtterance && o.right == layers::kWholeUtterance) return scores;
  constexpr float kNoWeight = -1e30F;
  OnnxGraph& graph = target.graph;
  const ValueName seen = frame_value(target, fmt::format("context {} {}", o.left, o.right), [&] {
    const ValueName distance = distances(target, frames);
    return graph.node("And", {graph.node("GreaterOrEqual", {distance, graph.integer(-o.left)}),
                              graph.node("LessOrEqual", {distance, graph.integer(o.right)})});
  });
  return graph.node("Where", {seen, scores, graph.real(kNoWeight)});
}

ValueName add_scores(LayerGraph& target, const Heads& heads, const ValueName& frames,
                     const AttentionOptions& o) {
  OnnxGraph& graph = target.graph;
  const bool has_biases = o.positions == AttentionPositions::relative;
  const ValueName keys = transposed(graph, heads.k, {0, 2, 1});
  const ValueName q = has_biases ? biased(target, heads.q, o.name + ".bias_u", o) : heads.q;
  ValueName scores = graph.node("MatMul", {q, keys});
  if (has_biases || o.positions == AttentionPositions::shaw)
    scores = graph.node("Add", {scores, shifted(graph, distance_scores(target, heads.q, frames, o),
                                                frames, o.heads)});
  const std::int64_t d = o.channels / o.heads;
  scores = graph.node(
      "Mul", {scores, graph.real(static_cast<float>(1 / std::sqrt(static_cast<double>(d))))});
  return masked(target, scores, frames, o);
}

ValueName add_attention(LayerGraph& target, const layers::Attention& layer, const ValueName& x) {
  const AttentionOptions& o = layer.options();
  if (o.kv_heads > 0 && o.kv_heads != o.heads)
    throw_unsupported(layer, "keys and values that heads share");
  if (o.window > 0) throw_unsupported(layer, "windows of frames");
  OnnxGraph& graph = target.graph;
  const std::vector<ValueName> parts = graph.nodes("Split", {x}, {{"axis", std::int64_t{1}}}, 3);
  Heads heads{in_heads(graph, parts[0], o), in_heads(graph, parts[1], o),
              in_heads(graph, parts[2], o)};
  const ValueName frames = frame_value(target, "frames", [&] { return row_count(graph, x); });
  if (o.positions == AttentionPositions::rotary) {
    heads.q = rotated(target, heads.q, frames, o);
    heads.k = rotated(target, heads.k, frames, o);
  }
  const ValueName weights =
      graph.node("Softmax", {add_scores(target, heads, frames, o)}, {{"axis", std::int64_t{-1}}});
  const ValueName sums = graph.node("MatMul", {weights, heads.v});
  return reshaped(graph, transposed(graph, sums, {1, 0, 2}), {-1, o.channels});
}

}  // namespace

std::vector<AddLayer> attention_kinds() { return {add_if<layers::Attention, add_attention>}; }

}  // namespace penstock::runtime
