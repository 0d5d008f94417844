#include "partition/layout/parameter_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/error.h"

// Offsets are assigned in this order, because each step needs the one before:
//   1. All parameters are listed in the order of the layers.
//   2. Those with gradient sums get offsets first, tied ones last among them, then all others. So
//      the arena of sums, and everything that an update changes, is a prefix.
//   3. In the same pass they get offsets among the copies that layers read.
//   4. The arena of sums is divided into shards, of which each replica owns one range per bucket.
//   5. The pieces of parameters in this replica's ranges get offsets in the optimizer's slots and,
//      if masters are in parts, among the masters.
//
// Only the last step depends on the replica, and lay_out_for() repeats just that.

namespace penstock::partition {
namespace {

std::size_t bytes_of(std::int64_t elements, layers::DType dtype) {
  return static_cast<std::size_t>(elements) * layers::size_of(dtype);
}

void list_parameters(std::span<const layers::LayerPlan> layers,
                     std::span<const std::int64_t> first_blocks, ParameterLayout& layout) {
  std::int64_t first_block = 0;
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    if (!first_blocks.empty()) first_block = first_blocks[layer];
    for (const layers::ParamDecl& decl : layers[layer].params) {
      const std::int64_t elements = layers::element_count(decl.shape);
      if (decl.summed) layout.summed.push_back(layout.parameters.size());
      layout.parameters.push_back({.decl = decl,
                                   .layer = layer,
                                   .summed = decl.summed,
                                   .elements = elements,
                                   .first_block = first_block,
                                   .index = std::ssize(layout.parameters)});
      first_block += layers::norm_blocks(elements);
    }
  }
}

/// Which parameters are placed together.
enum class Group { untied_sums, tied_sums, without_sums };

Group group_of(const ParameterEntry& p) {
  if (!p.summed) return Group::without_sums;
  return p.decl.tied() ? Group::tied_sums : Group::untied_sums;
}

/// Places the parameters of a group from `end` on in the arena.
void place_parameters(Group group, std::size_t& end, ParameterLayout& layout) {
  const ParameterKinds& kinds = layout.kinds;
  const bool summed = group != Group::without_sums;
  for (ParameterEntry& p : layout.parameters) {
    if (group_of(p) != group) continue;
    p.offset = end;
    p.copy_offset = layout.copies;
    const std::size_t bytes = layers::aligned(bytes_of(p.elements, kinds.dtype));
    const bool unused = is_copy_alone(p.decl, kinds.compute);
    if (summed || !unused) end += bytes;
    if (group == Group::untied_sums && unused && !layout.parts) layout.unused_masters += bytes;
    if (has_copy(p.decl, kinds.compute))
      layout.copies += layers::aligned(bytes_of(p.elements, kinds.compute));
    else if (layout.parts)
      layout.copies += layers::aligned(bytes_of(p.elements, kinds.dtype));
  }
}

/// Buckets rely on the order of layers, so what is placed last must be of the last layers.
void check_ties(std::span<const ParameterEntry> parameters) {
  const ParameterEntry* tied = nullptr;
  for (const ParameterEntry& p : parameters) {
    if (!p.summed) continue;
    if (p.decl.tied()) tied = &p;
    if (tied != nullptr && !p.decl.tied())
      throw ShapeError(fmt::format(
          "{} is tied to {}, but the later {} is not tied: only the last parameters can be",
          tied->decl.name, tied->decl.tied_to, p.decl.name));
  }
}

/// Adds the replica's pieces of a parameter to `pieces`. Adjacent ranges of different buckets
/// become one piece.
void add_pieces(const ParameterEntry& p, const Shards& shards, int replica, layers::DType dtype,
                std::vector<ParameterPiece>& pieces) {
  const std::size_t others = pieces.size();
  const auto begin = static_cast<std::int64_t>(p.offset / layers::size_of(dtype));
  const auto at = std::ranges::upper_bound(shards.bucket_ends, begin) - shards.bucket_ends.begin();
  for (auto bucket = static_cast<std::size_t>(at); bucket < shards.bucket_ends.size(); ++bucket) {
    const auto [from, to] = shards.range(bucket, replica);
    const std::int64_t first = std::max<std::int64_t>(0, from - begin);
    const std::int64_t last = std::min(p.elements, to - begin);
    if (first >= p.elements) break;
    if (first >= last) continue;
    if (pieces.size() > others && pieces.back().first + pieces.back().count == first)
      pieces.back().count += last - first;
    else
      pieces.push_back({.parameter = static_cast<std::size_t>(p.index),
                        .first = first,
                        .count = last - first,
                        .first_block = p.first_block + first / layers::kNormBlock});
  }
}

/// Returns the bytes of a piece in one slot. Codes fill whole blocks, so the offset of a scale
/// follows from that of its codes.
std::size_t slot_bytes(std::int64_t elements, const ParameterKinds& kinds) {
  if (kinds.slots == SlotFormat::codes)
    return static_cast<std::size_t>(layers::code_blocks(elements) * layers::kCodeBlock);
  return layers::aligned(bytes_of(elements, kinds.slot_type()));
}

void place_owned(const ParameterKinds& kinds, int replica, ParameterLayout& layout) {
  for (const ParameterEntry& p : layout.parameters) {
    if (!p.decl.updated()) continue;
    const auto others = std::ssize(layout.owned);
    add_pieces(p, layout.shards, replica, kinds.dtype, layout.owned);
    for (ParameterPiece& piece : std::span(layout.owned.begin() + others, layout.owned.end())) {
      const std::size_t bytes = layers::aligned(bytes_of(piece.count, kinds.dtype));
      const std::size_t within = bytes_of(piece.first, kinds.dtype);
      piece.slot_offset = layout.slot;
      layout.slot += slot_bytes(piece.count, kinds);
      if (!layout.parts) {
        piece.master_offset = p.offset + within;
      } else if (!has_copy(p.decl, kinds.compute)) {
        piece.master_offset = p.copy_offset + within;
      } else {
        piece.master_offset = layout.masters;
        layout.masters += bytes;
      }
    }
  }
  layout.scales = scale_bytes(layout.slot, kinds);
}

/// Returns shards of which one range covers everything.
Shards unshared(std::size_t arena, layers::DType dtype) {
  const auto end = static_cast<std::int64_t>(arena / layers::size_of(dtype));
  return {{end}, {{end}}, {0}};
}

}  // namespace

