#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::runtime {

/// Where members of tars lie. A tar is looked through once, when one of its members is first asked
/// for, and 24 bytes a member are kept.
class TarListings {
 public:
  /// `sources` gets the tars that are asked for.
  explicit TarListings(std::vector<std::filesystem::path>& sources) : sources_(sources) {}

  /// The recording of that name, as path_of() spells it; nothing: the tar has none. Of members that
  /// share a name, the last. DataError that says why the tar, or a member that is a link, can't be
  /// used.
  [[nodiscard]] std::optional<std::filesystem::path> find(const std::filesystem::path& tar,
                                                          std::string_view name);

  /// The same, but a DataError where there is none.
  [[nodiscard]] std::filesystem::path get(const std::filesystem::path& tar, std::string_view name);

  /// What to say of a member that a tar does not have.
  [[nodiscard]] std::string missing(const std::filesystem::path& tar, std::string_view name);

 private:
  struct ListedMember {
    std::uint64_t name_hash = 0;
    std::int64_t first = 0;
    std::int64_t bytes = 0;  // -1: a link
  };
  struct Listing {
    std::vector<ListedMember> members;  // by their names' hashes
    std::string example;                // the first one's name
    std::string fault;                  // why the rest of the tar can't be read
  };
  const Listing& listing(const std::filesystem::path& tar);

  std::vector<std::filesystem::path>& sources_;
  std::map<std::filesystem::path, Listing> listings_;
};

}  // namespace penstock::runtime
