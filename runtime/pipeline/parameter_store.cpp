#include "runtime/pipeline/parameter_store.h"

#include <fmt/format.h>

#include "base/error.h"
#include "layers/initialise.h"
#include "layers/ops/elementwise.h"

namespace penstock::runtime {
namespace {

/// Returns the elements of `piece` in `whole`, a flat array that begins with the piece's parameter.
layers::Tensor cut(const layers::Tensor& whole, const partition::ParameterPiece& piece) {
  if (whole.data == nullptr) return {};
  const std::size_t begin = static_cast<std::size_t>(piece.first) * layers::size_of(whole.dtype);
  return {static_cast<std::byte*>(whole.data) + begin, whole.dtype, {piece.count}};
}

}  // namespace

// All memory is allocated here, as one arena per kind, and tensors are views into the arenas. If
// layers compute in half precision, masters and copies are two arenas. If replicas also share the
// update, the arena of masters holds owned pieces. Parameters without a rounded copy then have
// their only values in the arena of copies, as frozen and tied ones with a copy always have.

// The arenas of n trained elements in FP16 with two optimizer slots and replicas that do not share:
//
//   weights_        4n bytes   masters, FP32
//   copies_         2n         what layers read; absent in FP32, where they read the masters
//   gradients_[l]   4n each    one for each lane
//   slots_[s]       4n each    less in the formats bf16 and 8bit
//   scales_[s]                 of 8-bit slots, a number for each block of codes
//   averages_       4n         moving averages of the masters, if the run keeps them
//
// With replicas that share the update, slots, averages and those masters that have copies are
// divided among them.

ParameterStore::ParameterStore(layers::Backend& backend, layers::Stream& stream,
                               const std::vector<layers::LayerPlan>& plans,
                               std::span<const std::int64_t> first_blocks,
                               const StoreOptions& options, std::uint64_t seed)
    : backend_(backend),
      options_(options),
      layout_(partition::lay_out_parameters(plans, options.kinds, options.replica, first_blocks)),
      weights_(backend.allocate(layout_.masters)),
      copies_(backend.allocate(layout_.copies)),
      averages_(backend.allocate(
          options.slots.averages > 0 ? partition::average_bytes(layout_.slot, options.kinds) : 0)) {
  for (int lane = 0; lane < options.lanes; ++lane)
    gradients_.push_back(backend.allocate(layout_.arena));
  for (int slot = 0; slot < options.slots.of_elements; ++slot)
    slots_.push_back(backend.allocate(layout_.slot));
  for (int slot = 0; slot < options.slots.of_parameters; ++slot)
    slots_.push_back(backend.allocate(partition::number_bytes(plans)));
  if (options.kinds.slots == partition::SlotFormat::codes)
    for (int slot = 0; slot < options.slots.of_elements; ++slot)
      scales_.push_back(backend.allocate(layout_.scales));
  for (const std::vector<layers::Buffer>* kept : {&slots_, &scales_})
    for (const layers::Buffer& each : *kept) backend.zero(stream, each.data(), each.bytes());
  // Replicas also send the gaps between parameters.
  for (const layers::Buffer* each : {&weights_, &copies_, &averages_})
    backend.zero(stream, each->data(), each->bytes());
  place(plans);
  table_ = ArenaTable(backend, stream, *this);
  initialise(stream, seed);
  zero_gradients(stream);
}

// State tensors, such as running statistics, are few and small. They share one allocation, whose
// size is known after the first loop.
void ParameterStore::place(const std::vector<layers::LayerPlan>& plans) {
  layers_.resize(plans.size());
  for (LayerViews& views : layers_) views.gradients.resize(options_.lanes);
  for (const partition::ParameterEntry& p : parameters()) {
    LayerViews& views = layers_[p.layer];
    views.weights.push_back(read_by_layers(p));
    for (int lane = 0; lane < options_.lanes; ++lane)
      views.gradients[lane].push_back(gradient(p, lane));
  }
  std::size_t state_bytes = 0;
  for (std::size_t layer = 0; layer < plans.size(); ++layer)
    for (const layers::StateDecl& decl : plans[layer].state) {
      states_.push_back({decl, layer});
      state_tensors_.push_back({nullptr, dtype(), decl.shape});
      state_bytes += layers::aligned(state_tensors_.back().bytes());
    }
  state_memory_ = backend_.allocate(state_bytes);
  std::byte* data = state_memory_.data();
  for (std::size_t i = 0; i < states_.size(); ++i) {
    state_tensors_[i].data = data;
    data += layers::aligned(state_tensors_[i].bytes());
    layers_[states_[i].layer].state.push_back(state_tensors_[i]);
  }
}

// Values are drawn on the host, so that they have the same bits on every device. One parameter at a
// time takes host memory.
void ParameterStore::initialise(layers::Stream& stream, std::uint64_t seed) {
  const auto fill = [&](const layers::Tensor& tensor, const layers::ParamDecl& decl) {
    const layers::Buffer host = layers::host_buffer(tensor.bytes());
    layers::initialise(decl, seed, {host.data(), tensor.dtype, tensor.shape});
    backend_.copy_in(stream, tensor.data, host.data(), tensor.bytes());
    backend_.synchronize(stream);
  };
  for (const partition::ParameterEntry& p : parameters()) fill(loading(p), p.decl);
  for (std::size_t i = 0; i < states_.size(); ++i)
    fill(state_tensors_[i], {states_[i].decl.name,
                             states_[i].decl.shape,
                             {layers::Initialiser::Kind::constant, states_[i].decl.initial}});
  loaded(stream);
}

layers::Tensor ParameterStore::view(const layers::Buffer& arena,
                                    const partition::ParameterEntry& entry) const {
  return {arena.data() + entry.offset, dtype(), entry.decl.shape};
}

bool ParameterStore::has_copy(const partition::ParameterEntry& entry) const {
  return partition::has_copy(entry.decl, options_.kinds.compute);
}

layers::Tensor ParameterStore::read_by_layers(const partition::ParameterEntry& entry) const {
  if (!has_copy(entry)) return weight(entry);
  return {copies_.data() + entry.copy_offset, options_.kinds.compute, entry.decl.shape};
}

// Replicas exchange what layers read: copies if masters are in parts, otherwise masters.
SharedArena ParameterStore::shared_arena() const {
  SharedArena arena{layout_.parts ? copies_.data() : weights_.data(), {}};
  for (int replica = 0; replica < options_.kinds.sharing.replicas; ++replica)
    arena.of_replicas.push_back(layout_.read_ranges(replica));
  return arena;
}

layers::Tensor ParameterStore::weight(const partition::ParameterEntry& entry) const {
  if (partition::is_copy_alone(entry.decl, options_.kinds.compute)) return copy(entry);
  if (!layout_.parts) return view(weights_, entry);
  if (has_copy(entry))
    throw ShapeError(
        fmt::format("replica {} has no whole master of {}: it shares them with other replicas",
                    options_.replica, entry.decl.name));
  return {copies_.data() + entry.copy_offset, dtype(), entry.decl.shape};
}

layers::Tensor ParameterStore::copy(const partition::ParameterEntry& entry) const {
  return has_copy(entry) ? read_by_layers(entry) : layers::Tensor{};
}

layers::Tensor ParameterStore::weight(const partition::ParameterPiece& piece) const {
  const bool copied = layout_.parts && !has_copy(entry(piece));
  std::byte* arena = copied ? copies_.data() : weights_.data();
  return {arena + piece.master_offset, dtype(), {piece.count}};
}

layers::Tensor ParameterStore::gradient(const partition::ParameterPiece& piece, int lane) const {
  return cut(gradient(entry(piece), lane), piece);
}

layers::Tensor ParameterStore::copy(const partition::ParameterPiece& piece) const {
  return cut(copy(entry(piece)), piece);
}

layers::Tensor ParameterStore::slot(const partition::ParameterPiece& piece, int slot) const {
  return {slots_[slot].data() + piece.slot_offset, options_.kinds.slot_type(), {piece.count}};
}

layers::Tensor ParameterStore::scale_arena(int slot) const {
  return scales_.empty() ? layers::Tensor{} : flat(scales_[slot], layers::DType::f32);
}

layers::Tensor ParameterStore::scales(const partition::ParameterPiece& piece, int slot) const {
  if (scales_.empty()) return {};
  const auto first = static_cast<std::int64_t>(piece.slot_offset) / layers::kCodeBlock;
  return {scale_arena(slot).as<float>() + first,
          layers::DType::f32,
          {layers::code_blocks(piece.count)}};
}

// The offset follows from that in the slots, which also holds where these have another format.
layers::Tensor ParameterStore::average(const partition::ParameterPiece& piece) const {
  if (averages_.bytes() == 0) return {};
  const std::size_t first = piece.slot_offset / layers::size_of(options_.kinds.slot_type());
  return {averages_.data() + first * layers::size_of(dtype()), dtype(), {piece.count}};
}

void ParameterStore::round_copies(layers::Stream& stream) {
  for (const partition::ParameterPiece& piece : owned())
    if (const layers::Tensor rounded = copy(piece); rounded.data != nullptr)
      backend_.run(stream, layers::Cast{weight(piece), rounded});
}

// A rank with pieces of a master has no memory for the whole. Lane 0's gradient sums have room for
// it and are unused while values are loaded.
layers::Tensor ParameterStore::loading(const partition::ParameterEntry& entry) const {
  return layout_.parts && entry.decl.updated() ? gradient(entry, 0) : weight(entry);
}

// If this rank keeps masters of its pieces alone, these are cut first, from lane 0's gradient sums,
// where the whole values lie. Then everything that layers read is derived from the whole values,
// not from the masters: other replicas' pieces are needed too.
void ParameterStore::loaded(layers::Stream& stream) {
  for (const partition::ParameterPiece& piece : owned())
    if (layout_.parts && has_copy(entry(piece)))
      backend_.copy(stream, weight(piece).data, gradient(piece, 0).data,
                    gradient(piece, 0).bytes());
  for (const partition::ParameterEntry& p : parameters()) {
    const layers::Tensor from = loading(p), read = read_by_layers(p);
    if (from.data == read.data) continue;
    if (has_copy(p))
      backend_.run(stream, layers::Cast{from, read});
    else
      backend_.copy(stream, read.data, from.data, from.bytes());
  }
  for (const partition::ParameterPiece& piece : owned())
    if (const layers::Tensor begun = average(piece); begun.data != nullptr)
      backend_.copy(stream, begun.data, weight(piece).data, begun.bytes());
}

void ParameterStore::exchange_averages(layers::Stream& stream) {
  for (const partition::ParameterPiece& piece : owned()) {
    const layers::Tensor held = gradient(piece, 0), own = weight(piece), mean = average(piece);
    backend_.copy(stream, held.data, own.data, own.bytes());
    backend_.copy(stream, own.data, mean.data, own.bytes());
    backend_.copy(stream, mean.data, held.data, own.bytes());
  }
  round_copies(stream);
}

layers::Tensor ParameterStore::number(const partition::ParameterEntry& entry, int slot) const {
  const layers::Buffer& numbers = slots_[options_.slots.of_elements + slot];
  return {numbers.data() + entry.index * sizeof(double), layers::DType::f64, {1}};
}

std::vector<double> ParameterStore::read_numbers(layers::Stream& stream, int slot) const {
  std::vector<double> numbers(parameters().size());
  backend_.copy_out(stream, numbers.data(), slots_[options_.slots.of_elements + slot].data(),
                    numbers.size() * sizeof(double));
  backend_.synchronize(stream);
  return numbers;
}

void ParameterStore::write_numbers(layers::Stream& stream, int slot,
                                   std::span<const double> numbers) {
  backend_.copy_in(stream, slots_[options_.slots.of_elements + slot].data(), numbers.data(),
                   numbers.size_bytes());
  backend_.synchronize(stream);
}

layers::Params ParameterStore::params(std::size_t layer) const {
  return {layers_[layer].weights, layers_[layer].state};
}

layers::Grads ParameterStore::grads(std::size_t layer, int lane) const {
  return layers_[layer].gradients[lane];
}

// Gradients are missing, since an update only reads them. Frozen parameters lie at the end of their
// arenas and are cut off.
std::vector<std::span<std::byte>> ParameterStore::updated_arenas() const {
  std::vector<std::span<std::byte>> arenas = {{weights_.data(), layout_.changing_masters},
                                              {copies_.data(), layout_.changing_copies}};
  for (const layers::Buffer& slot : slots_) arenas.emplace_back(slot.data(), slot.bytes());
  for (const layers::Buffer& scales : scales_) arenas.emplace_back(scales.data(), scales.bytes());
  arenas.emplace_back(averages_.data(), averages_.bytes());
  std::erase_if(arenas, [](const auto& arena) { return arena.empty(); });
  return arenas;
}

// Parameters lie in the order of layers, so all gradients from here to the arena's end belong to
// this layer and later ones. Buckets rely on it.
std::size_t ParameterStore::arena_offset(std::size_t layer) const {
  for (const partition::ParameterEntry& p : parameters())
    if (p.summed && p.layer >= layer) return p.offset;
  return layout_.arena;
}

void ParameterStore::zero_gradients(layers::Stream& stream) {
  for (const layers::Buffer& arena : gradients_) backend_.zero(stream, arena.data(), arena.bytes());
}

std::int64_t ParameterStore::element_count() const {
  std::int64_t count = 0;
  for (const partition::ParameterEntry& p : parameters())
    if (!p.decl.tied()) count += p.elements;
  return count;
}

RollbackBuffer::RollbackBuffer(layers::Backend& backend, const ParameterStore& store)
    : backend_(backend), arenas_(store.updated_arenas()) {
  for (const auto& arena : arenas_) copies_.push_back(backend.allocate(arena.size()));
}

void RollbackBuffer::take(layers::Stream& stream) {
  for (std::size_t i = 0; i < arenas_.size(); ++i)
    backend_.copy(stream, copies_[i].data(), arenas_[i].data(), arenas_[i].size());
}

void RollbackBuffer::restore(layers::Stream& stream) {
  for (std::size_t i = 0; i < arenas_.size(); ++i)
    backend_.copy(stream, arenas_[i].data(), copies_[i].data(), arenas_[i].size());
}

}  // namespace penstock::runtime
