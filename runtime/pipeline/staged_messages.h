#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "comm/communicator.h"
#include "layers/backend.h"

namespace penstock::runtime {

/// Messages of device memory over a communicator that sends host memory. Each message passes
/// through pinned memory while the device computes, with one copying stream per direction. A send
/// transmits the data as the computing stream has left it. Once a receive is done, work that is
/// enqueued on the computing stream sees the message.
class StagedMessages final : public comm::CarriedCommunicator {
 public:
  /// All arguments must outlive this, and this must outlive every transfer.
  StagedMessages(comm::Communicator& host, layers::Backend& backend, layers::Stream& computing);
  ~StagedMessages() override;

  std::unique_ptr<comm::Transfer> send(const comm::Message&, std::span<const std::byte>) override;
  std::unique_ptr<comm::Transfer> receive(const comm::Message&, std::span<std::byte>) override;
  void progress() override;

 private:
  class Sending;
  class Receiving;
  /// Pinned memory from which a copy to the device is still reading.
  struct Leaving {
    std::unique_ptr<layers::Event> passed;
    layers::Buffer pinned;
  };

  layers::Buffer take(std::size_t bytes);
  void give_back(layers::Buffer pinned) { free_.push_back(std::move(pinned)); }

  layers::Backend& backend_;
  layers::Stream& computing_;
  std::unique_ptr<layers::Stream> out_, in_;
  std::deque<Sending*> departing_;    // being copied to the host, in the order of the sends
  std::vector<Receiving*> arriving_;  // not yet received by the host
  std::deque<Leaving> leaving_;
  std::vector<layers::Buffer> free_;
};

}  // namespace penstock::runtime
