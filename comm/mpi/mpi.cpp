#include "comm/mpi.h"

#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <string>

#include "base/error.h"
#include "comm/mpi/mpi_transfer.h"
#include "comm/mpi/open_mpi.h"
#include "comm/tags.h"

namespace penstock::comm {
namespace {

constexpr std::chrono::microseconds kLinger{300};

class MpiCommunicator final : public Communicator {
 public:
  explicit MpiCommunicator(const MpiOptions& options) : options_(options) {
    suit_open_mpi();
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
    if (message.tag % tags::group_stride < tags::barrier) linger(*transfer);
    return transfer;
  }

  std::unique_ptr<Transfer> receive(const Message& message, std::span<std::byte> data) override {
    check(message);
    return std::make_unique<MpiReceive>(
        MpiSide{rank_, message, data.data(), data.size(), options_.piece_bytes}, waiting_);
  }

  /// One poll of MPI in the usual case: every probe that finds nothing moves what is under way.
  void progress() override {
    int found = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    if (!found) return;
    for (auto edge = waiting_.begin(); edge != waiting_.end();) {
      MpiReceive::match(edge->second);
      edge = edge->second.empty() ? waiting_.erase(edge) : std::next(edge);
    }
    // What was found may wait for a receive still to be posted: nobody sends over MPI_COMM_SELF.
    MPI_Iprobe(0, 0, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE);
  }

  Shutdown& shutdown() override { return shutdown_; }

  void abort(int exit_code) override {
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::terminate();  // MPI_Abort does not return
  }

 private:
  /// A long message moves once its receiver has answered. A stage that waits for it does so at
  /// once; if the sender left to compute, the answer would lie until it polls again, milliseconds
  /// later.
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
  int last_tag_ = 32767;  // what the standard guarantees
  MpiWaiting waiting_;
  Shutdown shutdown_;
};

}  // namespace

std::unique_ptr<Communicator> join_mpi(const MpiOptions& options) {
  return std::make_unique<MpiCommunicator>(options);
}

}  // namespace penstock::comm
