// These tests show what NCCL, and CUDA beside its kernels, do not do: each has made programs hang.

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <mutex>
#include <thread>

#include "layers/cuda/core/block.h"
#include "layers/cuda/core/launch.h"
#include "tests/emulated_cuda/emulation/control.h"
#include "tests/emulated_cuda/nccl_ranks.h"

namespace emulated_cuda::test {
namespace {

using Failed = ::testing::ExitedWithCode;

constexpr int kFailed = 99;

class RefusalsOfNccl : public ::testing::Test {
 protected:
  void TearDown() override {
    set_hosts_apart(false);
    set_revoking(true);
    set_module_loading("EAGER");
  }
};

TEST_F(RefusalsOfNccl, LossOnTheSameHostIsNotTold) {
  Ranks ranks(2);
  ranks.receive(0, 1);
  const auto received = penstock::layers::cuda::make_event_handle();
  check(cudaEventRecord(received.get(), ranks.stream(0)), "recording");
  ranks.abort(1);
  for (int poll = 0; poll < 5; ++poll) {
    EXPECT_EQ(ranks.state(0), ncclSuccess);
    EXPECT_EQ(cudaEventQuery(received.get()), cudaErrorNotReady);
  }
  ranks.abort(0);
}

TEST_F(RefusalsOfNccl, LossOnAnotherHostIsTold) {
  set_hosts_apart(true);
  Ranks ranks(2);
  ranks.receive(0, 1);
  ranks.revoke(1);
  EXPECT_EQ(ranks.state(0), ncclRemoteError);
  ranks.abort(0);
  ranks.abort(1);
}

/// Whether the call waits until `end` is called.
bool waits_for(const std::function<void()>& end, const std::function<void()>& call) {
  std::mutex mutex;
  bool done = false;
  std::thread calling([&] {
    call();
    const std::lock_guard lock(mutex);
    done = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  mutex.lock();
  const bool waited = !done;
  mutex.unlock();
  end();
  calling.join();
  return waited;
}

TEST_F(RefusalsOfNccl, AbortWaitsForOtherKernelsOfTheDevice) {
  for (const bool revoke : {true, false}) {
    Ranks one(2), other(2);
    one.receive(0, 1);
    other.receive(0, 1);
    EXPECT_TRUE(
        waits_for([&] { revoke ? other.revoke(0) : other.abort(0); }, [&] { one.abort(0); }));
    if (revoke) other.abort(0);
    one.abort(1);
    other.abort(1);
  }
}

TEST_F(RefusalsOfNccl, RevokedCommunicatorsOnlyEnd) {
  Ranks ranks(2);
  ranks.receive(0, 1);
  ranks.revoke(0);
  while (ranks.state(0) == ncclInProgress) {
  }
  EXPECT_EQ(ranks.state(0), ncclSuccess);
  EXPECT_EQ(ncclCommRevoke(ranks.of(0), NCCL_REVOKE_DEFAULT), ncclInvalidArgument);
  EXPECT_EXIT(ncclCommFinalize(ranks.of(0)), Failed(kFailed), "the communicator is revoked");
  ranks.abort(0);
  ranks.abort(1);
}

TEST_F(RefusalsOfNccl, OlderNcclDoesNotRevoke) {
  set_revoking(false);
  Ranks ranks(2);
  EXPECT_EQ(ncclCommRevoke(ranks.of(0), NCCL_REVOKE_DEFAULT), ncclInvalidArgument);
}

__global__ void do_nothing() {}

TEST_F(RefusalsOfNccl, FirstLaunchWaitsForTheDeviceToDrain) {
  for (const char* mode : {static_cast<const char*>(nullptr), "LAZY", "EAGER"}) {
    set_module_loading(mode);
    Ranks ranks(2);
    const auto stream = penstock::layers::cuda::make_stream_handle();
    const auto start = [&] {
      penstock::layers::cuda::launch(stream.get(), penstock::layers::cuda::grid_over(1),
                                     do_nothing);
    };
    ranks.receive(0, 1);
    const bool lazy = mode == nullptr || mode[0] == 'L';
    EXPECT_EQ(waits_for([&] { ranks.send(1, 0); }, start), lazy);
    EXPECT_EQ(ranks.received(0), 1);
    ranks.receive(0, 1);
    EXPECT_FALSE(waits_for([&] { ranks.send(1, 0); }, start));  // it is there by now
    EXPECT_EQ(ranks.received(0), 1);
  }
}

}  // namespace
}  // namespace emulated_cuda::test
