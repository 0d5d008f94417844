#pragma once

#include <string>

#include "comm/communicator.h"
#include "runtime/trainer/trainer.h"

namespace penstock::runtime {

/// The ranks of a run, and whom rank 0 tells of it.
struct RunContext {
  comm::Communicator& world;
  TrainingObserver observer;

  bool leads() const { return world.rank() == 0; }
  void note(const std::string& text) const {
    if (leads() && observer.note) observer.note(text);
  }
};

}  // namespace penstock::runtime
