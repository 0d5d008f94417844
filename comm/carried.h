#pragma once

#include "comm/communicator.h"

namespace penstock::comm {

/// A communicator between the ranks of another, which it needs to send, or to have met: numbers and
/// end are the other's, which must outlive it.
class CarriedCommunicator : public Communicator {
 public:
  explicit CarriedCommunicator(Communicator& carrier) : carrier_(carrier) {}

  int rank() const override { return carrier_.rank(); }
  int size() const override { return carrier_.size(); }
  Shutdown& shutdown() override { return carrier_.shutdown(); }
  void abort(int exit_code) override { carrier_.abort(exit_code); }

 protected:
  Communicator& carrier() const { return carrier_; }

 private:
  Communicator& carrier_;
};

}  // namespace penstock::comm
