#include "partition/layout/micro_batch_layout.h"

#include <algorithm>
#include <array>
#include <utility>

#include "partition/layout/saved_tensors.h"

namespace penstock::partition {
namespace {

using Region = Place::Region;

// A static memory plan of one micro-batch on one chunk. Each tensor goes to the region with the
// shortest lifetime that covers its own: scratch, the buffer of recomputed tensors, or the slot.
// Activations and gradients at the ends of the chunk lie in message buffers. Tensors that only pass
// from one layer to the next alternate between two regions of scratch, by the parity of their
// index. So a layer reads one region and writes the other. Offsets are assigned in one pass, so
// planning is linear in the number of layers and saved tensors.

/// Turns are two regions of scratch that alternate: one that a layer reads and one that it writes.
class AlternatingScratch {
 public:
  void add(std::size_t index, std::size_t bytes) {
    bytes_[index % 2] = std::max(bytes_[index % 2], layers::aligned(bytes));
  }
  std::size_t offset(std::size_t index) const { return index % 2 == 0 ? 0 : bytes_[0]; }
  std::size_t bytes() const { return bytes_[0] + bytes_[1]; }

 private:
  std::array<std::size_t, 2> bytes_{};
};

MicroBatchLayout layout_of(std::shared_ptr<const PlannedLayers> planned, const LayerRun& chunk) {
  MicroBatchLayout layout;
  const auto first = static_cast<std::size_t>(chunk.first);
  const auto count = static_cast<std::size_t>(chunk.last - chunk.first);
  layout.activations = std::span(planned->activations).subspan(first, count + 1);
  layout.layers = std::span(planned->layers).subspan(first, count);
  layout.weights_bytes =
      layers::aligned(layout.activations.front().frames.front().lengths.size() * sizeof(float));
  layout.planned = std::move(planned);
  return layout;
}

LayerRun whole(const PlannedLayers& planned) {
  return {0, static_cast<int>(planned.layers.size())};
}

/// Returns the bytes of FP32 workspace for conversions, if layers compute in half precision: the
/// host writes features and reads logits in FP32.
std::size_t wide_bytes(const layers::ActivationDecl& activation) {
  if (!layers::is_half(activation.dtype)) return 0;
  std::size_t bytes = 0;
  for (const layers::FramesDecl& f : activation.frames)
    bytes +=
        layers::aligned(static_cast<std::size_t>(layers::element_count(f.shape())) * sizeof(float));
  return bytes;
}

/// Returns the layers whose activations are not kept between forward and backward. These are the
/// first layers without backward, which run once, and the runs of other layers that are recomputed.
std::vector<LayerRun> runs_not_kept(const MicroBatchLayout& layout, const ChosenLayers& chosen) {
  const auto front = std::ranges::find_if(layout.layers, &layers::LayerPlan::runs_backward) -
                     layout.layers.begin();
  ChosenLayers later = chosen;
  std::fill_n(later.begin(), std::min(front, std::ssize(later)), false);
  std::vector<LayerRun> runs = runs_of(later);
  if (front > 0) runs.insert(runs.begin(), {0, static_cast<int>(front)});
  return runs;
}

/// Keeping places the tensors that are kept for backward: in the slot, or in the buffer of
/// recomputed tensors.
class Keeping {
 public:
  Keeping(MicroBatchLayout& layout, std::vector<LayerRun> not_kept, bool splits_backward)
      : layout_(layout), shared_(splits_backward), run_of_(layout.layers.size(), -1) {
    layout.recomputed_runs = std::move(not_kept);
    for (std::size_t run = 0; run < layout.recomputed_runs.size(); ++run)
      for (int i = layout.recomputed_runs[run].first; i < layout.recomputed_runs[run].last; ++i)
        run_of_[i] = static_cast<int>(run);
    ends_.resize(layout.recomputed_runs.size());
  }

  bool recomputes(std::size_t layer) const { return run_of_[layer] >= 0; }
  bool begins_run(std::size_t layer) const {
    return recomputes(layer) && (layer == 0 || run_of_[layer] != run_of_[layer - 1]);
  }
  /// Returns true if the layer is recomputed while the gradient of a later layer's input is alive.
  bool recomputes_beside_gradients(std::size_t layer) const {
    return recomputes(layer) && layout_.recomputed_runs[run_of_[layer]].last < std::ssize(run_of_);
  }

