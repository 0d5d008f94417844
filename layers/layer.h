#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "layers/activation.h"
#include "layers/context.h"
#include "layers/layer_plan.h"

namespace penstock::layers {

/// A layer's numbers, in the order of its plan. `state` is read, never written, by a layer.
struct Params {
  std::span<const Tensor> weights;
  std::span<const Tensor> state;
};

/// FP32 (FP64 under FP64) sums to which backward_weight adds, in the order of LayerPlan::params.
using Grads = std::span<const Tensor>;

/// What forward keeps for backward, in the order of LayerPlan::saved.
using Saved = std::span<const Tensor>;

/// One link of a model's layer sequence, declared once: planner and runtime read the same plan(). A
/// layer holds its sizes and names, no numbers; its methods may run for several micro-batches at
/// once. Backward is two methods, so that schedules may part them; backward_input of a micro-batch
/// always precedes its backward_weight.
class Layer {
 public:
  virtual ~Layer() = default;

  /// Unique in the model; the prefix of its parameters' names.
  virtual const std::string& name() const = 0;

  /// Shapes, parameters, bytes and work for this input. ShapeError if the input does not fit.
  virtual LayerPlan plan(const ActivationDecl& input, const BackendSizes& sizes) const = 0;

  /// y from x. Writes Saved in training, nothing in evaluation.
  virtual void forward(Context&, const Params&, const Activation& x, Activation& y,
                       Saved) const = 0;

  /// dx from dy; writes what is carried. `dx` is empty where no layer before this one needs it.
  virtual void backward_input(Context&, const Params&, const Activation& dy, Saved,
                              Activation& dx) const = 0;

  /// Adds the gradients of the weights to `grads`. Called only for layers with parameters. It is
  /// not given the weights: what takes them, backward_input computes and carries.
  virtual void backward_weight(Context&, Saved, Grads) const;

  /// Rows of LayerPlan::sums numbers that forward left for a micro-batch each, joined in their
  /// order to the row of all their frames together. Of no rows, a row that changes no other.
  virtual std::vector<double> pool(std::span<const double> sums) const;

  /// New state (FP32 or FP64 as declared) from such rows, one after the other, in canonical order.
  virtual void commit_state(Context&, std::span<const double> sums,
                            std::span<const Tensor> state) const;
};

}  // namespace penstock::layers
