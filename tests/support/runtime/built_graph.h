#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/onnx/layer_graph.h"
#include "tests/support/runtime/onnx_model.h"

namespace penstock::test {

/// The ONNX graph of layers with CTC after them. Element i of each weight is i + 1.
class BuiltGraph {
 public:
  /// Throws as add_layers() does.
  explicit BuiltGraph(std::vector<std::unique_ptr<layers::Layer>> sequence, int features,
                      bool eight_bits = false);
  explicit BuiltGraph(const partition::LayerSequence& sequence, bool eight_bits = false);

  const OnnxModel& model() const { return model_; }
  /// Returns the numbers of a constant. std::runtime_error if there is none.
  std::vector<float> floats(const std::string& name) const;
  std::vector<std::uint8_t> bytes(const std::string& name) const;

 private:
  void build(const partition::LayerSequence& sequence, bool eight_bits);

  std::unique_ptr<runtime::ModelWeights> weights_;
  runtime::OnnxGraph graph_;
  OnnxModel model_;
};

}  // namespace penstock::test
