#include "comm/threads.h"

#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/quantities.h"

// Ranks that are threads meet in a Hub, which has two queues for each edge (sender, receiver, tag):
// sends that wait for their receive, and receives that wait for their send. A thread that posts one
// side takes the first of the other side, if there is one, or else queues its own. So at any time
// one of the two queues is empty, and sides match in order. The thread that finds both sides copies
// the bytes, outside the lock. `done` is set last, after the bytes or the error, and tells the
// other thread that both are complete.
//
// A transfer that is destroyed early takes its post out of the queue, or waits until the copy that
// has begun is done: afterwards nobody touches its memory.

namespace penstock::comm {
namespace {

/// One side of a message that has been posted.
struct Post {
  std::byte* data = nullptr;  // of a send: read only
  std::size_t bytes = 0;
  std::string what;
  std::vector<std::byte> copy;  // used if the send need not wait for its receive
  std::atomic<bool> done = false;
  std::string error;  // set before `done`
};

struct Edge {
  int sender, receiver, tag;
  auto operator<=>(const Edge&) const = default;
};

/// Posts that wait for their other side. On one edge either sends wait or receives, never both.
struct Waiting {
  std::deque<std::shared_ptr<Post>> sends, receives;
};

/// Pairs the sends and receives of all threads. The thread that posts the second side copies the
/// data.
class Hub {
 public:
  explicit Hub(const ThreadsOptions& options) : options_(options) {}

  int size() const { return options_.ranks; }
  bool rendezvous() const { return options_.rendezvous; }

  void fail(const std::string& why) {
    std::lock_guard lock(mutex_);
    if (!failure_) failure_ = why;
    failed_ = true;
  }

  void check() {
    if (!failed_) return;
    std::lock_guard lock(mutex_);
    throw CommError(*failure_);
  }

  void post_send(const Edge& edge, const std::shared_ptr<Post>& send) {
    if (auto receive = match_or_queue(edge, send, &Waiting::receives, &Waiting::sends))
      deliver(edge, *send, *receive);
  }

  void post_receive(const Edge& edge, const std::shared_ptr<Post>& receive) {
    if (auto send = match_or_queue(edge, receive, &Waiting::sends, &Waiting::receives))
      deliver(edge, *send, *receive);
  }

  /// Removes a post from its queue, or waits until it is delivered. After it no other thread
  /// touches the post's memory.
  void withdraw(const Edge& edge, const std::shared_ptr<Post>& post) {
    {
      std::lock_guard lock(mutex_);
      Waiting& waiting = edges_[edge];
      if (std::erase(waiting.sends, post) + std::erase(waiting.receives, post) > 0) return;
    }
    while (!post->done) std::this_thread::yield();
  }

 private:
  using Queue = std::deque<std::shared_ptr<Post>>;

  std::shared_ptr<Post> match_or_queue(const Edge& edge, const std::shared_ptr<Post>& post,
                                       Queue Waiting::*others, Queue Waiting::*own) {
    std::lock_guard lock(mutex_);
    Waiting& waiting = edges_[edge];
    if ((waiting.*others).empty()) {
      (waiting.*own).push_back(post);
      return nullptr;
    }
    auto other = (waiting.*others).front();
    (waiting.*others).pop_front();
    return other;
  }

  static void deliver(const Edge& edge, Post& send, Post& receive) {
    if (send.bytes == receive.bytes) {
      if (send.bytes > 0) std::memcpy(receive.data, send.data, send.bytes);
    } else {
      const std::string error = fmt::format(
          "rank {} expected {} bytes ({}) on tag {}, but rank {} sent {} ({})", edge.receiver,
          receive.bytes, receive.what, edge.tag, edge.sender, send.bytes, send.what);
      send.error = receive.error = error;
    }
    send.done = true;
    receive.done = true;
  }

  ThreadsOptions options_;
  std::mutex mutex_;
  std::map<Edge, Waiting> edges_;
  std::optional<std::string> failure_;
  std::atomic<bool> failed_ = false;
};

class ThreadTransfer final : public Transfer {
 public:
  ThreadTransfer(std::shared_ptr<Hub> hub, const Edge& edge, std::shared_ptr<Post> post,
                 bool copied)
      : hub_(std::move(hub)), edge_(edge), post_(std::move(post)), copied_(copied) {}
  ~ThreadTransfer() override {
    if (!copied_ && !post_->done) hub_->withdraw(edge_, post_);
  }

  bool done() override {
    if (copied_) return true;
    if (!post_->done) {
      hub_->check();
      return false;
    }
    if (!post_->error.empty()) throw CommError(post_->error);
    return true;
  }

 private:
  std::shared_ptr<Hub> hub_;
  Edge edge_;
  std::shared_ptr<Post> post_;
  bool copied_;
};

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(std::shared_ptr<Hub> hub, int rank) : hub_(std::move(hub)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return hub_->size(); }

  std::unique_ptr<Transfer> send(const Message& message, std::span<const std::byte> data) override {
    check(message);
    const Edge edge{rank_, message.peer, message.tag};
    auto post = std::make_shared<Post>();
    post->data = const_cast<std::byte*>(data.data());
    post->bytes = data.size();
    post->what = message.what;
    const bool copied = !hub_->rendezvous();
    if (copied) {
      post->copy.assign(data.begin(), data.end());
      post->data = post->copy.data();
    }
    hub_->post_send(edge, post);
    return std::make_unique<ThreadTransfer>(hub_, edge, std::move(post), copied);
  }

  std::unique_ptr<Transfer> receive(const Message& message, std::span<std::byte> data) override {
    check(message);
    const Edge edge{message.peer, rank_, message.tag};
    auto post = std::make_shared<Post>();
    post->data = data.data();
    post->bytes = data.size();
    post->what = message.what;
    hub_->post_receive(edge, post);
    return std::make_unique<ThreadTransfer>(hub_, edge, std::move(post), false);
  }

  void progress() override { hub_->check(); }

  Shutdown& shutdown() override { return shutdown_; }

  void abort(int exit_code) override {
    hub_->fail(fmt::format("rank {} ended the job with exit code {}", rank_, exit_code));
    hub_->check();
    std::terminate();  // not reached: check() raises
  }

 private:
  void check(const Message& message) {
    hub_->check();
    if (message.peer < 0 || message.peer >= size())
      throw CommError(fmt::format("rank {} ({}) does not exist among {}", message.peer,
                                  message.what, counted(static_cast<std::size_t>(size()), "rank")));
  }

  std::shared_ptr<Hub> hub_;
  int rank_;
  Shutdown shutdown_;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> make_thread_communicators(
    const ThreadsOptions& options) {
  auto hub = std::make_shared<Hub>(options);
  std::vector<std::unique_ptr<Communicator>> ranks;
  for (int rank = 0; rank < options.ranks; ++rank)
    ranks.push_back(std::make_unique<ThreadCommunicator>(hub, rank));
  return ranks;
}

void run_as_threads(const ThreadsOptions& options, const std::function<void(Communicator&)>& body) {
  const auto communicators = make_thread_communicators(options);
  std::mutex mutex;
  std::exception_ptr first;
  std::vector<std::thread> threads;
  for (const auto& communicator : communicators)
    threads.emplace_back([&, communicator = communicator.get()] {
      try {
        body(*communicator);
      } catch (...) {
        {
          std::lock_guard lock(mutex);
          if (!first) first = std::current_exception();
        }
        try {
          communicator->abort(1);
        } catch (const CommError&) {  // abort() always raises it
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

}  // namespace penstock::comm
