// arc4random, which libstdc++ takes for std::random_device, came with version 2.36 of the C
// library.

#include <sys/random.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

extern "C" std::uint32_t arc4random() noexcept {
  std::uint32_t number = 0;
  if (getentropy(&number, sizeof number) != 0) std::abort();  // as the C library does
  return number;
}
