#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "comm/shutdown.h"

namespace penstock::comm {

/// One message. Messages with the same (sender, receiver, tag) arrive in the order in which
/// they were sent, whatever other tags do; sizes are known to both sides beforehand.
struct Message {
  int peer = 0;
  int tag = 0;            // one for each edge (producing chunk, consuming chunk, kind)
  std::string what = {};  // "activation of micro-batch 3 from stage 0": for errors
};

/// A message under way. Its memory must stay untouched until it is done.
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

  /// Moves what is under way: some libraries send only while they are called.
  virtual void progress() = 0;

  /// How this rank ends where it fails: one for all communicators that are made of each other.
  virtual Shutdown& shutdown() = 0;

  /// Brings every rank down with this exit code; the message has been printed by the caller.
  [[noreturn]] virtual void abort(int exit_code) = 0;
};

/// Waits, with progress, until `transfer` is done. What fails meanwhile names the message.
void wait(Communicator&, Transfer& transfer);

}  // namespace penstock::comm
