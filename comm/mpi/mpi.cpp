#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <string>

#include "base/error.h"
#include "comm/join.h"
#include "comm/mpi/mpi_transfer.h"
#include "comm/mpi/open_mpi.h"
#include "comm/tags.h"

namespace penstock::comm {
namespace {

// Time that a pipeline message is polled after it was started; see linger().
constexpr std::chrono::microseconds kLinger{300};

class MpiCommunicator final : public Communicator {
 public:
  explicit MpiCommunicator(const MpiOptions& options) : options_(options) {
    set_open_mpi_defaults();
    int provided = 0;
    const int error = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    if (error != MPI_SUCCESS || provided < MPI_THREAD_FUNNELED)
      throw CommError("MPI did not start: use mpirun, or start one process without it");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    void* bound = nullptr;
    int found = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&bound), &found);
    if (found) last_tag_ = *static_cast<int*>(bound);
  }
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;
  ~MpiCommunicator() override {
    if (std::uncaught_exceptions() == exceptions_) MPI_Finalize();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  std::unique_ptr<Transfer> send(const Message& message, std::span<const std::byte> data) override {
    check(message);
    auto transfer = std::make_unique<MpiSend>(MpiSide{
        rank_, message, const_cast<std::byte*>(data.data()), data.size(), options_.piece_bytes});
    if (tags::is_edge(message.tag)) linger(*transfer);
    return transfer;
  }

  std::unique_ptr<Transfer> receive(const Message& message, std::span<std::byte> data) override {
    check(message);
    return std::make_unique<MpiReceive>(
        MpiSide{rank_, message, data.data(), data.size(), options_.piece_bytes}, waiting_);
  }

  /// Polls MPI once in the usual case. A probe that finds nothing advances the messages in flight.
  void progress() override {
    int found = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    if (!found) return;
    for (auto edge = waiting_.begin(); edge != waiting_.end();) {
      MpiReceive::match(edge->second);
      edge = edge->second.empty() ? waiting_.erase(edge) : std::next(edge);
    }
    // The message found may wait for a receive that is not yet posted, so a probe may find it each
    // time. A probe of MPI_COMM_SELF, over which nobody sends, finds nothing and advances the
    // others.
    MPI_Iprobe(0, 0, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE);
  }

  Shutdown& shutdown() override { return shutdown_; }

  void abort(int exit_code) override {
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::terminate();  // not reached: MPI_Abort does not return
  }

 private:
  /// Polls for a short time after a send. A long message moves only after its receiver has
  /// answered, and a stage that waits for it answers at once. Without this, a sender that goes on
  /// to compute would see the answer only at its next poll, milliseconds later.
  void linger(MpiSend& transfer) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + kLinger;
    while (!transfer.done() && Clock::now() < end) progress();
  }

  void check(const Message& message) const {
    if (message.peer < 0 || message.peer >= size_ || message.tag < 0 || message.tag > last_tag_)
      throw CommError(
          fmt::format("peer rank {} on tag {} ({}): there are {} ranks and tags up to {}",
                      message.peer, message.tag, message.what, size_, last_tag_));
  }

  MpiOptions options_;
  int exceptions_ = std::uncaught_exceptions();
  int rank_ = 0, size_ = 1;
  int last_tag_ = 32767;  // the least that the standard guarantees
  MpiWaiting waiting_;
  Shutdown shutdown_;
};

}  // namespace

std::unique_ptr<Communicator> join_mpi(const MpiOptions& options) {
  return std::make_unique<MpiCommunicator>(options);
}

}  // namespace penstock::comm