  Place in_slot(std::size_t bytes) { return claim(Region::slot, layout_.slot_bytes, bytes); }
  /// Places a tensor that the layer's forward writes. A recomputed forward writes it again.
  Place of_forward(std::size_t layer, std::size_t bytes) {
    return recomputes(layer) ? in_recomputed(run_of_[layer], bytes) : in_slot(bytes);
  }
  /// Places a tensor that lives from backward_input to backward_weight, if backward is split.
  Place of_backward(std::size_t bytes) {
    layout_.carried_bytes += layers::aligned(bytes);
    return layout_.recomputed_runs.empty() ? in_slot(bytes) : in_recomputed(0, bytes);
  }

 private:
  /// Runs use the buffer in turn. If backward is split, all runs stay alive together and each has
  /// its own part.
  Place in_recomputed(int run, std::size_t bytes) {
    std::size_t& end = ends_[shared_ ? 0 : run];
    const Place place = claim(Region::recomputed, end, bytes);
    layout_.recomputed_bytes = std::max(layout_.recomputed_bytes, end);
    return place;
  }
  static Place claim(Region region, std::size_t& end, std::size_t bytes) {
    const Place place{region, end};
    end += layers::aligned(bytes);
    return place;
  }

  MicroBatchLayout& layout_;
  bool shared_;
  std::vector<int> run_of_;        // run of each layer; -1: none
  std::vector<std::size_t> ends_;  // end of each run's part; only [0] if backward is split
};

/// PassingBy collects the activations that only pass from layer to layer. A forward that is
/// recomputed while gradients are in scratch has its own two regions.
struct PassingBy {
  AlternatingScratch first, recomputed;
};

/// Places the activations. The chunk's output goes to the slot, and so does any activation that
/// backward reads or with which a recomputed run begins. What a recomputed forward writes for
/// backward goes to the buffer of recomputed tensors. The others alternate in scratch.
PassingBy place_activations(MicroBatchLayout& layout, bool training, Keeping& keeping) {
  const std::size_t last = layout.layers.size();
  PassingBy passing;
  layout.activation_places.push_back({Region::input, 0});
  for (std::size_t i = 1; i < last; ++i) {
    const std::size_t bytes = layout.activations[i].bytes();
    const bool as_output = training && keeps(layout.layers[i - 1], layers::SavedDecl::Kind::output);
    const bool as_input = training && keeps(layout.layers[i], layers::SavedDecl::Kind::input);
    if (keeping.begins_run(i) || (as_input && !keeping.recomputes(i))) {
      layout.activation_places.push_back(keeping.in_slot(bytes));
    } else if (as_output || as_input) {
      layout.activation_places.push_back(keeping.of_forward(i - 1, bytes));
    } else {
      const bool recomputes = keeping.recomputes_beside_gradients(i - 1);
      if (recomputes)
        passing.recomputed.add(i, bytes);
      else
        passing.first.add(i, bytes);
      layout.activation_places.push_back({Region::scratch, i});
    }
  }
  layout.activation_places.push_back(
      keeping.in_slot(layout.activations[last].bytes() + layout.weights_bytes));
  return passing;
}

/// Sets the offsets of activations that pass by in scratch, once the sizes of all other tensors
/// there are known.
void place_what_passes_by(MicroBatchLayout& layout, const PassingBy& passing,
                          std::size_t recomputed_from, const Keeping& keeping) {
  for (Place& place : layout.activation_places) {
    if (place.region != Region::scratch) continue;
    const std::size_t i = place.offset;
    place.offset = keeping.recomputes_beside_gradients(i - 1)
                       ? recomputed_from + passing.recomputed.offset(i)
                       : passing.first.offset(i);
  }
}

/// Places the gradients of activations. Those at the chunk's ends are messages; the others
/// alternate in scratch. A gradient that a later backward_weight reads is kept instead, unless it
/// was received in a buffer that lives as long. If the chunk's first gradient is kept, it is sent
/// from there.
AlternatingScratch place_gradients(MicroBatchLayout& layout, const ChunkRole& role,
                                   Keeping& keeping) {
  using Kind = layers::SavedDecl::Kind;
  const std::size_t last = layout.layers.size();
  const auto read_later = [&](std::size_t i) {
    return role.splits_backward && ((i > 0 && keeps(layout.layers[i - 1], Kind::output_gradient)) ||
                                    (i < last && keeps(layout.layers[i], Kind::input_gradient)));
  };
  AlternatingScratch turns;
  for (std::size_t i = 0; i <= last; ++i) {
    const std::size_t bytes = layout.activations[i].bytes();
    const bool made = i > 0 || role.sends_input_gradient;
    if (i == last && role.sends_output) {
      layout.gradient_places.push_back({Region::output_gradient, 0});
    } else if (made && read_later(i)) {
      layout.gradient_places.push_back(keeping.of_backward(bytes));
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

/// Places each layer's own saved tensors. Those that live until backward are kept. Those that are
/// carried from backward_input to backward_weight of the same layer go to scratch at `offset`, or
/// are kept if backward is split. Returns the maximum number of bytes carried in scratch.
std::size_t place_saved(MicroBatchLayout& layout, std::size_t offset, bool split,
                        Keeping& keeping) {
  std::size_t max = 0;
  for (std::size_t i = 0; i < layout.layers.size(); ++i) {
    std::vector<Place>& places = layout.saved_places.emplace_back();
    std::size_t carried = 0;
    for (const layers::SavedDecl& saved : layout.layers[i].saved) {
      if (saved.kind != layers::SavedDecl::Kind::own) {
        places.emplace_back();
      } else if (saved.life != layers::Life::carried) {
        places.push_back(keeping.of_forward(i, bytes_of(saved)));
      } else if (split) {
        places.push_back(keeping.of_backward(bytes_of(saved)));
      } else {
        places.push_back({Region::scratch, offset + carried});
        carried += bytes_of(saved);
      }
    }
    max = std::max(max, carried);
  }
  return max;
}

/// Places the caches of layers whose input ends with text, and the rows that pass through the chunk
/// while a decoder writes. Each hypothesis has room for the utterance's known labels, and for as
/// many as a decoder may write; an utterance has room for its memory.
void place_caches(MicroBatchLayout& layout, int beam) {
  layout.cache_places.resize(layout.layers.size());
  for (std::size_t i = 0; i < layout.layers.size(); ++i) {
    const layers::ActivationDecl& input = layout.activations[i];
    const std::int64_t channels = layout.layers[i].cache_channels.value_or(0);
    if (!input.ends_with_text || channels == 0) continue;
    const bool of_memory = layout.layers[i].caches_memory;
    const std::vector<std::int64_t>& rows =
        of_memory ? input.frames.front().lengths : input.frames.back().lengths;
    const std::vector<std::int64_t> most = most_written(input);
    CachePlace& place = layout.cache_places[i];
    place.channels = channels;
    for (std::size_t u = 0; u < rows.size(); ++u)
      place.rows =
          std::max({place.rows, rows[u], of_memory ? 0 : rows[u] - input.labels.at(u) + most[u]});
    const std::size_t slots = rows.size() * static_cast<std::size_t>(of_memory ? 1 : beam);
    const std::size_t bytes = layers::aligned(
        slots * static_cast<std::size_t>(place.rows * channels) * layers::size_of(input.dtype));
    place.keys = layout.cache_bytes;
    place.values = layout.cache_bytes + bytes;
    layout.cache_bytes += 2 * bytes;
  }
  const auto place_rows = [&](const layers::ActivationDecl& rows, std::size_t& offset) {
    if (!rows.ends_with_text || rows.frames.empty()) return;
    offset = layout.cache_bytes;
    const layers::FramesDecl& text = rows.frames.back();
    layout.cache_bytes +=
        layers::aligned(text.lengths.size() * static_cast<std::size_t>(beam * text.channels) *
                        layers::size_of(rows.dtype));
  };
  place_rows(layout.activations.front(), layout.rows_in);
  place_rows(layout.activations.back(), layout.rows_out);
}

}  // namespace

std::vector<std::int64_t> most_written(const layers::ActivationDecl& activation) {
  std::vector<std::int64_t> most = activation.rows();
  for (std::size_t u = 0; u < most.size(); ++u) {
    most[u] = most_written(most[u] - activation.labels.at(u));
    if (activation.most_labels > 0) most[u] = std::min(most[u], activation.most_labels);
  }
  return most;
}

std::shared_ptr<const PlannedLayers> plan_range(LayerRange layers,
                                                const layers::ActivationDecl& input,
                                                const layers::BackendSizes& sizes) {
  PlannedLayers planned{.activations = {input}, .layers = {}};
  for (const auto& layer : layers) {
    planned.layers.push_back(layer->plan(planned.activations.back(), sizes));
    planned.activations.push_back(
        layers::next_input(planned.activations.back(), planned.layers.back()));
  }
  return std::make_shared<const PlannedLayers>(std::move(planned));
}

std::size_t features_bytes(const layers::ActivationDecl& input) {
  std::size_t numbers = input.frames.front().lengths.size();
  for (const layers::FramesDecl& f : input.frames)
    numbers += static_cast<std::size_t>(layers::element_count(f.shape()));
  return layers::aligned(numbers * sizeof(float));
}

MicroBatchLayout lay_out_training(LayerRange layers, const layers::ActivationDecl& input,
                                  const layers::BackendSizes& sizes, const ChunkRole& role) {
  auto planned = plan_range(layers, input, sizes);
  return lay_out_training(planned, whole(*planned), role);
}

MicroBatchLayout lay_out_training(std::shared_ptr<const PlannedLayers> planned,
                                  const LayerRun& chunk, const ChunkRole& role) {
  MicroBatchLayout layout = layout_of(std::move(planned), chunk);
  Keeping keeping(layout, runs_not_kept(layout, role.recomputes), role.splits_backward);
  const PassingBy forward = place_activations(layout, true, keeping);
  const AlternatingScratch backward = place_gradients(layout, role, keeping);
  layout.passing_bytes = std::max(forward.first.bytes(), backward.bytes());
  place_what_passes_by(layout, forward, layout.passing_bytes, keeping);

  // The workspace has one offset, after everything that forward or backward keep in scratch.
  const std::size_t carried = place_saved(layout, backward.bytes(), role.splits_backward, keeping);
  layout.workspace = {Region::scratch, std::max(layout.passing_bytes + forward.recomputed.bytes(),
                                                backward.bytes() + carried)};
  std::size_t workspace = wide_bytes(layout.activations.front());
  for (const layers::LayerPlan& plan : layout.layers)
    workspace = std::max({workspace, plan.workspace.forward, plan.workspace.backward_input,
                          plan.workspace.backward_weight});
  layout.scratch_bytes = layout.workspace.offset + layers::aligned(workspace);
  return layout;
}

MicroBatchLayout lay_out_evaluation(LayerRange layers, const layers::ActivationDecl& input,
                                    const layers::BackendSizes& sizes, bool targets, int beam) {
  auto planned = plan_range(layers, input, sizes);
  return lay_out_evaluation(planned, whole(*planned), targets, beam);
}

MicroBatchLayout lay_out_evaluation(std::shared_ptr<const PlannedLayers> planned,
                                    const LayerRun& chunk, bool targets, int beam) {
  MicroBatchLayout layout = layout_of(std::move(planned), chunk);
  Keeping keeping(layout, {}, false);
  const PassingBy passing = place_activations(layout, false, keeping);
  place_what_passes_by(layout, passing, 0, keeping);
  place_caches(layout, beam);
  layout.workspace = {Region::scratch, passing.first.bytes()};
  std::size_t workspace =
      std::max(wide_bytes(layout.activations.front()), wide_bytes(layout.logits()));
  for (const layers::LayerPlan& plan : layout.layers)
    if (targets || !plan.needs_targets || !plan.output.frames.empty())
      workspace = std::max(workspace, plan.workspace.forward);
  layout.scratch_bytes = layout.workspace.offset + layers::aligned(workspace);
  return layout;
}

}  // namespace penstock::partition
