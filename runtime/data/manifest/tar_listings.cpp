#include "runtime/data/manifest/tar_listings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/quantities.h"
#include "runtime/data/index/stream_hash.h"
#include "runtime/data/manifest/tar.h"
#include "runtime/data/remote/remote_files.h"

// A tar has no table of contents, so its headers are scanned once, when its first member is asked
// for. A listing has 24 bytes for each member: names are kept as hashes only, since tars may have
// millions. It is sorted by hash and searched in O(log n) time. Members of one name stay in the
// tar's order, and the last counts, as when it is unpacked. A tar that is damaged still serves the
// members before the damage.

namespace penstock::runtime {

const TarListings::Listing& TarListings::listing(const std::filesystem::path& tar) {
  const auto [known, fresh] = listings_.try_emplace(tar);
  Listing& listing = known->second;
  if (!fresh) return listing;
  sources_.push_back(tar);
  try {
    const LocalFile local = open_by(files_, tar);
    for_each_entry(FileRange(local.path), [&](const TarEntry& entry) {
      if (listing.members.empty()) listing.example = entry.name;
      listing.members.push_back({hash_of(entry.name), entry.first, entry.link ? -1 : entry.bytes});
    });
  } catch (const DataError& error) {
    listing.fault = error.what();
  }
  std::ranges::stable_sort(listing.members, {}, &ListedMember::name_hash);
  listing.members.shrink_to_fit();
  return listing;
}

std::optional<std::filesystem::path> TarListings::find(const std::filesystem::path& tar,
                                                       std::string_view name) {
  const Listing& of = listing(tar);
  while (name.starts_with("./")) name.remove_prefix(2);
  const std::uint64_t hash = hash_of(name);
  const auto end = std::ranges::upper_bound(of.members, hash, {}, &ListedMember::name_hash);
  if (end == of.members.begin() || std::prev(end)->name_hash != hash) {
    if (!of.fault.empty()) throw DataError(of.fault);
    return std::nullopt;
  }
  const ListedMember& member = *std::prev(end);
  if (member.bytes < 0)
    throw DataError(
        fmt::format("{}:{}: is a link: pack the recordings themselves, by tar "
                    "--dereference --hard-dereference",
                    tar.string(), name));
  return path_of({tar, member.first, member.bytes, std::string(name)});
}

std::filesystem::path TarListings::get(const std::filesystem::path& tar, std::string_view name) {
  const auto found = find(tar, name);
  if (!found) throw DataError(missing(tar, name));
  return *found;
}

std::string TarListings::missing(const std::filesystem::path& tar, std::string_view name) {
  const Listing& of = listing(tar);
  return fmt::format("{}: has no member \"{}\" among its {}{}", tar.string(), name,
                     counted(std::ssize(of.members), "file"),
                     of.members.empty() ? "" : fmt::format(", such as \"{}\"", of.example));
}

}  // namespace penstock::runtime
