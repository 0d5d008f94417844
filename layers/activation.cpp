#include "layers/activation.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>

#include "base/error.h"

namespace penstock::layers {
namespace {

/// Returns the one matrix of a list, constant or not.
template <class List>
auto& the_only(List& frames) {
  if (frames.size() != 1)
    throw ShapeError(
        fmt::format("a layer that takes one matrix of frames was given {}", frames.size()));
  return frames.front();
}

/// Frames for each label where labels are not known: about those of spelt English at 50 frames per
/// second.
constexpr std::int64_t kFramesPerLabel = 5;

const FramesDecl& first(const ActivationDecl& decl) {
  if (decl.frames.empty()) throw ShapeError("a layer that reads labels was given no frames");
  return decl.frames.front();
}

}  // namespace

std::vector<std::int64_t> ActivationDecl::rows() const {
  std::vector<std::int64_t> sums(frames.empty() ? 0 : frames.front().lengths.size());
  for (const FramesDecl& f : frames)
    std::transform(sums.begin(), sums.end(), f.lengths.begin(), sums.begin(), std::plus());
  return sums;
}

const FramesDecl& ActivationDecl::only() const { return the_only(frames); }

std::size_t ActivationDecl::bytes() const {
  std::size_t total = 0;
  for (const FramesDecl& f : frames)
    total += aligned(static_cast<std::size_t>(f.rows() * f.channels) * size_of(dtype));
  return total;
}

std::vector<std::int64_t> ActivationDecl::labels_or_usual() const {
  const std::vector<std::int64_t>& lengths = first(*this).lengths;
  if (labels.empty()) {
    std::vector<std::int64_t> usual;
    for (const std::int64_t length : lengths) usual.push_back(length / kFramesPerLabel);
    return usual;
  }
  if (labels.size() != lengths.size())
    throw ShapeError(fmt::format("labels of {} utterances, but frames of {}: give one number each",
                                 labels.size(), lengths.size()));
  return labels;
}

Frames& Activation::only() { return the_only(frames); }
const Frames& Activation::only() const { return the_only(frames); }

// Each matrix takes as many bytes as bytes() counts for it: its numbers, and padding to kAlignment.
Activation place(const ActivationDecl& decl, std::byte* data) {
  Activation placed;
  for (const FramesDecl& f : decl.frames) {
    placed.frames.push_back({{data, decl.dtype, f.shape()}, f.lengths});
    data += aligned(placed.frames.back().x_FC.bytes());
  }
  return placed;
}

}  // namespace penstock::layers
