#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "layers/context.h"
#include "partition/layout/layer_sequence.h"
#include "runtime/checkpoint/checkpoint.h"
#include "tests/support/layers/golden.h"
#include "tests/support/layers/layer_runner.h"

namespace penstock::test {

/// Computes what a checkpoint's model makes of the "x" with "lengths" of a golden file, in
/// evaluation.
class EvaluatedModel {
 public:
  /// Computes all layers before the loss. The text of a decoder that reads one are the "labels",
  /// if there are any.
  EvaluatedModel(const runtime::Checkpoint& checkpoint, const Golden& golden, int labels);

  /// The input of the loss has one row for each frame.
  const layers::FramesDecl& frames() const { return runners_.back()->plan().output.only(); }
  const float* output() { return runners_.back()->output().only().x_FC.as<float>(); }

  /// Returns the loss of each utterance, of the "labels" with "label_counts".
  std::vector<double> losses();

 private:
  std::unique_ptr<LayerRunner> runner_of(const layers::Layer& layer,
                                         const layers::ActivationDecl& input);

  const runtime::Checkpoint& checkpoint_;
  partition::LayerSequence sequence_;
  std::vector<std::int32_t> labels_, counts_;
  std::vector<float> weights_;
  std::vector<double> losses_;
  layers::Targets targets_;
  std::vector<std::unique_ptr<LayerRunner>> runners_;
};

}  // namespace penstock::test
