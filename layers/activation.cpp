#include "layers/activation.h"

#include <fmt/format.h>

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

}  // namespace

const FramesDecl& ActivationDecl::only() const { return the_only(frames); }

std::size_t ActivationDecl::bytes() const {
  std::size_t total = 0;
  for (const FramesDecl& f : frames)
    total += aligned(static_cast<std::size_t>(f.rows() * f.channels) * size_of(dtype));
  return total;
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
