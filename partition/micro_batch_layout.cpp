#include "partition/micro_batch_layout.h"

#include <algorithm>
#include <array>

namespace penstock {
namespace {

using Region = Place::Region;

/// Two regions of scratch that take turns: what a layer reads and what it writes.
class Turns {
 public:
  void add(std::size_t index, std::size_t bytes) {
    bytes_[index % 2] = std::max(bytes_[index % 2], aligned(bytes));
  }
  std::size_t offset(std::size_t index) const { return index % 2 == 0 ? 0 : bytes_[0]; }
  std::size_t bytes() const { return bytes_[0] + bytes_[1]; }

 private:
  std::array<std::size_t, 2> bytes_{};
};

MicroBatchLayout plan_layers(LayerRange layers, const ActivationDecl& input,
                             const BackendSizes& sizes) {
  MicroBatchLayout layout;
  layout.activations.push_back(input);
  for (const auto& layer : layers) {
    layout.layers.push_back(layer->plan(layout.activations.back(), sizes));
    layout.activations.push_back(layout.layers.back().output);
  }
  layout.weights_bytes = aligned(input.frames.front().lengths.size() * sizeof(float));
  return layout;
}

/// FP32 room for what the host writes or reads where layers compute in halves: features, logits.
std::size_t wide_bytes(const ActivationDecl& activation) {
  if (!is_half(activation.dtype)) return 0;
  std::size_t bytes = 0;
  for (const FramesDecl& f : activation.frames)
    bytes += aligned(static_cast<std::size_t>(element_count(f.shape())) * sizeof(float));
  return bytes;
}

bool keeps(const LayerPlan& plan, SavedDecl::Kind kind) {
  return std::any_of(plan.saved.begin(), plan.saved.end(),
                     [kind](const SavedDecl& s) { return s.kind == kind; });
}

std::size_t bytes_of(const SavedDecl& saved) {
  return aligned(static_cast<std::size_t>(element_count(saved.shape)) * size_of(saved.dtype));
}

Place claim(std::size_t& slot_bytes, std::size_t bytes) {
  const Place place{Region::slot, slot_bytes};
  slot_bytes += aligned(bytes);
  return place;
}

/// Activations that a backward method reads go to the slot, as does the stage's output; the rest
/// take turns in scratch.
Turns place_activations(MicroBatchLayout& layout, bool training) {
  const std::size_t last = layout.layers.size();
  Turns turns;
  layout.activation_places.push_back({Region::input, 0});
  for (std::size_t i = 1; i <= last; ++i) {
    const std::size_t bytes = layout.activations[i].bytes();
    const bool stays = training && (keeps(layout.layers[i - 1], SavedDecl::Kind::output) ||
                                    (i < last && keeps(layout.layers[i], SavedDecl::Kind::input)));
    if (stays || i == last) {
      const std::size_t weights = i == last ? layout.weights_bytes : 0;
      layout.activation_places.push_back(claim(layout.slot_bytes, bytes + weights));
    } else {
      turns.add(i, bytes);
      layout.activation_places.push_back({Region::scratch, i % 2});
    }
  }
  for (Place& place : layout.activation_places)
    if (place.region == Region::scratch) place.offset = turns.offset(place.offset);
  return turns;
}

/// Own tensors that live until backward go to the slot; what is carried from backward_input to
/// backward_weight of the same layer goes to scratch at `offset`. Returns the most carried bytes.
std::size_t place_saved(MicroBatchLayout& layout, std::size_t offset) {
  std::size_t most = 0;
  for (const LayerPlan& plan : layout.layers) {
    std::vector<Place>& places = layout.saved_places.emplace_back();
    std::size_t carried = 0;
    for (const SavedDecl& saved : plan.saved) {
      if (saved.kind != SavedDecl::Kind::own) {
        places.emplace_back();
      } else if (saved.life != Life::carried) {
        places.push_back(claim(layout.slot_bytes, bytes_of(saved)));
      } else {
        places.push_back({Region::scratch, offset + carried});
        carried += bytes_of(saved);
      }
    }
    most = std::max(most, carried);
  }
  return most;
}

}  // namespace

MicroBatchLayout lay_out_training(LayerRange layers, const ActivationDecl& input,
                                  const BackendSizes& sizes, StageEnds ends) {
  MicroBatchLayout layout = plan_layers(layers, input, sizes);
  const std::size_t last = layers.size();
  const Turns forward = place_activations(layout, true);

  Turns backward;
  for (std::size_t i = 0; i <= last; ++i) {
    const bool message = (i == 0 && ends.sends_input_gradient) || (i == last && ends.sends_output);
    const bool absent = i == 0 && !ends.sends_input_gradient;
    if (!message && !absent) backward.add(i, layout.activations[i].bytes());
  }
  for (std::size_t i = 0; i <= last; ++i)
    layout.gradient_places.push_back({Region::scratch, backward.offset(i)});
  if (ends.sends_input_gradient) layout.gradient_places.front() = {Region::input_gradient, 0};
  if (ends.sends_output) layout.gradient_places.back() = {Region::output_gradient, 0};

  // The workspace stands at one place, behind whatever forward or backward keep in scratch.
  const std::size_t carried = place_saved(layout, backward.bytes());
  layout.workspace = {Region::scratch, std::max(forward.bytes(), backward.bytes() + carried)};
  std::size_t workspace = wide_bytes(input);
  for (const LayerPlan& plan : layout.layers)
    workspace = std::max({workspace, plan.workspace.forward, plan.workspace.backward_input,
                          plan.workspace.backward_weight});
  layout.scratch_bytes = layout.workspace.offset + aligned(workspace);
  return layout;
}

MicroBatchLayout lay_out_evaluation(LayerRange layers, const ActivationDecl& input,
                                    const BackendSizes& sizes, bool targets) {
  MicroBatchLayout layout = plan_layers(layers, input, sizes);
  const Turns turns = place_activations(layout, false);
  layout.workspace = {Region::scratch, turns.bytes()};
  std::size_t workspace = std::max(wide_bytes(input), wide_bytes(layout.logits()));
  for (const LayerPlan& plan : layout.layers)
    if (targets || !plan.needs_targets) workspace = std::max(workspace, plan.workspace.forward);
  layout.scratch_bytes = layout.workspace.offset + aligned(workspace);
  return layout;
}

}  // namespace penstock
