#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// Reads a training schedule as parse_schedule_csv does and proves it as validate() does; every
/// micro-batch must pass forward and backward on every chunk. ConfigError says where it breaks, by
/// rows and columns of the text, from 1: what is put in stands by the cell that it comes with.
Schedule check_schedule_csv(std::string_view text, const std::string& name);

/// The same of a file.
Schedule check_schedule_file(const std::filesystem::path& path);

/// The same for a run of so many stages, with backward in two parts everywhere if anywhere.
/// ConfigError as well where the file has another number of rows.
Schedule read_schedule_file(const std::filesystem::path& path, int stages);

}  // namespace penstock::partition
