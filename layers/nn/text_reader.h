#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "layers/layer.h"

namespace penstock::layers {

/// The next rows of texts that are being written.
struct NextRows {
  Tensor ids_P;                             // single labels, i32 in the backend's memory
  std::span<const std::int64_t> positions;  // rows of each one's text before it, on the host
  Tensor y_PW;                              // out
};

/// The layer that turns labels into rows of text is a TextReader too: it computes rows of single
/// labels.
class TextReader {
 public:
  virtual ~TextReader() = default;
  /// Computes the rows, in Context::workspace.
  virtual void embed(Context& context, const Params& params, const NextRows& rows) const = 0;
  /// Returns the bytes of workspace that embed() takes for so many rows.
  virtual std::size_t embed_workspace(const BackendSizes& sizes, std::int64_t rows) const = 0;
};

}  // namespace penstock::layers