std::size_t scale_bytes(std::size_t slot, const ParameterKinds& kinds) {
  if (kinds.slots != SlotFormat::codes) return 0;
  return layers::aligned(slot / layers::kCodeBlock * sizeof(float));
}

std::size_t average_bytes(std::size_t slot, const ParameterKinds& kinds) {
  return slot / layers::size_of(kinds.slot_type()) * layers::size_of(kinds.dtype);
}

layers::DType ParameterKinds::slot_type() const {
  switch (slots) {
    case SlotFormat::bf16:
      return layers::DType::bf16;
    case SlotFormat::codes:
      return layers::DType::u8;
    case SlotFormat::full:
      break;
  }
  return dtype;
}

/// Converts an element of the arena to its byte offset in the arena that layers read. The element
/// must begin a norm block, or be the arena's end. Tied parameters are not exchanged, so those
/// elements lead to the end of all others.
std::size_t ParameterLayout::read_offset(std::int64_t element) const {
  const std::size_t offset = std::min(bytes_of(element, kinds.dtype), untied);
  if (!parts) return offset;
  if (offset == untied) return changing_copies;
  const auto offset_of = [this](std::size_t index) { return parameters[index].offset; };
  const ParameterEntry& p =
      parameters[*std::prev(std::ranges::upper_bound(summed, offset, {}, offset_of))];
  const layers::DType read = has_copy(p.decl, kinds.compute) ? kinds.compute : kinds.dtype;
  return p.copy_offset + (offset - p.offset) / layers::size_of(kinds.dtype) * layers::size_of(read);
}

std::vector<std::pair<std::size_t, std::size_t>> ParameterLayout::read_ranges(int replica) const {
  std::vector<std::pair<std::size_t, std::size_t>> ranges;
  for (std::size_t bucket = 0; bucket < shards.bucket_ends.size(); ++bucket) {
    const auto [begin, end] = shards.range(bucket, replica);
    ranges.emplace_back(read_offset(begin), read_offset(end));
  }
  return ranges;
}

ParameterLayout lay_out_parameters(std::span<const layers::LayerPlan> layers,
                                   const ParameterKinds& kinds, int replica,
                                   std::span<const std::int64_t> first_blocks) {
  ParameterLayout layout;
  layout.kinds = kinds;
  const bool shared = kinds.sharing.replicas > 1;
  layout.parts = shared && layers::is_half(kinds.compute);
  list_parameters(layers, first_blocks, layout);
  check_ties(layout.parameters);
  place_parameters(Group::untied_sums, layout.untied, layout);
  layout.changing_copies = layout.copies;
  layout.arena = layout.untied;
  place_parameters(Group::tied_sums, layout.arena, layout);
  std::size_t whole = layers::is_half(kinds.compute) ? layout.untied : layout.arena;
  place_parameters(Group::without_sums, whole, layout);
  if (!layout.parts) layout.masters = whole;
  layout.shards =
      shared ? share_out(layers, kinds.dtype, kinds.sharing) : unshared(layout.arena, kinds.dtype);
  lay_out_for(shared ? replica : 0, layout);
  return layout;
}

std::vector<ParameterPiece> pieces_of(const ParameterEntry& parameter,
                                      const ParameterLayout& layout, int replica) {
  std::vector<ParameterPiece> pieces;
  add_pieces(parameter, layout.shards, replica, layout.kinds.dtype, pieces);
  return pieces;
}

void lay_out_for(int replica, ParameterLayout& layout) {
  layout.owned.clear();
  layout.slot = 0;
  if (layout.parts) layout.masters = 0;
  place_owned(layout.kinds, replica, layout);
  layout.changing_masters = layout.parts ? layout.masters : layout.untied;
}

}  // namespace penstock::partition
