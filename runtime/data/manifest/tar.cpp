#include "runtime/data/manifest/tar.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/quantities.h"
#include "runtime/data/manifest/foreign_file.h"

// A tar is a row of blocks of 512 bytes. Each member has a header, then its bytes, padded to whole
// blocks; two blocks of zeros end the tar. A header holds name and size in fields of fixed width
// (POSIX ustar). Two extensions hold what does not fit, as members of special types before the real
// one: GNU's 'L' is a long name, and pax's 'x' a list of records, of which path and size count
// here. They change the next header alone. Sizes above 8 GiB are in base 256.
//
// The scan jumps from header to header. Old formats mark a header by nothing but its checksum, so
// every header must have a right one: that tells damage and foreign files from tars at once. One
// block of zeros is accepted as the end, and nothing but zeros may follow it.

namespace penstock::runtime {
namespace {

constexpr std::int64_t kTarBlock = 512;
constexpr std::int64_t kLargestOctal = (std::int64_t{1} << 33) - 1;  // in 11 octal digits
constexpr std::int64_t kLargestNames = 1 << 20;  // bound on the bytes of names and records

using Field = std::pair<std::size_t, std::size_t>;  // place in a header, and size in bytes
constexpr Field kName = {0, 100}, kSize = {124, 12}, kSum = {148, 8}, kPrefix = {345, 155};
constexpr std::size_t kType = 156, kMagic = 257;

/// Magic bytes of compressed files.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kCompressed = {{
    {"\x1f\x8b", "gzip"},
    {"\x28\xb5\x2f\xfd", "zstd"},
    {"\xfd\x37\x7a\x58\x5a", "xz"},
    {"BZh", "bzip2"},
    {"\x04\x22\x4d\x18", "lz4"},
}};

/// A block of 512 bytes that describes a member.
class TarHeader {
 public:
  explicit TarHeader(const std::string& block) : block_(block) {}

  bool blank() const {
    return std::ranges::all_of(block_, [](char c) { return c == '\0'; });
  }
  /// Returns true if the checksum is right. The checksum's own bytes count as spaces.
  bool whole() const {
    if (std::ssize(block_) != kTarBlock) return false;
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < block_.size(); ++i)
      sum += i - kSum.first < kSum.second ? ' ' : static_cast<unsigned char>(block_[i]);
    return number(kSum) == sum;
  }
  char type() const { return block_[kType]; }
  std::optional<std::int64_t> size() const { return number(kSize); }
  std::string name() const {
    const bool posix = std::string_view(block_).substr(kMagic, 6) == std::string_view("ustar\0", 6);
    const std::string prefix(posix ? text(kPrefix) : std::string_view());
    return (prefix.empty() ? prefix : prefix + "/") + std::string(text(kName));
  }

 private:
  std::string_view text(const Field& field) const {
    const std::string_view all = std::string_view(block_).substr(field.first, field.second);
    return all.substr(0, all.find('\0'));
  }
  /// Parses octal digits or, if the first bit is 1, a number in base 256.
  std::optional<std::int64_t> number(const Field& field) const {
    const std::string_view bytes = std::string_view(block_).substr(field.first, field.second);
    if ((static_cast<unsigned char>(bytes[0]) & 0x80) != 0) {
      std::int64_t value = static_cast<unsigned char>(bytes[0]) & 0x7f;
      for (const char byte : bytes.substr(1)) {
        if (value >> 48 != 0) return std::nullopt;
        value = value << 8 | static_cast<unsigned char>(byte);
      }
      return value;
    }
    std::string_view digits = text(field);
    digits.remove_prefix(std::min(digits.find_first_not_of(' '), digits.size()));
    std::int64_t value = 0;
    const char* const last = digits.data() + digits.size();
    const auto [end, fault] = std::from_chars(digits.data(), last, value, 8);
    const bool ends = fault == std::errc() && (end == last || *end == ' ');
    return ends && value >= 0 ? std::optional(value) : std::nullopt;
  }

  const std::string& block_;
};

std::string without_dot(std::string name) {
  while (name.starts_with("./")) name.erase(0, 2);
  return name;
}

/// Values from preceding records that replace those of the next header.
struct Overrides {
  std::optional<std::string> name;
  std::optional<std::int64_t> size;
  bool sparse = false;
};

/// Reads pax's records, each "LENGTH KEY=VALUE\n". Returns false if they are malformed.
bool take_records(std::string_view records, Overrides& overrides) {
  while (!records.empty() && records[0] != '\0') {
    std::size_t length = 0;
    const auto [end, fault] =
        std::from_chars(records.data(), records.data() + records.size(), length);
    const auto digits = static_cast<std::size_t>(end - records.data());
    if (fault != std::errc() || length > records.size() || length < digits + 4) return false;
    const std::string_view record = records.substr(digits + 1, length - digits - 2);
    const std::size_t equals = record.find('=');
    if (equals == std::string_view::npos) return false;
    const std::string_view key = record.substr(0, equals), value = record.substr(equals + 1);
    if (key == "path") overrides.name = value;
    if (key.starts_with("GNU.sparse")) overrides.sparse = true;
    if (key == "size") {
      std::int64_t size = -1;
      std::from_chars(value.data(), value.data() + value.size(), size);
      if (size < 0) return false;
      overrides.size = size;
    }
    records.remove_prefix(length);
  }
  return true;
}

