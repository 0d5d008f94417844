#include "runtime/pipeline/parameter_store.h"

#include "layers/initialise.h"
#include "layers/ops/cast.h"

namespace penstock {

ParameterStore::ParameterStore(Backend& backend, Stream& stream,
                               const std::vector<LayerPlan>& plans, std::int64_t first_block,
                               const StoreOptions& options, std::uint64_t seed)
    : backend_(backend), options_(options) {
  const std::size_t bytes = arena_bytes(plans, options.dtype);
  weights_ = backend.allocate(bytes);
  backend.zero(stream, weights_.data(), bytes);
  copies_ = backend.allocate(copy_bytes(plans, options.compute));
  for (int lane = 0; lane < options.lanes; ++lane) gradients_.push_back(backend.allocate(bytes));
  zero_gradients(stream);
  for (int slot = 0; slot < options.slots.of_elements; ++slot)
    slots_.push_back(backend.allocate(bytes));
  for (int slot = 0; slot < options.slots.of_parameters; ++slot)
    slots_.push_back(backend.allocate(number_bytes(plans)));
  for (const Buffer& slot : slots_) backend.zero(stream, slot.data(), slot.bytes());
  place(plans, first_block);
  initialise(stream, seed);
  round_copies(stream);
}

void ParameterStore::place(const std::vector<LayerPlan>& plans, std::int64_t first_block) {
  std::size_t offset = 0, copy_offset = 0, state_bytes = 0;
  for (std::size_t layer = 0; layer < plans.size(); ++layer) {
    LayerViews& views = layers_.emplace_back();
    views.gradients.resize(options_.lanes);
    for (const ParamDecl& decl : plans[layer].params) {
      const std::int64_t elements = penstock::element_count(decl.shape);
      parameters_.push_back({decl, layer, offset, elements, first_block, copy_offset,
                             static_cast<std::int64_t>(parameters_.size())});
      owned_.push_back({parameters_.size() - 1, 0, elements, first_block});
      offset += aligned(static_cast<std::size_t>(elements) * size_of(options_.dtype));
      if (has_copy(decl, options_.compute))
        copy_offset += aligned(static_cast<std::size_t>(elements) * size_of(options_.compute));
      first_block += norm_blocks(elements);
      views.weights.push_back(read_by_layers(parameters_.back()));
      for (int lane = 0; lane < options_.lanes; ++lane)
        views.gradients[lane].push_back(view(gradients_[lane], parameters_.back()));
    }
    for (const StateDecl& decl : plans[layer].state) {
      states_.push_back({decl, layer});
      state_tensors_.push_back({nullptr, options_.dtype, decl.shape});
      state_bytes += aligned(state_tensors_.back().bytes());
    }
  }
  state_memory_ = backend_.allocate(state_bytes);
  std::byte* data = state_memory_.data();
  for (std::size_t i = 0; i < states_.size(); ++i) {
    state_tensors_[i].data = data;
    data += aligned(state_tensors_[i].bytes());
    layers_[states_[i].layer].state.push_back(state_tensors_[i]);
  }
}

void ParameterStore::initialise(Stream& stream, std::uint64_t seed) {
  const auto fill = [&](const Tensor& tensor, const ParamDecl& decl) {
    const Buffer host = host_buffer(tensor.bytes());
    penstock::initialise(decl, seed, {host.data(), tensor.dtype, tensor.shape});
    backend_.copy_in(stream, tensor.data, host.data(), tensor.bytes());
    backend_.finish(stream);
  };
  for (const ParameterEntry& p : parameters_) fill(weight(p), p.decl);
  for (std::size_t i = 0; i < states_.size(); ++i)
    fill(state_tensors_[i], {states_[i].decl.name,
                             states_[i].decl.shape,
                             {Initialiser::Kind::constant, states_[i].decl.initial}});
}

Tensor ParameterStore::view(const Buffer& arena, const ParameterEntry& entry) const {
  return {arena.data() + entry.offset, options_.dtype, entry.decl.shape};
}

Tensor ParameterStore::cut(const Tensor& whole, const ParameterPiece& piece) {
  if (whole.data == nullptr) return {};
  auto* data = static_cast<std::byte*>(whole.data);
  return {data + static_cast<std::size_t>(piece.first) * size_of(whole.dtype),
          whole.dtype,
          {piece.count}};
}

Tensor ParameterStore::read_by_layers(const ParameterEntry& entry) const {
  if (!has_copy(entry.decl, options_.compute)) return weight(entry);
  return {copies_.data() + entry.copy_offset, options_.compute, entry.decl.shape};
}

Tensor ParameterStore::copy(const ParameterEntry& entry) const {
  return has_copy(entry.decl, options_.compute) ? read_by_layers(entry) : Tensor{};
}

void ParameterStore::round_copies(Stream& stream) {
  for (const ParameterPiece& piece : owned_)
    if (const Tensor rounded = copy(piece); rounded.data != nullptr)
      backend_.run(stream, Cast{weight(piece), rounded});
}

Tensor ParameterStore::slot(const ParameterEntry& entry, int slot) const {
  if (slot < options_.slots.of_elements) return view(slots_[slot], entry);
  return {slots_[slot].data() + entry.index * sizeof(double), DType::f64, {1}};
}

std::vector<double> ParameterStore::read_numbers(Stream& stream, int slot) const {
  std::vector<double> numbers(parameters_.size());
  backend_.copy_out(stream, numbers.data(), slots_[options_.slots.of_elements + slot].data(),
                    numbers.size() * sizeof(double));
  backend_.finish(stream);
  return numbers;
}

void ParameterStore::write_numbers(Stream& stream, int slot, std::span<const double> numbers) {
  backend_.copy_in(stream, slots_[options_.slots.of_elements + slot].data(), numbers.data(),
                   numbers.size_bytes());
  backend_.finish(stream);
}

Params ParameterStore::params(std::size_t layer) const {
  return {layers_[layer].weights, layers_[layer].state};
}

Grads ParameterStore::grads(std::size_t layer, int lane) const {
  return layers_[layer].gradients[lane];
}

std::size_t ParameterStore::arena_offset(std::size_t layer) const {
  for (const ParameterEntry& p : parameters_)
    if (p.layer >= layer) return p.offset;
  return weights_.bytes();
}

void ParameterStore::zero_gradients(Stream& stream) {
  for (const Buffer& arena : gradients_) backend_.zero(stream, arena.data(), arena.bytes());
}

std::int64_t ParameterStore::element_count() const {
  std::int64_t count = 0;
  for (const ParameterEntry& p : parameters_) count += p.elements;
  return count;
}

}  // namespace penstock
