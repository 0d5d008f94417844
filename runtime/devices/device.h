#pragma once

#include <functional>
#include <memory>
#include <string>

#include "comm/communicator.h"
#include "configs/config.h"
#include "layers/backend.h"
#include "runtime/devices/device_links.h"

namespace penstock::runtime {

/// What trainer.device names; "auto" is a CUDA device where this machine has one, else the CPU.
/// ConfigError for another name.
[[nodiscard]] layers::DeviceKind device_kind(const configs::TrainerConfig& config);

/// How precision.compute lets CUDA devices multiply FP32.
[[nodiscard]] layers::Fp32Products fp32_products(const configs::PrecisionConfig& precision);

/// That device, alone. DeviceError if there is none.
[[nodiscard]] std::unique_ptr<layers::Backend> make_backend(
    const configs::TrainerConfig& config, const configs::PrecisionConfig& precision = {});

/// A rank's device, and how what it holds passes to other ranks.
struct RankDevice {
  std::unique_ptr<layers::Backend> backend;
  DeviceLinks links = DeviceLinks::host;
  std::string place;  // "CUDA device 1 of lion"; empty for a CPU
  std::string how;    // both were chosen, for the log; empty where nothing was
};

/// On every rank, ConfigError where some would compute on CUDA and others on the CPU, DeviceError
/// where "cuda" does not find a device for all; both name the ranks and say why. Every rank calls
/// this.
void require_devices(const configs::TrainerConfig& config, comm::Communicator& world);

/// Ranks of one machine take its CUDA devices in turn, and send over NCCL where it was built in and
/// each has a device of its own (or NCCL_HOSTID says that they may share one). Every rank calls
/// this. Errors as of require_devices(); DeviceError on every rank where NCCL would carry messages
/// and a rank's CUDA is too old for several communicators.
[[nodiscard]] RankDevice choose_device(const configs::TrainerConfig& config,
                                       comm::Communicator& world,
                                       const configs::PrecisionConfig& precision = {});

/// ConfigError on every rank that names stage, ranks and devices where the replicas of a stage have
/// devices of different models. Every rank calls this, with its stage.
void require_equal_replicas(const RankDevice& device, int stage, comm::Communicator& world);

/// What would fit where each rank may take so many bytes, in words: fitting_plan().
using MemoryAdvice = std::function<std::string(std::size_t bytes)>;

/// DeviceError on every rank that names plan and device where the ranks of one would together take
/// more bytes of it than it has free, and says what rank 0's `advice` gives for the least share
/// of a device that a rank has. Every rank calls this, with what its plan tells it to take.
void require_memory(const RankDevice& device, std::size_t planned, comm::Communicator& world,
                    const MemoryAdvice& advice = {});

}  // namespace penstock::runtime
