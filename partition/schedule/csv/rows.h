#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "partition/schedule/csv/cell.h"

namespace penstock::partition {

/// The actions of each row of a file, a row for each rank. ConfigError names `name`, row and column
/// of what can't be read.
std::vector<std::vector<Cell>> parse_rows(std::string_view text, const std::string& name);

}  // namespace penstock::partition