/// Scans a tar from header to header. Members' bytes are skipped, so the cost is one read per
/// header.
class TarScan {
 public:
  explicit TarScan(const FileRange& tar) : tar_(tar) {}

  void run(const std::function<void(const TarEntry&)>& use) {
    if (tar_.size() == 0) fail("empty file");
    for (std::string block; at_ < tar_.size();) {
      block = tar_.read(at_, kTarBlock);
      const TarHeader header(block);
      if (header.blank()) {
        ended_ = true;
        at_ += kTarBlock;
        continue;
      }
      check(header, block);
      take(header, use);
    }
    if (!ended_)
      fail("is cut: it ends without the block of zeros that closes a tar. Copy or make it again");
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw DataError(fmt::format("{}: {}", tar_.path().string(), what));
  }

  void check(const TarHeader& header, const std::string& block) const {
    if (at_ == 0)
      for (const auto& [magic, method] : kCompressed)
        if (block.starts_with(magic))
          fail(
              fmt::format("is compressed by {0}, so that its members cannot be read in any order: "
                          "unpack it, by {0} -d",
                          method));
    if (ended_)
      fail(
          fmt::format("goes on after its end, from byte {} on, as tars do that cat has joined: "
                      "join them by tar --concatenate, or keep them apart",
                      at_));
    if (header.whole()) return;
    const std::string foreign = describe_foreign(tar_.path(), block);
    fail(at_ == 0 ? "is no tar: it " + (foreign.empty() ? "does not begin with a header" : foreign)
                  : fmt::format("is damaged or cut: there is no whole header at byte {}. Copy or "
                                "make it again",
                                at_));
  }

  void take(const TarHeader& header, const std::function<void(const TarEntry&)>& use) {
    const auto stated = header.size();
    if (!stated) fail(fmt::format("is damaged: the header at byte {} has no size", at_));
    const char type = header.type();
    const bool precedes = type == 'x' || type == 'g' || type == 'L' || type == 'K';
    const std::int64_t first = at_ + kTarBlock;
    const bool linked = type == '1' || type == '2';
    std::int64_t bytes = precedes ? *stated : next_.size.value_or(*stated);
    if (linked) bytes = 0;  // some programs state the size of the link's target
    if (bytes > tar_.size() - first) {
      const std::string name = next_.name.value_or(header.name());
      fail(fmt::format(
          "is cut: its member {} needs {} from byte {} on, but the tar ends at byte {}. "
          "Copy or make it again",
          name, counted(bytes, "byte"), first, tar_.size()));
    }
    at_ = first + (bytes + kTarBlock - 1) / kTarBlock * kTarBlock;
    if (precedes) return override_next(type, first, bytes);
    const Overrides overrides = std::exchange(next_, {});
    const std::string name = without_dot(overrides.name.value_or(header.name()));
    if (type == 'S' || overrides.sparse)
      fail(fmt::format("its member {} is sparse: make the tar without --sparse", name));
    const bool file = type == '0' || type == '\0' || type == '7';
    if ((file && !name.ends_with('/')) || linked) use({name, first, bytes, linked});
  }

  void override_next(char type, std::int64_t first, std::int64_t bytes) {
    if (bytes > kLargestNames)
      fail(fmt::format("is damaged: the name at byte {} has {}", first, counted(bytes, "byte")));
    const std::string text = tar_.read(first, bytes);
    if (type == 'L') next_.name = text.substr(0, text.find('\0'));
    if (type == 'x' && !take_records(text, next_))
      fail(fmt::format("is damaged: the records at byte {} cannot be read", first));
  }

  const FileRange& tar_;
  std::int64_t at_ = 0;
  bool ended_ = false;  // true after a block of zeros
  Overrides next_;
};

}  // namespace

void for_each_entry(const FileRange& tar, const std::function<void(const TarEntry&)>& use) {
  TarScan(tar).run(use);
}

bool holds(const FileRange& tar, const TarMember& member) {
  if (member.first < kTarBlock || member.bytes > tar.size() - member.first) return false;
  const std::string block = tar.read(member.first - kTarBlock, kTarBlock);
  const TarHeader header(block);
  if (!header.whole()) return false;
  if (member.bytes <= kLargestOctal && header.size() != member.bytes) return false;
  // A long name or one with non-ASCII letters may be stored only before the header.
  const bool plain = member.name.size() < kName.second &&
                     std::ranges::none_of(member.name, [](char c) { return (c & 0x80) != 0; });
  return !plain || without_dot(header.name()) == member.name;
}

}  // namespace penstock::runtime
