#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "layers/nn/inner_layer.h"

namespace penstock::layers {

/// Runs a layer of one matrix on one of the two matrices of a decoder's activation, the memory or
/// the text, and passes the other one. The layer keeps the number of rows. It is a link of the
/// layer sequence by the name of that layer, whose parameters are its own.
class OnMatrix final : public Layer, public HoldsLayers {
 public:
  enum Which : std::size_t { memory, text };

  /// `channels` are those of the layer's input.
  OnMatrix(Which which, std::unique_ptr<Layer> layer, std::int64_t channels);

  const std::string& name() const override { return inner_.layer().name(); }
  LayerPlan plan(const ActivationDecl& input, const BackendSizes& sizes) const override;
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;
  void backward_weight(Context&, Saved, Grads) const override;

  std::vector<InnerLayer*> inner() override { return {&inner_}; }
  std::vector<const InnerLayer*> inner() const override { return {&inner_}; }
  std::vector<ActivationDecl> inputs_of_inner(const ActivationDecl& input) const override;

 private:
  std::size_t other() const { return which_ == memory ? text : memory; }

  Which which_;
  InnerLayer inner_;
};

/// Throws ShapeError unless the activation has a memory and a text of as many utterances.
void expect_memory_and_text(const ActivationDecl& input, const std::string& layer);

}  // namespace penstock::layers
