#pragma once

#include <sstream>
#include <string>

namespace emulated_cuda {

/// Names what the calling host thread is about, for errors: "cudaMemcpyAsync". Nested ones are all
/// named.
class Doing {
 public:
  explicit Doing(std::string what);
  Doing(const Doing&) = delete;
  Doing& operator=(const Doing&) = delete;
  ~Doing();

 private:
  friend std::string what_is_done();
  std::string what_;
  const Doing* outer_;
};

/// The innermost Doing of this thread, then those around it; and the kernel's block and thread.
std::string what_is_done();

/// Ends the process with kFailed after printing `what` and what_is_done(): whatever went on after a
/// misuse would say nothing.
[[noreturn]] void fail_with(const std::string& what);
inline constexpr int kFailed = 99;

template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  std::ostringstream what;
  (what << ... << parts);
  fail_with(what.str());
}

}  // namespace emulated_cuda
