#include <array>
#include <span>
#include <utility>

#include "runtime/onnx/layer_graph.h"

// An operator RNN, GRU or LSTM of ONNX has the projection of its input, of both directions, within
// it. Its gates come in another order, so rows of weights and biases are moved; a GRU's candidate
// is computed as penstock does with linear_before_reset. The operator returns both directions, and
// their sum follows.

namespace penstock::runtime {
namespace {

/// An operator, and penstock's number of each of its gates.
struct Operator {
  const char* name;
  std::vector<std::int64_t> gates;
};

Operator operator_for(layers::RecurrenceKind kind) {
  if (kind == layers::RecurrenceKind::gru) return {"GRU", {1, 0, 2}};       // z r n of r z n
  if (kind == layers::RecurrenceKind::lstm) return {"LSTM", {0, 3, 1, 2}};  // i o f g of i f g o
  return {"RNN", {0}};
}

/// The blocks of a tensor [directions, gates, rows, columns].
struct GateBlocks {
  std::vector<std::int64_t> gates;    // of the result, by their number in the source
  std::size_t directions = 1, block;  // numbers of a gate
};

std::vector<float> with_gates_moved(const std::vector<float>& numbers, const GateBlocks& blocks) {
  std::vector<float> moved;
  moved.reserve(numbers.size());
  for (std::size_t d = 0; d < blocks.directions; ++d)
    for (const std::int64_t gate : blocks.gates) {
      const std::size_t first =
          (d * blocks.gates.size() + static_cast<std::size_t>(gate)) * blocks.block;
      const auto from = numbers.begin() + static_cast<std::ptrdiff_t>(first);
      moved.insert(moved.end(), from, from + static_cast<std::ptrdiff_t>(blocks.block));
    }
  return moved;
}

/// Returns, for each direction, all biases of the projection and then all of the recurrence.
std::vector<float> both_biases(const std::vector<float>& projection,
                               const std::vector<float>& recurrence, std::size_t directions) {
  const auto each = static_cast<std::ptrdiff_t>(projection.size() / directions);
  std::vector<float> both;
  for (std::size_t d = 0; d < directions; ++d)
    for (const std::vector<float>* const some : {&projection, &recurrence}) {
      const auto from = some->begin() + static_cast<std::ptrdiff_t>(d) * each;
      both.insert(both.end(), from, from + each);
    }
  return both;
}

}  // namespace

ValueName add_recurrence(LayerGraph& target, const layers::Linear& projection,
                         const layers::Recurrence& layer, const ValueName& x) {
  const layers::RecurrenceOptions& o = layer.options();
  const Operator used = operator_for(o.kind);
  const std::int64_t in = projection.options().in,
                     rows = static_cast<std::int64_t>(used.gates.size()) * o.hidden;
  const auto moved = [&](std::int64_t columns) {
    const GateBlocks blocks{used.gates, static_cast<std::size_t>(o.directions),
                            static_cast<std::size_t>(o.hidden * columns)};
    return
        [blocks](const std::vector<float>& numbers) { return with_gates_moved(numbers, blocks); };
  };
  const std::string& input = projection.options().name;
  target.graph.begin(o.name);
  OnnxGraph& graph = target.graph;
  const ValueName batch = graph.integers({1});
  const ValueName y = graph.node(
      used.name,
      {graph.node("Unsqueeze", {x, batch}),
       add_changed_parameter(target, input + ".weight", {o.directions, rows, in}, moved(in)),
       add_changed_parameter(target, o.name + ".weight", {o.directions, rows, o.hidden},
                             moved(o.hidden)),
       graph.constant(
           "bias", {o.directions, 2 * rows},
           [&weights = target.weights, move = moved(1), first = input + ".bias",
            second = o.name + ".bias", directions = static_cast<std::size_t>(o.directions)] {
             return both_biases(move(weights.read(first)), move(weights.read(second)), directions);
           })},
      [&] {
        std::vector<NodeAttribute> attributes = {
            {"hidden_size", o.hidden},
            {"direction", std::string(o.directions == 2 ? "bidirectional" : "forward")}};
        if (o.kind == layers::RecurrenceKind::gru)
          attributes.push_back({"linear_before_reset", std::int64_t{1}});
        return attributes;
      }());
  return graph.node("ReduceSum", {y, graph.integers({1, 2})}, {{"keepdims", std::int64_t{0}}});
}

}  // namespace penstock::runtime
