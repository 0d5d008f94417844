#include "layers/models/attention_context.h"

#include "layers/ops/attention.h"

namespace penstock::layers {
namespace {

constexpr int kMaxContext = 1'000'000;

}  // namespace

Key left_context_key(int* frames) {
  return Key("model.left_context", frames, between(-1, kMaxContext),
             "frames before each one that its attention sees in every block; -1: all");
}

Key right_context_key(int* frames) {
  return Key("model.right_context", frames, between(-1, kMaxContext),
             "frames after each one that its attention sees in every block; -1: all");
}

std::int64_t frames_of_context(int frames) { return frames < 0 ? kWholeUtterance : frames; }

}  // namespace penstock::layers
