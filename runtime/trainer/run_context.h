#pragma once

#include <string>

#include "comm/communicator.h"
#include "runtime/trainer/trainer.h"

namespace penstock::runtime {

/// The environment of a run: its ranks, the observer on rank 0, and the stop request.
struct RunContext {
  comm::Communicator& world;
  TrainingObserver observer;
  std::function<bool()> stop_asked = {};  // see TrainingTask

  bool leads() const { return world.rank() == 0; }
  void note(const std::string& text) const {
    if (leads() && observer.note) observer.note(text);
  }
};

}  // namespace penstock::runtime
