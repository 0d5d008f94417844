#include "tests/emulated_cuda/emulation/modules.h"

#include <cstdlib>
#include <string_view>

namespace emulated_cuda {

Modules::Modules() : Modules(std::getenv("CUDA_MODULE_LOADING")) {}

Modules::Modules(const char* mode) : eager_(mode != nullptr && std::string_view(mode) == "EAGER") {}

}  // namespace emulated_cuda
