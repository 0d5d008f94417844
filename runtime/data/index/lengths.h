#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "runtime/data/audio/audio.h"

namespace penstock::runtime {

/// An AudioLength packed into eight bytes.
class PackedLength {
 public:
  PackedLength() = default;  // unknown length
  /// Throws DataError for 2^40 samples or more, or 2^24 samples a second or more.
  explicit PackedLength(const AudioLength& length);

  bool known() const { return bits_ != 0; }
  AudioLength unpacked() const {
    return {static_cast<std::int64_t>(bits_ & (kRate - 1)), static_cast<int>(bits_ / kRate)};
  }

 private:
  static constexpr std::uint64_t kRate = std::uint64_t{1} << 40;
  std::uint64_t bits_ = 0;
};

/// The places of a table that are left out. The other places are renumbered from 0, as ids.
class LeftOut {
 public:
  /// Adds a place below 2^32. Places must be added in ascending order.
  void add(std::uint64_t place) { ids_.push_back(static_cast<std::uint32_t>(place - ids_.size())); }
  std::size_t size() const { return ids_.size(); }
  std::uint64_t place_of(std::uint64_t id) const;
  /// Returns, for each place left out, the first id after it. of_ids() restores a LeftOut from
  /// them.
  const std::vector<std::uint32_t>& ids() const { return ids_; }

  static LeftOut of_ids(std::vector<std::uint32_t> ids);

 private:
  std::vector<std::uint32_t> ids_;
};

/// Lengths of utterances, by id. Copies share the tables.
class Lengths {
 public:
  Lengths() = default;
  Lengths(const std::vector<AudioLength>& lengths);
  Lengths(std::initializer_list<AudioLength> lengths)
      : Lengths(std::vector<AudioLength>(lengths)) {}
  /// Uses `table`, which must live as long as `owner`, without the places left out.
  Lengths(std::shared_ptr<const void> owner, std::span<const PackedLength> table,
          std::shared_ptr<const LeftOut> left_out);

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  AudioLength operator[](std::size_t id) const {
    return (tables_.size() == 1 ? tables_.front() : table_of(id)).at(id);
  }
  /// Calls visit(id, length) for every id, in order. Faster than looking each one up.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const Table& table : tables_) {
      const std::span<const std::uint32_t> left_out =
          table.left_out ? std::span(table.left_out->ids()) : std::span<const std::uint32_t>();
      const std::size_t size = table.lengths.size() - left_out.size();
      std::size_t skipped = 0;  // places left out before the next length
      for (std::size_t id = 0; id < size; ++id) {
        while (skipped < left_out.size() && left_out[skipped] <= id) ++skipped;
        visit(table.first + id, table.lengths[id + skipped].unpacked());
      }
    }
  }
  bool operator==(const Lengths& other) const;

  /// Appends the lengths of `next` after these.
  void append(const Lengths& next);

 private:
  struct Table {
    std::size_t first = 0;  // id of the table's first length
    std::shared_ptr<const void> owner = {};
    std::span<const PackedLength> lengths = {};
    std::shared_ptr<const LeftOut> left_out = {};

    AudioLength at(std::size_t id) const {
      const std::size_t place = id - first;
      return lengths[left_out ? left_out->place_of(place) : place].unpacked();
    }
  };
  const Table& table_of(std::size_t id) const;

  std::vector<Table> tables_;
  std::size_t size_ = 0;
};

}  // namespace penstock::runtime
