#include "tests/support/layers/sequence_runner.h"

#include <cstring>
#include <utility>

namespace penstock::test {
namespace {

void copy(const layers::Activation& from, const layers::Activation& to) {
  const layers::Tensor& x = from.only().x_FC;
  std::memcpy(to.only().x_FC.data, x.data, x.bytes());
}

}  // namespace

SequenceRunner::SequenceRunner(const LayerSequence& sequence, layers::ActivationDecl input,
                               layers::Targets& targets) {
  for (const auto& layer : sequence) {
    runners_.push_back(std::make_unique<LayerRunner>(*layer, input));
    runners_.back()->targets = &targets;
    input = layers::next_input(input, runners_.back()->plan());
  }
}

void SequenceRunner::forward() {
  for (std::size_t i = 0; i < runners_.size(); ++i) {
    if (i > 0) copy(runners_[i - 1]->output(), runners_[i]->input());
    runners_[i]->forward();
  }
}

void SequenceRunner::backward() {
  for (std::size_t i = runners_.size(); i-- > 0;) {
    runners_[i]->backward_input(i > 0);
    if (!runners_[i]->params().empty()) runners_[i]->backward_weight();
    if (i > 0) copy(runners_[i]->input_gradient(), runners_[i - 1]->output_gradient());
  }
}

}  // namespace penstock::test
