#include "layers/ops/operation_table.h"

#include <fmt/format.h>

#include "base/error.h"

namespace penstock::layers {

// `operation` is the compiler's own, mangled name of the type.
void OperationTable::throw_missing(const char* operation) {
  throw DeviceError(
      fmt::format("the backend has no operation {}: add it to layers/ops/list.h", operation));
}

}  // namespace penstock::layers
