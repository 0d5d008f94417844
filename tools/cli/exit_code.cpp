#include "tools/cli/exit_code.h"

#include "base/error.h"

namespace penstock::tools {

ExitCode exit_code(const std::exception& error) {
  if (dynamic_cast<const ConfigError*>(&error) != nullptr) return exit_usage;
  if (dynamic_cast<const DataError*>(&error) != nullptr) return exit_data;
  if (dynamic_cast<const CheckpointError*>(&error) != nullptr) return exit_checkpoint;
  return exit_other;
}

}  // namespace penstock::tools
