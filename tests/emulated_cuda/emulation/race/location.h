#pragma once

#include <cstdint>
#include <string>

namespace emulated_cuda::race {

/// Places in the program as 32 bits: 0 is nowhere.
std::uint32_t place_of(const void* code);
/// Whether the address is of the program's constants and globals, threadIdx among them.
bool is_of_program(const void* address);
/// "add at column_sums.cu:12", by binutils' addr2line; takes a while.
std::string location_of(std::uint32_t place);

}  // namespace emulated_cuda::race
