#include "runtime/data/index/lengths.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error.h"

namespace penstock::runtime {

// The upper 24 bits hold the rate, the lower 40 the samples. A length that does not fit unpacks to
// another one.
PackedLength::PackedLength(const AudioLength& length)
    : bits_(static_cast<std::uint64_t>(length.rate) * kRate +
            static_cast<std::uint64_t>(length.samples)) {
  if (unpacked() != length)
    throw DataError(
        fmt::format("its {} samples at {} Hz are more than an index can hold: cut it into parts",
                    length.samples, length.rate));
}

// For example, places 2, 3 and 7 of 10 are left out. They are stored as the ids 2, 2 and 5. Id 2
// has two stored ids up to it, so its place is 2 + 2 = 4; id 5 has three, so its place is 8.
std::uint64_t LeftOut::place_of(std::uint64_t id) const {
  return id + static_cast<std::uint64_t>(std::ranges::upper_bound(ids_, id) - ids_.begin());
}

LeftOut LeftOut::of_ids(std::vector<std::uint32_t> ids) {
  LeftOut left_out;
  left_out.ids_ = std::move(ids);
  return left_out;
}

Lengths::Lengths(const std::vector<AudioLength>& lengths) : size_(lengths.size()) {
  const auto table = std::make_shared<std::vector<PackedLength>>();
  table->reserve(size_);
  for (const AudioLength& length : lengths) table->emplace_back(length);
  tables_ = {{0, table, *table, {}}};
}

Lengths::Lengths(std::shared_ptr<const void> owner, std::span<const PackedLength> table,
                 std::shared_ptr<const LeftOut> left_out)
    : size_(table.size() - (left_out ? left_out->size() : 0)) {
  if (left_out && left_out->size() == 0) left_out.reset();
  tables_.push_back({0, std::move(owner), table, std::move(left_out)});
}

void Lengths::append(const Lengths& next) {
  for (Table table : next.tables_) {
    table.first += size_;
    tables_.push_back(std::move(table));
  }
  size_ += next.size_;
}

const Lengths::Table& Lengths::table_of(std::size_t id) const {
  return *std::prev(std::ranges::upper_bound(tables_, id, {}, &Table::first));
}

bool Lengths::operator==(const Lengths& other) const {
  if (size() != other.size()) return false;
  for (std::size_t id = 0; id < size(); ++id)
    if ((*this)[id] != other[id]) return false;
  return true;
}

}  // namespace penstock::runtime
