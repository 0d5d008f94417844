#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "base/error.h"
#include "runtime/data/manifest/manifest.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::test {

/// The utterances of a manifest without faults.
inline std::vector<runtime::ManifestEntry> read(const std::filesystem::path& manifest) {
  runtime::Faults faults;
  std::vector<runtime::ManifestEntry> entries = runtime::read_manifest(manifest, faults);
  faults.require_none(fmt::format("{} faults", faults.size()));
  return entries;
}

/// Files of a manifest, in a folder that is removed at the end.
class ManifestFolder {
 public:
  std::filesystem::path put(const std::string& name, const std::string& text) const {
    auto file = folder_.path() / name;
    std::filesystem::create_directories(file.parent_path());
    write_file(file, text);
    return file;
  }
  std::filesystem::path in(const std::string& name) const { return folder_.path() / name; }

  /// The message by which the manifest is refused.
  std::string error_message(const std::string& name, const std::string& text) const {
    return message_of<DataError>([&] { read(put(name, text)); });
  }

 private:
  TemporaryFolder folder_;
};

inline void expect_parts(const std::string& message, std::initializer_list<const char*> parts) {
  for (const char* part : parts)
    EXPECT_NE(message.find(part), std::string::npos) << part << " is not in: " << message;
}

}  // namespace penstock::test
