#include "runtime/pipeline/host_slots.h"

#include <algorithm>
#include <cstddef>

namespace penstock::runtime {

// Two streams let copies of both directions overlap, as buses permit. Each copy waits for an event
// of the computing stream and nothing more, so computation never waits here.
std::unique_ptr<layers::Event> HostSlots::copy_out(layers::Stream& computing, int buffer,
                                                   std::span<const std::byte> slot) {
  if (!out_) out_ = backend_.make_stream();
  const auto computed = backend_.record(computing);
  backend_.wait(*out_, *computed);
  backend_.copy_out_async(*out_, buffers[buffer], slot.data(), slot.size());
  return backend_.record(*out_);
}

std::unique_ptr<layers::Event> HostSlots::copy_in(int buffer, std::span<std::byte> slot,
                                                  int number) {
  if (!in_) in_ = backend_.make_stream();
  const auto at = static_cast<std::size_t>(number);
  if (at < released_.size() && released_[at] != nullptr) backend_.wait(*in_, *released_[at]);
  backend_.copy_in_async(*in_, slot.data(), buffers[buffer], slot.size());
  return backend_.record(*in_);
}

void HostSlots::release(layers::Stream& computing, int number) {
  const auto at = static_cast<std::size_t>(number);
  released_.resize(std::max(released_.size(), at + 1));
  released_[at] = backend_.record(computing);
}

}  // namespace penstock::runtime
