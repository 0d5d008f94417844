#pragma once

#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

#include "runtime/data/remote/remote_files.h"

namespace penstock::runtime {

/// Stands for the value of a field that a line does not have.
inline constexpr const char* kNoValue = "(none)";

/// Reads fields of a manifest in JSON lines, line by line.
class ManifestFields {
 public:
  /// The manifest may be a URL. DataError if it has another format or cannot be read.
  ManifestFields(const std::string& manifest, std::vector<std::string> fields);

  /// Returns the values of the fields on line `number`, which counts from 1 and must not decrease
  /// between calls. A string gives its text, any other value its JSON, and null or a missing field
  /// gives kNoValue. DataError if the file has no such line.
  std::vector<std::string> at(std::size_t number);

 private:
  LocalFile manifest_;
  std::vector<std::string> fields_;
  std::ifstream file_;
  std::size_t number_ = 0;  // number of the last line read
};

/// Throws DataError if one of the fields occurs on no line of any of the manifests.
void require_fields(const std::vector<std::string>& manifests,
                    const std::vector<std::string>& fields);

}  // namespace penstock::runtime
