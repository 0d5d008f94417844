#pragma once

#include <memory>
#include <span>
#include <vector>

#include "layers/layer.h"
#include "layers/scratch.h"

namespace penstock::layers {

/// The places of the tensors inside a residual unit, or inside another layer that runs parts one
/// after the other (then read "unit" as that layer). With n parts, activation i is the input of
/// part i, and activation n the output of the last part. Gradient i is that of activation i.
struct ResidualLayout {
  static constexpr int kPassing = -1, kNone = -2;

  /// `scales`: true if the gradient of the last part's output is not that of the unit's output.
  /// `recomputes_cheap`: true if backward recomputes the outputs of all cheap parts instead of
  /// saving them. It always recomputes those with LayerPlan::cheap_to_recompute. ShapeError if a
  /// part does not fit its predecessor or changes the number of frames.
  ResidualLayout(std::span<const std::unique_ptr<Layer>> parts, const ActivationDecl& input,
                 const BackendSizes& sizes, bool scales, bool recomputes_cheap);

  std::vector<ActivationDecl> activations;
  std::vector<LayerPlan> plans;       // plans of the parts
  std::vector<SavedDecl> saved;       // the unit's saved tensors
  std::vector<bool> recomputed;       // true for activations that backward recomputes
  std::vector<int> kept_activations;  // place of each activation in `saved`, or kPassing
  std::vector<int> kept_gradients;    // the same for gradients
  /// Places in `saved` of each part's saved tensors; kNone for those of SavedDecl::Kind::none.
  std::vector<std::vector<int>> kept_by;

 private:
  bool asked_for(std::size_t activation) const;
  void choose_recomputed(bool recomputes_cheap);
  int keep(const SavedDecl& decl);
  int keep_activation(std::size_t i, Life life);
  int keep_gradient(std::size_t i, bool as_given);
};

/// Two scratch buffers that alternate for activations, or gradients, that are not saved. They are
/// large enough for those from `first` to `last`.
class AlternatingBuffers {
 public:
  AlternatingBuffers(Scratch& scratch, std::span<const ActivationDecl> activations,
                     std::size_t first, std::size_t last);

  Activation at(const ActivationDecl& decl, std::size_t i) const {
    return place(decl, buffers_[i % 2]);
  }

 private:
  std::byte* buffers_[2];
};

/// Hands each part its share of a list that has the items of all parts, in their order.
template <class T>
class Shares {
 public:
  explicit Shares(std::span<T> all) : left_(all) {}
  std::span<T> next(std::size_t count) {
    const std::span<T> share = left_.first(count);
    left_ = left_.subspan(count);
    return share;
  }

 private:
  std::span<T> left_;
};

/// Returns the saved tensors of a part, in the order of its own plan.
std::vector<Tensor> saved_of(const ResidualLayout& layout, std::size_t part, Saved saved);

/// Returns the tensor at that place of `saved`, or `other` if it is not saved. The result refers to
/// the lengths of `decl`.
Activation kept_or(const ActivationDecl& decl, int place, Saved saved, const Activation& other);

}  // namespace penstock::layers
