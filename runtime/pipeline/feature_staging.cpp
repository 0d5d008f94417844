#include "runtime/pipeline/feature_staging.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/error.h"

namespace penstock::runtime {

// The two turns alternate. While the device reads turn 0, the host fills turn 1 and its copy runs.
// A turn's host memory may be written once its copy has arrived, and its device memory once the
// computing stream has passed release():
//
//   host       fill 1      fill 0      …
//   copying           copy 1      copy 0
//   computing  read 0      read 1      …

void FeatureStaging::reserve(std::size_t bytes) {
  const std::size_t each = bytes / turns_.size();
  for (Turn& turn : turns_) {
    if (turn.device.bytes() >= each) continue;
    turn.device = backend_.allocate(each);
    turn.host = backend_.allocate_host(each);
  }
}

void FeatureStaging::wait(layers::Stream& computing, const std::unique_ptr<layers::Event>& event) {
  while (event != nullptr && !event->query()) {
    computing.progress();
    std::this_thread::yield();
  }
}

/// Replaces a buffer and keeps the old one. Freeing memory would wait for the device, on which a
/// message may be spinning. Sizes at least double, so all kept buffers together are no larger
/// than the present one.
void FeatureStaging::replace(layers::Buffer& buffer, layers::Buffer larger) {
  outgrown_.push_back(std::exchange(buffer, std::move(larger)));
}

void FeatureStaging::send(layers::Stream& computing, const Count& count, const Fill& fill) {
  if (holds_one()) throw Error("features are sent before those in front of them are taken");
  if (!copying_) copying_ = backend_.make_stream();
  Turn& turn = turns_[sent_ % turns_.size()];
  wait(computing, turn.arrived);  // before the host's memory is overwritten
  if (turn.host.bytes() < count.bytes())
    replace(turn.host, backend_.allocate_host(std::max(count.bytes(), 2 * turn.host.bytes())));
  if (turn.device.bytes() < count.bytes())
    replace(turn.device, backend_.allocate(std::max(count.bytes(), 2 * turn.device.bytes())));
  turn.count = count;
  const std::span<float> numbers = {reinterpret_cast<float*>(turn.host.data()),
                                    count.features + count.weights};
  fill(numbers.first(count.features), numbers.last(count.weights));
  if (turn.released != nullptr) backend_.wait(*copying_, *turn.released);
  backend_.copy_in_async(*copying_, turn.device.data(), turn.host.data(), count.bytes());
  turn.arrived = backend_.record(*copying_);
  ++sent_;
}

// The computing stream waits for the copy, and the host does not.
FeatureStaging::Arrival FeatureStaging::take(layers::Stream& computing) {
  if (!holds_one()) throw Error("features are taken before they are sent");
  const Turn& turn = turns_[taken_++ % turns_.size()];
  backend_.wait(computing, *turn.arrived);
  const auto* numbers = reinterpret_cast<const float*>(turn.device.data());
  return {{numbers, turn.count.features}, {numbers + turn.count.features, turn.count.weights}};
}

void FeatureStaging::release(layers::Stream& computing) {
  turns_[(taken_ - 1) % turns_.size()].released = backend_.record(computing);
}

}  // namespace penstock::runtime
