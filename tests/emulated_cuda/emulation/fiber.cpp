#include "tests/emulated_cuda/emulation/fiber.h"

#include <pthread.h>
#include <sys/mman.h>

#include <boost/context/detail/fcontext.hpp>

#include "tests/emulated_cuda/emulation/failure.h"
#include "tests/emulated_cuda/emulation/watch.h"

namespace emulated_cuda {
namespace {

namespace context = boost::context::detail;

constexpr std::size_t kStack = std::size_t{256} << 10, kPage = 4096;

struct Stack {
  std::byte* bottom = nullptr;
  std::size_t bytes = 0;
};

Stack stack_of_this_thread() {
  pthread_attr_t attributes;
  void* bottom = nullptr;
  std::size_t bytes = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0 ||
      pthread_attr_getstack(&attributes, &bottom, &bytes) != 0)
    fail("the stack of a host thread can't be found");
  pthread_attr_destroy(&attributes);
  return {static_cast<std::byte*>(bottom), bytes};
}

}  // namespace

/// Tells the next fiber who jumped, so that the place can be kept, and who was meant.
struct Fiber::Landing {
  Fiber* from;
  Fiber* to;

  static const Landing& of(const context::transfer_t& transfer) {
    const auto& landing = *static_cast<const Landing*>(transfer.data);
    landing.from->context_ = transfer.fctx;
    return landing;
  }
  static void start(context::transfer_t transfer) {
    const Fiber& self = *of(transfer).to;
    watch().enter_stack(nullptr);
    self.entry_();
  }
};

Fiber::Fiber() {
  thread_local const Stack stack = stack_of_this_thread();
  bottom_ = stack.bottom;
  bytes_ = stack.bytes;
}

Fiber::Fiber(void (*entry)()) : entry_(entry), bytes_(kStack) {
  void* memory = mmap(nullptr, kPage + kStack, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) fail("no memory for the stack of a kernel's thread");
  mprotect(memory, kPage, PROT_NONE);  // where a stack that is too deep ends
  bottom_ = static_cast<std::byte*>(memory) + kPage;
  context_ = context::make_fcontext(bottom_ + kStack, kStack, Landing::start);
}

Fiber::~Fiber() {
  if (entry_ != nullptr) munmap(bottom_ - kPage, kPage + kStack);
}

void Fiber::switch_to(Fiber& next) {
  Landing landing{this, &next};
  watch().leave_stack(&sanitizer_, next.bottom_, next.bytes_);
  Landing::of(context::jump_fcontext(next.context_, &landing));
  watch().enter_stack(sanitizer_);
}

}  // namespace emulated_cuda
