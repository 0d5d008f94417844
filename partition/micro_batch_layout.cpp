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

Place claim(MicroBatchLayout& layout, Region region, std::size_t bytes) {
  std::size_t& end = region == Region::replay ? layout.replay_bytes : layout.slot_bytes;
  const Place place{region, end};
  end += aligned(bytes);
  return place;
}

/// Where backward finds what forward makes.
Region kept_in(const ChunkRole& role) { return role.recomputes ? Region::replay : Region::slot; }

/// The chunk's output goes to the slot. So do activations that a backward method reads, unless they
/// are made again; the rest take turns in scratch.
Turns place_activations(MicroBatchLayout& layout, bool training, const ChunkRole& role) {
  const std::size_t last = layout.layers.size();
  Turns turns;
  layout.activation_places.push_back({Region::input, 0});
  for (std::size_t i = 1; i <= last; ++i) {
    const std::size_t bytes = layout.activations[i].bytes();
    const bool stays = training && (keeps(layout.layers[i - 1], SavedDecl::Kind::output) ||
                                    (i < last && keeps(layout.layers[i], SavedDecl::Kind::input)));
    if (i == last) {
      layout.activation_places.push_back(claim(layout, Region::slot, bytes + layout.weights_bytes));
    } else if (stays) {
      layout.activation_places.push_back(claim(layout, kept_in(role), bytes));
    } else {
      turns.add(i, bytes);
      layout.activation_places.push_back({Region::scratch, i % 2});
    }
  }
  for (Place& place : layout.activation_places)
    if (place.region == Region::scratch) place.offset = turns.offset(place.offset);
  return turns;
}

/// Gradients of activations. Those at the chunk's ends are messages; the others take turns in
/// scratch. One that a later backward_weight reads is kept instead, unless it was received in a
/// buffer that lives as long; the chunk's first is then sent from there.
Turns place_gradients(MicroBatchLayout& layout, const ChunkRole& role) {
  using Kind = SavedDecl::Kind;
  const std::size_t last = layout.layers.size();
  const auto read_later = [&](std::size_t i) {
    return role.parts_backward && ((i > 0 && keeps(layout.layers[i - 1], Kind::output_gradient)) ||
                                   (i < last && keeps(layout.layers[i], Kind::input_gradient)));
  };
  Turns turns;
  for (std::size_t i = 0; i <= last; ++i) {
    const std::size_t bytes = layout.activations[i].bytes();
    const bool made = i > 0 || role.sends_input_gradient;
    if (i == last && role.sends_output) {
      layout.gradient_places.push_back({Region::output_gradient, 0});
    } else if (made && read_later(i)) {
      layout.gradient_places.push_back(claim(layout, kept_in(role), bytes));
    } else if (i == 0 && made) {
      layout.gradient_places.push_back({Region::input_gradient, 0});
    } else {
      if (made) turns.add(i, bytes);
      layout.gradient_places.push_back({Region::scratch, i % 2});
    }
  }
  for (Place& place : layout.gradient_places)
    if (place.region == Region::scratch) place.offset = turns.offset(place.offset);
  return turns;
}

/// Own tensors that live until backward are kept; what is carried from backward_input to
/// backward_weight of the same layer goes to scratch at `offset`, unless they part. Returns the
/// most bytes carried there.
std::size_t place_saved(MicroBatchLayout& layout, std::size_t offset, const ChunkRole& role) {
  std::size_t most = 0;
  for (const LayerPlan& plan : layout.layers) {
    std::vector<Place>& places = layout.saved_places.emplace_back();
    std::size_t carried = 0;
    for (const SavedDecl& saved : plan.saved) {
      if (saved.kind != SavedDecl::Kind::own) {
        places.emplace_back();
      } else if (saved.life != Life::carried || role.parts_backward) {
        places.push_back(claim(layout, kept_in(role), bytes_of(saved)));
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
                                  const BackendSizes& sizes, const ChunkRole& role) {
  MicroBatchLayout layout = plan_layers(layers, input, sizes);
  const Turns forward = place_activations(layout, true, role);
  const Turns backward = place_gradients(layout, role);

  // The workspace stands at one place, behind whatever forward or backward keep in scratch.
  const std::size_t carried = place_saved(layout, backward.bytes(), role);
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
  const Turns turns = place_activations(layout, false, {});
  layout.workspace = {Region::scratch, turns.bytes()};
  std::size_t workspace = std::max(wide_bytes(input), wide_bytes(layout.logits()));
  for (const LayerPlan& plan : layout.layers)
    if (targets || !plan.needs_targets) workspace = std::max(workspace, plan.workspace.forward);
  layout.scratch_bytes = layout.workspace.offset + aligned(workspace);
  return layout;
}

}  // namespace penstock
