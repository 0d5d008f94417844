#include "runtime/checkpoint/fault.h"

#include <fmt/format.h>

#include "base/error.h"

namespace penstock::runtime {

void throw_fault(const std::filesystem::path& path, const std::string& reason) {
  throw CheckpointError(fmt::format("{}: {}", path.string(), reason));
}

}  // namespace penstock::runtime
