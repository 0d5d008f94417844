#include "tests/support/tree/sources.h"

namespace penstock::test {

std::filesystem::path source(const std::filesystem::path& relative) {
  return std::filesystem::path(PENSTOCK_SOURCE_FOLDER) / relative;
}

}  // namespace penstock::test
