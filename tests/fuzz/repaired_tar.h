#pragma once

#include <string>
#include <string_view>

namespace penstock::test {

/// Returns a tar in which each block that looks like a header has a right sum. Without it, a
/// mutated header would be refused before anything else of it is read.
std::string repaired_tar(std::string_view tar);

}  // namespace penstock::test
