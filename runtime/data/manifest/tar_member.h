#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace penstock::runtime {

/// A recording inside a tar: a range of its bytes. It may stand wherever a recording's path may,
/// spelled TAR:FIRST+BYTES:NAME ("shards/audio_0.tar:1536+64044:a.wav"). It is opened by its range,
/// without scanning the tar.
struct TarMember {
  std::filesystem::path tar;
  std::int64_t first = 0, bytes = 0;
  std::string name;  // name of the member within the tar
  bool operator==(const TarMember&) const = default;
};

[[nodiscard]] std::filesystem::path path_of(const TarMember& member);

/// Parses what path_of() spelled; returns nothing if `recording` is a plain file.
[[nodiscard]] std::optional<TarMember> tar_member(std::string_view recording);

/// Returns the file that holds a recording's bytes: its tar, or the recording itself.
[[nodiscard]] std::filesystem::path file_holding(const std::filesystem::path& recording);

/// Returns a recording's name in manifests and messages: TAR:NAME, or its path.
[[nodiscard]] std::string manifest_name(const std::filesystem::path& recording);

/// Splits "TAR:NAME"; returns nothing if `recording` names no member.
[[nodiscard]] std::optional<std::pair<std::string, std::string>> split_member(
    const std::string& recording);

/// Returns true if a file has an extension of tars, including compressed ones.
[[nodiscard]] bool is_tar_name(const std::filesystem::path& file);

}  // namespace penstock::runtime
