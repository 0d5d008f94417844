#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace penstock::runtime {

/// What stands for the value of a field that a line does not have.
inline constexpr const char* kNoValue = "(none)";

/// Values of fields of a manifest in JSON lines, read line after line.
class ManifestFields {
 public:
  /// DataError if the manifest is of another form or can't be read.
  ManifestFields(std::filesystem::path manifest, std::vector<std::string> fields);

  /// The values on line `number`, from 1 on; numbers rise. A string is its text, anything else its
  /// JSON; null is none. DataError if there is no such line any more.
  std::vector<std::string> at(std::size_t number);

 private:
  std::filesystem::path manifest_;
  std::vector<std::string> fields_;
  std::ifstream file_;
  std::size_t number_ = 0;  // of the line read last
};

/// DataError unless a line of any of the manifests has the field, for each of the fields.
void require_fields(const std::vector<std::string>& manifests,
                    const std::vector<std::string>& fields);

}  // namespace penstock::runtime
