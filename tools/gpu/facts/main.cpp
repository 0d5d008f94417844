// gpu_facts convolutions | products | times | attention lists what cuDNN and cuBLASLt offer for the
// models' shapes on this machine, and measures calls, kernels and products. Each line is a row;
// lines that begin with # name the columns. Exit codes: 0 done, 1 failed, 2 usage.

#include <fmt/format.h>

#include <iostream>
#include <string>

#include "base/error.h"
#include "tools/gpu/facts/facts.h"

namespace penstock::tools {
namespace {

void run(const std::string& subject) {
  const auto backend = layers::make_cuda_backend();
  // Flushes each line, so that the output is complete if a later call fails or hangs.
  const Say say = [](const std::string& line) { std::cout << line << std::endl; };
  say(fmt::format("# {}", backend->description()));
  if (subject == "convolutions") tell_convolutions(convolutions_of_models(), say);
  if (subject == "products") tell_products(*backend, products_of_models(), {1, 8, 32, 128}, say);
  if (subject == "attention")
    tell_attention(*backend, attention_of_models(), attention_lengths(), 12000, say);
  if (subject == "times") tell_times(*backend, recurrence_of_models(), {8, 32, 64, 128}, say);
}

}  // namespace
}  // namespace penstock::tools

int main(int argc, char** argv) {
  const std::string subject = argc == 2 ? argv[1] : "";
  if (subject != "convolutions" && subject != "products" && subject != "times" &&
      subject != "attention") {
    std::cerr << "usage: gpu_facts convolutions | products | times | attention\n";
    return 2;
  }
  try {
    penstock::tools::run(subject);
  } catch (const std::exception& error) {
    std::cerr << "gpu_facts: " << error.what() << "\n";
    return 1;
  }
}
