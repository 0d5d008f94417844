#include "layers/nn/residual_layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

// The layout decides which tensors of a unit are memory, and who shares them. It walks the parts
// once:
//   1. Each part is planned for the output of the part before it.
//   2. choose_recomputed() marks the activations that backward will recompute.
//   3. The tensors that each part asks for become the unit's. A part's own are taken over as they
//      are. An activation or gradient between two parts becomes one tensor, however many parts ask
//      for it, with the longest of their lives. The input, and the unit's own output gradient where
//      the parts see it unscaled, stay what they are outside, and cost no memory here.
// An activation that is recomputed is written by backward_input, so its life is `carried`. All else
// passes through two buffers that alternate: part i reads one and writes the other, and the one it
// read is free again afterwards.

namespace penstock::layers {
namespace {

/// Throws ShapeError unless the part keeps the number of frames of each utterance.
void require_frames(const Layer& part, const ActivationDecl& from, const ActivationDecl& to) {
  if (from.only().lengths != to.only().lengths)
    throw ShapeError(
        fmt::format("{} changes the number of frames, within a residual unit that "
                    "adds what comes out to what went in",
                    part.name()));
}

}  // namespace

ResidualLayout::ResidualLayout(std::span<const std::unique_ptr<Layer>> parts,
                               const ActivationDecl& input, const BackendSizes& sizes, bool scales,
                               bool recomputes_cheap)
    : recomputed(parts.size() + 1),
      kept_activations(parts.size() + 1, kPassing),
      kept_gradients(parts.size() + 1, kPassing) {
  activations.push_back(input);
  for (const auto& part : parts) {
    plans.push_back(part->plan(activations.back(), sizes));
    require_frames(*part, input, plans.back().output);
    activations.push_back(plans.back().output);
    activations.back().memory = input.memory;
    activations.back().labels = input.labels;
  }
  choose_recomputed(recomputes_cheap);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    std::vector<int>& places = kept_by.emplace_back();
    for (const SavedDecl& decl : plans[i].saved) switch (decl.kind) {
        case SavedDecl::Kind::own:
          places.push_back(keep(decl));
          break;
        case SavedDecl::Kind::input:
          places.push_back(keep_activation(i, decl.life));
          break;
        case SavedDecl::Kind::output:
          places.push_back(keep_activation(i + 1, decl.life));
          break;
        case SavedDecl::Kind::input_gradient:
          places.push_back(keep_gradient(i, false));
          break;
        case SavedDecl::Kind::output_gradient:
          places.push_back(keep_gradient(i + 1, i + 1 == plans.size() && !scales));
          break;
        case SavedDecl::Kind::none:
          places.push_back(kNone);
          break;
      }
  }
}

/// Returns true if a part asks that the activation is saved.
bool ResidualLayout::asked_for(std::size_t activation) const {
  const auto asks = [&](std::size_t part, SavedDecl::Kind kind) {
    return std::ranges::any_of(plans[part].saved,
                               [kind](const SavedDecl& decl) { return decl.kind == kind; });
  };
  return (activation < plans.size() && asks(activation, SavedDecl::Kind::input)) ||
         (activation > 0 && asks(activation - 1, SavedDecl::Kind::output));
}

/// Chooses the activations that backward recomputes: those that some part needs, and that a cheap
/// part computes from an activation which is saved or itself recomputed. Parts with
/// LayerPlan::cheap_to_recompute always count as cheap. A part with sums for a step does not, since
/// it would leave them twice, nor one with a loss, whose labels backward has not. Two passes over
/// the parts suffice: forwards for what is possible, backwards for what is needed.
void ResidualLayout::choose_recomputed(bool recomputes_cheap) {
  std::vector<bool> possible(recomputed.size());
  for (std::size_t i = 1; i < recomputed.size(); ++i)
    possible[i] = (plans[i - 1].cheap_to_recompute ||
                   (recomputes_cheap && plans[i - 1].work == Work::elementwise &&
                    plans[i - 1].sums == 0 && !plans[i - 1].auxiliary_loss)) &&
                  (asked_for(i - 1) || possible[i - 1]);
  for (std::size_t i = recomputed.size(); i-- > 1;)
    recomputed[i] =
        possible[i] && (asked_for(i) || (i + 1 < recomputed.size() && recomputed[i + 1]));
}

/// Adds a saved tensor to the unit, and returns its place.
int ResidualLayout::keep(const SavedDecl& decl) {
  saved.push_back(decl);
  return static_cast<int>(saved.size()) - 1;
}

/// Returns the place of activation i. The first part that asks for it adds it, and later ones may
/// lengthen its life. A recomputed one stays `carried`, the last in the order of lives.
int ResidualLayout::keep_activation(std::size_t i, Life life) {
  int& place = kept_activations[i];
  if (place == kPassing) {
    place = keep(i == 0 ? SavedDecl{SavedDecl::Kind::input, life}
                        : SavedDecl{SavedDecl::Kind::own, recomputed[i] ? Life::carried : life,
                                    activations[i].dtype, activations[i].only().shape()});
  } else {
    saved[place].life = std::max(saved[place].life, life);
  }
  return place;
}

/// Returns the place of gradient i, which the first part that asks adds. `as_given`: it is the
/// unit's own output gradient, which exists outside.
int ResidualLayout::keep_gradient(std::size_t i, bool as_given) {
  int& place = kept_gradients[i];
  if (place == kPassing)
    place = keep(as_given ? SavedDecl{SavedDecl::Kind::output_gradient, Life::carried}
                          : SavedDecl{SavedDecl::Kind::own, Life::carried, activations[i].dtype,
                                      activations[i].only().shape()});
  return place;
}

// Neighbours have indices of different parity, so each buffer serves every second activation.
AlternatingBuffers::AlternatingBuffers(Scratch& scratch,
                                       std::span<const ActivationDecl> activations,
                                       std::size_t first, std::size_t last) {
  std::size_t bytes[2] = {};
  for (std::size_t i = first; i <= last; ++i)
    bytes[i % 2] = std::max(bytes[i % 2], activations[i].bytes());
  for (std::size_t i = 0; i < 2; ++i)
    buffers_[i] = scratch.take<std::byte>(static_cast<std::int64_t>(bytes[i]));
}

std::vector<Tensor> saved_of(const ResidualLayout& layout, std::size_t part, Saved saved) {
  std::vector<Tensor> tensors;
  if (saved.empty()) return tensors;  // nothing is saved in evaluation
  for (const int place : layout.kept_by[part])
    tensors.push_back(place == ResidualLayout::kNone ? Tensor{} : saved[place]);
  return tensors;
}

Activation kept_or(const ActivationDecl& decl, int place, Saved saved, const Activation& other) {
  if (place == ResidualLayout::kPassing || saved.empty()) return other;
  return {{{saved[place], decl.only().lengths}}};
}

}  // namespace penstock::layers
