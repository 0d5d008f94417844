#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "comm/carried.h"
#include "layers/backend.h"

namespace penstock::runtime {

/// Messages of a device's memory, over ranks that send the host's: each passes through pinned
/// memory, in a stream of its own for each direction, beside the computing. A message that is sent
/// holds what the computing stream has left there; one that is received is there for what that
/// stream is asked for once the transfer is done.
class StagedMessages final : public comm::CarriedCommunicator {
 public:
  /// All three must outlive it, and it every transfer.
  StagedMessages(comm::Communicator& host, layers::Backend& backend, layers::Stream& computing);
  ~StagedMessages() override;

  std::unique_ptr<comm::Transfer> send(const comm::Message&, std::span<const std::byte>) override;
  std::unique_ptr<comm::Transfer> receive(const comm::Message&, std::span<std::byte>) override;
  void progress() override;

 private:
  class Sending;
  class Receiving;
  /// Pinned memory that a copy still reads.
  struct Leaving {
    std::unique_ptr<layers::Event> passed;
    layers::Buffer pinned;
  };

  layers::Buffer take(std::size_t bytes);
  void give_back(layers::Buffer pinned) { free_.push_back(std::move(pinned)); }

  layers::Backend& backend_;
  layers::Stream& computing_;
  std::unique_ptr<layers::Stream> out_, in_;
  std::deque<Sending*> departing_;    // being copied to the host, in the order of their sends
  std::vector<Receiving*> arriving_;  // not yet received by the host
  std::deque<Leaving> leaving_;
  std::vector<layers::Buffer> free_;
};

}  // namespace penstock::runtime
