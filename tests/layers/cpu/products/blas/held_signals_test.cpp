#include "layers/cpu/products/blas/held_signals.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/time.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "layers/cpu/products/product.h"

namespace penstock::layers {
namespace {

std::atomic<int> on_the_stack = 0, elsewhere = 0;

/// The stack of the thread that asks, which it must ask for before it takes signals.
struct Stack {
  std::uintptr_t begin = 0, end = 0;

  static Stack of_this_thread() {
    pthread_attr_t attributes;
    pthread_getattr_np(pthread_self(), &attributes);
    void* begin = nullptr;
    std::size_t size = 0;
    pthread_attr_getstack(&attributes, &begin, &size);
    pthread_attr_destroy(&attributes);
    const auto from = reinterpret_cast<std::uintptr_t>(begin);
    return {from, from + size};
  }
};

thread_local Stack known;

/// A thread that a library started keeps its thread-local variables at the upper end of its stack.
bool on_own_stack(std::uintptr_t frame) {
  if (known.end > 0) return known.begin <= frame && frame < known.end;
  const auto end = reinterpret_cast<std::uintptr_t>(&known);
  return frame < end && end - frame < (8u << 20);
}

extern "C" void note_frame(int) {
  if (on_own_stack(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0))))
    ++on_the_stack;
  else
    ++elsewhere;
}

/// Interrupts as profilers do: SIGPROF at every millisecond of the processor's time, to any thread.
class Profiler {
 public:
  Profiler() {
    struct sigaction action {};
    action.sa_handler = note_frame;
    action.sa_flags = SA_RESTART;
    sigaction(SIGPROF, &action, &before_);
    const itimerval often{{0, 1000}, {0, 1000}};
    setitimer(ITIMER_PROF, &often, nullptr);
  }
  ~Profiler() {
    const itimerval never{};
    setitimer(ITIMER_PROF, &never, nullptr);
    sigaction(SIGPROF, &before_, nullptr);
  }

 private:
  struct sigaction before_ {};
};

class ProfiledProducts : public testing::TestWithParam<int> {};

// With AVX-512 and without HeldSignals, nearly all frames lie elsewhere, in numbers that a product
// adds up, and the test crashes.
TEST_P(ProfiledProducts, KeepAllFramesOnStacks) {
  constexpr std::int64_t m = 203, n = 177, k = 151;
  const std::vector<float> a(m * k, 0.5f), b(k * n, 0.25f);
  std::vector<float> c(m * n);
  on_the_stack = elsewhere = 0;
  known = Stack::of_this_thread();
  set_product_threads(GetParam());
  {
    const Profiler profiler;
    for (int round = 0; round < 20000 && on_the_stack + elsewhere < 60; ++round) {
      std::ranges::fill(c, -1.0f);
      run_product(Product<float>{m, n, k, {a.data(), k}, {b.data(), n}, c.data(), n});
      ASSERT_EQ(std::ranges::count(c, k * 0.125f), m * n);
    }
  }
  set_product_threads(1);
  EXPECT_GE(on_the_stack, 20);
  EXPECT_EQ(elsewhere, 0);
}

INSTANTIATE_TEST_SUITE_P(Threads, ProfiledProducts, testing::Values(1, 2));

TEST(HeldSignals, LeaveTheMaskAsItWas) {
  sigset_t before, held, after;
  sigemptyset(&before);
  sigaddset(&before, SIGUSR2);
  pthread_sigmask(SIG_SETMASK, &before, &after);
  {
    const HeldSignals signals;
    pthread_sigmask(SIG_BLOCK, nullptr, &held);
  }
  pthread_sigmask(SIG_SETMASK, &after, &before);
  EXPECT_TRUE(sigismember(&held, SIGPROF) && sigismember(&held, SIGTERM));
  EXPECT_FALSE(sigismember(&held, SIGSEGV));
  EXPECT_TRUE(sigismember(&before, SIGUSR2));
  EXPECT_FALSE(sigismember(&before, SIGPROF));
}

}  // namespace
}  // namespace penstock::layers
