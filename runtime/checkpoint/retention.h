#pragma once

#include <filesystem>

namespace penstock::runtime {

/// Removes all checkpoints but the newest `count` (at least 1) and the best. Mislabelled ones (see
/// step_label.h) neither count nor go. Whoever wrote the
/// newest has read it back by then; here its manifest is checked, and that every file has its size.
/// A crash leaves each whole or under a name that the next save clears away. CheckpointError, with
/// nothing removed, if the newest is broken.
void keep_newest(const std::filesystem::path& output, int count);

}  // namespace penstock::runtime
