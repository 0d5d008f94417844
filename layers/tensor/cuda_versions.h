#pragma once

#include <string>

namespace penstock::layers {

/// Versions as CUDA counts them: 12030 is 12.3. 0 where there is none.
struct CudaVersions {
  int driver = 0;   // the newest CUDA that the driver is for
  int runtime = 0;  // the CUDA of the libraries that this process has loaded
};

/// This machine's. It starts no device.
[[nodiscard]] CudaVersions cuda_versions();

/// "12.3" of 12030.
[[nodiscard]] std::string cuda_version_text(int version);

}  // namespace penstock::layers
