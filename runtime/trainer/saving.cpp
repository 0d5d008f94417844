#include "runtime/trainer/saving.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "layers/initialise.h"
#include "runtime/devices/host_window.h"

namespace penstock::runtime {
namespace {

std::string slot_name(const std::string& slot, const layers::ParamDecl& parameter) {
  return fmt::format("optimizer.{}/{}", slot, parameter.name);
}

std::string average_name(const layers::ParamDecl& parameter) {
  return kAverageTensors + parameter.name;
}

std::string scales_name(const std::string& slot, const layers::ParamDecl& parameter) {
  return slot_name(slot + ".scales", parameter);
}

/// Returns the shape of a whole parameter's scales.
layers::Shape scales_shape(const partition::ParameterEntry& parameter) {
  return {layers::code_blocks(parameter.elements)};
}

/// Reads tensors of a checkpoint into the backend's memory.
class Reader {
 public:
  Reader(HostWindow& window, const Checkpoint& checkpoint)
      : window_(window), checkpoint_(checkpoint) {}

  void whole(const std::string& name, const layers::Tensor& to) { part(name, to, to.shape, 0); }

  /// Reads a weight or a statistic, and converts it to the tensor's type. Exported weights and
  /// frozen ones may be in half precision, on either side.
  void weight(const std::string& name, const layers::Tensor& to) {
    const layers::DType stored = checkpoint_.tensor(name).dtype;
    if (stored == to.dtype || to.dtype == layers::DType::f64) return whole(name, to);
    expect_floats(checkpoint_, name, to.shape);
    const std::size_t width = layers::size_of(to.dtype);
    std::vector<float> floats;
    window_.write(to, [&](std::size_t begin, std::span<std::byte> part) {
      floats.resize(part.size() / width);
      read_floats(checkpoint_, name, static_cast<std::int64_t>(begin / width), floats);
      layers::round_floats(floats, to.dtype, part);
    });
  }

  /// Reads `to` from element `first` on of a tensor of shape `shape`.
  void part(const std::string& name, const layers::Tensor& to, const layers::Shape& shape,
            std::int64_t first) {
    checkpoint_.expect(name, to.dtype, shape);
    elements(name, to, first);
  }

 private:
  void elements(const std::string& name, const layers::Tensor& to, std::int64_t first) {
    const std::size_t width = layers::size_of(to.dtype);
    window_.write(to, [&](std::size_t begin, std::span<std::byte> part) {
      const auto from = first + static_cast<std::int64_t>(begin / width);
      checkpoint_.read(name, from, from + static_cast<std::int64_t>(part.size() / width), part);
    });
  }

