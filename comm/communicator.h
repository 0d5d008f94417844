#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

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

/// A base class for a communicator that uses another one, its carrier, to send or to connect. Rank
/// numbers, shutdown and abort are the carrier's. The carrier must outlive it.
class CarriedCommunicator : public Communicator {
 public:
  explicit CarriedCommunicator(Communicator& carrier) : carrier_(carrier) {}

  int rank() const override { return carrier_.rank(); }
  int size() const override { return carrier_.size(); }
  Shutdown& shutdown() override { return carrier_.shutdown(); }
  void abort(int exit_code) override { carrier_.abort(exit_code); }

 protected:
  Communicator& carrier() const { return carrier_; }

 private:
  Communicator& carrier_;
};

/// Paces a thread that polls for messages. It polls eagerly for a while, since most messages come
/// soon, and then sleeps briefly between polls, which frees the core if there are more ranks than
/// cores. Make a new one, or call reset(), for each wait.
class Backoff {
 public:
  /// Call it after a poll that found nothing.
  void pause();
  /// Call it after a poll that found something.
  void reset() { polls_ = 0; }

 private:
  int polls_ = 0;
};

struct GroupOptions {
  std::vector<int> ranks;  // ranks of the parent; entry i is the group's rank i
  /// Groups that share two ranks need different numbers. The parent itself is 0.
  int number = 1;
};

/// Makes a communicator of some ranks of another one: the replicas of a stage, or the stages of a
/// replica. `parent` must outlive it, and abort() ends all of the parent's ranks. CommError if this
/// rank is not among `ranks`, or if `ranks` are not distinct ranks of the parent.
[[nodiscard]] std::unique_ptr<Communicator> make_group(Communicator& parent,
                                                       const GroupOptions& options);

}  // namespace penstock::comm
