#pragma once

#include <memory>
#include <span>
#include <vector>

#include "layers/layer.h"
#include "layers/scratch.h"

namespace penstock::layers {

/// Where the numbers inside a residual unit lie. Of n parts, activation i is what part i reads, and
/// activation n what the last one writes; gradient i is that of activation i.
struct ResidualLayout {
  static constexpr int kPassing = -1;

  /// `scales`: whether the last part is given another gradient than that of the unit's output.
  /// `remakes`: whether backward makes again what cheap parts wrote, instead of keeping it; what
  /// LayerPlan::remade says, it does in any case.
  /// ShapeError if a part does not fit what comes before it, or changes the number of frames, or if
  /// the last one does not end with the first one's channels.
  ResidualLayout(std::span<const std::unique_ptr<Layer>> parts, const ActivationDecl& input,
                 const BackendSizes& sizes, bool scales, bool remakes);

  std::vector<ActivationDecl> activations;
  std::vector<LayerPlan> plans;           // of the parts
  std::vector<SavedDecl> saved;           // the unit's
  std::vector<bool> remade;               // activations that backward makes again
  std::vector<int> kept_activations;      // each one's place in `saved`, or kPassing
  std::vector<int> kept_gradients;        // likewise
  std::vector<std::vector<int>> kept_by;  // a part's saved tensors: their places in `saved`

 private:
  bool asked_for(std::size_t activation) const;
  void choose_remade(bool remakes);
  int keep(const SavedDecl& decl);
  int keep_activation(std::size_t i, Life life);
  int keep_gradient(std::size_t i, bool as_given);
};

/// Two buffers of scratch for activations that only pass by, or their gradients: they take turns.
/// `first` and `last` are those that need room.
class PassingBuffers {
 public:
  PassingBuffers(Scratch& scratch, std::span<const ActivationDecl> activations, std::size_t first,
                 std::size_t last);

  Activation at(const ActivationDecl& decl, std::size_t i) const {
    return place(decl, buffers_[i % 2]);
  }

 private:
  std::byte* buffers_[2];
};

}  // namespace penstock::layers
