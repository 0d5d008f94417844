#pragma once

#include <string>

namespace penstock::layers {

/// CUDA versions in CUDA's own form: 12030 is 12.3. 0 if there is none.
struct CudaVersions {
  int driver = 0;   // newest CUDA that the driver supports
  int runtime = 0;  // CUDA of the libraries that this process has loaded
};

/// Returns this machine's versions, and starts no device.
[[nodiscard]] CudaVersions cuda_versions();

/// Formats a version: 12030 becomes "12.3".
[[nodiscard]] std::string cuda_version_text(int version);

}  // namespace penstock::layers
