#include "runtime/pipeline/staged_messages.h"

#include <algorithm>
#include <utility>

// A message takes two steps, a copy between device and host and a transfer between hosts. Neither
// may block, so progress() starts the second step of each message whose first step is done. Events
// order the copies with the computing stream:
//   - A send's copy waits for what was enqueued before the send, and the stream goes on meanwhile.
//   - A receive's copy waits for the last work that used the destination. In return, done() makes
//     the computing stream wait for the copy.
//
// Sends depart in the order in which they were made, even if a later copy ends first: the host's
// communicator delivers messages of one address in order. A pinned buffer is used again when its
// data has left it.

namespace penstock::runtime {

/// A send: the data is copied to pinned memory, then sent from there.
class StagedMessages::Sending final : public comm::Transfer {
 public:
  Sending(StagedMessages& owner, comm::Message message, std::span<const std::byte> data)
      : owner_(owner), message_(std::move(message)), bytes_(data.size()) {
    pinned_ = owner_.take(bytes_);
    layers::Backend& backend = owner_.backend_;
    backend.wait(*owner_.out_, *backend.record(owner_.computing_));
    backend.copy_out_async(*owner_.out_, pinned_.data(), data.data(), bytes_);
    copied_ = backend.record(*owner_.out_);
    owner_.departing_.push_back(this);
  }
  Sending(const Sending&) = delete;
  Sending& operator=(const Sending&) = delete;
  ~Sending() override { std::erase(owner_.departing_, this); }

  /// Sends the data if its copy to the host is done, else returns false.
  bool depart() {
    if (!copied_->query()) return false;
    sent_ = owner_.carrier().send(message_, {pinned_.data(), bytes_});
    return true;
  }

  bool done() override {
    if (sent_ == nullptr) owner_.progress();
    if (sent_ == nullptr || !sent_->done()) return false;
    if (pinned_.data() != nullptr) owner_.give_back(std::move(pinned_));
    return true;
  }

 private:
  StagedMessages& owner_;
  comm::Message message_;
  std::size_t bytes_;
  layers::Buffer pinned_;
  std::unique_ptr<layers::Event> copied_;
  std::unique_ptr<comm::Transfer> sent_;
};

/// A receive: the host receives into pinned memory. The data is then copied to the device, after
/// the last work that used the destination.
class StagedMessages::Receiving final : public comm::Transfer {
 public:
  Receiving(StagedMessages& owner, const comm::Message& message, std::span<std::byte> data)
      : owner_(owner),
        data_(data),
        pinned_(owner_.take(data.size())),
        unused_(owner_.backend_.record(owner_.computing_)),
        received_(owner_.carrier().receive(message, {pinned_.data(), data.size()})) {
    owner_.arriving_.push_back(this);
  }
  Receiving(const Receiving&) = delete;
  Receiving& operator=(const Receiving&) = delete;
  ~Receiving() override { std::erase(owner_.arriving_, this); }

  /// Copies the data to the device if it has been received, else returns false.
  bool arrive() {
    if (!received_->done()) return false;
    layers::Backend& backend = owner_.backend_;
    backend.wait(*owner_.in_, *unused_);
    backend.copy_in_async(*owner_.in_, data_.data(), pinned_.data(), data_.size());
    copied_ = backend.record(*owner_.in_);
    owner_.leaving_.push_back({backend.record(*owner_.in_), std::move(pinned_)});
    return true;
  }

  bool done() override {
    if (copied_ == nullptr) owner_.progress();
    if (copied_ == nullptr) return false;
    owner_.backend_.wait(owner_.computing_, *copied_);
    return true;
  }

 private:
  StagedMessages& owner_;
  std::span<std::byte> data_;
  layers::Buffer pinned_;
  std::unique_ptr<layers::Event> unused_;
  std::unique_ptr<comm::Transfer> received_;
  std::unique_ptr<layers::Event> copied_;
};

StagedMessages::StagedMessages(comm::Communicator& host, layers::Backend& backend,
                               layers::Stream& computing)
    : comm::CarriedCommunicator(host),
      backend_(backend),
      computing_(computing),
      out_(backend.make_stream()),
      in_(backend.make_stream()) {}

StagedMessages::~StagedMessages() = default;

std::unique_ptr<comm::Transfer> StagedMessages::send(const comm::Message& message,
                                                     std::span<const std::byte> data) {
  return std::make_unique<Sending>(*this, message, data);
}

std::unique_ptr<comm::Transfer> StagedMessages::receive(const comm::Message& message,
                                                        std::span<std::byte> data) {
  return std::make_unique<Receiving>(*this, message, data);
}

// Each step may find what the one before it has completed: transfers between hosts move, sends
// whose copies are done depart, received data is copied to the device, and buffers become free.
void StagedMessages::progress() {
  carrier().progress();
  while (!departing_.empty() && departing_.front()->depart()) departing_.pop_front();
  std::erase_if(arriving_, [](Receiving* receiving) { return receiving->arrive(); });
  while (!leaving_.empty() && leaving_.front().passed->query()) {
    give_back(std::move(leaving_.front().pinned));
    leaving_.pop_front();
  }
}

/// Returns a free pinned buffer or allocates one. Messages have few different sizes, so allocations
/// soon stop.
layers::Buffer StagedMessages::take(std::size_t bytes) {
  const auto fitting = std::find_if(free_.begin(), free_.end(),
                                    [&](const layers::Buffer& b) { return b.bytes() >= bytes; });
  if (fitting == free_.end()) return backend_.allocate_host(bytes);
  layers::Buffer taken = std::move(*fitting);
  free_.erase(fitting);
  return taken;
}

}  // namespace penstock::runtime
