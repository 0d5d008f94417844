#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "layers/activation.h"
#include "layers/context.h"
#include "layers/layer_plan.h"

namespace penstock::layers {

/// A layer's parameters and state, in the order of its plan. A layer reads `state` and never writes
/// it.
struct Params {
  std::span<const Tensor> weights;
  std::span<const Tensor> state;
};

/// Gradient sums, FP32 (FP64 under FP64), to which backward_weight adds, in the order of
/// LayerPlan::params.
using Grads = std::span<const Tensor>;

/// Tensors that forward saves for backward, in the order of LayerPlan::saved.
using Saved = std::span<const Tensor>;

/// One link of a model's layer sequence, declared once: planner and runtime read the same plan(). A
/// layer holds its sizes and names and no tensors, so its methods may run for several micro-batches
/// at once. Backward is two methods, so that schedules may separate them. backward_input of a
/// micro-batch always precedes its backward_weight.
class Layer {
 public:
  virtual ~Layer() = default;

  /// Name that is unique in the model, and the prefix of its parameters' names.
  virtual const std::string& name() const = 0;

  /// Returns shapes, parameters, bytes and work for this input. A layer that needs targets assumes
  /// a usual number of labels where the input does not state them. ShapeError if the input does not
  /// fit.
  virtual LayerPlan plan(const ActivationDecl& input, const BackendSizes& sizes) const = 0;

  /// Computes y from x. Writes Saved in training, and nothing in evaluation.
  virtual void forward(Context&, const Params&, const Activation& x, Activation& y,
                       Saved) const = 0;

  /// Computes dx from dy, and writes the saved tensors that are carried to backward_weight. `dx` is
  /// empty if no layer before this one needs it.
  virtual void backward_input(Context&, const Params&, const Activation& dy, Saved,
                              Activation& dx) const = 0;

  /// Adds the gradients of the weights to `grads`. It is called only for layers with parameters. It
  /// does not get the weights: backward_input computes and carries whatever needs them.
  virtual void backward_weight(Context&, Saved, Grads) const;

  /// Merges rows of LayerPlan::sums numbers, which forward left for one micro-batch each, in their
  /// order into the row of all their frames together. Without rows, it returns a row that is
  /// neutral in a merge.
  virtual std::vector<double> pool(std::span<const double> sums) const;

  /// Computes new state (FP32 or FP64 as declared) from such rows, which follow each other in
  /// canonical order.
  virtual void commit_state(Context&, std::span<const double> sums,
                            std::span<const Tensor> state) const;
};

/// Returns what the next layer of a sequence takes: the output of `plan`, with what `input` states
/// of labels and text. After a layer that reads labels they are those that it assumed, known or
/// not.
[[nodiscard]] ActivationDecl next_input(const ActivationDecl& input, const LayerPlan& plan);

/// Returns columns [first, first + count) of rows of `width` numbers, row by row.
[[nodiscard]] std::vector<double> columns(std::span<const double> rows, std::size_t width,
                                          std::size_t first, std::size_t count);

}  // namespace penstock::layers
