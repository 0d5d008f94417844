#include "tests/emulated_cuda/emulation/failure.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "tests/emulated_cuda/emulation/grid.h"

namespace emulated_cuda {
namespace {

thread_local const Doing* innermost = nullptr;

}  // namespace

Doing::Doing(std::string what) : what_(std::move(what)), outer_(innermost) { innermost = this; }

Doing::~Doing() { innermost = outer_; }

std::string what_is_done() {
  std::string text = position_in_kernel();
  for (const Doing* doing = innermost; doing != nullptr; doing = doing->outer_)
    text += "\n  in " + doing->what_;
  return text;
}

void fail_with(const std::string& what) {
  std::fprintf(stderr, "emulated CUDA: %s%s\n", what.c_str(), what_is_done().c_str());
  std::fflush(nullptr);
  std::_Exit(kFailed);
}

}  // namespace emulated_cuda
