#pragma once

#include <memory>
#include <string>
#include <vector>

#include "layers/backend.h"
#include "layers/layer.h"
#include "tests/support/layers/tensors.h"

namespace penstock::test {

/// Runs one layer on the CPU backend with exactly the memory that its plan declares. What a method
/// must write, and what it may not rely on, is NaN before the call; writes beyond the end of
/// anything raise std::logic_error.
class LayerRunner {
 public:
  /// `layer` must outlive the runner. Parameters start at 0, state at its initial value.
  LayerRunner(const layers::Layer& layer, layers::ActivationDecl input);

  const layers::Layer& layer() const { return layer_; }
  const layers::LayerPlan& plan() const { return plan_; }

  layers::Mode mode = layers::Mode::train;
  layers::RandomKey random;
  layers::Targets* targets = nullptr;
  const layers::KeyValueCache* cache = nullptr;
  std::size_t withheld = 0;  // bytes of the workspace that the backend may not use for itself

  layers::Activation& input() { return input_.activation; }
  layers::Activation& output() { return output_.activation; }
  layers::Activation& output_gradient() { return output_gradient_.activation; }
  layers::Activation& input_gradient() { return input_gradient_.activation; }
  /// These tensors have the plan's order. The gradient of a parameter that is not summed is empty.
  const std::vector<layers::Tensor>& params() const { return params_.tensors; }
  const std::vector<layers::Tensor>& state() const { return state_.tensors; }
  const std::vector<layers::Tensor>& grads() const { return grads_.tensors; }
  const std::vector<layers::Tensor>& saved() const { return saved_.tensors; }
  /// Finds a tensor by its name in the plan. Throws std::out_of_range if there is none.
  const layers::Tensor& param(const std::string& name) const;
  const layers::Tensor& grad(const std::string& name) const;
  const layers::Tensor& state(const std::string& name) const;
  std::span<const double> sums() const;

  /// Inputs, output gradients and parameters become uniform(-1, 1).
  void randomise(std::uint64_t seed);

  void forward();
  /// Without `wanted` the layer is told that nobody needs the gradient of its input.
  void backward_input(bool wanted = true);
  void backward_weight();
  /// Ends a step of one micro-batch, or of those that left these sums.
  void commit_state() { commit_state(sums()); }
  void commit_state(std::span<const double> sums);

 private:
  struct PlacedActivation {
    PlacedActivation(const layers::ActivationDecl& decl);
    GuardedMemory memory;
    layers::Activation activation;
  };
  struct Owned {
    void add(layers::DType dtype, const layers::Shape& shape);
    void add_view(const layers::Tensor& tensor);
    std::vector<std::unique_ptr<GuardedMemory>> memory;  // null for a view
    std::vector<layers::Tensor> tensors;
  };

  layers::Context context(std::size_t workspace_bytes);
  std::span<std::byte> lent(std::span<std::byte> workspace) const;
  void poison_saved(layers::Life life);
  void check() const;

  const layers::Layer& layer_;
  layers::ActivationDecl input_decl_;
  layers::LayerPlan plan_;
  std::unique_ptr<layers::Backend> backend_;
  std::unique_ptr<layers::Stream> stream_;
  PlacedActivation input_, output_, output_gradient_, input_gradient_;
  Owned params_, state_, grads_, saved_;
  GuardedMemory sums_, workspace_;
};

}  // namespace penstock::test
