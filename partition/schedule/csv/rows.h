#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "partition/schedule/csv/cell.h"

namespace penstock::partition {

/// Returns the actions of each row of a file, one row per rank. Throws ConfigError, which names
/// `name`, row and column, if a cell cannot be read.
std::vector<std::vector<Cell>> parse_rows(std::string_view text, const std::string& name);

}  // namespace penstock::partition
