#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// Reads a training schedule with parse_schedule_csv() and proves it with validate(): every
/// micro-batch must pass forward and backward on every chunk. Throws ConfigError, which names the
/// fault by row and column of the text, from 1. Actions that were added are named by the cell next
/// to them.
Schedule check_schedule_csv(std::string_view text, const std::string& name);

/// Does the same for a file.
Schedule check_schedule_file(const std::filesystem::path& path);

/// Does the same for a run of `stages` stages. If any backward of the file is split, all are split.
/// Also throws ConfigError if the file has another number of rows.
Schedule read_schedule_file(const std::filesystem::path& path, int stages);

}  // namespace penstock::partition
