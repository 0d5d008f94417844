#pragma once

#include <string>
#include <vector>

namespace penstock::tools {

/// Rows of cells as lines of text, the first row a heading. Columns of numbers are set flush right,
/// all others flush left.
std::string table_text(const std::vector<std::vector<std::string>>& rows);

}  // namespace penstock::tools
