#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace penstock::runtime {

/// A recording inside a tar: a range of its bytes. It goes wherever a recording's path does,
/// spelled TAR:FIRST+BYTES:NAME ("shards/audio_0.tar:1536+64044:a.wav"), and is opened by its range
/// alone.
struct TarMember {
  std::filesystem::path tar;
  std::int64_t first = 0, bytes = 0;
  std::string name;  // within the tar
  bool operator==(const TarMember&) const = default;
};

[[nodiscard]] std::filesystem::path path_of(const TarMember& member);

/// What path_of() has spelled; nothing: `recording` is a file of its own.
[[nodiscard]] std::optional<TarMember> tar_member(std::string_view recording);

/// The file that a recording's bytes lie in: its tar, or itself.
[[nodiscard]] std::filesystem::path file_holding(const std::filesystem::path& recording);

/// A recording as manifests and messages name it: TAR:NAME, or its path.
[[nodiscard]] std::string manifest_name(const std::filesystem::path& recording);

/// Tar and name of "TAR:NAME"; nothing: it names no member.
[[nodiscard]] std::optional<std::pair<std::string, std::string>> split_member(
    const std::string& recording);

/// Whether a file is called as tars are, compressed ones included.
[[nodiscard]] bool is_tar_name(const std::filesystem::path& file);

}  // namespace penstock::runtime
