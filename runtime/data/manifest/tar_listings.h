#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::runtime {

class RemoteFiles;

/// Looks up members of tars. A tar is scanned once, when one of its members is first requested. The
/// listing takes 24 bytes per member.
class TarListings {
 public:
  /// Adds the requested tars to `sources`, and opens them by `files`.
  explicit TarListings(std::vector<std::filesystem::path>& sources, RemoteFiles* files = nullptr)
      : sources_(sources), files_(files) {}

  /// Returns the recording of that name, spelled by path_of(); nothing if the tar has none. If
  /// members share a name, the last one counts. Throws DataError that explains why the tar can't be
  /// used, or that the member is a link.
  [[nodiscard]] std::optional<std::filesystem::path> find(const std::filesystem::path& tar,
                                                          std::string_view name);

  /// Returns the recording of that name. Throws DataError if there is none.
  [[nodiscard]] std::filesystem::path get(const std::filesystem::path& tar, std::string_view name);

  /// Returns the message for a member that a tar lacks.
  [[nodiscard]] std::string missing(const std::filesystem::path& tar, std::string_view name);

 private:
  struct ListedMember {
    std::uint64_t name_hash = 0;
    std::int64_t first = 0;
    std::int64_t bytes = 0;  // -1: a link
  };
  struct Listing {
    std::vector<ListedMember> members;  // sorted by the hashes of their names
    std::string example;                // the first one's name
    std::string fault;                  // reason why the rest of the tar can't be read
  };
  const Listing& listing(const std::filesystem::path& tar);

  std::vector<std::filesystem::path>& sources_;
  RemoteFiles* files_;
  std::map<std::filesystem::path, Listing> listings_;
};

}  // namespace penstock::runtime
