#pragma once

#include <memory>
#include <vector>

#include "tests/support/layers/golden_model.h"
#include "tests/support/layers/layer_runner.h"

namespace penstock::test {

/// Runs all layers of a layer sequence, each from its own plan.
class SequenceRunner {
 public:
  /// `sequence` and `targets` must outlive the runner.
  SequenceRunner(const LayerSequence& sequence, layers::ActivationDecl input,
                 layers::Targets& targets);

  const std::vector<std::unique_ptr<LayerRunner>>& layers() const { return runners_; }

  void forward();
  /// The last layer makes its gradient itself, as a loss does.
  void backward();

 private:
  std::vector<std::unique_ptr<LayerRunner>> runners_;
};

}  // namespace penstock::test
