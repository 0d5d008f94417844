#pragma once

#include <functional>
#include <memory>
#include <string>

#include "comm/communicator.h"
#include "configs/config.h"
#include "layers/backend.h"

namespace penstock::runtime {

/// The path of messages from one device's memory to another's.
enum class DeviceLinks {
  host,  // through pinned host memory, by the ranks' own messages
  nccl,  // from device to device; every rank has its own device
};

/// The order in which replicas' gradients are reduced.
enum class ReductionOrder {
  lanes,    // one order for every layout of replicas
  library,  // NCCL's order, if links are NCCL's
};

/// Returns the kind of device that trainer.device names. "auto" is CUDA if this machine has a CUDA
/// device, else the CPU. Throws ConfigError for another name.
[[nodiscard]] layers::DeviceKind device_kind(const configs::TrainerConfig& config);

/// Returns how precision.compute lets CUDA devices multiply FP32 matrices.
[[nodiscard]] layers::Fp32Products fp32_products(const configs::PrecisionConfig& precision);

/// Creates the backend of that device, for this process alone. Throws DeviceError if there is none.
[[nodiscard]] std::unique_ptr<layers::Backend> make_backend(
    const configs::TrainerConfig& config, const configs::PrecisionConfig& precision = {});

/// A rank's device, and the path of messages between it and other ranks' devices.
struct RankDevice {
  std::unique_ptr<layers::Backend> backend;
  DeviceLinks links = DeviceLinks::host;
  std::string place;  // "CUDA device 1 of lion"; empty for CPUs
  std::string how;    // how both were chosen, for the log; empty if there was no choice
};

/// Checks the devices of all ranks. Throws ConfigError on every rank if some would compute on CUDA
/// and others on the CPU. Throws DeviceError on every rank if "cuda" does not find a device for
/// each. Both errors name the ranks and the reason. All ranks call this together.
void require_devices(const configs::TrainerConfig& config, comm::Communicator& world);

/// Chooses each rank's device. The ranks of one machine are dealt its CUDA devices round-robin.
/// Messages use NCCL if it was built in and each rank has a device of its own (or NCCL_HOSTID says
/// that they may share one). All ranks call this together. Throws like require_devices(), and
/// DeviceError on every rank if NCCL would carry messages but a rank's CUDA is too old for several
/// communicators.
[[nodiscard]] RankDevice choose_device(const configs::TrainerConfig& config,
                                       comm::Communicator& world,
                                       const configs::PrecisionConfig& precision = {});

/// Throws ConfigError on every rank if the replicas of a stage have devices of different models. It
/// names stage, ranks and devices. All ranks call this together, each with its stage.
void require_equal_replicas(const RankDevice& device, int stage, comm::Communicator& world);

/// Returns advice, in words, on what fits if each rank may take this many bytes: fitting_plan().
using MemoryAdvice = std::function<std::string(std::size_t bytes)>;

/// Throws DeviceError on every rank if the ranks of a device together need more bytes than it has
/// free. It names plan and device, and adds the advice of rank 0 for the smallest share of a device
/// per rank. All ranks call this together, each with the bytes that its plan states.
void require_memory(const RankDevice& device, std::size_t planned, comm::Communicator& world,
                    const MemoryAdvice& advice = {});

}  // namespace penstock::runtime
