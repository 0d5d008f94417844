#include "runtime/data/manifest/tar_member.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace penstock::runtime {
namespace {

constexpr std::string_view kEnd = ".tar:";

constexpr std::array<std::string_view, 7> kTars = {".tar",    ".tar.gz",  ".tgz",    ".tar.zst",
                                                   ".tar.xz", ".tar.bz2", ".tar.lz4"};

/// Removes a number and the character after it from the front of `text`.
std::optional<std::int64_t> take_number(std::string_view& text, char terminator) {
  std::int64_t number = -1;
  const char* const last = text.data() + text.size();
  const auto [end, fault] = std::from_chars(text.data(), last, number);
  if (fault != std::errc() || number < 0 || end == last || *end != terminator) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end + 1 - text.data()));
  return number;
}

}  // namespace

std::filesystem::path path_of(const TarMember& member) {
  return fmt::format("{}:{}+{}:{}", member.tar.string(), member.first, member.bytes, member.name);
}

// A folder's name may contain ".tar:", so each occurrence is tried until numbers follow it.
std::optional<TarMember> tar_member(std::string_view recording) {
  for (std::size_t at = recording.find(kEnd); at != std::string_view::npos;
       at = recording.find(kEnd, at + 1)) {
    std::string_view rest = recording.substr(at + kEnd.size());
    const auto first = take_number(rest, '+');
    const auto bytes = first ? take_number(rest, ':') : std::nullopt;
    if (bytes)
      return TarMember{recording.substr(0, at + kEnd.size() - 1), *first, *bytes,
                       std::string(rest)};
  }
  return std::nullopt;
}

std::filesystem::path file_holding(const std::filesystem::path& recording) {
  const auto member = tar_member(recording.native());
  return member ? member->tar : recording;
}

std::string manifest_name(const std::filesystem::path& recording) {
  const auto member = tar_member(recording.native());
  return member ? member->tar.string() + ":" + member->name : recording.string();
}

std::optional<std::pair<std::string, std::string>> split_member(const std::string& recording) {
  for (std::size_t at = recording.find(':'); at != std::string::npos;
       at = recording.find(':', at + 1))
    if (is_tar_name(recording.substr(0, at)))
      return std::pair(recording.substr(0, at), recording.substr(at + 1));
  return std::nullopt;
}

bool is_tar_name(const std::filesystem::path& file) {
  const std::string& name = file.native();
  return std::ranges::any_of(kTars, [&](std::string_view end) { return name.ends_with(end); });
}

}  // namespace penstock::runtime
