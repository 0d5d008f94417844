#pragma once

#include <filesystem>

namespace penstock::test {

/// A file or folder of the repository, by its path from the root.
std::filesystem::path source(const std::filesystem::path& relative);

}  // namespace penstock::test
