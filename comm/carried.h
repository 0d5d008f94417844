#pragma once

#include "comm/communicator.h"

namespace penstock::comm {

/// A base class for a communicator that uses another one, its carrier, to send or to connect. Rank
/// numbers, shutdown and abort are the carrier's. The carrier must outlive it.
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
