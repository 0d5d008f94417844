#pragma once

#include <string>

#include "base/error.h"

namespace penstock::runtime {

/// A request to an object store or a web server that failed for good, after all repetitions.
class StoreError : public Error {
 public:
  enum class Kind {
    unreachable,  // no answer, or only answers that ask for another attempt
    denied,       // no credentials, wrong ones, or no permission
    missing,      // no such object or bucket
    changed,      // another object than the one that was asked for
    refused,      // any other answer
    stopped       // the caller asked to stop
  };

  StoreError(Kind kind, const std::string& message) : Error(message), kind_(kind) {}
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

}  // namespace penstock::runtime
