#include "tests/measure/large_checkpoint/rank_processes.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <exception>
#include <iostream>
#include <thread>
#include <utility>

#include "comm/communicator.h"
#include "comm/join.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::test {
namespace {

class Patient final : public comm::Transfer {
 public:
  explicit Patient(std::unique_ptr<comm::Transfer> transfer) : transfer_(std::move(transfer)) {}
  bool done() override {
    const bool done = transfer_->done();
    if (!done) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return done;
  }

 private:
  std::unique_ptr<comm::Transfer> transfer_;
};

class PatientRank final : public comm::CarriedCommunicator {
 public:
  using CarriedCommunicator::CarriedCommunicator;
  std::unique_ptr<comm::Transfer> send(const comm::Message& message,
                                       std::span<const std::byte> data) override {
    return carrier().send(message, data);
  }
  std::unique_ptr<comm::Transfer> receive(const comm::Message& message,
                                          std::span<std::byte> data) override {
    return std::make_unique<Patient>(carrier().receive(message, data));
  }
  void progress() override { carrier().progress(); }
};

/// Runs `body` as one rank and returns the exit status of its process.
int run_rank(const comm::FilesOptions& options,
             const std::function<void(comm::Communicator&)>& body) {
  const auto files = comm::join_files(options);
  PatientRank world(*files);
  try {
    body(world);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "rank " << options.rank << ": " << error.what() << std::endl;
  }
  try {
    world.abort(1);
  } catch (const std::exception&) {  // which tells that it ended the job
  }
  return 1;
}

}  // namespace

bool run_as_processes(int ranks, const std::function<void(comm::Communicator&)>& body) {
  const TemporaryFolder meeting;
  for (int rank = 0; rank < ranks; ++rank) {
    if (::fork() != 0) continue;
    const int status = run_rank({meeting.path(), rank, ranks}, body);
    std::cout.flush();
    ::_exit(status);
  }
  bool well = true;
  for (int rank = 0; rank < ranks; ++rank) {
    int status = 0;
    ::wait(&status);
    well = well && status == 0;
  }
  return well;
}

}  // namespace penstock::test
