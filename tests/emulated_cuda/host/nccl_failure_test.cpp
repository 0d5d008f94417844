// Ranks that fail while NCCL's kernels spin on their devices end, and so do those that wait for
// them.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/error.h"
#include "comm/collectives.h"
#include "comm/nccl.h"
#include "comm/threads.h"
#include "layers/backend.h"
#include "runtime/pipeline/feature_staging.h"
#include "runtime/pipeline/nccl_messages.h"
#include "tests/emulated_cuda/emulation/control.h"

namespace emulated_cuda::test {
namespace {

using namespace penstock;
using comm::Communicator;

class NcclFailure : public ::testing::Test {
 protected:
  void TearDown() override {
    set_hosts_apart(false);
    set_revoking(true);
  }
};

/// A rank that connects twice with another one, for messages that nobody sends.
class Receiver {
 public:
  explicit Receiver(Communicator& world)
      : world_(world), cuda_(layers::make_cuda_backend(world.rank())) {
    for (const char* name : {"first", "second"}) {
      streams_.push_back(cuda_->make_stream());
      edges_.push_back(comm::make_nccl(world, {.stream = streams_.back()->native(), .name = name}));
    }
  }

  layers::Buffer allocate() { return cuda_->allocate(64); }
  /// Rank 1 dies of it.
  void receive() {
    std::vector<std::unique_ptr<comm::Transfer>> transfers;
    for (const auto& edge : edges_)
      transfers.push_back(
          edge->receive({1 - world_.rank(), 0, "a gradient"}, {memory_.data(), 64}));
    comm::barrier(world_);
    if (world_.rank() == 1) throw std::runtime_error("dies");
    comm::wait(*edges_.front(), *transfers.front());
  }

 private:
  Communicator& world_;
  std::unique_ptr<layers::Backend> cuda_;
  layers::Buffer memory_ = allocate();
  std::vector<std::unique_ptr<layers::Stream>> streams_;
  std::vector<std::unique_ptr<comm::NcclCommunicator>> edges_;
};

/// Returns the message of the CommError that rank 0 raises.
std::string raised_by_rank_0(const std::function<void(Communicator&)>& live) {
  std::string message;
  const auto note = [&](Communicator& world) {
    try {
      live(world);
    } catch (const CommError& error) {
      if (world.rank() == 0) message = error.what();
      throw;
    }
  };
  EXPECT_THROW(comm::run_as_threads({.ranks = 2}, note), std::runtime_error);
  return message;
}

/// Rank 0 ends because rank 1 does. What it waits for is named where the message's wait finds that
/// out.
void expect_an_end(const std::function<void(Communicator&)>& live) {
  const std::string message = raised_by_rank_0(live);
  EXPECT_NE(message.find("rank 1 ended the job with exit code 1"), std::string::npos) << message;
}

TEST_F(NcclFailure, EndsThoughSeveralKernelsSpin) {
  for (const bool revokes : {true, false}) {
    set_revoking(revokes);
    expect_an_end([](Communicator& world) { Receiver(world).receive(); });
  }
}

TEST_F(NcclFailure, EndsBeforeMemoryIsGivenBack) {
  for (const bool revokes : {true, false}) {
    set_revoking(revokes);
    expect_an_end([](Communicator& world) {
      Receiver receiver(world);
      const layers::Buffer memory = receiver.allocate();
      comm::guarded(world.shutdown(), [&] { receiver.receive(); });
    });
  }
}

TEST_F(NcclFailure, OfAPeerElsewhereIsToldByNccl) {
  set_hosts_apart(true);
  comm::run_as_threads({.ranks = 2}, [](Communicator& world) {
    try {
      Receiver(world).receive();
      ADD_FAILURE() << "a message came";
    } catch (const CommError& error) {
      EXPECT_STREQ(error.what(),
                   "receiving a gradient from rank 1: NCCL, first, moving messages at rank 0 of 2: "
                   "remote process exited or there was a network error; emulated NCCL");
    } catch (const std::runtime_error&) {  // rank 1 dies in silence
    }
  });
}

/// Both stages of a pipeline connect, of which the second dies after so many edges.
void die_behind(int edges, Communicator& pipeline) {
  const auto cuda = layers::make_cuda_backend(pipeline.rank());
  const auto stream = cuda->make_stream();
  std::vector<std::unique_ptr<comm::NcclCommunicator>> connected;
  for (int edge = 0; pipeline.rank() == 1 && edge < edges; ++edge)
    connected.push_back(comm::make_nccl(pipeline, {.ranks = {0, 1}, .stream = stream->native()}));
  if (pipeline.rank() == 1) throw std::runtime_error("dies");
  const runtime::NcclMessages messages(pipeline, {0, 1}, *cuda, *stream);
}

TEST_F(NcclFailure, EndsRanksThatConnect) {
  for (const bool revokes : {true, false}) {
    set_revoking(revokes);
    for (const int edges : {0, 1})
      expect_an_end([edges](Communicator& pipeline) { die_behind(edges, pipeline); });
  }
}

/// Features of growing micro-batches go to a device on which a message spins.
void carry_features(layers::Stream& computing, runtime::FeatureStaging& staging) {
  const auto fill = [](std::span<float> x_FC, std::span<float> weights) {
    std::ranges::fill(x_FC, 1.5f);
    std::ranges::fill(weights, 1.0f);
  };
  for (const std::size_t frames : {3, 3, 100, 201}) {
    staging.send(computing, {frames, 1}, fill);
    EXPECT_EQ(staging.take(computing).x_FC.size(), frames);
    staging.release(computing);
  }
}

TEST_F(NcclFailure, IsNotThatFeaturesWaitForMessages) {
  comm::run_as_threads({.ranks = 2}, [](Communicator& world) {
    const auto cuda = layers::make_cuda_backend(world.rank());
    const auto computing = cuda->make_stream(), stream = cuda->make_stream();
    const layers::Buffer memory = cuda->allocate(64);
    runtime::FeatureStaging staging(*cuda);
    const auto nccl = comm::make_nccl(world, {.stream = stream->native()});
    std::unique_ptr<comm::Transfer> transfer;
    if (world.rank() == 0) {
      transfer = nccl->receive({1, 0, "a gradient"}, {memory.data(), 64});
      carry_features(*computing, staging);
    }
    comm::barrier(world);
    if (world.rank() == 1) {
      cuda->zero(*stream, memory.data(), 64);
      transfer = nccl->send({0, 0, "a gradient"}, {memory.data(), 64});
    }
    comm::wait(*nccl, *transfer);
  });
}

}  // namespace
}  // namespace emulated_cuda::test
