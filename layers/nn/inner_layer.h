#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "layers/layer.h"

namespace penstock::layers {

/// A layer's plan, with its saved tensors as memory of their own.
struct InnerPlan {
  LayerPlan plan;
  std::vector<SavedDecl> saved;
  /// Places in `saved` of the layer's saved tensors, and of the input, the output and their
  /// gradients where it asks for them; -1: none.
  std::vector<int> kept_by;
  int input = -1, output = -1, input_gradient = -1, output_gradient = -1;
};

/// A layer of one matrix within a layer of several: it transforms one of them, or makes something
/// that passes no boundary. What it asks to keep of its input and output is copied into memory of
/// its own, since outside of it they are parts of larger activations, which nobody keeps. The layer
/// has no statistics.
class InnerLayer {
 public:
  /// The tensors of one call, with as many rows as `lengths` add up to.
  struct Call {
    std::span<const std::int64_t> lengths;
    Tensor from, to;  // x and y, or dy and dx, where dx may have no data
  };

  /// `channels` are those of its input.
  InnerLayer(std::unique_ptr<Layer> layer, std::int64_t channels);

  InnerPlan plan(const ActivationDecl& input, const BackendSizes& sizes) const;
  /// Run the layer, with `saved` in the order of InnerPlan::saved. The context's workspace is the
  /// layer's.
  void forward(const Context& context, const Params& params, const Call& call, Saved saved) const;
  void backward_input(const Context& context, const Params& params, const Call& call,
                      Saved saved) const;
  void backward_weight(const Context& context, std::span<const std::int64_t> lengths, Saved saved,
                       Grads grads) const;

  /// Returns the numbers of its parameters and of InnerPlan::saved, which no input changes.
  std::size_t parameters() const { return plan_of_one().plan.params.size(); }
  std::size_t tensors() const { return plan_of_one().saved.size(); }

  /// Returns InnerPlan::output_gradient.
  int output_gradient() const { return plan_of_one().output_gradient; }

  const Layer& layer() const { return *layer_; }
  std::unique_ptr<Layer>& replaceable() { return layer_; }

 private:
  InnerPlan plan_of_one() const;

  std::unique_ptr<Layer> layer_;
  std::int64_t channels_;
};

/// A layer that runs inner layers: whoever adapts layers, or gives them rates, looks into it.
class HoldsLayers {
 public:
  virtual ~HoldsLayers() = default;
  /// Returns the inner layers in the order of their parameters.
  virtual std::vector<InnerLayer*> inner() = 0;
  virtual std::vector<const InnerLayer*> inner() const = 0;
  /// Returns the input of each inner layer.
  virtual std::vector<ActivationDecl> inputs_of_inner(const ActivationDecl& input) const = 0;
};

/// Adds the work of an inner layer to a plan, but neither saved tensors nor workspace.
void add_work(LayerPlan& plan, const LayerPlan& inner);

}  // namespace penstock::layers
