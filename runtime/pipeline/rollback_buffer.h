#pragma once

#include <vector>

#include "layers/backend.h"
#include "runtime/pipeline/parameter_store.h"

namespace penstock::runtime {

/// A second copy of the memory that an update changes, so that the update can be rolled back.
class RollbackBuffer {
 public:
  /// Both arguments must outlive it.
  RollbackBuffer(layers::Backend& backend, const ParameterStore& store);

  /// Copies the store's memory into the buffer, in the stream's order.
  void take(layers::Stream& stream);
  /// Copies the buffer back into the store.
  void restore(layers::Stream& stream);

 private:
  layers::Backend& backend_;
  std::vector<std::span<std::byte>> arenas_;  // arenas of the store
  std::vector<layers::Buffer> copies_;
};

}  // namespace penstock::runtime
