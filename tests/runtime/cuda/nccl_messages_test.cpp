#include "runtime/pipeline/nccl_messages.h"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/error.h"
#include "comm/threads.h"
#include "partition/schedule/make_schedule.h"
#include "runtime/pipeline/edge_tag.h"
#include "tests/support/comm/communicator_cases.h"
#include "tests/support/comm/nccl_devices.h"

namespace penstock::runtime {
namespace {

/// A stage with a device of its own.
struct DeviceStage {
  explicit DeviceStage(comm::Communicator& pipeline)
      : backend(layers::make_cuda_backend(pipeline.rank())),
        stream(backend->make_stream([this] {
          if (messages != nullptr) messages->progress();
        })),
        messages(std::make_unique<NcclMessages>(
            pipeline, partition::chunk_ranks("gpipe", pipeline.size()), *backend, *stream)) {}

  std::unique_ptr<layers::Backend> backend;
  std::unique_ptr<layers::Stream> stream;
  layers::Buffer memory;  // outlives what is under way
  std::unique_ptr<NcclMessages> messages;
};

// More than NCCL buffers of a message.
constexpr std::size_t kBytes = (std::size_t{4} << 20) + 77;

/// A micro-batch that no stage changes: what the first sends comes back to it as a gradient.
struct Flight {
  layers::Buffer activation, gradient;
  std::unique_ptr<comm::Transfer> activation_in, activation_out, gradient_in, gradient_out;
};

void perform(DeviceStage& stage, const partition::Action& action, Flight& flight, int chunks) {
  const int chunk = action.chunk;
  NcclMessages& messages = *stage.messages;
  const std::span<std::byte> activation(flight.activation.data(), kBytes),
      gradient(flight.gradient.data(), kBytes);
  const auto upwards = [&](int producer) {
    return comm::Message{chunk == producer ? producer + 1 : producer, edge_tag(producer, false),
                         "activation"};
  };
  const auto downwards = [&](int producer) {
    return comm::Message{chunk == producer ? producer - 1 : producer, edge_tag(producer, true),
                         "gradient"};
  };
  switch (action.kind) {
    case partition::ActionKind::receive_activation:
      flight.activation_in = messages.receive(upwards(chunk - 1), activation);
      break;
    case partition::ActionKind::forward: {
      if (chunk > 0) return comm::wait(messages, *flight.activation_in);
      const std::vector<std::byte> noise = test::noise(kBytes, action.micro_batch);
      stage.backend->copy_in(*stage.stream, activation.data(), noise.data(), kBytes);
      break;
    }
    case partition::ActionKind::send_activation:
      flight.activation_out = messages.send(upwards(chunk), activation);
      break;
    case partition::ActionKind::receive_gradient:
      flight.gradient_in = messages.receive(downwards(chunk + 1), gradient);
      break;
    case partition::ActionKind::backward:
    case partition::ActionKind::backward_input:
      if (chunk + 1 < chunks) return comm::wait(messages, *flight.gradient_in);
      stage.backend->copy(*stage.stream, gradient.data(), activation.data(), kBytes);
      break;
    case partition::ActionKind::send_gradient:
      flight.gradient_out = messages.send(downwards(chunk), gradient);
      break;
    default:
      break;  // nothing is added up here
  }
}

void run(comm::Communicator& pipeline, const partition::Schedule& schedule) {
  DeviceStage stage(pipeline);
  std::vector<Flight> flights(static_cast<std::size_t>(schedule.micro_batches));
  for (Flight& flight : flights) {
    flight.activation = stage.backend->allocate(kBytes);
    flight.gradient = stage.backend->allocate(kBytes);
  }
  for (const partition::Action& action :
       schedule.ranks.at(static_cast<std::size_t>(pipeline.rank())))
    perform(stage, action, flights[static_cast<std::size_t>(action.micro_batch)],
            schedule.chunks());
  for (std::size_t m = 0; m < flights.size(); ++m) {
    for (auto* sent : {&flights[m].activation_out, &flights[m].gradient_out})
      if (*sent != nullptr) comm::wait(*stage.messages, **sent);
    std::vector<std::byte> back(kBytes);
    stage.backend->copy_out(*stage.stream, back.data(), flights[m].gradient.data(), kBytes);
    stage.backend->synchronize(*stage.stream);
    EXPECT_EQ(back, test::noise(kBytes, m))
        << schedule.name << ", stage " << pipeline.rank() << ", micro-batch " << m;
  }
}

class CudaNcclMessages : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto lack = test::lack_for_nccl(3); !lack.empty()) GTEST_SKIP() << lack;
  }
};

TEST_F(CudaNcclMessages, OfAnyLengthEndInEverySchedule) {
  for (const char* name : {"gpipe", "1f1b", "zb-h1"})
    for (const int stages : {2, 3}) {
      const partition::Schedule schedule = partition::make_schedule(name, stages, 4);
      comm::run_as_threads({.ranks = stages},
                           [&](comm::Communicator& pipeline) { run(pipeline, schedule); });
    }
}

/// Returns the message that the first of two ranks raises when it waits for a gradient that the
/// second, which dies, does not send.
std::string raised_without_a_gradient(const std::function<void(DeviceStage&)>& wait) {
  std::string message;
  const auto live = [&](comm::Communicator& pipeline) {
    DeviceStage stage(pipeline);
    stage.memory = stage.backend->allocate(kBytes);
    comm::guarded(pipeline.shutdown(), [&] {
      if (pipeline.rank() == 1) throw std::runtime_error("dies");
      comm::wait(*stage.messages, *stage.messages->receive({1, edge_tag(1, true), "gradient"},
                                                           {stage.memory.data(), kBytes}));
      wait(stage);
    });
  };
  EXPECT_THROW(comm::run_as_threads({.ranks = 2},
                                    [&](comm::Communicator& pipeline) {
                                      try {
                                        live(pipeline);
                                      } catch (const CommError& error) {
                                        message = error.what();
                                        throw;
                                      }
                                    }),
               std::runtime_error);
  return message;
}

TEST_F(CudaNcclMessages, EndWhereAPeerOfThisMachineDies) {
  const std::string message = raised_without_a_gradient(
      [](DeviceStage& stage) { stage.backend->synchronize(*stage.stream); });
  EXPECT_NE(message.find("rank 1 ended the job"), std::string::npos) << message;
}

// More than may be on its way to the device.
TEST_F(CudaNcclMessages, EndWhereCopiesWaitForADeadPeer) {
  const std::vector<std::byte> noise = test::noise(std::size_t{33} << 20, 1);
  const std::string message = raised_without_a_gradient([&](DeviceStage& stage) {
    const layers::Buffer to = stage.backend->allocate(noise.size());
    comm::guarded(stage.messages->shutdown(), [&] {
      stage.backend->copy_in(*stage.stream, to.data(), noise.data(), noise.size());
    });
  });
  EXPECT_NE(message.find("rank 1 ended the job"), std::string::npos) << message;
}

}  // namespace
}  // namespace penstock::runtime
