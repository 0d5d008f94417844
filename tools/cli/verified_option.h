#pragma once

#include "runtime/checkpoint/checkpoint.h"

namespace CLI {
class App;
}

namespace penstock::tools {

/// Adds --verify, which chooses what of a checkpoint is verified. `verified` must outlive the
/// command.
void takes_verified(CLI::App* command, runtime::Verified& verified);

}  // namespace penstock::tools
