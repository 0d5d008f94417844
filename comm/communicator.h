#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "comm/shutdown.h"

namespace penstock::comm {

/// The address of one message. Messages with the same (sender, receiver, tag) arrive in the order
/// in which they were sent, whatever happens on other tags. Both sides know the size beforehand.
struct Message {
  int peer = 0;
  int tag = 0;            // one for each edge (producing chunk, consuming chunk, kind)
  std::string what = {};  // for errors: "activation of micro-batch 3 from stage 0"
};

/// A message in flight. Its memory must stay untouched until it is done.
class Transfer {
 public:
  virtual ~Transfer() = default;
  /// True once the memory may be used again. CommError if the peer's message has another size.
  virtual bool done() = 0;
};

/// A group of ranks that send to each other without blocking.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  virtual std::unique_ptr<Transfer> send(const Message&, std::span<const std::byte>) = 0;
  virtual std::unique_ptr<Transfer> receive(const Message&, std::span<std::byte>) = 0;

  /// Advances the messages in flight. Some libraries send only while they are called.
  virtual void progress() = 0;

  /// Steps that end this rank when it fails. All communicators that are made of each other share
  /// one.
  virtual Shutdown& shutdown() = 0;

  /// Ends every rank with this exit code. The caller has printed the message.
  [[noreturn]] virtual void abort(int exit_code) = 0;
};

/// Waits until `transfer` is done, and calls progress() meanwhile. An error names the message.
void wait(Communicator&, Transfer& transfer);

}  // namespace penstock::comm
