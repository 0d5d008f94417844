#include "tests/support/runtime/built_graph.h"

#include <cstring>
#include <stdexcept>
#include <utility>

#include "layers/losses/ctc.h"

namespace penstock::test {
namespace {

runtime::ModelTensors shapes_of(const partition::LayerSequence& sequence) {
  runtime::ModelTensors shapes;
  for (const layers::LayerPlan& plan : partition::plan_without_frames(sequence, {})) {
    for (const layers::ParamDecl& parameter : plan.params)
      shapes.emplace(parameter.name, parameter.shape);
    for (const layers::StateDecl& state : plan.state) shapes.emplace(state.name, state.shape);
  }
  return shapes;
}

void count_up_from(std::int64_t begin, std::span<float> numbers) {
  for (float& number : numbers) number = static_cast<float>(++begin);
}

}  // namespace

BuiltGraph::BuiltGraph(std::vector<std::unique_ptr<layers::Layer>> sequence, int features,
                       bool eight_bits) {
  sequence.push_back(std::make_unique<layers::Ctc>("ctc"));
  build({std::move(sequence), features}, eight_bits);
}

BuiltGraph::BuiltGraph(const partition::LayerSequence& sequence, bool eight_bits) {
  build(sequence, eight_bits);
}

void BuiltGraph::build(const partition::LayerSequence& sequence, bool eight_bits) {
  weights_ = std::make_unique<runtime::ModelWeights>(
      [](const std::string&, std::int64_t begin, std::span<float> out) {
        count_up_from(begin, out);
      },
      shapes_of(sequence));
  graph_.input({"x", {"frames", std::int64_t{sequence.features}}});
  runtime::LayerGraph target{.graph = graph_, .weights = *weights_, .eight_bits = eight_bits};
  graph_.output(runtime::add_layers(target, sequence, "x"), {"logits", {"frames", "labels"}});
  model_ = read_graph(graph_.message_without_constants());
  for (const runtime::GraphConstant& constant : graph_.constants())
    model_.constants[constant.name].shape = constant.shape;
}

std::vector<std::uint8_t> BuiltGraph::bytes(const std::string& name) const {
  for (const runtime::GraphConstant& constant : graph_.constants()) {
    if (constant.name != name) continue;
    const std::vector<std::byte> made = constant.make();
    if (made.size() != constant.bytes()) throw std::runtime_error(name + " has another size");
    std::vector<std::uint8_t> numbers(made.size());
    std::memcpy(numbers.data(), made.data(), made.size());
    return numbers;
  }
  throw std::runtime_error("the graph has no constant " + name);
}

std::vector<float> BuiltGraph::floats(const std::string& name) const {
  const std::vector<std::uint8_t> made = bytes(name);
  std::vector<float> numbers(made.size() / sizeof(float));
  std::memcpy(numbers.data(), made.data(), made.size());
  return numbers;
}

}  // namespace penstock::test
