#pragma once

#include <string>

#include "comm/communicator.h"
#include "runtime/trainer/trainer.h"

namespace penstock::runtime {

/// The ranks of a run, whom rank 0 tells of it, and who may stop it.
struct RunContext {
  comm::Communicator& world;
  TrainingObserver observer;
  std::function<bool()> stop_asked = {};  // as TrainingTask's

  bool leads() const { return world.rank() == 0; }
  void note(const std::string& text) const {
    if (leads() && observer.note) observer.note(text);
  }
};

}  // namespace penstock::runtime