  HostWindow& window_;
  const Checkpoint& checkpoint_;
};

void initialise(HostWindow& window, const layers::ParamDecl& decl, const layers::Tensor& to,
                std::uint64_t seed) {
  const std::size_t width = layers::size_of(to.dtype);
  window.write(to, [&](std::size_t begin, std::span<std::byte> part) {
    const auto count = static_cast<std::int64_t>(part.size() / width);
    layers::initialise(decl, seed, {part.data(), to.dtype, {count}},
                       static_cast<std::int64_t>(begin / width));
  });
}

/// Fills a parameter of a head with initial values, and its kept rows with the checkpoint's. Each
/// may be in half precision.
void start_rows(HostWindow& window, const StartingWeights& weights, const layers::ParamDecl& decl,
                const layers::Tensor& to, std::uint64_t seed) {
  const Checkpoint& checkpoint = weights.checkpoint;
  const std::string source = model_tensor(checkpoint, decl.name);
  expect_floats(checkpoint, source, checkpoint.tensor(decl.name).shape);
  const auto read = [&](std::int64_t begin, std::span<float> out) {
    read_floats(checkpoint, source, begin, out);
  };
  const std::size_t width = layers::size_of(to.dtype);
  std::vector<float> values;
  window.write(to, [&](std::size_t begin, std::span<std::byte> part) {
    const auto first = static_cast<std::int64_t>(begin / width);
    values.resize(part.size() / width);
    layers::initialise(decl, seed, {values.data(), layers::DType::f32, {std::ssize(values)}},
                       first);
    read_kept_rows(weights.kept, {to.size() / weights.kept.rows(), first, values}, read);
    layers::round_floats(values, to.dtype, part);
  });
}

/// True for a parameter whose slots are in the checkpoint.
using HasSlots = std::function<bool(const layers::ParamDecl&)>;

void restore_slots(Reader& reader, const ParameterStore& store, const OptimizerSlots& slots,
                   const HasSlots& stored) {
  for (const partition::ParameterPiece& piece : store.owned())
    for (std::size_t i = 0; i < slots.of_elements.size(); ++i) {
      const partition::ParameterEntry& p = store.parameters()[piece.parameter];
      if (!stored(p.decl)) continue;
      const std::string& slot = slots.of_elements[i];
      reader.part(slot_name(slot, p.decl), store.slot(piece, i), p.decl.shape, piece.first);
      if (const layers::Tensor scales = store.scales(piece, i); scales.data != nullptr)
        reader.part(scales_name(slot, p.decl), scales, scales_shape(p),
                    piece.first / layers::kCodeBlock);
    }
}

/// Reads the moving averages that the checkpoint has.
void restore_averages(Reader& reader, const ParameterStore& store, const Checkpoint& checkpoint) {
  for (const partition::ParameterPiece& piece : store.owned()) {
    const layers::ParamDecl& decl = store.parameters()[piece.parameter].decl;
    const layers::Tensor average = store.average(piece);
    if (average.data != nullptr && checkpoint.contains(average_name(decl)))
      reader.part(average_name(decl), average, decl.shape, piece.first);
  }
}

}  // namespace

Saving::Saving(layers::Backend& backend, layers::Stream& stream, const RankGrid& grid, Stage& stage,
               OptimizerSlots slots)
    : backend_(backend), stream_(stream), grid_(grid), stage_(stage), slots_(std::move(slots)) {}

// A checkpoint holds everything once. With several replicas, they contribute:
//                        first replica                         each other replica
//   update not shared    the whole stage                       nothing
//   update shared        pieces that it owns, frozen weights,  pieces that it owns
//                        single numbers, running statistics
// Frozen weights that layers read in half precision are stored so: there is no other value. Tied
// parameters are left out, since the checkpoint has their owner's.
std::vector<CheckpointPiece> Saving::pieces() const {
  const ParameterStore& store = stage_.parameters();
  const bool leads = grid_.here().replica == 0;
  if (!leads && !store.shared()) return {};
  std::vector<CheckpointPiece> pieces = owned_pieces();
  const auto add = [&](const std::string& name, const layers::Tensor& tensor) {
    pieces.push_back({name, tensor.dtype, tensor.shape, 0, tensor.size(), tensor.data});
  };
  for (const partition::ParameterEntry& p : store.parameters()) {
    if (p.decl.tied()) continue;
    if (leads && p.decl.frozen()) add(p.decl.name, store.weight(p));
    for (std::size_t i = 0; leads && i < slots_.of_parameters.size(); ++i)
      if (!p.decl.frozen()) add(slot_name(slots_.of_parameters[i], p.decl), store.number(p, i));
  }
  for (std::size_t i = 0; leads && i < store.states().size(); ++i)
    add(store.states()[i].decl.name, store.state(i));
  return pieces;
}

std::string Saving::shard_name() const {
  const auto [stage, replica] = grid_.here();
  const bool shared = stage_.parameters().shared();
  return fmt::format("stage-{}{}", stage, shared ? fmt::format("-replica-{}", replica) : "");
}

std::vector<CheckpointPiece> Saving::owned_pieces() const {
  const ParameterStore& store = stage_.parameters();
  std::vector<CheckpointPiece> pieces;
  for (const partition::ParameterPiece& piece : store.owned()) {
    const partition::ParameterEntry& parameter = store.parameters()[piece.parameter];
    const layers::ParamDecl& decl = parameter.decl;
    const auto add = [&](const std::string& name, const layers::Tensor& tensor) {
      pieces.push_back(
          {name, tensor.dtype, decl.shape, piece.first, piece.first + piece.count, tensor.data});
    };
    add(decl.name, store.weight(piece));
    if (const layers::Tensor average = store.average(piece); average.data != nullptr)
      add(average_name(decl), average);
    for (std::size_t i = 0; i < slots_.of_elements.size(); ++i) {
      const std::string& slot = slots_.of_elements[i];
      add(slot_name(slot, decl), store.slot(piece, i));
      const layers::Tensor scales = store.scales(piece, i);
      if (scales.data == nullptr) continue;
      const std::int64_t first = piece.first / layers::kCodeBlock;
      pieces.push_back({scales_name(slot, decl), scales.dtype, scales_shape(parameter), first,
                        first + scales.size(), scales.data});
    }
  }
  return pieces;
}

// Tensors are found by name and range, whoever wrote them. So the checkpoint may be of another
// number of stages or replicas.
void Saving::restore(const Checkpoint& checkpoint, bool training,
                     const std::set<std::string>& frozen) {
  if (!training) return start_from({checkpoint, {}}, 0);
  load({checkpoint, {}}, 0, [](const layers::ParamDecl& decl) { return decl.name; });
  HostWindow window(backend_, stream_);
  Reader reader(window, checkpoint);
  const ParameterStore& store = stage_.parameters();
  const auto stored = [&](const layers::ParamDecl& decl) {
    return decl.updated() && !frozen.contains(decl.name);
  };
  restore_slots(reader, store, slots_, stored);
  for (const partition::ParameterEntry& p : store.parameters())
    for (std::size_t i = 0; stored(p.decl) && i < slots_.of_parameters.size(); ++i)
      reader.whole(slot_name(slots_.of_parameters[i], p.decl), store.number(p, i));
  restore_averages(reader, store, checkpoint);
}

void Saving::start_from(const StartingWeights& weights, std::uint64_t seed) {
  load(weights, seed,
       [&](const layers::ParamDecl& decl) { return model_tensor(weights.checkpoint, decl.name); });
}

void Saving::load(const StartingWeights& weights, std::uint64_t seed, const Source& source) {
  HostWindow window(backend_, stream_);
  Reader reader(window, weights.checkpoint);
  ParameterStore& store = stage_.parameters();
  for (const partition::ParameterEntry& p : store.parameters()) {
    layers::ParamDecl decl = p.decl;
    decl.name = decl.saved_name();
    if (weights.kept.parameters.contains(decl.name))
      start_rows(window, weights, decl, store.loading(p), seed);
    else if (weights.anew.contains(decl.name))
      initialise(window, decl, store.loading(p), seed);
    else
      reader.weight(source(decl), store.loading(p));
  }
  store.loaded(stream_);
  for (std::size_t i = 0; i < store.states().size(); ++i)
    reader.weight(store.states()[i].decl.name, store.state(i));
}

void SavedParameters::add(const SavedParameters& other) {
  trained += other.trained;
  frozen_bytes += other.frozen_bytes;
}

std::vector<SavedParameters> saved_parameters(const partition::LayerSequence& sequence,
                                              layers::DType compute) {
  std::vector<SavedParameters> all;
  for (const layers::LayerPlan& layer : partition::plan_without_frames(sequence, {})) {
    SavedParameters& own = all.emplace_back();
    for (const layers::ParamDecl& p : layer.params) {
      if (p.tied()) continue;
      const std::int64_t elements = layers::element_count(p.shape);
      const bool halves = partition::is_copy_alone(p, compute);
      if (p.frozen())
        own.frozen_bytes += elements * layers::size_of(halves ? compute : layers::DType::f32);
      else
        own.trained += elements;
    }
  }
  return all;
}

std::uint64_t state_bytes(const SavedParameters& parameters, const partition::SlotCounts& slots,
                          partition::SlotFormat format) {
  const auto trained = static_cast<std::uint64_t>(parameters.trained);
  const bool coded = format == partition::SlotFormat::codes;
  const std::uint64_t of_slot =
      trained * layers::size_of(partition::ParameterKinds{.slots = format}.slot_type()) +
      (coded ? layers::code_blocks(parameters.trained) * sizeof(float) : 0);
  return parameters.frozen_bytes + trained * sizeof(float) * (1 + slots.averages) +
         slots.of_elements * of_slot;
}

std::uint64_t checkpoint_bytes(const SavedParameters& parameters,
                               const partition::SlotCounts& slots, partition::SlotFormat format) {
  constexpr std::uint64_t kOfManifestAndHeaders = 1 << 20;
  return state_bytes(parameters, slots, format) + kOfManifestAndHeaders;
}

}  // namespace penstock::runtime
