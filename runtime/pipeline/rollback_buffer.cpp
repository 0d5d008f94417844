#include "runtime/pipeline/rollback_buffer.h"

namespace penstock::runtime {

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
