#pragma once

#include <vector>

#include "layers/backend.h"
#include "runtime/pipeline/parameter_store.h"

namespace penstock::runtime {

/// A second copy of what an update changes, so that it can be rolled back.
class RollbackBuffer {
 public:
  /// Both must outlive it.
  RollbackBuffer(layers::Backend& backend, const ParameterStore& store);

  /// Copies what the stream has left in the store.
  void take(layers::Stream& stream);
  /// Puts it back as it was taken.
  void restore(layers::Stream& stream);

 private:
  layers::Backend& backend_;
  std::vector<std::span<std::byte>> arenas_;  // of the store
  std::vector<layers::Buffer> copies_;
};

}  // namespace penstock::runtime
