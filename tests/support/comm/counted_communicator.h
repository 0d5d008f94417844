#pragma once

#include <cstdint>
#include <memory>
#include <set>

#include "comm/communicator.h"

namespace penstock::test {

/// Counts what a rank has sent and received, and names with whom.
struct MessageCounts {
  std::int64_t sent = 0, received = 0;  // messages
  std::int64_t bytes_sent = 0, bytes_received = 0;
  std::set<int> peers = {};

  friend bool operator==(const MessageCounts&, const MessageCounts&) = default;
};

/// Another communicator, whose messages it counts.
class CountedCommunicator final : public comm::CarriedCommunicator {
 public:
  explicit CountedCommunicator(comm::Communicator& carrier) : CarriedCommunicator(carrier) {}

  std::unique_ptr<comm::Transfer> send(const comm::Message& message,
                                       std::span<const std::byte> data) override {
    ++counts_.sent;
    counts_.bytes_sent += std::ssize(data);
    counts_.peers.insert(message.peer);
    return carrier().send(message, data);
  }
  std::unique_ptr<comm::Transfer> receive(const comm::Message& message,
                                          std::span<std::byte> data) override {
    ++counts_.received;
    counts_.bytes_received += std::ssize(data);
    counts_.peers.insert(message.peer);
    return carrier().receive(message, data);
  }
  void progress() override { carrier().progress(); }

  const MessageCounts& counts() const { return counts_; }
  void reset() { counts_ = {}; }

 private:
  MessageCounts counts_;
};

}  // namespace penstock::test
