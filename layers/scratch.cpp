#include "layers/scratch.h"

#include <fmt/format.h>

#include "base/error.h"

namespace penstock::layers {

// It is out of the header, which formats nothing. A correct layer never gets here: its plan counts
// the same calls.
void Scratch::throw_too_small() const {
  throw ShapeError(
      fmt::format("an operation needs a workspace of at least {} bytes and was given {}: pass what "
                  "its sizes function declares",
                  used_, memory_.size()));
}

}  // namespace penstock::layers
