#pragma once

#include <filesystem>

namespace penstock::runtime {

/// Removes all checkpoints except the best one and the newest `count` (at least 1). Mislabelled
/// ones (see step_label.h) are neither counted nor removed. The newest was read back when it was
/// written; here only its manifest and the sizes of its files are checked. A crash leaves each
/// checkpoint whole or under a name that the next save removes. CheckpointError, with nothing
/// removed, if the newest is broken.
void keep_newest(const std::filesystem::path& output, int count);

}  // namespace penstock::runtime
