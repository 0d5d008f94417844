#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace penstock::test {

/// A file of tests/runtime/checkpoint/cases with what a reader must make of it.
struct SafetensorsCase {
  std::filesystem::path file;
  std::string what;      // its peculiarity
  std::string required;  // "accept", "reject" or "either"
};

std::vector<SafetensorsCase> safetensors_cases();

}  // namespace penstock::test
