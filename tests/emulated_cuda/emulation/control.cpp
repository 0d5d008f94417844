#include "tests/emulated_cuda/emulation/control.h"

#include "tests/emulated_cuda/emulation/machine.h"

namespace emulated_cuda {

void set_order(const Order& order) {
  const std::lock_guard lock(machine().mutex);
  machine().order = order;
}

void set_driver(int version) {
  const std::lock_guard lock(machine().mutex);
  machine().driver = version;
}

void set_runtime(int version) {
  const std::lock_guard lock(machine().mutex);
  machine().runtime = version;
}

void set_counting(cudaError_t status) {
  const std::lock_guard lock(machine().mutex);
  machine().counting = status;
}

void set_model(int device, const std::string& model) {
  const std::lock_guard lock(machine().mutex);
  machine().models.at(static_cast<std::size_t>(device)) = model;
}

void set_module_loading(const char* mode) {
  const std::lock_guard lock(machine().mutex);
  machine().modules = Modules(mode);
}

void set_hosts_apart(bool apart) {
  const std::lock_guard lock(machine().mutex);
  machine().hosts_apart = apart;
}

void set_revoking(bool revokes) {
  const std::lock_guard lock(machine().mutex);
  machine().revokes = revokes;
}

int choices_asked_for() {
  const std::lock_guard lock(machine().mutex);
  return machine().choices;
}

int workspaces_asked_for() {
  const std::lock_guard lock(machine().mutex);
  return machine().workspaces;
}

int refused_by_libraries() {
  const std::lock_guard lock(machine().mutex);
  return machine().refused;
}

int computed_by_libraries() {
  const std::lock_guard lock(machine().mutex);
  return machine().computed;
}

std::string leftovers() {
  const std::lock_guard lock(machine().mutex);
  std::string text;
  const auto count = [&text](std::size_t number, const std::string& what) {
    if (number > 0) text += (text.empty() ? "" : ", ") + std::to_string(number) + " " + what;
  };
  count(machine().streams.alive(), "streams");
  count(machine().events.size(), "events");
  Memory& memory = machine().memory;
  for (int device = 0; device < kDevices; ++device)
    count(memory.device(device).allocations(), "allocations of " + memory.device(device).name());
  count(memory.pinned().allocations(), "allocations of " + memory.pinned().name());
  return text;
}

Issued issued() {
  const std::lock_guard lock(machine().mutex);
  return machine().issued;
}

}  // namespace emulated_cuda
