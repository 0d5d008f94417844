#include "runtime/pipeline/weight_backup.h"

namespace penstock {

WeightBackup::WeightBackup(Backend& backend, const ParameterStore& store)
    : backend_(backend), arenas_(store.updated_arenas()) {
  for (const auto& arena : arenas_) copies_.push_back(backend.allocate(arena.size()));
}

void WeightBackup::take(Stream& stream) {
  for (std::size_t i = 0; i < arenas_.size(); ++i)
    backend_.copy(stream, copies_[i].data(), arenas_[i].data(), arenas_[i].size());
}

void WeightBackup::restore(Stream& stream) {
  for (std::size_t i = 0; i < arenas_.size(); ++i)
    backend_.copy(stream, arenas_[i].data(), copies_[i].data(), arenas_[i].size());
}

}  // namespace penstock
